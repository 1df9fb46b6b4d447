"""The law of neighbours, exactly: no noise, no sampling, the real engine, the real reader and the real price.

D' is D without one privacy unit, and its rows in another order. For each step of a question's price, the vectors that
noise would be added to must differ by no more than the step claims, and not at all where the unit lies outside the
region that is charged. And the engine means what the reference means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from numpy.typing import NDArray

from discreet.accounting import events
from discreet.accounting.region import Region
from discreet.engines.memory import MemoryEngine
from discreet.lab.neighbours.neighbour_pair import DeclaredSide, Pair, require
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.quantile import QuantileChoice
from discreet.mechanisms.rank_choice import RankChoice
from discreet.mechanisms.topk import TopKChoice
from discreet.mechanisms.weighted_threshold import WeightedThreshold
from discreet.plan.cells import DiscoveredAxis
from discreet.plan.price import ChooseBin, Discover, Measure, Price, price
from discreet.plan.relation import base
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.query_parser import parse_query

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
NORMS = ("l0", "l1", "l2_squared", "linf")

Vectors = list[NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Movement:
    """How far one released vector moved on one pair, and what its price claims at most: by norm.

    `vector`: which one: the number of the step and of the statistic in it. `kind`: what it counts.
    """

    vector: tuple[int, int]
    kind: str
    moved: dict[str, int]
    claimed: dict[str, int]


@dataclass(kw_only=True)
class NeighbourLaw:
    """Checks questions on pairs of neighbours and remembers what it has seen. Not `weigh`: no keys are weighed.

    `watch`: is told of every vector that moved.
    """

    seen: Counter[str] = field(default_factory=Counter)
    weigh: bool = True
    watch: Callable[[Movement], None] | None = None

    def ask(self, pair: Pair, text: str, *, gaussian: bool = False) -> Price:
        """Every step of one question on both neighbours. Raises what the reader raises, and NeighbourViolation."""
        query = parse_query(text, pair.catalog)
        priced = price_of(query, gaussian=gaussian, weigh=self.weigh)
        self.check(priced, pair, query, gaussian=gaussian)
        return priced

    def check(self, priced: Price, pair: Pair, query: ParsedQuery, *, gaussian: bool = False) -> None:
        """Every step of a price on both neighbours."""
        self._affordable(priced, gaussian=gaussian)
        outside = self._outside(priced, pair)
        self.seen["outside" if outside else "inside"] += 1
        keys: DiscoveredAxis | None = None
        lost: list[StepLoss] = []
        for place, step in enumerate(priced.steps):
            if isinstance(step, Discover):
                keys, loss = self._discover(place, step, priced, pair, query, outside=outside)
                lost.append(loss)
            elif isinstance(step, Measure):
                lost += self._measure(place, step, priced, pair, query, keys, outside=outside)
            else:
                lost += self._choose(place, step, priced, pair, query, keys, outside=outside)
        spent = sum((loss.rho if gaussian else loss.epsilon for loss in lost), Fraction(0))
        limit = EPSILON**2 / 2 if gaussian else EPSILON
        require(spent <= limit, f"the steps together lose {float(spent)}", ratio=float(spent / limit))
        self.seen["whole loss"] += spent == limit

    def check_changed(self, priced: Price, pair: Pair, query: ParsedQuery) -> None:
        """The vectors of noise where the unit has other rows: a removal and an addition, so twice the claim."""
        if pair.changed is None:
            return
        keys: DiscoveredAxis | None = None
        for step in priced.steps:
            if isinstance(step, Discover):
                sides = [_keys(step, priced, side, query) for side in (pair.whole, pair.changed)]
                keys = DiscoveredAxis(of=step.keys, keys=tuple(dict.fromkeys([*sides[0], *sides[1]])))
            elif isinstance(step, Measure):
                cells = replace(step.cells, discovered_axis=keys)
                one, two = (_count(cells, priced, side, query) for side in (pair.whole, pair.changed))
                for statistic, moves, left, right in zip(step.cells.statistics, step.moves, one, two, strict=True):
                    moved = norms(left, right)
                    for norm in NORMS:
                        most = getattr(moves, norm) * (4 if norm == "l2_squared" else 2)
                        reason = f"{norm} of {statistic} is {moved[norm]} where a person changes, above {most}"
                        require(moved[norm] <= most, reason, ratio=moved[norm] / max(1, most))

    def _affordable(self, priced: Price, *, gaussian: bool) -> None:
        """The event that is charged is worth no more than was asked for."""
        loss = events.loss(priced.event)
        require(loss.delta <= (DELTA if priced.inquiry.keys else 0), "the event has a larger delta than was asked for")
        require(loss.rho <= EPSILON**2 / 2, "the event has a larger rho than was asked for")
        pure = gaussian or (loss.epsilon is not None and loss.epsilon <= EPSILON)
        require(pure, "the event has a larger epsilon than was asked for")

    def _outside(self, priced: Price, pair: Pair) -> bool:
        """Whether the unit lies outside the region, judged by each of its declared rows: then nothing may change."""
        table = base(priced.inquiry.plan).table
        inside = {record in priced.region for record in pair.unit[table]}
        require(len(inside) <= 1, "a unit is half inside the region")
        return True not in inside

    def _measure(
        self,
        place: int,
        step: Measure,
        priced: Price,
        pair: Pair,
        query: ParsedQuery,
        keys: DiscoveredAxis | None,
        *,
        outside: bool,
    ) -> list[StepLoss]:
        vectors = self._vectors(step, priced, pair, query, keys)
        lost = []
        triples = zip(step.cells.statistics, step.moves, step.laws, *vectors, strict=True)
        for number, (statistic, moves, law, one, two) in enumerate(triples):
            moved = norms(one, two)
            claimed = {norm: getattr(moves, norm) for norm in NORMS}
            self._report(Movement(vector=(place, number), kind=type(statistic).__name__, moved=moved, claimed=claimed))
            kind = f"{type(statistic).__name__} {'row' if pair.world.person is None else 'person'}"
            for norm, most in claimed.items():
                reason = f"{norm} of {statistic} is {moved[norm]}, above {most}"
                require(moved[norm] <= most, reason, ratio=moved[norm] / max(1, most))
                self.seen[f"{kind} {norm}"] += moved[norm] == most
            require(not (outside and moved["l0"]), "a unit outside the region changed a cell")
            if isinstance(law, DiscreteLaplace):
                lost.append(StepLoss.pure(moved["l1"] / law.scale))
            else:
                lost.append(StepLoss(epsilon=Fraction(10**9), rho=moved["l2_squared"] / (2 * law.sigma2)))
        return lost

    def _vectors(
        self,
        step: Measure | ChooseBin,
        priced: Price,
        pair: Pair,
        query: ParsedQuery,
        keys: DiscoveredAxis | None,
    ) -> tuple[Vectors, Vectors]:
        """The exact vectors of a step on both neighbours; on the first, as the reference has them."""
        cells = replace(step.cells, discovered_axis=keys)
        whole, less = (_count(cells, priced, side, query) for side in (pair.whole, pair.less))
        reference = MemoryEngine().count(cells, Region.whole(), tables=pair.reference.tables(query)).exact_values
        for statistic, one, two in zip(cells.statistics, whole, reference, strict=True):
            require(one.tolist() == two.tolist(), f"the engine and the reference differ in {statistic}")
        return whole, less

    def _discover(
        self, place: int, step: Discover, priced: Price, pair: Pair, query: ParsedQuery, *, outside: bool
    ) -> tuple[DiscoveredAxis, StepLoss]:
        whole, less = (_keys(step, priced, side, query) for side in (pair.whole, pair.less))
        exact = MemoryEngine().keys(
            step.plan,
            step.keys,
            Region.whole(),
            persons=step.persons,
            tables=pair.reference.tables(query),
            weights=step.weights,
        )
        reference = list(zip(exact.exact_keys, exact.exact_persons.tolist(), strict=True))
        require(list(whole.items()) == reference, "the engine and the reference differ in keys")
        moved = [abs(whole.get(key, 0) - less.get(key, 0)) for key in {*whole, *less}]
        axis = DiscoveredAxis(of=step.keys, keys=tuple(dict.fromkeys([*whole, *less])))
        if isinstance(step.mechanism, WeightedThreshold):
            return axis, self._weighed(step.mechanism, [each for each in moved if each], outside=outside)
        most = step.mechanism.keys_per_person
        require(max(moved, default=0) <= 1, "a unit counts more than once under a key")
        require(most is not None and sum(moved) <= most, f"a unit is in {sum(moved)} keys, not {most}")
        require(not (outside and any(moved)), "a unit outside the region changed a key")
        self.seen["keys"] += sum(moved) == most
        self.seen["several keys"] += sum(moved) == (most or 0) > 1
        counted = dict.fromkeys(NORMS, sum(moved)) | {"linf": max(moved, default=0)}
        claims = dict.fromkeys(NORMS, most or 0) | {"linf": 1}
        self._report(Movement(vector=(place, 0), kind="Keys", moved=counted, claimed=claims))
        if isinstance(step.mechanism, TopKChoice):
            each, many = step.mechanism.epsilon, step.mechanism.k
            return axis, StepLoss(epsilon=many * each, rho=many * each**2 / 8)
        return axis, StepLoss.pure(sum(moved) / step.mechanism.noise.scale)

    def _weighed(self, mechanism: WeightedThreshold, moved: list[int], *, outside: bool) -> StepLoss:
        """A unit adds one weight to each of its keys, that of their number; all of them together are one unit's."""
        require(not (outside and moved), "a unit outside the region changed a key")
        require(len(moved) <= mechanism.keys_per_person, f"a unit is in {len(moved)} keys")
        length = sum(each**2 for each in moved)
        require(length <= mechanism.event().l2_squared, f"the weights of a unit are {length} long")
        weights = {weight for _, weight in mechanism.weights}
        require({*moved} <= weights and len({*moved}) <= 1, "a unit of two weights")
        self.seen["weighted keys"] += len(moved) == mechanism.keys_per_person
        epsilon = mechanism.epsilon if mechanism.epsilon is not None else Fraction(10**9)
        return StepLoss(epsilon=epsilon, rho=length / (2 * mechanism.noise.sigma2))

    def _choose(
        self,
        place: int,
        step: ChooseBin,
        priced: Price,
        pair: Pair,
        query: ParsedQuery,
        keys: DiscoveredAxis | None,
        *,
        outside: bool,
    ) -> list[StepLoss]:
        """The choices in all groups are one: their scores together move by no more than the mechanism says."""
        (one,), (two,) = self._vectors(step, priced, pair, query, keys)
        mechanism = step.mechanism
        require(not (outside and (one != two).any()), "a unit outside the region changed a quantile's rows")
        lines = zip(one.reshape(-1, mechanism.bins), two.reshape(-1, mechanism.bins), strict=True)
        moving = [both for both in lines if (both[0] != both[1]).any()]
        lost = []
        for number, (scores, choice) in enumerate(_scorings(mechanism)):
            moved = sum(int(abs(scores(left) - scores(right)).max()) for left, right in moving)
            counted, claims = dict.fromkeys(NORMS, moved), dict.fromkeys(NORMS, int(choice.sensitivity))
            self._report(Movement(vector=(place, number), kind="Quantile", moved=counted, claimed=claims))
            reason = f"scores move by {moved}, above {choice.sensitivity}"
            require(moved <= choice.sensitivity, reason, ratio=moved / max(1, choice.sensitivity))
            self.seen["quantile"] += moved == choice.sensitivity
            self.seen["quantile of several rows"] += moved == choice.sensitivity and mechanism.rows > 1
            epsilon = choice.epsilon * moved / choice.sensitivity
            lost.append(StepLoss(epsilon=epsilon, rho=epsilon**2 / 8))
        return lost

    def _report(self, movement: Movement) -> None:
        if self.watch is not None:
            self.watch(movement)


