"""Price: what a question costs and how wrong its answer may be. Free, and the same on an empty table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from discreet import exact
from discreet.accounting.events import Event, compose
from discreet.accounting.region import Region
from discreet.accounting.sensitivity import Sensitivity
from discreet.errors import Flag, Message, Refused, UsageError
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.quantile import QuantileChoice
from discreet.mechanisms.rank_choice import RankChoice
from discreet.mechanisms.refinement import Refinement
from discreet.mechanisms.threshold import KeyThreshold, threshold_for
from discreet.mechanisms.topk import TopKChoice, topk_is_cheaper
from discreet.mechanisms.weighted_threshold import UNIT, WeightedThreshold
from discreet.plan.cell_statistics import PersonCount, RowCount
from discreet.plan.cells import MOST_CELLS, Cells
from discreet.plan.expressions import Expression
from discreet.plan.formula import split
from discreet.plan.inquiry import CanonicalOrder, Inquiry
from discreet.plan.query_sensitivity import UnitReach, cells_touched, reach_by_keys, region, sensitivity
from discreet.plan.relation import Plan

#: `--within` searches epsilon on this grid: fine enough for anybody, coarse enough to read.
WITHIN_GRID = 10**6

#: How much finding the keys matters beside one noisy number for each.
_KEYS_NEED = Fraction(1)
_QUANTILE_NEED = Fraction(1)

#: The part of a quantile's price that the two ends of its interval take, unless told.
INTERVAL_SHARE = Fraction(1, 5)

Law = DiscreteLaplace | DiscreteGaussian


#: A choice among bins: of a quantile, or of a limit beyond which few rows lie.
Choice = QuantileChoice | RankChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Noise on the cells of one grouping set: each statistic has its own sensitivity, share and law.

    The numbers of steps, `place`, `statistics`, `quantile` and `answers`, are those of `Inquiry.order`: an answer is
    stored by what it is, and any spelling of the question can read it.

    `earlier`: the noise of the answer that this refines; empty if it refines none.
    """

    place: int
    statistics: tuple[int, ...]
    cells: Cells
    moves: tuple[Sensitivity, ...]
    laws: tuple[Law, ...]
    shares: tuple[Fraction, ...]
    earlier: tuple[DiscreteLaplace, ...] = ()

    def events(self) -> list[Event]:
        if self.earlier:
            return [part.event(l1=moves.l1) for part, moves in zip(self.refinements(), self.moves, strict=True)]
        return [event_of(law, moves) for law, moves in zip(self.laws, self.moves, strict=True)]

    def refinements(self) -> list[Refinement]:
        """From the noise of the earlier answer to that of this one, for each statistic."""
        pairs = zip(self.earlier, self.laws, strict=True)
        return [Refinement(earlier=earlier, law=law) for earlier, law in pairs if isinstance(law, DiscreteLaplace)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooseBin:
    """A quantile in each group, chosen among the bins of the cells' last axis."""

    place: int
    quantile: int
    cells: Cells
    mechanism: Choice
    share: Fraction

    def events(self) -> list[Event]:
        return [self.mechanism.event()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Discover:
    """Keys that enough persons share. `answers`: the statistic that its noisy counts already are."""

    plan: Plan
    keys: tuple[Expression, ...]
    persons: bool
    mechanism: KeyThreshold | TopKChoice | WeightedThreshold
    share: Fraction
    answers: int | None

    @property
    def weights(self) -> tuple[tuple[int, int], ...] | None:
        """What a person adds to a key, by how many keys that person has; None where it is the same for all."""
        if not isinstance(self.mechanism, WeightedThreshold) or self.mechanism.keys_per_person == 1:
            return None
        return self.mechanism.weights

    @property
    def most_weight(self) -> int:
        """What a person who is counted, and not weighed, adds to a key: all of the weight, as each has one key."""
        return UNIT if isinstance(self.mechanism, WeightedThreshold) and self.weights is None else 1

    def events(self) -> list[Event]:
        return [self.mechanism.event()]


Step = Discover | Measure | ChooseBin


@dataclass(frozen=True, kw_only=True)
class Price:
    """An inquiry, its steps with their noise, and the event that they will be.

    `epsilon` is what was asked: on pure mechanisms it is the pure loss, on a Gaussian only the price
    rho = epsilon^2 / 2. `refines`: the release that this makes more precise; epsilon is then the loss of both together.
    """

    inquiry: Inquiry
    reach: UnitReach
    epsilon: Fraction
    steps: tuple[Step, ...]
    refines: str | None = None

    @cached_property
    def event(self) -> Event:
        events = [event for step in self.steps for event in step.events()]
        return compose(events)

    @property
    def most_keys(self) -> int:
        """How many discovered keys an answer has room for."""
        sizes = [step.cells.size * len(step.cells.statistics) for step in self.steps if not isinstance(step, Discover)]
        return MOST_CELLS // max(sizes, default=1)

    @cached_property
    def region(self) -> Region:
        """Whom the question can touch."""
        return region_of(self.inquiry, self.reach)


def event_of(law: Law, moves: Sensitivity) -> Event:
    """What noise of this law on cells that move so far will be."""
    if isinstance(law, DiscreteLaplace):
        return law.event(l1=moves.l1)
    return law.event(l2_squared=moves.l2_squared)


def region_of(inquiry: Inquiry, reach: UnitReach) -> Region:
    """Whom an inquiry can touch. Discovered keys look at everybody in the plan."""
    if inquiry.keys:
        return reach.region
    return region([*inquiry.statistics, *(RowCount(where=quantile.where) for quantile in inquiry.quantiles)], reach)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalTerms:
    """What intervals of quantiles are for: their confidence, and the part of each quantile's price that they take.

    A share of 0: there are none.
    """

    confidence: Fraction = Fraction(95, 100)
    share: Fraction = INTERVAL_SHARE


def price(
    inquiry: Inquiry,
    reach: UnitReach,
    *,
    needs: Mapping[int, Fraction],
    epsilon: Fraction,
    gaussian: bool = False,
    delta: Fraction = Fraction(0),
    intervals: IntervalTerms | None = None,
    weigh_keys: bool = False,
) -> Price:
    """Price an inquiry at `epsilon`, split over its parts so that their errors, weighed by `needs`, are least.

    Guarantee: the event's loss is at most epsilon in the pure sum (Laplace), or rho = epsilon^2 / 2
        (Gaussian); and `delta` for keys where some are discovered.
    Because: shares of epsilon, or of rho, add to at most 1, and losses add.

    `weigh_keys`: keys may be discovered by weights that are split over a person's keys, where that shows rarer ones.
    """
    exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)
    if inquiry.keys and delta <= 0:
        raise Refused(
            "undeclared keys are discovered with a threshold, which needs a delta",
            hint="declare a category with its values, a number with low and high, or give the table a delta",
        )
    answered = _statistic_of_discovery(inquiry, reach)
    parts = _parts(inquiry, reach, needs=needs, epsilon=epsilon, gaussian=gaussian, answered=answered)
    steps: list[Step] = []
    if inquiry.keys:
        discovery = parts.discover(delta)
        if weigh_keys and reach.rows > 1:
            # What the discovery would answer by the way is measured by itself.
            apart = _parts(inquiry, reach, needs=needs, epsilon=epsilon, gaussian=gaussian, answered=None)
            weighted = apart.weigh(delta)
            if weighted is not None and _shows_rarer_keys(weighted, discovery):
                parts, discovery = apart, weighted
        steps.append(discovery)
    for place in range(len(inquiry.sets)):
        measured = parts.measure(place)
        steps += [measured] if measured is not None else []
        steps += [parts.choose(place, index, intervals or IntervalTerms()) for index in range(len(inquiry.quantiles))]
    return Price(inquiry=inquiry, reach=reach, epsilon=epsilon, steps=tuple(steps))


def _parts(
    inquiry: Inquiry,
    reach: UnitReach,
    *,
    needs: Mapping[int, Fraction],
    epsilon: Fraction,
    gaussian: bool,
    answered: int | None,
) -> _Parts:
    """The parts of an inquiry with their shares; the one that is `answered` by discovering the keys has none."""
    blocks: dict[tuple[str, int, int], Fraction] = {}
    if inquiry.keys:
        blocks["keys", 0, 0] = _KEYS_NEED
    for place in range(len(inquiry.sets)):
        for index in range(len(inquiry.statistics)):
            if index != answered:
                blocks["statistic", place, index] = needs.get(index, Fraction(1))
        for index in range(len(inquiry.quantiles)):
            blocks["quantile", place, index] = _QUANTILE_NEED
    return _Parts(
        inquiry=inquiry,
        order=inquiry.order,
        reach=reach,
        epsilon=epsilon,
        gaussian=gaussian,
        shares=split(blocks, gaussian=gaussian),
        answered=answered,
    )


def _shows_rarer_keys(weighted: Discover, discovery: Discover) -> bool:
    """Whether weights show keys that fewer persons share, though all of them have as many keys as may be.

    Where the other one counts persons by the way it must be much better: their counts then cost something.
    """
    needed, other = least_persons(weighted)[1], least_persons(discovery)[1]
    return needed * (1 if discovery.answers is None else 2) < other


def least_persons(discovery: Discover) -> tuple[int, int]:
    """About how many persons a key needs to be shown as often as not: where it is the only key of each of them, and
    where each of them has as many as may be. In a choice they are counted above the first key that is left out.
    """
    match discovery.mechanism:
        case KeyThreshold(threshold=threshold):
            return threshold, threshold
        case TopKChoice(margin=margin):
            return margin, margin
        case WeightedThreshold(keys_per_person=most) as mechanism:
            return mechanism.persons_needed(1), mechanism.persons_needed(most)


def _statistic_of_discovery(inquiry: Inquiry, reach: UnitReach) -> int | None:
    """The statistic that discovering the keys answers by the way: the number of persons of each key."""
    if not inquiry.keys or inquiry.top is not None or inquiry.sets != ((),):
        return None
    counts_of_persons = (PersonCount(), RowCount()) if reach.rows == 1 else (PersonCount(),)
    return next((place for place, statistic in enumerate(inquiry.statistics) if statistic in counts_of_persons), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The steps of one inquiry, each with its share."""

    inquiry: Inquiry
    order: CanonicalOrder
    reach: UnitReach
    epsilon: Fraction
    gaussian: bool
    shares: Mapping[tuple[str, int, int], Fraction]
    answered: int | None

    def _epsilon(self, share: Fraction) -> Fraction:
        """The pure epsilon that a share buys: a share of epsilon itself, or what costs that share of rho as Laplace.

        A choice by the exponential mechanism then costs less rho than its share.
        """
        if not self.gaussian:
            return self.epsilon * share
        root = exact.sqrt(self.epsilon**2 * share, up=False)
        return Fraction(exact.units_down(root, 10**12), 10**12)

    def _touched(self, place: int) -> int:
        inquiry = self.inquiry
        groups = None if inquiry.keys else math.prod(axis.size for axis in inquiry.sets[place])
        return cells_touched(self._keys(place), self.reach, groups=groups)

    def _keys(self, place: int) -> list[Expression]:
        """What a grouping set is grouped by."""
        return [*(axis.of for axis in self.inquiry.sets[place]), *self.inquiry.keys]

    def discover(self, delta: Fraction) -> Discover:
        epsilon = self._epsilon(self.shares["keys", 0, 0])
        most = cells_touched(self.inquiry.keys, self.reach)
        top = self.inquiry.top
        mechanism: KeyThreshold | TopKChoice
        if top is not None and topk_is_cheaper(keys_per_person=most, k=top, epsilon=epsilon, delta=delta):
            mechanism = TopKChoice.within(k=top, epsilon=epsilon, delta=delta, keys_per_person=most)
        else:
            noise = DiscreteLaplace(scale=most / epsilon)
            threshold, _ = threshold_for(noise, keys_per_person=most, delta=delta)
            mechanism = KeyThreshold(noise=noise, keys_per_person=most, threshold=threshold)
        return self._discovery(mechanism)

    def weigh(self, delta: Fraction) -> Discover | None:
        """The keys by weights that are split over a person's keys; None where there are none to split."""
        most = cells_touched(self.inquiry.keys, self.reach)
        mechanism = (
            None
            if most == 1
            else WeightedThreshold.within(
                epsilon=self._epsilon(self.shares["keys", 0, 0]),
                delta=delta,
                keys_per_person=most,
                gaussian=self.gaussian,
            )
        )
        return None if mechanism is None else self._discovery(mechanism)

    def _discovery(self, mechanism: KeyThreshold | TopKChoice | WeightedThreshold) -> Discover:
        keys = zip(self.order.keys, self.inquiry.keys, strict=True)
        return Discover(
            plan=self.inquiry.plan,
            keys=tuple(key for _, key in sorted(keys, key=lambda pair: pair[0])),
            persons=self.reach.rows > 1,
            mechanism=mechanism,
            share=self.shares["keys", 0, 0],
            answers=None if self.answered is None else self.order.statistics[self.answered],
        )

    def measure(self, place: int) -> Measure | None:
        inquiry = self.inquiry
        indexes = [index for index in range(len(inquiry.statistics)) if index != self.answered]
        if not indexes:
            return None
        touched = self._touched(place)
        reach = reach_by_keys(self.reach, [*inquiry.sets[place], *inquiry.keys])
        moves = tuple(sensitivity(inquiry.statistics[index], reach, touched=touched) for index in indexes)
        shares = tuple(self.shares["statistic", place, index] for index in indexes)
        return Measure(
            place=self.order.sets[place],
            statistics=tuple(self.order.statistics[index] for index in indexes),
            cells=Cells(
                plan=inquiry.plan,
                axes=inquiry.sets[place],
                statistics=tuple(inquiry.statistics[index] for index in indexes),
            ),
            moves=moves,
            laws=tuple(self._law(move, share) for move, share in zip(moves, shares, strict=True)),
            shares=shares,
        )

    def _law(self, moves: Sensitivity, share: Fraction) -> Law:
        if self.gaussian:
            return DiscreteGaussian(sigma2=moves.l2_squared / (self.epsilon**2 * share))
        return DiscreteLaplace(scale=moves.l1 / (self.epsilon * share))

    def choose(self, place: int, index: int, intervals: IntervalTerms) -> ChooseBin:
        quantile, share = self.inquiry.quantiles[index], self.shares["quantile", place, index]
        mechanism = QuantileChoice(
            fraction=quantile.fraction,
            bins=quantile.axis.size,
            rows=self.reach.rows,
            epsilon=self._epsilon(share),
            confidence=intervals.confidence if intervals.share else Fraction(0),
            share=1 - intervals.share,
            flips=not self.gaussian,
        )
        cells = Cells(
            plan=self.inquiry.plan,
            axes=(*self.inquiry.sets[place], quantile.axis),
            statistics=(RowCount(where=quantile.where),),
        )
        return ChooseBin(
            place=self.order.sets[place],
            quantile=self.order.quantiles[index],
            cells=cells,
            mechanism=mechanism,
            share=share,
        )


def cheapest_epsilon(good: Callable[[Fraction], bool], *, width: Fraction, near: float | None = None) -> Fraction:
    """The cheapest epsilon, on a grid of 1e-6, that is `good`: at which each cell is within `width`.

    Because what is within a fixed width at one epsilon is so at a larger one, bisection finds it. It begins around
    `near`, a guess that may be wrong.
    """
    if width <= 0:
        raise UsageError(Message(Flag("within"), f" must be above 0, got {exact.show(width)}"))
    low, high = 1, int(exact.MAX_QUESTION_EPSILON) * WITHIN_GRID
    if not good(Fraction(high, WITHIN_GRID)):
        raise UsageError(
            f"no epsilon up to {exact.show(exact.MAX_QUESTION_EPSILON)} brings the numbers within ±{exact.show(width)}"
        )
    if near is not None:
        low, high = _around(good, near, low, high)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if good(Fraction(middle, WITHIN_GRID)) else (middle + 1, high)
    return Fraction(low, WITHIN_GRID)


def _around(good: Callable[[Fraction], bool], near: float, low: int, high: int) -> tuple[int, int]:
    """The part of a search that is around a guess, if what is sought lies there."""
    for share in (1e-4, 1e-2):
        less, more = (max(low, min(high, round(near * way * WITHIN_GRID))) for way in (1 - share, 1 + share))
        if good(Fraction(more, WITHIN_GRID)) and not good(Fraction(less, WITHIN_GRID)):
            return less + 1, more
    return low, high


def confidence_of(value: object) -> Fraction:
    """A confidence strictly between 0 and 1."""
    confidence = exact.number(value, name="confidence")
    if not 0 < confidence < 1:
        raise UsageError(
            f"confidence must be between 0 and 1, got {exact.show(confidence)}", hint=Message(Flag("confidence", 0.95))
        )
    return confidence
