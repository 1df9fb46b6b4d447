"""SQL answers: price a question, let the curator measure it, and read the measurement as rows.

Everything after `Curator.measure` is post-processing: it sees noisy numbers alone and is free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from discreet import exact
from discreet.accounting import events
from discreet.accounting.filter import Cost, Decision, Segment
from discreet.accounting.guarantee import Guarantee, Limits
from discreet.accounting.sensitivity import Sensitivity
from discreet.answers.refine import Reading
from discreet.curator import Curator, Version
from discreet.errors import BudgetExceeded, Refused, UsageError
from discreet.ledger.account import Account, Amount, Room, Standing
from discreet.ledger.ledger import Ledger
from discreet.ledger.refusal import refusal as exceeded
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.threshold import Threshold
from discreet.plan.price import Discover, Law, Measure, Price, cheapest, price
from discreet.plan.statistics import Sum
from discreet.release import Measurement, Release, ReleaseColumn, Spending
from discreet.sql.read import Asked, Output
from discreet.sql.text import statements

FREE = Spending(epsilon=Fraction(0), rho=Fraction(0), delta=Fraction(0))

#: A question that discovers keys takes this share of the delta that is set aside for keys, unless told.
KEYS_SHARE = Fraction(1, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How exact an answer should be: an epsilon to spend, or a width to stay within; and a delta for its keys."""

    epsilon: Fraction | None = None
    within: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)
    delta: Fraction | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.within is None):
            raise UsageError(
                "say how much to spend or how exact to be",
                hint="--epsilon 0.1, or --within 50; one of the two",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A priced question and what the ledger would decide about it now."""

    asked: Asked
    price: Price
    version: Version
    guarantee: Guarantee
    decision: Decision
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks, and how much they may pay in all."""

    name: str | None = None
    quota: Fraction | None = None


def quote(
    asked: Asked, wish: Wish, *, version: Version, guarantee: Guarantee, ledger: Ledger, booking: bool = True
) -> Quote:
    """Price a question. Free; reads the ledger's public state and no data.

    Laplace keeps both filters alive. A Gaussian has less noise at the same rho but ends the pure filter
    for the people it touches, so it is used only where the owner set accounting = "zcdp", or where the
    pure filter cannot take the question any more and the zCDP filter can.
    """
    if guarantee.accounting == "zcdp":
        because = "accounting = 'zcdp'"
        return _quoted(asked, wish, version, guarantee, ledger, gaussian=True, because=because, booking=booking)
    because = "Laplace keeps both filters open"
    laplace = _quoted(asked, wish, version, guarantee, ledger, gaussian=False, because=because, booking=booking)
    if guarantee.limits.rho is None or laplace.decision.arm == "pure" or not asked.inquiry.statistics:
        return laplace
    because = "the pure filter is full here; the zCDP one is not"
    gaussian = _quoted(asked, wish, version, guarantee, ledger, gaussian=True, because=because, booking=booking)
    return gaussian if gaussian.decision.accepted else laplace


def _quoted(
    asked: Asked,
    wish: Wish,
    version: Version,
    guarantee: Guarantee,
    ledger: Ledger,
    *,
    gaussian: bool,
    because: str,
    booking: bool = True,
) -> Quote:
    def at(epsilon: Fraction) -> Price:
        return price(
            asked.inquiry,
            asked.reach,
            needs=asked.needs,
            epsilon=epsilon,
            gaussian=gaussian,
            delta=guarantee.keys * KEYS_SHARE if wish.delta is None else wish.delta,
            confidence=wish.confidence,
        )

    try:
        epsilon = wish.epsilon if wish.epsilon is not None else _epsilon_within(asked, wish, at)
        found = at(epsilon)
    except Refused as problem:
        raise Refused(problem.reason, hint=problem.hint, sql=problem.sql or asked.text) from None
    decision = ledger.preview(
        population=version.population,
        table=version.table,
        version=version.number,
        region=found.region,
        event=found.event,
        guarantee=guarantee,
        booking=booking,
    )
    return Quote(asked=asked, price=found, version=version, guarantee=guarantee, decision=decision, because=because)


def _epsilon_within(asked: Asked, wish: Wish, at: Callable[[Fraction], Price]) -> Fraction:
    """The cheapest epsilon at which every count and sum is within the width wished for."""
    width = wish.within
    assert width is not None
    outputs = [output for output in asked.outputs if output.key is None and output.grouping is None]
    if asked.inquiry.keys:
        raise UsageError(
            "--within is for known keys: how exact the number of a discovered key is depends on the key",
            hint="--epsilon 0.5, and the answer says how exact it is",
        )
    if not outputs or any(output.plain is None for output in outputs):
        other = next((output.name for output in outputs if output.plain is None), "this answer")
        raise UsageError(
            f"--within is for counts and sums: how exact {other!r} will be depends on the data",
            hint="--epsilon 0.5, and the answer says how exact it is",
        )

    def good(epsilon: Fraction) -> bool:
        try:
            found = at(epsilon)
        except UsageError:  # noise so large that nobody draws it
            return False
        return widest(found, outputs, wish.confidence) <= width

    return cheapest(good, width=width)


def laws_of(found: Price) -> dict[int, list[Law]]:
    """The laws of each statistic's noise, one for each grouping set."""
    laws: dict[int, list[Law]] = {}
    for step in found.steps:
        if isinstance(step, Measure):
            for index, law in zip(step.statistics, step.laws, strict=True):
                laws.setdefault(index, []).append(law)
        elif isinstance(step, Discover) and step.answers is not None and isinstance(step.mechanism, Threshold):
            laws.setdefault(step.answers, []).append(step.mechanism.noise)
    return laws


def width_of(found: Price, output: Output, confidence: Fraction) -> Fraction | None:
    """How wrong a count or sum may be by its noise; None for what depends on the data."""
    if output.plain is None:
        return None
    index, step = output.plain
    return max((Fraction(law.half_width(confidence)) * abs(step) for law in laws_of(found)[index]), default=Fraction(0))


def widest(found: Price, outputs: Sequence[Output], confidence: Fraction) -> Fraction:
    """The widest noise of several counts and sums."""
    return max(width_of(found, output, confidence) or Fraction(0) for output in outputs)


def spending(amount: Amount) -> Spending:
    """A ledger's amount as a release shows it."""
    return Spending(epsilon=amount.epsilon, delta=amount.delta)


def account_of(quoted: Quote, ledger: Ledger) -> Account:
    """The account that pays; a new one where its population has none yet."""
    name = quoted.version.population
    return ledger.refresh().accounts.get(name) or Account(name=name, guarantee=quoted.guarantee)


def standing_after(quoted: Quote, ledger: Ledger, *, free: bool) -> Standing:
    """Where the population would stand after this question; a stored answer moves nothing."""
    version, decision = quoted.version, quoted.decision
    account = account_of(quoted, ledger)
    if free:
        return account.standing()
    segments = {**account.segments, (version.table, version.number): Segment(balance=decision.balance)}
    return replace(account, segments=segments, delta=decision.delta).standing()


def cost_of(event: events.Event) -> Spending:
    """An event's cost for people: on a Gaussian epsilon is None, for it has no pure bound."""
    loss = events.loss(event)
    return Spending(epsilon=loss.epsilon, rho=loss.rho, delta=loss.delta)


def ask(
    asked: Asked,
    wish: Wish,
    *,
    versions: Sequence[Version],
    guarantee: Guarantee,
    curator: Curator,
    asker: Asker,
    fresh: bool,
) -> Release:
    """Answer a question: from the store where it was answered before, else by charging."""
    version = versions[0]
    known = None if fresh else stored(asked, wish, version=version, curator=curator)
    if known is not None:
        return released(known, wish, version=version, ledger=curator.ledger, cached=True)
    measurement = measured(asked, wish, versions=versions, guarantee=guarantee, curator=curator, asker=asker)
    reading = Reading(asked=asked, measurement=measurement)
    return released(reading, wish, version=version, ledger=curator.ledger, cached=False)


def measured(
    asked: Asked,
    wish: Wish,
    *,
    versions: Sequence[Version],
    guarantee: Guarantee,
    curator: Curator,
    asker: Asker,
    also: tuple[str, ...] = (),
) -> Measurement:
    """Charge a question and measure it. `also`: earlier measurements of the same cells that it is read with."""
    quoted = quote(
        asked, wish, version=versions[0], guarantee=guarantee, ledger=curator.ledger, booking=False
    )  # the charge books
    try:
        return curator.measure(
            quoted.price,
            versions,
            text=asked.text,
            publics=asked.publics,
            analyst=asker.name,
            quota=asker.quota,
            also=also,
        )
    except BudgetExceeded as problem:
        by_epsilon = "quota" not in problem.reason and "for its keys" not in problem.reason
        problem.hint = problem.hint or (affordable(quoted, wish, curator.ledger) if by_epsilon else "")
        raise


def again(
    asked: Asked,
    earlier: str,
    wish: Wish,
    *,
    versions: Sequence[Version],
    guarantee: Guarantee,
    curator: Curator,
    asker: Asker,
) -> Release:
    """Measure an earlier question once more, and read both together: counts and sums by inverse variance.

    Quantiles and discovered keys are measured again, not averaged.
    """
    first = curator.stored(earlier)
    also = () if asked.inquiry.keys else (earlier, *first.also)
    new = measured(asked, wish, versions=versions, guarantee=guarantee, curator=curator, asker=asker, also=also)
    return released(_reading(asked, new, curator), wish, version=versions[0], ledger=curator.ledger, cached=False)


def _reading(asked: Asked, measurement: Measurement, curator: Curator) -> Reading:
    others = tuple(curator.stored(id_) for id_ in measurement.also)
    return Reading(asked=asked, measurement=measurement, others=others)


def stored(asked: Asked, wish: Wish, *, version: Version, curator: Curator) -> Reading | None:
    """The most exact stored answer to this question, the newest of equals; None where it is not exact enough."""
    ids = curator.ledger.find(version.table, version.number, asked.inquiry.question())
    readings = [_reading(asked, curator.stored(id_), curator) for id_ in reversed(ids)]
    charges = curator.ledger.state.charges
    found = min(
        readings, key=lambda reading: (reading.variance(), -charges[reading.measurement.id].price), default=None
    )
    if found is None or wish.within is None:
        return found
    try:
        ends = [each for row in found.intervals(wish.confidence) for each in row if each is not None]
        widths = [(Fraction(high) - Fraction(low)) / 2 for low, high in ends]
    except (TypeError, ValueError):  # dates and texts have no width
        return None
    return found if all(width <= wish.within for width in widths) else None


def refusal(quoted: Quote, wish: Wish, ledger: Ledger) -> BudgetExceeded:
    """The refusal of a question that the budget does not hold, as a charge would give it."""
    found = exceeded(account_of(quoted, ledger), Cost.of(events.loss(quoted.price.event)), quoted.decision)
    found.hint = "a smaller --delta" if "for its keys" in found.reason else affordable(quoted, wish, ledger)
    return found


def affordable(quoted: Quote, wish: Wish, ledger: Ledger) -> str:
    """A hint: what the same question could still get, if anything."""
    limits, version = quoted.guarantee.limits, quoted.version
    left = ledger.room(version.population, guarantee=quoted.guarantee)
    pure = Fraction(left.pure, exact.EPSILON_UNITS) if limits.pure is not None else Fraction(0)
    rho = exact.sqrt(2 * Fraction(left.rho, exact.RHO_UNITS), up=False) if limits.rho is not None else Fraction(0)
    epsilon = Fraction(exact.units_down(max(pure, rho), 10**6), 10**6)
    if epsilon <= 0:
        return "a question about a group nobody has asked about yet, or ask the owner to grant more"
    cheap = Wish(epsilon=min(epsilon, exact.MAX_QUESTION_EPSILON), confidence=wish.confidence, delta=wish.delta)
    try:
        found = _quoted(quoted.asked, cheap, version, quoted.guarantee, ledger, gaussian=rho > pure, because="").price
        widths = [width_of(found, output, wish.confidence) for output in quoted.asked.outputs]
        width = max((each for each in widths if each is not None), default=None)
    except UsageError:
        width = None
    told = "" if width is None else f" (each cell within {exact.show(width, up=True)})"
    return f"--epsilon {exact.show(epsilon)}{told}, or a group nobody has asked about yet"


def counts_left(limits: Limits, room: Room, *, width: int, rows: int = 1) -> int:
    """How many more counts of everybody, each within `width` at 95%, the budget holds."""
    moves = Sensitivity(l0=1, l1=rows, l2_squared=rows**2, linf=rows, because=())
    found = []
    for gaussian, limit, left, units in (
        (False, limits.pure, room.pure, exact.EPSILON_UNITS),
        (False, limits.rho, room.rho, exact.RHO_UNITS),
        (True, limits.rho, room.rho, exact.RHO_UNITS),
    ):
        if limit is None:
            continue
        epsilon = cheapest(_within(moves, width, gaussian=gaussian), width=Fraction(width))
        price_each = epsilon if units == exact.EPSILON_UNITS else epsilon**2 / 2
        found.append(left // exact.units_up(price_each, units))
    return max(found, default=0)


def _within(moves: Sensitivity, width: int, *, gaussian: bool) -> Callable[[Fraction], bool]:
    def good(epsilon: Fraction) -> bool:
        try:
            law: Law = (
                DiscreteGaussian(sigma2=moves.l2_squared / epsilon**2)
                if gaussian
                else DiscreteLaplace(scale=moves.l1 / epsilon)
            )
        except UsageError:
            return False
        return law.tail(width) <= Fraction(5, 100)

    return good


def released(reading: Reading, wish: Wish, *, version: Version, ledger: Ledger, cached: bool) -> Release:
    """A reading as a release, with where the budget stands."""
    standing = ledger.standing(version.population)
    measurement = reading.measurement
    columns = tuple(ReleaseColumn(name=output.name, kind=_kind(output)) for output in reading.asked.outputs)
    found = Release(
        id=measurement.id,
        table=version.table,
        version=version.number,
        columns=columns,
        rows=reading.rows,
        event=measurement.event,
        confidence=wish.confidence,
        cost=FREE if cached else cost_of(measurement.event),
        spent=spending(standing.spent),
        remaining=spending(standing.remaining),
        cached=cached,
        reread=reading.intervals,
    )
    return replace(found, warnings=tuple(_warnings(found, reading, wish, version, ledger)))


def _kind(output: Output) -> Literal["key", "noisy", "derived"]:
    if output.key is not None or output.grouping is not None:
        return "key"
    return "noisy" if output.plain is not None or output.quantile is not None else "derived"


def _warnings(release: Release, reading: Reading, wish: Wish, version: Version, ledger: Ledger) -> list[str]:
    told = list(reading.asked.warnings)
    paid = ledger.state.charges[release.id].price
    if release.cached and wish.epsilon is not None and paid < wish.epsilon:
        single = len(statements(reading.measurement.text)) == 1
        more = f"discreet again {release.id} adds to it, " if single else ""
        told.append(
            f"this is the stored answer, measured at a smaller epsilon; {more}--fresh draws anew, and that is charged"
        )
    told += _bias(reading.asked, version)
    if reading.found is not None and reading.found.threshold is not None:
        told.append(f"keys that fewer than about {reading.found.threshold:,} persons share do not show")
    if reading.found is not None and reading.found.cut:
        told.append(f"only the {len(reading.found.keys):,} most common of the keys that were found fit into one answer")
    drowned, cells = reading.drowned(wish.confidence)
    if drowned:
        which = "the number is" if cells == 1 else f"{drowned} of {cells} numbers are"
        told.append(f"{which} no larger than the noise; a larger epsilon or wider groups would show more")
    return told


def _bias(asked: Asked, version: Version) -> list[str]:
    """What the declaration takes away before anything is counted. The noise intervals do not speak of it."""
    told = []
    for table, schema in asked.schemas.items():
        if not schema.unit.is_row:
            whose = "" if len(asked.schemas) == 1 else f" of {table}"
            told.append(
                f"a person counts with at most {schema.unit.rows:,} rows{whose}; what lies beyond is left out, "
                f"and discreet bounds {table} --report estimates how much"
            )
    if any(isinstance(statistic, Sum) for statistic in asked.inquiry.statistics) or asked.quantiles:
        told.append("numbers beyond their declared bounds count as the bound")
    return told