@dataclass(frozen=True, kw_only=True)
class StepLoss:
    """What one step can lose on a pair of neighbours, by how far they lie apart."""

    epsilon: Fraction
    rho: Fraction

    @staticmethod
    def pure(epsilon: Fraction) -> StepLoss:
        return StepLoss(epsilon=epsilon, rho=epsilon**2 / 2)


def _count(cells: Any, priced: Price, side: DeclaredSide, query: ParsedQuery) -> Vectors:
    """The exact vectors of one side."""
    exact = side.engine.count(cells, priced.region, tables=side.tables(query)).exact_values
    whole = len(exact) == len(cells.statistics) and all(values.shape == (cells.size,) for values in exact)
    require(whole, "the engine counted another number of cells than was asked for")
    return [values.astype(object) for values in exact]


def _keys(step: Discover, priced: Price, side: DeclaredSide, query: ParsedQuery) -> dict[Any, int]:
    """The keys of one side, and how many persons or rows each has."""
    weights: dict[str, Any] = {} if step.weights is None else {"weights": step.weights}
    exact = side.engine.keys(
        step.plan, step.keys, priced.region, persons=step.persons, tables=side.tables(query), **weights
    )
    require(len(set(exact.exact_keys)) == len(exact.exact_keys), "the engine gave a key twice")
    return dict(zip(exact.exact_keys, exact.exact_persons.tolist(), strict=True))


