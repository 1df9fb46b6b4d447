"""Several questions as one plan: what they measure alike is measured once, and what touches different people
costs the most that one person loses, not the sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet import exact
from discreet.accounting import events
from discreet.accounting.filter import Cost
from discreet.accounting.overlap import Overlap
from discreet.accounting.region import Region
from discreet.answers.affordability import budget_refusal, largest_question
from discreet.answers.answer_release import make_release
from discreet.answers.query_quote import QueryQuote, QueryWish, account_of, quote
from discreet.answers.refine import AnswerReading
from discreet.answers.repeats import STATEMENT_SEPARATOR
from discreet.answers.sql import measure_query, resumed_quote, stored_reading
from discreet.engines.stop_signal import after_partial_charge
from discreet.errors import Flag, Message, UsageError
from discreet.kernel.project_session import Session
from discreet.ledger.account import Account
from discreet.ledger.chain import canonical_json
from discreet.ledger.refusal import check_quota
from discreet.plan.price import region_of
from discreet.release import Release
from discreet.sql.parsed_query import ParsedQuery

#: Nodes of the search for the person whom a batch touches most.
_NODES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryBatch:
    """Questions by what they measure: those with one inquiry are readings of one measurement.

    One that names the same in another order is a group of its own, which finds the other's answer stored.
    """

    groups: tuple[tuple[ParsedQuery, ...], ...]

    @staticmethod
    def of(queries: Sequence[ParsedQuery]) -> QueryBatch:
        groups: dict[str, list[ParsedQuery]] = {}
        for each in queries:
            groups.setdefault(repr(each.inquiry.to_data()), []).append(each)
        return QueryBatch(groups=tuple(tuple(group) for group in groups.values()))

    def whole(self, group: tuple[ParsedQuery, ...]) -> ParsedQuery:
        """One question that asks for all that a group asks for."""
        outputs = tuple(output for each in group for output in each.outputs)
        having = next((each.having for each in group if each.having is not None), None)
        return replace(
            group[0], text=STATEMENT_SEPARATOR.join(each.text for each in group), outputs=outputs, having=having
        )

    def epsilons(self, total: Fraction) -> list[Fraction]:
        """What each group may spend so that nobody loses more than `total`.

        Weighed by how much a group measures, then raised together until the person whom the batch touches
        most loses `total`.
        """
        weights = [_weight(self.whole(group)) for group in self.groups]
        shares = [total * weight / sum(weights) for weight in weights]
        tables: dict[object, Overlap] = {}
        for group, share in zip(self.groups, shares, strict=True):
            region = region_of(group[0].inquiry, group[0].reach)
            overlap = tables.setdefault(group[0].tables[0], Overlap())
            overlap.add(region, [exact.units_up(share, exact.EPSILON_UNITS)])
        fullest = sum(overlap.largest(Region.whole(), arm=0, nodes=_NODES).upper for overlap in tables.values())
        rise = max(Fraction(1), total * exact.EPSILON_UNITS / fullest)
        return [Fraction(exact.units_down(share * rise, 10**9), 10**9) for share in shares]


def _weight(query: ParsedQuery) -> Fraction:
    """How much of a batch's epsilon a group gets: in proportion to need^(1/3), summed over what it measures."""
    inquiry = query.inquiry
    weight = sum(float(query.needs.get(index, 1)) ** (1 / 3) for index in range(len(inquiry.statistics)))
    weight = (weight + len(inquiry.quantiles) + bool(inquiry.keys)) * len(inquiry.sets)
    return Fraction(max(1, round(100 * weight)), 100)


def ask_batch(
    queries: Sequence[ParsedQuery],
    wish: QueryWish,
    sessions: Callable[[ParsedQuery], Session],
) -> list[Release]:
    """Answer a batch; in the order of its statements. Nothing is charged unless the budget surely holds all of it.

    `sessions`: the session of each query; all have one curator and one asker.
    """
    batch = QueryBatch.of(queries)
    wishes = [
        replace(wish, epsilon=epsilon, within=None) if wish.epsilon is not None else wish
        for epsilon in (batch.epsilons(wish.epsilon) if wish.epsilon is not None else [Fraction(1)] * len(batch.groups))
    ]
    _check_room(batch, wishes, wish, sessions)
    releases: dict[int, Release] = {}
    paid = False
    for number, (group, each) in enumerate(zip(batch.groups, wishes, strict=True)):
        whole, session = batch.whole(group), sessions(group[0])
        stored_answer = stored_reading(whole, each, version=session.version, curator=session.curator)
        asker = session.asker
        own = replace(asker, key=None if asker.key is None else f"{asker.key}.{number}")
        if stored_answer is not None:
            measurement = stored_answer.measurement
        else:
            version, limit, payer = session.version, session.guarantee, replace(session, asker=own)
            quoted = resumed_quote(whole, each, payer, fresh=True) or quote(
                whole, each, version=version, guarantee=limit, ledger=session.ledger, booking=False
            )
            with after_partial_charge(paid):
                measurement = measure_query(whole, each, payer, quoted)
            paid = True
        for turn, question in enumerate(group):
            reading = AnswerReading(
                query=question, measurement=measurement, others=() if stored_answer is None else stored_answer.others
            )
            cached = stored_answer is not None or turn > 0
            releases[id(question)] = make_release(
                reading, each, version=session.version, ledger=session.ledger, cached=cached
            )
    return [releases[id(question)] for question in queries]


def _check_room(
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
        costs[account.name] = costs.get(account.name, Fraction(0)) + _try(trial, quoted)
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


def _try(trial: Account, quoted: QueryQuote) -> Fraction:
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
