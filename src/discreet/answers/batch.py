"""Several questions answered together: planned as one workload where the batch gains by that, else split.

Split, what they measure alike is measured once, and what touches different people costs the most that one person loses,
not the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction

from discreet import exact
from discreet.accounting import events
from discreet.accounting.filter import Cost
from discreet.answers.affordability import budget_refusal, largest_question
from discreet.answers.answer_release import make_release
from discreet.answers.query_quote import FREE, QueryQuote, QueryWish, account_of, quote
from discreet.answers.refine import AnswerReading
from discreet.answers.sql import measure_query, resumed_quote, stored_reading
from discreet.answers.workload.batch_measurement import begun_batch, measure_batch, resume_batch
from discreet.answers.workload.batch_quote import plan_batch
from discreet.answers.workload.plain_statements import plain_apart
from discreet.answers.workload.query_batch import QueryBatch
from discreet.engines.stop_signal import after_partial_charge
from discreet.errors import Flag, Message, UsageError
from discreet.kernel.project_session import Session
from discreet.ledger.account import Account
from discreet.ledger.chain import canonical_json
from discreet.ledger.refusal import check_quota
from discreet.release import Release
from discreet.sql.parsed_query import ParsedQuery


def ask_batch(
    queries: Sequence[ParsedQuery],
    wish: QueryWish,
    sessions: Callable[[ParsedQuery], Session],
    *,
    weights: Sequence[Fraction] | None = None,
) -> list[Release]:
    """Answer a batch; in the order of its statements. Nothing is charged unless the budget surely holds all of it.

    `sessions`: the session of each query; all have one curator and one asker. `weights`: how much a squared error of
    each statement matters.
    """
    apart = plain_statements(queries, wish, sessions, weights=weights)
    together = None if apart is None else ask_as_one(apart, wish, sessions, weights=weights, split=queries)
    if together is None:
        together = ask_as_one(queries, wish, sessions, weights=weights)
    return _ask_split(queries, wish, sessions) if together is None else together


def plain_statements(
    queries: Sequence[ParsedQuery],
    wish: QueryWish,
    sessions: Callable[[ParsedQuery], Session],
    *,
    weights: Sequence[Fraction] | None = None,
) -> list[ParsedQuery] | None:
    """The statements of a batch where plain ones share with plain ones alone, for a workload; None where that is the
    same, or where they were charged before in the other way."""
    apart = None if wish.epsilon is None else plain_apart(queries)
    if apart is None or begun_batch(queries, wish, sessions(queries[0]), weights=weights) is not None:
        return None
    return apart


def ask_as_one(
    queries: Sequence[ParsedQuery],
    wish: QueryWish,
    sessions: Callable[[ParsedQuery], Session],
    *,
    weights: Sequence[Fraction] | None = None,
    fresh: bool = False,
    split: Sequence[ParsedQuery] | None = None,
) -> list[Release] | None:
    """Answer a batch that is planned as one workload; None where it gains nothing by that, and nothing is charged.

    `fresh`: stored answers are not looked at. `split`: see `plan_batch`.
    """
    if wish.epsilon is None or len({query.tables[0] for query in queries}) != 1:
        return None
    batch, session = QueryBatch.of(queries), sessions(queries[0])
    wishes = [replace(wish, epsilon=epsilon) for epsilon in batch.epsilons(wish.epsilon)]
    earlier = {} if fresh else stored_groups(batch, wishes, sessions)
    begun = None if fresh else begun_batch(queries, wish, session, weights=weights)
    is_repeat = False
    if begun is not None:
        drawn = resume_batch(begun, queries, wish, sessions, weights=weights, answered=list(earlier), split=split)
        is_repeat = not drawn.is_resumed
    elif not fresh and is_begun_split(queries if split is None else split, wish, sessions):
        return None
    else:
        quoted = plan_batch(queries, wish, sessions, weights=weights, answered=list(earlier), split=split)
        if quoted is None or not quoted.is_better:
            return None
        drawn = measure_batch(quoted, queries, wish, sessions, weights=weights, fresh=fresh)
    readings = {}
    for place, group in enumerate(batch.groups):
        for question in group:
            own = drawn.reading(place, question) if place in drawn.stored.groups else None
            readings[id(question)] = earlier[place].for_query(question) if own is None else own
    releases, is_paid = [], is_repeat
    for question in queries:
        reading = readings[id(question)]
        is_own = reading.measurement.id == drawn.id
        release = make_release(
            reading, wish, version=session.version, ledger=session.ledger, cached=is_repeat or not is_own
        )
        releases.append(replace(release, cost=FREE) if is_own and is_paid else release)
        is_paid = is_paid or is_own
    return releases


def batch_wishes(batch: QueryBatch, wish: QueryWish) -> list[QueryWish]:
    """What each group of a batch may spend where it is split."""
    if wish.epsilon is None:
        return [wish] * len(batch.groups)
    return [replace(wish, epsilon=epsilon, within=None) for epsilon in batch.epsilons(wish.epsilon)]


def is_begun_split(queries: Sequence[ParsedQuery], wish: QueryWish, sessions: Callable[[ParsedQuery], Session]) -> bool:
    """Whether a process charged a group of this batch as one that is split, and died: it goes on so."""
    batch = QueryBatch.of(queries)
    pairs = zip(batch.groups, batch_wishes(batch, wish), strict=True)
    return any(resumed_quote(batch.whole(group), own, sessions(group[0])) is not None for group, own in pairs)


def stored_groups(
    batch: QueryBatch, wishes: Sequence[QueryWish], sessions: Callable[[ParsedQuery], Session]
) -> dict[int, AnswerReading]:
    """The groups that are answered already, by their places."""
    stored = {}
    for place, (group, wish) in enumerate(zip(batch.groups, wishes, strict=True)):
        session = sessions(group[0])
        reading = stored_reading(batch.whole(group), wish, version=session.version, curator=session.curator)
        if reading is not None:
            stored[place] = reading
    return stored


def _ask_split(
    queries: Sequence[ParsedQuery],
    wish: QueryWish,
    sessions: Callable[[ParsedQuery], Session],
) -> list[Release]:
    """Answer a batch whose groups are measured one by one, each for its part of the price."""
    batch = QueryBatch.of(queries)
    wishes = [
        replace(wish, epsilon=epsilon, within=None) if wish.epsilon is not None else wish
        for epsilon in (batch.epsilons(wish.epsilon) if wish.epsilon is not None else [Fraction(1)] * len(batch.groups))
    ]
    check_room(batch, wishes, wish, sessions)
    releases: dict[int, Release] = {}
    paid = False
    for number, (group, each) in enumerate(zip(batch.groups, wishes, strict=True)):
        whole, session = batch.whole(group), sessions(group[0])
        stored_answer = stored_reading(whole, each, version=session.version, curator=session.curator)
        asker = session.asker
        own = replace(asker, key=None if asker.key is None else f"{asker.key}.{number}")
        if stored_answer is None:
            version, limit, payer = session.version, session.guarantee, replace(session, asker=own)
            quoted = resumed_quote(whole, each, payer, fresh=True) or quote(
                whole, each, version=version, guarantee=limit, ledger=session.ledger, booking=False
            )
            with after_partial_charge(paid):
                measurement = measure_query(whole, each, payer, quoted)
            paid = True
        for turn, question in enumerate(group):
            reading = (
                AnswerReading(query=question, measurement=measurement)
                if stored_answer is None
                else stored_answer.for_query(question)
            )
            cached = stored_answer is not None or turn > 0
            releases[id(question)] = make_release(
                reading, each, version=session.version, ledger=session.ledger, cached=cached
            )
    return [releases[id(question)] for question in queries]


def check_room(
    batch: QueryBatch,
    wishes: list[QueryWish],
    wish: QueryWish,
    sessions: Callable[[ParsedQuery], Session],
) -> None:
    """Refuse, before anything is charged, a batch that the budget may not hold in full."""
    needed: dict[str, Fraction] = {}
    costs: dict[str, Fraction] = {}
    trials: dict[str, Account] = {}
    deltas: dict[str, int] = {}
    for group, each in zip(batch.groups, wishes, strict=True):
        whole, session = batch.whole(group), sessions(group[0])
        version, limit, ledger = session.version, session.guarantee, session.ledger
        if stored_reading(whole, each, version=version, curator=session.curator) is not None:
            continue
        if resumed_quote(whole, each, session) is not None:
            continue
        quoted = quote(whole, each, version=version, guarantee=limit, ledger=ledger)
        if not quoted.decision.accepted:
            raise budget_refusal(quoted, each, ledger)
        needed[version.population] = needed.get(version.population, Fraction(0)) + quoted.price.epsilon
        account = account_of(quoted, ledger)
        trial = trials.setdefault(account.name, deepcopy(account))
        costs[account.name] = costs.get(account.name, Fraction(0)) + try_charge(trial, quoted)
        delta = Cost.of(events.loss(quoted.price.event)).delta
        deltas[account.name] = deltas.get(account.name, account.delta) + delta
        if deltas[account.name] > limit.limits.delta_keys:
            raise UsageError(
                f"the batch needs more delta for its keys than remains for {account.name!r}",
                hint=Message("run its statements one by one, or use a smaller ", Flag("delta")),
            )
        if session.asker.quota is not None:
            check_quota(account, session.asker.name, needed=costs[account.name], quota=session.asker.quota)
    for group in batch.groups:
        session = sessions(group[0])
        version, limit = session.version, session.guarantee
        most = wish.epsilon if wish.epsilon is not None else needed.get(version.population, Fraction(0))
        room = session.ledger.remaining_by_arm(version.population, guarantee=limit)
        fitting = largest_question(room)
        if needed.get(version.population) and most > fitting:
            smaller = ["use ", Flag("epsilon", exact.show(fitting))] if fitting else ["ask the owner to grant more"]
            raise UsageError(
                f"the batch may cost epsilon {exact.show(most, up=True)}, "
                f"which may exceed the remaining budget of {version.population!r}",
                hint=Message("run its statements one by one, or ", *smaller),
            )


def try_charge(trial: Account, quoted: QueryQuote) -> Fraction:
    """Book a statement on a copy of the account, after those before it; return what it costs the budget there."""
    key, region = (quoted.version.table, quoted.version.number), quoted.price.region
    cost = Cost.of(events.loss(quoted.price.event))
    decision = trial.decide(key, region=region, cost=cost)
    moved = trial.epsilon_moved(key, decision)
    trial.book(
        key,
        region=canonical_json(region.to_data()),
        cost=cost,
        inside=decision.inside,
        balance=decision.balance,
        used=0,
        seq=trial.seq,
    )
    return quoted.price.epsilon if moved is None else moved
