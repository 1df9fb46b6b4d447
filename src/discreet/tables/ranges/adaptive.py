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

from discreet.cut import Measurable
from discreet.measurement import Law
from discreet.mechanisms.addition import Integers
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.strategy.evenest import Evenest
from discreet.mechanisms.strategy.merged import Merged
from discreet.mechanisms.strategy.strategy import Strategy
from discreet.mechanisms.strategy.unevenness import Unevenness, sizes_up_to
from discreet.plan.cells import Axis
from discreet.program import Program
from discreet.tables.planning.plan import Planned, plan, rmse
from discreet.tables.workload import AllRanges

#: The parts of the budget: the test, and the partition. What is left measures.
TEST = Fraction(1, 20)
CUT = Fraction(1, 5)

#: A partition pays if it costs at most such a part of what single cells would.
PAYS = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """What was measured in the end. `buckets`: how many, or None where the test spoke against a partition."""

    strategy: Strategy
    law: Law
    noisy: Integers
    buckets: int | None
    noise_rmse: float


def adapted(program: Program, axis: Axis, planned: Planned) -> Adapted:
    """Test, perhaps cut, and measure: two or three steps of a reservation, which they use up.

    Guarantee: the steps' losses are shares of the reservation that add to 1.
    """
    uneven = Unevenness(axis.size, sizes_up_to(axis.size))
    spread = _spread(_law(program, planned.strategy, 1 - TEST - CUT), planned)
    price = max(1, round(uneven.unit * spread))
    evenest = Evenest(uneven, price)
    ((least,),) = program.linear((axis,), [(evenest, _law(program, evenest, TEST))])
    if float(least) > PAYS * price * axis.size:
        return _measured(program, axis, planned.strategy, 1 - TEST, planned, buckets=None)
    (noisy,) = program.linear((axis,), [(uneven, _law(program, uneven, CUT))])
    groups = partition(noisy, uneven, price)
    inner = plan(AllRanges(int(groups[-1]) + 1), gaussian=planned.gaussian)
    strategy = Merged(groups, inner.strategy)
    return _measured(program, axis, strategy, 1 - TEST - CUT, inner, buckets=int(groups[-1]) + 1)


def _measured(
    program: Program, axis: Axis, strategy: Strategy, share: Fraction, planned: Planned, *, buckets: int | None
) -> Adapted:
    law = _law(program, strategy, share)
    (noisy,) = program.linear((axis,), [(strategy, law)])
    return Adapted(strategy=strategy, law=law, noisy=noisy, buckets=buckets, noise_rmse=rmse(planned, law))


def _law(program: Program, measured: Measurable, share: Fraction) -> Law:
    """The noise on what is measured that costs a share of the reservation."""
    moves = measured.moves(program.version.schema.unit.rows)
    event = program.event
    if event.epsilon is not None:
        return DiscreteLaplace(scale=moves.l1 / (event.epsilon * share))
    return DiscreteGaussian(sigma2=Fraction(moves.l2_squared) / (2 * event.rho * share))


def _spread(law: Law, planned: Planned) -> float:
    """The noise that one more bucket brings: of a count that is measured by itself, as a Laplace scale."""
    moves = planned.strategy.moves(1)
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
