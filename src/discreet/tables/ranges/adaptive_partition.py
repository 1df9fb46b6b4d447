"""A partition chosen by the data, where a small private test says that it pays.

Where counts are even over long stretches, empty ones above all, few buckets tell as much as many cells, with less
noise. A small part of the budget measures what the best partition would cost; where that is too much, the fixed
strategy goes on with the rest. Else a further part buys the partition, and the rest measures its buckets.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import ReservationEvent
from discreet.inference.linear.bucket_solver import BucketSolver
from discreet.inference.linear.solvers import solver_for
from discreet.inference.strategy_choice.strategy_plan import StrategyPlan, plan_strategy, rmse
from discreet.inference.strategy_choice.workload import AllRanges
from discreet.kernel.measurement import Law
from discreet.kernel.program import Measurable, Program
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.partition_cost import PartitionCost
from discreet.mechanisms.strategy.strategy import Strategy
from discreet.mechanisms.strategy.strategy_data import strategy_from_data
from discreet.mechanisms.strategy.strategy_data import strategy_to_data as kept_data
from discreet.mechanisms.strategy.unevenness import Unevenness, sizes_up_to
from discreet.plan.cells import Axis

#: The parts of the budget: the test, and the partition. What is left measures.
TEST = Fraction(1, 20)
CUT = Fraction(1, 5)

#: A partition pays if it costs at most such a part of what single cells would.
PAYS = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveMeasurement:
    """What was measured in the end. `buckets`: how many, or None where the test spoke against a partition."""

    strategy: Strategy
    law: Law
    noisy: Integers
    buckets: int | None
    noise_rmse: float


def measure_adaptively(program: Program, axis: Axis, planned: StrategyPlan) -> AdaptiveMeasurement:
    """Test, perhaps cut, and measure: two or three steps of a reservation, which they use up.

    Guarantee: the steps' losses are shares of the reservation that add to 1.
    """
    event, rows = program.event, program.version.schema.unit.rows
    evenest = evenness_test(axis.size, planned, event, rows)
    ((least,),) = program.linear((axis,), [(evenest, law_of(evenest, event, rows, TEST))])
    if float(least) > PAYS * evenest.price * axis.size:
        law = law_of(planned.strategy, event, rows, 1 - TEST)
        (noisy,) = program.linear((axis,), [(planned.strategy, law)])
        return AdaptiveMeasurement(
            strategy=planned.strategy, law=law, noisy=noisy, buckets=None, noise_rmse=rmse(planned, law)
        )
    uneven = evenest.uneven
    (noisy,) = program.linear((axis,), [(uneven, law_of(uneven, event, rows, CUT))])
    groups = partition(noisy, uneven, evenest.price)
    # The plan for the buckets is stored with what it measured: a later planner may make another.
    kept = program.beside(3)
    inner = (
        plan_strategy(AllRanges(int(groups[-1]) + 1), gaussian=planned.gaussian).strategy
        if kept is None
        else strategy_from_data(kept)
    )
    strategy = MergeStrategy(groups, inner)
    law = law_of(strategy, event, rows, 1 - TEST - CUT)
    (noisy,) = program.linear((axis,), [(strategy, law)], beside=kept_data(inner))
    error = noise_rmse(BucketSolver(strategy, solver_for(inner)), law)
    return AdaptiveMeasurement(strategy=strategy, law=law, noisy=noisy, buckets=int(groups[-1]) + 1, noise_rmse=error)


def evenness_test(cells: int, planned: StrategyPlan, event: ReservationEvent, rows: int) -> PartitionCost:
    """What the test measures. Refuses, before anything is paid, noise that cannot be drawn for it or the partition."""
    uneven = Unevenness(cells, sizes_up_to(cells))
    spread = _spread(law_of(planned.strategy, event, rows, 1 - TEST - CUT), planned)
    evenest = PartitionCost(uneven, max(1, round(uneven.unit * spread)))
    law_of(evenest, event, rows, TEST)
    law_of(uneven, event, rows, CUT)
    return evenest


def law_of(measured: Measurable, event: ReservationEvent, rows: int, share: Fraction = Fraction(1)) -> Law:
    """The noise on what is measured that costs a share of a reservation, for units of at most so many rows."""
    moves = measured.sensitivity(rows)
    if event.epsilon is not None:
        return DiscreteLaplace(scale=moves.l1 / (event.epsilon * share))
    return DiscreteGaussian(sigma2=Fraction(moves.l2_squared) / (2 * event.rho * share))


def noise_rmse(bucket_solver: BucketSolver, law: Law) -> float:
    """The root of the mean square of the noise over ranges of cells: of many, evenly chosen."""
    cells = bucket_solver.strategy.cells
    ends = np.unique(np.linspace(0, cells - 1, min(cells, 64)).astype(np.int64))
    lows, highs = np.meshgrid(ends, ends)
    inside = lows <= highs
    variances = bucket_solver.range_variances(lows[inside], highs[inside])
    return float(np.sqrt(variances.mean() * law.variance()))


def _spread(law: Law, planned: StrategyPlan) -> float:
    """The noise that one more bucket brings: of a count that is measured by itself, as a Laplace scale."""
    moves = planned.strategy.sensitivity(1)
    whole = float(moves.l1) if isinstance(law, DiscreteLaplace) else float(moves.l2_squared) ** 0.5
    scale = float(law.scale) if isinstance(law, DiscreteLaplace) else float(law.sigma2) ** 0.5
    return scale / whole


def partition(noisy: Integers, uneven: Unevenness, price: int) -> NDArray[np.int64]:
    """The bucket of each cell: the partition that is cheapest by noisy unevenness. Post-processing.

    >>> even = Unevenness(4, (2,))
    >>> partition(np.array([-3, 90]), even, 10).tolist()
    [0, 0, 1, 2]
    """
    cells = uneven.padded
    least = np.full(cells, float(price))
    whole: list[NDArray[np.bool_]] = []
    start = 0
    for size in uneven.sizes:
        blocks = np.maximum(noisy[start : start + cells // size].astype(np.float64), 0.0) + price
        start += cells // size
        pairs = least.reshape(-1, 2).sum(axis=1)
        whole.append(blocks <= pairs)
        least = np.minimum(blocks, pairs)
    begins = np.ones(cells, dtype=bool)
    for size, flat in zip(uneven.sizes, whole, strict=True):  # larger blocks speak last
        begins.reshape(-1, size)[flat, 1:] = False
    return (np.cumsum(begins) - 1)[: uneven.size]
