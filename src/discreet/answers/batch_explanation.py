"""What a batch would cost before it is paid: how it is measured, the error of each statement, and what that would be if
the batch were split. Free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import exact
from discreet.accounting.filter import Segment
from discreet.answers.affordability import counts_within_50
from discreet.answers.batch import (
    batch_wishes,
    check_room,
    is_begun_split,
    plain_statements,
    stored_groups,
    try_charge,
)
from discreet.answers.query_quote import FREE, QueryWish, account_of, cost_of, quote, spending, width_of
from discreet.answers.refine import AnswerReading
from discreet.answers.sql import resumed_quote
from discreet.answers.workload.batch_measurement import begun_batch
from discreet.answers.workload.batch_quote import BatchQuote, plan_batch
from discreet.answers.workload.query_batch import QueryBatch
from discreet.answers.workload.statement_notes import statement_title
from discreet.kernel.project_session import Session
from discreet.ledger.account import Account, AccountStatus
from discreet.plan.price import Price
from discreet.release import Spending
from discreet.sql.parsed_query import OutputColumn, ParsedQuery

SessionOf = Callable[[ParsedQuery], Session]

#: How a statement is measured.
TOGETHER, BY_ITSELF, STORED = "together", "by itself", "stored"

_APART = (
    "each group of statements by itself, for its part of epsilon: what several statements share is measured once, and "
    "statements about different people cost only the largest of their prices"
)


_STORED = "nothing: earlier releases answer every statement"
_SEVERAL_TABLES = (
    "only statements about one table are measured together; these are about {tables}, so a file for each table has "
    "smaller errors"
)
_NO_WEIGHTS = "weights have no effect on statements that are measured by themselves"


def explain_batch(
    queries: Sequence[ParsedQuery], wish: QueryWish, sessions: SessionOf, *, weights: Sequence[Fraction] | None = None
) -> dict[str, Any]:
    """What a batch would cost, and how exact each of its statements would be, as JSON data; the keys are a contract."""
    planned = _PlannedBatch.of(queries, wish, sessions, weights)
    batch, wishes, stored, begun = planned.batch, planned.wishes, planned.stored, planned.begun
    together = planned.together
    prices: dict[int, Price]
    if begun is not None:
        session = sessions(queries[0])
        prices, cost, status = {}, FREE, session.ledger.account_status(session.version.population)
    elif together is None:
        check_room(batch, wishes, wish, sessions)
        prices, cost, status = _split(batch, wishes, sessions, stored)
    else:
        prices, cost, status = dict(together.apart), *_charged(together, sessions(queries[0]))
    described = _Described(
        batch=batch,
        together=together,
        prices=prices,
        stored=stored,
        confidence=wish.confidence,
        split_outputs={
            id(own): each.outputs
            for own, each in zip(planned.queries, queries if together is not None else planned.queries, strict=True)
        },
    )
    if begun is not None:
        strategy, because = "as it was charged before", ""
    elif together is not None:
        strategy, because = together.words, together.because
    elif len(stored) == len(batch.groups):
        strategy, because = _STORED, ""
    else:
        strategy, because = _APART, _why_split(queries, weights)
    return {
        "statements": [
            described.statement(query, Fraction(1) if weights is None else weights[number])
            for number, query in enumerate(planned.queries)
        ],
        "cost": cost.to_data(up=True),
        "spent": spending(status.spent).to_data(up=True),
        "remaining": spending(status.remaining).to_data(up=False),
        "strategy": strategy,
        "already_charged": begun is not None,
        "together": together is not None,
        "error_apart": None if together is None else together.gain**-0.5,
        "confidence": float(wish.confidence),
        "because": because,
    }


@dataclass(frozen=True, kw_only=True)
class _PlannedBatch:
    """A batch as it would be measured. `queries`: its statements, sharing what they measure in that way."""

    queries: Sequence[ParsedQuery]
    batch: QueryBatch
    wishes: list[QueryWish]
    stored: Mapping[int, AnswerReading]
    begun: str | None
    together: BatchQuote | None

    @staticmethod
    def of(
        queries: Sequence[ParsedQuery], wish: QueryWish, sessions: SessionOf, weights: Sequence[Fraction] | None
    ) -> _PlannedBatch:
        """As `ask_batch` does it: plain statements apart, if the batch gains by that; else as it is; else split."""
        apart = plain_statements(queries, wish, sessions, weights=weights)
        own = None if apart is None else _PlannedBatch._of(apart, wish, sessions, weights, queries)
        if own is not None and (own.together is not None or own.begun is not None):
            return own
        return _PlannedBatch._of(queries, wish, sessions, weights, None)

    @staticmethod
    def _of(
        queries: Sequence[ParsedQuery],
        wish: QueryWish,
        sessions: SessionOf,
        weights: Sequence[Fraction] | None,
        split: Sequence[ParsedQuery] | None,
    ) -> _PlannedBatch:
        batch = QueryBatch.of(queries)
        wishes = batch_wishes(batch, wish)
        stored = stored_groups(batch, wishes, sessions)
        begun = None if wish.epsilon is None else begun_batch(queries, wish, sessions(queries[0]), weights=weights)
        quoted = None
        if begun is None and not is_begun_split(queries if split is None else split, wish, sessions):
            quoted = plan_batch(queries, wish, sessions, weights=weights, answered=list(stored), split=split)
        together = quoted if quoted is not None and quoted.is_better else None
        return _PlannedBatch(queries=queries, batch=batch, wishes=wishes, stored=stored, begun=begun, together=together)


def _why_split(queries: Sequence[ParsedQuery], weights: Sequence[Fraction] | None) -> str:
    """What a reader might wonder about where a batch is split; nothing where it would gain nothing."""
    tables = sorted({query.tables[0].table for query in queries})
    reasons = [_SEVERAL_TABLES.format(tables=" and ".join(tables))] if len(tables) > 1 else []
    return "; ".join([*reasons, *([_NO_WEIGHTS] if weights is not None else [])])


def explained_as_one(query: ParsedQuery, wish: QueryWish, session: Session) -> dict[str, Any] | None:
    """What `explain` says of one statement that is measured as one workload; None where it is not."""
    if wish.epsilon is None or begun_batch([query], wish, session) is not None:
        return None
    quoted = plan_batch([query], wish, lambda _: session)
    if quoted is None or not quoted.is_better:
        return None
    cost, status = _charged(quoted, session)
    described = _Described(
        batch=quoted.batch,
        together=quoted,
        prices=quoted.apart,
        stored={},
        confidence=wish.confidence,
        split_outputs={id(query): query.outputs},
    ).statement(query, Fraction(1))
    mechanism = "discrete Laplace" if quoted.event.epsilon is not None else "discrete Gaussian"
    scales = [float(each.law.variance()) ** 0.5 for each in quoted.grids]
    return {
        "cost": cost.to_data(up=True),
        "spent_after": spending(status.spent).to_data(up=True),
        "remaining_after": spending(status.remaining).to_data(up=False),
        "counts_after": counts_within_50(session.version.schema.unit, status.limits, status.room),
        "noise": [
            {
                "column": each["column"],
                "mechanism": mechanism,
                "scale": max(scales),
                "plus_minus": each["plus_minus"],
                "because": quoted.because,
            }
            for each in described["noise"]
        ],
        "steps": [
            f"its numbers share noise: {quoted.words}; measured one by one their errors would be "
            f"{quoted.gain**-0.5:,.3g} times as large"
        ],
        "strategy": quoted.words,
        "because": quoted.because,
    }


def _charged(quoted: BatchQuote, session: Session) -> tuple[Spending, AccountStatus]:
    """What a reservation takes from the budget, and what stands after it."""
    version = session.version
    decision = session.preview(quoted.event, region=quoted.region)
    account = session.ledger.state.account_or_new(version.population, session.guarantee)
    segments = {**account.segments, (version.table, version.number): Segment(balance=decision.balance)}
    moved = session.epsilon_moved(decision)
    return (
        cost_of(quoted.event, quoted.epsilon if moved is None else moved),
        replace(account, segments=segments, delta=decision.delta).status(),
    )


def _split(
    batch: QueryBatch, wishes: Sequence[QueryWish], sessions: SessionOf, stored: Mapping[int, AnswerReading]
) -> tuple[dict[int, Price], Spending, AccountStatus]:
    """The price of each group, what they take from the budget together, and what stands after them."""
    prices: dict[int, Price] = {}
    costs: list[Spending] = []
    trials: dict[str, Account] = {}
    for place, (group, wish) in enumerate(zip(batch.groups, wishes, strict=True)):
        whole, session = batch.whole(group), sessions(group[0])
        resumed = None if place in stored else resumed_quote(whole, wish, session)
        quoted = resumed or quote(
            whole, wish, version=session.version, guarantee=session.guarantee, ledger=session.ledger
        )
        prices[place] = quoted.price
        account = account_of(quoted, session.ledger)
        trial = trials.setdefault(account.name, deepcopy(account))
        if place not in stored and resumed is None:
            costs.append(cost_of(quoted.price.event, try_charge(trial, quoted)))
    pure = (
        None
        if any(cost.epsilon is None for cost in costs)
        else sum((c.epsilon or Fraction(0) for c in costs), Fraction(0))
    )
    total = Spending(
        epsilon=pure,
        rho=sum((cost.rho or Fraction(0) for cost in costs), Fraction(0)),
        delta=sum((cost.delta for cost in costs), Fraction(0)),
        budget=sum((cost.budget or Fraction(0) for cost in costs), Fraction(0)),
    )
    (first, *_) = trials.values()
    return prices, total if costs else FREE, first.status()


class _Described:
    """The statements of a batch, one by one."""

    def __init__(
        self,
        *,
        batch: QueryBatch,
        together: BatchQuote | None,
        prices: Mapping[int, Price],
        stored: Mapping[int, AnswerReading],
        confidence: Fraction,
        split_outputs: Mapping[int, Sequence[OutputColumn]],
    ) -> None:
        self._together, self._prices, self._stored, self._confidence = together, prices, stored, confidence
        #: Of each statement its columns as they are computed where the batch is split, which `prices` go by.
        self._split_outputs = split_outputs
        self._place = {id(query): place for place, group in enumerate(batch.groups) for query in group}
        self._alone = {} if together is None else {each.group: each.price for each in together.alone}
        #: For each group, grouping set and statistic of the grids the widest noise.
        self._widths: dict[tuple[int, int], float] = {}
        for grid in () if together is None else together.grids:
            assert together is not None
            widths = grid.half_widths(confidence)
            for number, width in zip(grid.planned.grid.numbers, widths.tolist(), strict=True):
                key = together.groups[number.statement], number.index
                self._widths[key] = max(self._widths.get(key, 0.0), width)

    def statement(self, query: ParsedQuery, weight: Fraction) -> dict[str, Any]:
        place = self._place[id(query)]
        stored = self._stored.get(place)
        noise = [] if stored is not None else self._noise(query, place)
        widths = [each["plus_minus"] for each in noise if each["plus_minus"] is not None]
        apart = [each["apart"] for each in noise if each["apart"] is not None]
        measured = BY_ITSELF if self._together is None or place in self._alone else TOGETHER
        return {
            "title": statement_title(query.text),
            "text": query.text,
            "weight": exact.as_float(weight, up=False),
            "measured": measured if stored is None else STORED,
            "stored": None if stored is None else stored.measurement.id,
            "noise": noise,
            "plus_minus": _stored_width(stored, self._confidence) if stored is not None else max(widths, default=None),
            "apart": max(apart, default=None),
        }

    def _noise(self, query: ParsedQuery, place: int) -> list[dict[str, Any]]:
        """How wrong each column may be: in this plan, and where the batch is split. None where the data decide."""
        lines = []
        for output, other in zip(query.outputs, self._split_outputs[id(query)], strict=True):
            if output.key is not None or output.grouping is not None:
                continue
            apart = self._prices.get(place)
            split = None if apart is None or other.plain is None else width_of(apart, other, self._confidence)
            lines.append(
                {
                    "column": output.name,
                    "plus_minus": self._width(query, output, place),
                    "apart": None if split is None else exact.as_float(split, up=True),
                }
            )
        return lines

    def _width(self, query: ParsedQuery, output: Any, place: int) -> float | None:
        if output.plain is None:
            return None
        index, step = output.plain
        if (place, index) in self._widths:
            return float(np.nextafter(self._widths[place, index] * abs(float(step)), np.inf))
        price = self._alone.get(place) or self._prices.get(place)
        width = None if price is None else width_of(price, output, self._confidence)
        return None if width is None else exact.as_float(width, up=True)


def _stored_width(reading: AnswerReading, confidence: Fraction) -> float | None:
    ends = [each for row in reading.intervals(confidence) for each in row if each is not None]
    widths = [(high - low) / 2 for low, high in ends if not isinstance(low, str) and not isinstance(high, str)]
    return max(widths, default=None)