def _scorings(
    mechanism: QuantileChoice | RankChoice,
) -> list[tuple[Callable[[NDArray[Any]], NDArray[Any]], Any]]:
    """The scores that a choice goes by, up to what is added to all of them alike, and the mechanism that chooses."""
    if isinstance(mechanism, RankChoice):
        rank, a, b = mechanism, mechanism.fraction.numerator, mechanism.fraction.denominator
        fine = rank.mechanism.sensitivity // (rank.rows * b)
        return [(lambda line: rank.scores(line) + (b - 2 * a) * fine * int(line.sum()), rank.mechanism)]
    quantile = mechanism
    shifts = ((0, quantile.estimate), (quantile.margin, quantile.end), (-quantile.margin, quantile.end))
    return [(partial(_shifted_scores, quantile, shift), choice) for shift, choice in shifts]


def _shifted_scores(quantile: QuantileChoice, shift: int, line: NDArray[Any]) -> NDArray[Any]:
    return quantile.scores(line, shift)


def price_of(query: ParsedQuery, *, gaussian: bool = False, weigh: bool = True) -> Price:
    """The price of a question, as `query_quote` makes it."""
    return price(
        query.inquiry,
        query.reach,
        needs=query.needs,
        epsilon=EPSILON,
        gaussian=gaussian,
        delta=DELTA,
        weigh_keys=weigh,
    )


def norms(one: Sequence[Any] | NDArray[Any], two: Sequence[Any] | NDArray[Any]) -> dict[str, int]:
    """How far two exact vectors lie apart.

    >>> norms([3, 1, 5], [3, 0, 7])
    {'l0': 2, 'l1': 3, 'l2_squared': 5, 'linf': 2}
    """
    change = [abs(int(left) - int(right)) for left, right in zip(one, two, strict=True) if left != right]
    return {
        "l0": len(change),
        "l1": sum(change),
        "l2_squared": sum(each**2 for each in change),
        "linf": max(change, default=0),
    }
