"""SQL answers: price a question, let the curator measure it, and read the measurement as rows.

Everything after `Curator.measure` is post-processing: it sees noisy numbers alone and is free.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from functools import partial

from discreet.accounting.events import is_refinement
from discreet.answers.affordability import affordable_hint
from discreet.answers.answer_release import make_release
from discreet.answers.instalments import most_precise_open, quote_within, refined_quote
from discreet.answers.more_precise import EarlierAnswer, stored_answer
from discreet.answers.query_quote import QueryQuote, QueryWish, has_two_laws, quote_with_law
from discreet.answers.reconcile.derived import combined_release, derived_release
from discreet.answers.reconcile.earlier_estimate import EarlierEstimate
from discreet.answers.reconcile.missing_precision import combine_with_measurement, helps, is_less_exact, suffices
from discreet.answers.refine import AnswerReading
from discreet.answers.repeats import Reads, in_batches
from discreet.errors import BudgetExceeded
from discreet.kernel.curator import Curator, Version
from discreet.kernel.measurement import Measurement
from discreet.kernel.priced_charge import priced_charge
from discreet.kernel.project_session import Session
from discreet.plan.price import Price
from discreet.release import Release
from discreet.sql.parsed_query import ParsedQuery


def ask(
    query: ParsedQuery,
    wish: QueryWish,
    session: Session,
    *,
    fresh: bool,
    reads: Reads | None = None,
    as_one: Callable[[], Release | None] | None = None,
) -> Release:
    """Answer a question: from the store where it was answered before, from what earlier answers tell, else by charging.

    `reads` reads the text of a statement: with it the statements of batches, and whole histories, are known again.
    `as_one` measures a question of many numbers as one workload, or returns None where it gains nothing by that.
    """
    version, curator, ledger = session.version, session.curator, session.ledger
    stored = None if fresh else stored_reading(query, wish, version=version, curator=curator, reads=reads)
    if stored is not None:
        return make_release(stored, wish, version=version, ledger=ledger, cached=True)
    earlier_estimate = (
        None if fresh or reads is None else estimate_from_releases(query, version=version, curator=curator, reads=reads)
    )
    if earlier_estimate is not None and suffices(
        earlier_estimate, wish, version=version, guarantee=session.guarantee, ledger=ledger
    ):
        less = is_less_exact(earlier_estimate, wish, version=version, guarantee=session.guarantee, ledger=ledger)
        return derived_release(earlier_estimate, wish, version=version, curator=curator, is_less_exact=less)
    helping = earlier_estimate if earlier_estimate is not None and helps(earlier_estimate, wish) else None
    together = None if as_one is None or helping is not None else as_one()
    if together is not None:
        return together
    quoted = resumed_quote(query, wish, session, earlier_estimate=helping, fresh=fresh) or quote_within(
        query,
        wish,
        version=version,
        guarantee=session.guarantee,
        curator=curator,
        booking=False,
        earlier_estimate=helping,
        fresh=fresh,
    )  # the charge books
    earlier = None if fresh else most_exact_answer(query, session)
    measurement = measure_query(query, wish, session, quoted, earlier=earlier)
    if helping is not None and reads is not None and quoted.price.refines is None:
        after = estimate_from_releases(query, version=version, curator=curator, reads=reads)
        both = combine_with_measurement(helping, measurement, after, wish)
        if both is not None:
            return combined_release(both, measurement, wish, version=version, ledger=ledger)
    reading = AnswerReading(query=query, measurement=measurement)
    return make_release(reading, wish, version=version, ledger=ledger, cached=False)


def estimate_from_releases(
    query: ParsedQuery, *, version: Version, curator: Curator, reads: Reads, without: Collection[str] = ()
) -> EarlierEstimate | None:
    """What earlier answers tell about a question, but for the releases `without`."""
    from discreet.answers.reconcile.history_estimation import estimate_from_history  # with all of its least squares

    from_answers = estimate_from_history(query, version=version, curator=curator, reads=reads, without=without)
    if not curator.ledger.state.reservations:
        return from_answers
    from discreet.answers.workload.determined import estimate_from_batches, largest_variance

    from_batches = estimate_from_batches(query, version=version, ledger=curator.ledger, without=without)
    both = [each for each in (from_answers, from_batches) if each is not None]
    return min(both, key=largest_variance, default=None)


def reread_release(
    reading: AnswerReading, wish: QueryWish, *, version: Version, curator: Curator, reads: Reads
) -> Release:
    """What was bought for a width, as `ask` gave it: read together with what else is released, where it was priced so.

    What was released since is looked at, too: it makes the answer more exact, and takes nothing away.
    """
    query, measurement, ledger = reading.query, reading.measurement, curator.ledger
    if is_refinement(measurement.event):  # priced by itself
        return make_release(reading, wish, version=version, ledger=ledger, cached=False)
    later = ledger.state.refinements.later(measurement.id)  # the same noise in part: never read together with it
    before = estimate_from_releases(
        query, version=version, curator=curator, reads=reads, without=(measurement.id, *later)
    )
    if before is not None and helps(before, wish):
        after = None if later else estimate_from_releases(query, version=version, curator=curator, reads=reads)
        both = combine_with_measurement(before, measurement, after, wish)
        if both is not None:
            return combined_release(both, measurement, wish, version=version, ledger=ledger)
    return make_release(reading, wish, version=version, ledger=ledger, cached=False)


def measure_query(
    query: ParsedQuery,
    wish: QueryWish,
    session: Session,
    quoted: QueryQuote,
    *,
    also: tuple[str, ...] = (),
    earlier: EarlierAnswer | None = None,
    surer: int = 1,
) -> Measurement:
    """Charge a question as quoted and measure it. `also`: earlier measurements of its cells that it is read with.

    `earlier`: its stored answer, where there is one: a refusal then offers `again`. `surer`: see `Measurement`.
    """
    try:
        return session.curator.measure(
            quoted.price,
            session.versions,
            text=query.text,
            publics=query.publics,
            asker=session.asker,
            also=also,
            surer=surer,
        )
    except BudgetExceeded as problem:
        if not problem.hint and problem.binding in ("loss", "quota"):
            problem.hint = affordable_hint(quoted, wish, session.ledger, asker=session.asker, earlier=earlier)
        raise


def can_resume(session: Session, price: Price) -> bool:
    """Whether a process charged this and died before it stored the answer."""
    return session.ledger.can_resume(priced_charge(price, session.versions, session.asker))


def resumed_quote(
    query: ParsedQuery,
    wish: QueryWish,
    session: Session,
    *,
    earlier_estimate: EarlierEstimate | None = None,
    fresh: bool = False,
) -> QueryQuote | None:
    """The quote under which a question was charged by a process that died before it stored the answer, if one did.

    Both laws are tried, because that charge may have changed which is cheaper; and a refinement, unless the noise is to
    be `fresh`.
    """
    version, guarantee, ledger = session.version, session.guarantee, session.ledger
    question = query.inquiry.question()
    if not any(body["question"] == question for body in ledger.state.unfinished.values()):
        return None
    for gaussian in (False, True):
        if gaussian and (guarantee.limits.rho is None or not has_two_laws(query)):
            continue
        quoted = quote_with_law(
            query,
            wish,
            version,
            guarantee,
            ledger,
            gaussian=gaussian,
            booking=False,
            earlier_estimate=earlier_estimate,
        )
        if can_resume(session, quoted.price):
            return quoted
    release = None if fresh else most_precise_open(query, version=version, curator=session.curator)
    if release is None:
        return None
    resumes = partial(can_resume, session)
    refined = refined_quote(
        query, wish, release, version=version, guarantee=guarantee, curator=session.curator, resumes=resumes
    )
    return refined if refined is not None and resumes(refined.price) else None


def again(query: ParsedQuery, earlier: str, wish: QueryWish, session: Session) -> Release:
    """Make an earlier answer more precise: refine it, or measure it once more and combine both (counts and sums by
    inverse variance), whichever costs the budget less.

    Quantiles and discovered keys are measured again, not averaged.
    """
    answer = earlier_answer(query, earlier, session)
    quoted = resumed_quote(query, wish, session) or answer.quote(wish)
    new = measure_query(query, wish, session, quoted, also=answer.read_with(quoted), earlier=answer)
    reading = stored_answer(query, new, session.curator)
    return make_release(reading, wish, version=session.version, ledger=session.ledger, cached=False)


def earlier_answer(query: ParsedQuery, release: str, session: Session) -> EarlierAnswer:
    """An earlier answer that is to be more precise: the release itself, or what refined it last."""
    measurement = session.curator.stored_measurement(session.ledger.refresh().refinements.last(release))
    return EarlierAnswer(query=query, measurement=measurement, session=session)


def most_exact_answer(query: ParsedQuery, session: Session) -> EarlierAnswer | None:
    """The most exact stored answer to this very query, which `again` makes more precise; None where there is none."""
    ids = session.ledger.find(session.version.table, session.version.number, query.inquiry.question())
    readings = [stored_answer(query, session.curator.stored_measurement(id_), session.curator) for id_ in reversed(ids)]
    if not readings:
        return None
    most_exact = min(readings, key=AnswerReading.variance)
    return EarlierAnswer(query=query, measurement=most_exact.measurement, session=session)


def stored_reading(
    query: ParsedQuery, wish: QueryWish, *, version: Version, curator: Curator, reads: Reads | None = None
) -> AnswerReading | None:
    """The most exact stored answer to this question, the newest of equals; None where it is not exact enough."""
    most_exact = most_exact_reading(
        query, version=version, curator=curator, reads=reads, interval=wish.interval_share > 0
    )
    if most_exact is None or wish.within is None:
        return most_exact
    try:
        ends = [each for row in most_exact.intervals(wish.confidence) for each in row if each is not None]
        widths = [(Fraction(high) - Fraction(low)) / 2 for low, high in ends]
    except (TypeError, ValueError):  # dates and texts have no width
        return None
    return most_exact if all(width <= wish.within for width in widths) else None


def most_exact_reading(
    query: ParsedQuery, *, version: Version, curator: Curator, reads: Reads | None = None, interval: bool = True
) -> AnswerReading | None:
    """The most exact stored answer to this question, by itself or in a batch, the newest of equals.

    `interval`: only one whose quantiles have intervals.
    """
    ids = curator.ledger.find(version.table, version.number, query.inquiry.question())
    readings = [stored_answer(query, curator.stored_measurement(id_), curator) for id_ in reversed(ids)]
    if curator.ledger.state.reservations:
        from discreet.answers.workload.drawn_batch import readings_in_batches  # with all of its least squares

        readings += readings_in_batches(query, version=version, ledger=curator.ledger, reads=reads)
    if reads is not None:
        readings += in_batches(query, version=version, curator=curator, reads=reads)
    if interval:
        readings = [each for each in readings if each.has_intervals]
    charges = curator.ledger.state.charges
    return min(readings, key=lambda reading: (reading.variance(), -charges[reading.measurement.id].price), default=None)
