"""A batch planned as one workload: what is measured together, what each statement's error will be, and the price.

Free: statements, declarations and the ledger's public state alone. What a batch would be if its statements were split,
each with its part of the price, is planned beside it; the workload is taken only where the batch as a whole gains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.accounting.filter import Decision
from discreet.accounting.region import Region
from discreet.answers.query_quote import KEYS_SHARE, QueryWish, laws_of
from discreet.answers.workload.batch_cells import BatchCut, cut_cells, is_plain
from discreet.answers.workload.batch_plan import GridPlan, plan_grid
from discreet.answers.workload.grid_answers import GridAnswers
from discreet.answers.workload.query_batch import QueryBatch
from discreet.answers.workload.split_groups import SplitGroup, split_groups
from discreet.errors import DiscreetError
from discreet.inference.reconcile import ColumnDomains
from discreet.kernel.measurement import Law
from discreet.kernel.program import AddedRows
from discreet.kernel.project_session import Session
from discreet.kernel.version import Version
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.weighted_sum import half_width
from discreet.plan.formula import split
from discreet.plan.price import IntervalTerms, Price, price, region_of
from discreet.sql.parsed_query import ParsedQuery

Floats = NDArray[np.float64]

#: A workload is taken if its error, squared, is at most this part of what the split would have.
GAIN = 0.9

#: For one statement, which `again` cannot make more precise afterwards, the gain has to be larger.
SINGLE_GAIN = 0.25

#: Seconds of work for the plans of all grids; a single statement is to be answered at once.
_SECONDS = 1.0
_SINGLE_SECONDS = 0.2

#: Shares of epsilon and rho are rounded down to this grid.
_GRID = 10**9

#: With more weights than this, of all numbers together, widths are taken all at once, on a grid of weights.
MOST_SINGLE = 2**14

#: Where a plan fails so, the batch is split: what refuses it says so there.
_REFUSALS: tuple[type[Exception], ...] = (DiscreetError, ValueError)

SessionOf = Callable[[ParsedQuery], Session]


@dataclass(frozen=True, kw_only=True)
class PricedGrid:
    """A planned grid with its noise. `most_added`: what one unit adds to all of its cells together."""

    planned: GridPlan
    added: AddedRows
    most_added: int
    law: Law

    def half_widths(self, confidence: Fraction) -> Floats:
        """For each number of the grid a width that its error stays within."""
        return grid_half_widths(self.planned, self.law, confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedGroup:
    """Statements of a batch that are measured by themselves: their place among the groups, and their price.

    `share`: of epsilon, or of rho. With `delta` and `confidence` the price follows from it.
    """

    group: int
    price: Price
    share: Fraction
    delta: Fraction
    confidence: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupError:
    """The mean variance of a group's numbers, in squares of what one unit adds: as planned, and where it is split.

    `planned` is None for what is measured by itself in either way.
    """

    planned: float | None
    apart: float | None
    weight: Fraction


@dataclass(frozen=True, kw_only=True)
class BatchQuote:
    """A batch as one workload. `groups`: the places of the groups that it measures; others are answered already.

    `errors`: for each of these groups. `apart`: the price of each where the batch is split, or of the larger group that
    it is part of there. `decision`: what the ledger
    would decide; None where it was charged before.
    """

    batch: QueryBatch
    groups: tuple[int, ...]
    epsilon: Fraction
    event: ReservationEvent
    region: Region
    decision: Decision | None
    grids: tuple[PricedGrid, ...]
    alone: tuple[PricedGroup, ...]
    errors: Mapping[int, GroupError]
    apart: Mapping[int, Price]
    because: str

    @property
    def gain(self) -> float:
        """The error of the workload, squared, as a part of what the split has; what either measures alike left out."""
        planned = [(each.planned, each.apart, float(each.weight)) for each in self.errors.values()]
        here = math.fsum(weight * own for own, other, weight in planned if own is not None and other is not None)
        there = math.fsum(weight * other for own, other, weight in planned if own is not None and other is not None)
        return here / there if there > 0 else math.inf

    @property
    def is_better(self) -> bool:
        """Whether the batch as a whole gains by being planned as one."""
        statements = sum(len(self.batch.groups[place]) for place in self.groups)
        return bool(self.grids) and self.gain <= (GAIN if statements > 1 else SINGLE_GAIN)

    @property
    def words(self) -> str:
        """What is measured, for people."""
        parts = [f"{each.planned.words} ({_sizes(each.planned)})" for each in self.grids]
        alone = sum(len(self.batch.groups[each.group]) for each in self.alone)
        parts += ["1 statement by itself" if alone == 1 else f"{alone} statements by themselves"] if alone else []
        return "; ".join(parts)


def _sizes(planned: GridPlan) -> str:
    rows = planned.strategy.rows
    return f"{rows:,} noisy {'number' if rows == 1 else 'numbers'} for {len(planned.grid.numbers):,}"


def grid_half_widths(planned: GridPlan, law: Law, confidence: Fraction) -> Floats:
    """For each number of a grid a width that its error stays within, with this confidence."""
    return answer_half_widths(planned.answers, len(planned.grid.numbers), law, confidence)


def answer_half_widths(answers: GridAnswers, numbers: int, law: Law, confidence: Fraction) -> Floats:
    """The same, of any answers: few one by one, many all at once."""
    if numbers * answers.strategy.rows > MOST_SINGLE:
        return answers.half_widths(law, confidence)
    return np.array([half_width(answers.parts(number, law), confidence) for number in range(numbers)])


def plan_batch(
    queries: Sequence[ParsedQuery],
    wish: QueryWish,
    sessions: SessionOf,
    *,
    weights: Sequence[Fraction] | None = None,
    answered: Sequence[int] = (),
    event: ReservationEvent | None = None,
    split: Sequence[ParsedQuery] | None = None,
) -> BatchQuote | None:
    """A batch as one workload; None where it cannot be one, and is split.

    `weights`: of each statement. `answered`: groups that are answered already. `event`: what was reserved for it
    before, where it was. `split`: the same statements as they share what they measure where the batch is split, if
    that is in another way (`plain_statements`).
    """
    batch = QueryBatch.of(queries)
    places = [place for place in range(len(batch.groups)) if place not in answered]
    if wish.epsilon is None or not places or len({query.tables[0] for query in queries}) != 1:
        return None
    session = sessions(batch.groups[places[0]][0])
    apart = split_groups(batch, queries, split, wish.epsilon)
    parts = [apart[place].share * apart[place].part for place in places]
    epsilon = wish.epsilon if not answered else min(wish.epsilon, sum(parts, Fraction(0)))
    wholes = {place: batch.whole(batch.groups[place]) for place in places}
    cut = _cut(list(wholes.values()), session.version)
    if cut is None or not cut.grids:
        return None
    try:
        return _Planning(
            batch=batch,
            wholes=wholes,
            wish=wish,
            session=session,
            apart=apart,
            epsilon=epsilon,
            weight_of=_group_weights(batch, queries, weights),
        ).quote(cut, event)
    except _REFUSALS:
        return None


def _cut(wholes: Sequence[ParsedQuery], version: Version) -> BatchCut | None:
    if any(whole.tables[0].roster for whole in wholes):
        return None
    return cut_cells(wholes, ColumnDomains.of(version.schema.columns))


def _group_weights(
    batch: QueryBatch, queries: Sequence[ParsedQuery], weights: Sequence[Fraction] | None
) -> list[Fraction]:
    own = {id(query): Fraction(1) if weights is None else weights[place] for place, query in enumerate(queries)}
    return [sum((own[id(query)] for query in group), Fraction(0)) for group in batch.groups]


@dataclass(frozen=True, kw_only=True)
class _Planning:
    """What a plan is made from."""

    batch: QueryBatch
    wholes: Mapping[int, ParsedQuery]
    wish: QueryWish
    session: Session
    apart: Sequence[SplitGroup]
    epsilon: Fraction
    weight_of: Sequence[Fraction]

    def quote(self, cut: BatchCut, event: ReservationEvent | None) -> BatchQuote | None:
        places = list(self.wholes)
        alone = [places[number] for number in cut.alone]
        if any(self.apart[place].is_part and is_plain(self.wholes[place]) for place in alone):
            return None  # counts that fit no cells cost least together with what they share rows with
        delta = sum((self._delta for place in alone if self.wholes[place].inquiry.keys), Fraction(0))
        region = Region.union(region_of(whole.inquiry, whole.reach) for whole in self.wholes.values())
        chosen, because, decision = _choose_event(self.session, self.epsilon, delta, region)
        if event is not None:
            chosen, because = event, "it was reserved for before"
        elif decision is None:
            return None
        is_pure = chosen.epsilon is not None
        lone = {place: self._lone_share(place, is_pure=is_pure) for place in alone}
        left = (chosen.epsilon if chosen.epsilon is not None else chosen.rho) - sum(lone.values(), Fraction(0))
        if left <= 0:
            return None
        counts = self._number_counts(cut)
        seconds = _SECONDS if sum(map(len, self.batch.groups)) > 1 else min(_SECONDS, _SINGLE_SECONDS)
        plans = [
            plan_grid(
                grid,
                weights={
                    number: self.weight_of[place] / counts[number]
                    for number, place in enumerate(places)
                    if counts[number]
                },
                gaussian=not is_pure,
                seconds=seconds / len(cut.grids),
            )
            for grid in cut.grids
        ]
        parts = split({number: Fraction(planned.error) for number, planned in enumerate(plans)}, gaussian=not is_pure)
        shares = [Fraction(exact.units_down(left * parts[number], _GRID), _GRID) for number in range(len(plans))]
        if not all(shares):
            return None  # statements about other people, which a split batch pays once for all, leave nothing
        grids = tuple(self._priced_grid(plan, share, is_pure) for plan, share in zip(plans, shares, strict=True))
        singles = tuple(
            PricedGroup(
                group=place,
                price=self._lone_price(place, share, is_pure=is_pure),
                share=share,
                delta=self._delta,
                confidence=self.wish.confidence,
            )
            for place, share in lone.items()
        )
        apart = {place: self._apart(place, is_pure=is_pure) for place in places}
        return BatchQuote(
            batch=self.batch,
            groups=tuple(places),
            epsilon=self.epsilon,
            event=chosen,
            region=region,
            decision=decision,
            grids=grids,
            alone=singles,
            errors=self._errors(grids, apart),
            apart=apart,
            because=because,
        )

    @property
    def _delta(self) -> Fraction:
        """The delta of one statement that discovers keys."""
        return self.session.guarantee.keys * KEYS_SHARE if self.wish.delta is None else self.wish.delta

    def _lone_share(self, place: int, *, is_pure: bool) -> Fraction:
        """Of epsilon, or of rho, what a group gets that is measured by itself: no less than in a split batch."""
        own = self.apart[place]
        return own.share * own.part if is_pure else self.epsilon * own.share * own.part / 2

    def _lone_price(self, place: int, share: Fraction, *, is_pure: bool) -> Price:
        return lone_price(
            self.wholes[place], share, is_pure=is_pure, delta=self._delta, confidence=self.wish.confidence
        )

    def _apart(self, place: int, *, is_pure: bool) -> Price:
        """A group at its part of the price, where the batch is split; or the larger one that it is part of there."""
        own = self.apart[place]
        share = own.share if is_pure else self.epsilon * own.share / 2
        return lone_price(own.whole, share, is_pure=is_pure, delta=self._delta, confidence=self.wish.confidence)

    def _priced_grid(self, planned: GridPlan, share: Fraction, is_pure: bool) -> PricedGrid:
        grid = planned.grid
        relation = AddedRows(plan=grid.plan, statistic=grid.statistic, publics=self._publics(grid.numbers[0].statement))
        schemas = {table: schema for whole in self.wholes.values() for table, schema in whole.schemas.items()}
        most_added = relation.most_added(schemas)
        return PricedGrid(
            planned=planned,
            added=relation,
            most_added=most_added,
            law=grid_law(planned, most_added, share, is_pure=is_pure),
        )

    def _publics(self, number: int) -> Mapping[int, object]:
        return list(self.wholes.values())[number].publics

    def _number_counts(self, cut: BatchCut) -> list[int]:
        counts = [0] * len(self.wholes)
        for grid in cut.grids:
            for number in grid.numbers:
                counts[number.statement] += 1
        return counts

    def _errors(self, grids: Sequence[PricedGrid], apart: Mapping[int, Price]) -> dict[int, GroupError]:
        places = list(self.wholes)
        here: dict[int, list[float]] = {place: [] for place in places}
        there: dict[int, list[float]] = {place: [] for place in places}
        for each in grids:
            variances = each.planned.variances * float(each.law.variance()) / float(each.most_added) ** 2
            for number, variance in zip(each.planned.grid.numbers, variances.tolist(), strict=True):
                place = places[number.statement]
                here[place].append(variance)
                index = self.apart[place].place_of(self.wholes[place], number.index)
                law = laws_of(apart[place])[index][number.place]
                there[place].append(float(law.variance()) / float(each.most_added) ** 2)
        return {
            place: GroupError(planned=_mean(here[place]), apart=_mean(there[place]), weight=self.weight_of[place])
            for place in places
        }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def lone_price(whole: ParsedQuery, share: Fraction, *, is_pure: bool, delta: Fraction, confidence: Fraction) -> Price:
    """The price of statements that are measured by themselves, for a share of epsilon or of rho."""
    epsilon = share if is_pure else exact.sqrt(2 * share, up=False)
    return price(
        whole.inquiry,
        whole.reach,
        needs=whole.needs,
        epsilon=Fraction(exact.units_down(epsilon, 10**12), 10**12),
        gaussian=not is_pure,
        delta=delta,
        intervals=IntervalTerms(confidence=confidence),
    )


def grid_law(planned: GridPlan, most_added: int, share: Fraction, *, is_pure: bool) -> Law:
    """The noise on every row of a strategy that costs a share of epsilon, or of rho, exactly."""
    moves = planned.strategy.sensitivity(most_added)
    if is_pure:
        return DiscreteLaplace(scale=moves.l1 / share)
    return DiscreteGaussian(sigma2=Fraction(moves.l2_squared) / (2 * share))


def _choose_event(
    session: Session, epsilon: Fraction, delta: Fraction, region: Region
) -> tuple[ReservationEvent, str, Decision | None]:
    """Laplace or Gaussian noise, as for one question, why, and what the ledger would decide; None: it would refuse."""
    guarantee = session.guarantee
    pure = ReservationEvent(epsilon=epsilon, rho=epsilon**2 / 2, delta=delta)
    gaussian = ReservationEvent(epsilon=None, rho=epsilon**2 / 2, delta=delta)
    if guarantee.accounting == "zcdp":
        decision = session.preview(gaussian, region=region, booking=False)
        return gaussian, "accounting = 'zcdp'", decision if decision.accepted else None
    by_laplace = session.preview(pure, region=region, booking=False)
    if guarantee.limits.rho is None or by_laplace.arm == "pure":
        because = "the sum of epsilons has room for Laplace noise"
        return pure, because, by_laplace if by_laplace.accepted else None
    by_gauss = session.preview(gaussian, region=region, booking=False)
    costs = session.epsilon_moved(by_gauss), session.epsilon_moved(by_laplace)
    dearer = costs[0] is None or (costs[1] is not None and costs[0] > costs[1])
    if not by_gauss.accepted or (by_laplace.accepted and dearer):
        because = "Laplace noise costs the budget less than Gaussian noise here"
        return pure, because, by_laplace if by_laplace.accepted else None
    return gaussian, "the sum of epsilons is at its limit here, and Gaussian noise costs the budget no more", by_gauss
