"""Which parts to measure, and how to share the budget among them: before any data, and free.

Under zCDP the answer is known in closed form: one centred part for each residual, and shares proportional to the
square root of what it costs times what it gives (Xiao and others 2023); no Gaussian strategy is better. Under a pure
epsilon the best is not known; `pure_split` searches.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.inference.linear.residual_fit import ResidualPrecision
from discreet.inference.linear.residual_part import ResidualPart
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.noise_combination import NoiseLaw
from discreet.tables.marginals.marginal_workload import MarginalWorkload
from discreet.tables.marginals.pure_split import BudgetSplit, pure_split

Floats = NDArray[np.float64]

#: Shares keep so many bits, so that equal tables get equal noise.
_BITS = 24
#: Noise of a variance below this is none.
_NOTHING = 1e-100
#: The worst table is balanced until its variance is this near the least possible, or so many rounds are done.
_NEAR = 1e-3
_ROUNDS = {True: 500, False: 12}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalsPlan:
    """Parts to measure and the share of the reservation that each costs.

    `mean_variance`: of a cell, over all cells of all tables by weight (under the objective `max`: the weighted
    variance of the worst table), times 2 rho, or times epsilon^2 / 2, for units of one row. `lower_bound`: the same
    number can be no smaller for any strategy with Gaussian noise under zCDP, or with Laplace noise under a pure
    epsilon; under zCDP and the mean it is attained. Both are of noise that is not discrete; discrete noise of a
    small scale has a smaller variance.
    """

    workload: MarginalWorkload
    gaussian: bool
    parts: tuple[ResidualPart, ...]
    shares: tuple[Fraction, ...]
    mean_variance: float
    lower_bound: float

    def __post_init__(self) -> None:
        if not self.parts or sum(self.shares) > 1 or min(self.shares) <= 0:
            raise ValueError("shares must be above 0 and add up to at most 1")

    def laws(self, event: ReservationEvent, *, rows: int) -> tuple[NoiseLaw, ...]:
        """The noise of each part, for units of so many rows.

        Guarantee: measuring all parts under these laws loses at most `event`.
        Because: a column's norm is the part's own, times the rows of a unit; a part loses its share of the epsilon or
            of the rho exactly, losses add, and shares add to at most 1.
        """
        if (event.epsilon is None) != self.gaussian:
            raise ValueError("the plan is for the other kind of noise")
        pairs = zip(self.parts, self.shares, strict=True)
        return tuple(part_law(part.norms(self.workload.sizes), share, event, rows) for part, share in pairs)

    def precision(self, laws: Sequence[NoiseLaw]) -> ResidualPrecision:
        """How exactly noise of these laws tells every residual."""
        return ResidualPrecision.from_parts(
            self.workload.sizes, self.parts, [max(law.variance(), _NOTHING) for law in laws]
        )

    def to_data(self) -> dict[str, Any]:
        """What is measured, as JSON data."""
        return {
            "parts": [[list(part.axes), list(part.centred)] for part in self.parts],
            "shares": [exact.write(share) for share in self.shares],
        }

    def from_data(self, data: dict[str, Any]) -> MarginalsPlan:
        """This wish, by the parts and shares of data."""
        parts = tuple(ResidualPart(axes=tuple(axes), centred=tuple(centred)) for axes, centred in data["parts"])
        return replace(self, parts=parts, shares=tuple(exact.read(share) for share in data["shares"]))

    @property
    def words(self) -> str:
        """What is measured, for people: "residuals of 15 sets of columns: total, 14 single"."""
        signs = sum(bool(part.centred) for part in self.parts)
        kinds = Counter(len(part.axes) for part in self.parts)
        named = ", ".join(f"{count:,} of {_columns(order)}" for order, count in sorted(kinds.items()))
        if self.gaussian:
            return f"Gaussian noise on {count_noun(len(self.parts), 'residual')}: {named}"
        contrasts_text = f", {signs:,} of them by contrasts" if signs else ""
        return f"Laplace noise on {count_noun(len(self.parts), 'table')}: {named}{contrasts_text}"


def count_noun(count: int, what: str) -> str:
    """So many of something, for people.

    >>> count_noun(1, "table"), count_noun(2000, "table")
    ('1 table', '2,000 tables')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _columns(order: int) -> str:
    return count_noun(order, "column") if order else "no column"


def plan_marginals(workload: MarginalWorkload, *, gaussian: bool) -> MarginalsPlan:
    """The parts and shares for a wish."""
    split = gaussian_split if gaussian else pure_split
    cells = np.array(workload.cells, dtype=np.float64)
    weights = np.array(workload.weights)
    if workload.objective == "max":
        best_split, value, bound = _minimax_split(workload, weights, split, rounds=_ROUNDS[gaussian])
    else:
        best_split = split(workload, cells * weights)
        value = bound = best_split.value / float(cells @ weights)
        bound = min(bound, gaussian_split(workload, cells * weights).value / float(cells @ weights))
    shares = _rounded(best_split.shares)
    return MarginalsPlan(
        workload=workload,
        gaussian=gaussian,
        parts=best_split.parts,
        shares=shares,
        mean_variance=value,
        lower_bound=bound,
    )


def gaussian_split(workload: MarginalWorkload, weights: Floats) -> BudgetSplit:
    """The shares of rho that make the sum over tables of weight times a cell's variance least. In closed form.

    Because: a share s tells the residual of S with variance p / s at 2 rho = 1, p the product of (n - 1) / n over S;
        the sum of c p / s with shares that add to 1 is least for shares proportional to (c p)^(1/2). That it is the
        least of all strategies: docs/proofs/tables-marginals.md.
    """
    residuals = workload.residuals
    own = [
        math.prod((workload.sizes[axis] - 1) / workload.sizes[axis] for axis in subset) for subset in residuals.subsets
    ]
    roots = np.sqrt(residuals.costs(weights) * np.array(own))
    parts = tuple(ResidualPart(axes=subset, centred=subset) for subset in residuals.subsets)
    shares = roots / roots.sum()
    return BudgetSplit(parts=parts, shares=shares, value=float(roots.sum()) ** 2, variances=np.array(own) / shares)


def _minimax_split(
    workload: MarginalWorkload,
    weights: Floats,
    split: Callable[[MarginalWorkload, Floats], BudgetSplit],
    *,
    rounds: int,
) -> tuple[BudgetSplit, float, float]:
    """The split whose worst weighted variance is least, by weighing up the tables that are worse than others.

    For every such weighing that adds to 1 the least weighted mean is a lower bound of the least maximum.
    """
    lifted = np.array(workload.cells, dtype=np.float64)
    best: tuple[BudgetSplit, float] | None = None
    bound = 0.0
    for _ in range(rounds):
        lifted = lifted / lifted.sum()
        candidate = split(workload, lifted * weights)
        bound = max(bound, gaussian_split(workload, lifted * weights).value)
        worse = weights * workload.residuals.variances(candidate.variances, len(workload.sets))
        value = float(worse.max())
        if best is None or value < best[1]:
            best = candidate, value
        if best[1] <= bound * (1 + _NEAR):
            break
        lifted = lifted * worse / value
    assert best is not None
    return best[0], best[1], bound


def _rounded(shares: Floats) -> tuple[Fraction, ...]:
    """Shares as Fractions, rounded down so that they add to at most 1."""
    rounded_shares = []
    for share in shares / shares.sum() * (1 - 2.0**-40):
        mantissa, exponent = math.frexp(float(share))
        rounded_shares.append(Fraction(math.floor(mantissa * 2**_BITS)) * Fraction(2) ** (exponent - _BITS))
    return tuple(rounded_shares)


def part_law(norms: tuple[int, int], share: Fraction, event: ReservationEvent, rows: int) -> NoiseLaw:
    """The noise on a part of these norms that costs a share of a reservation, for units of so many rows."""
    l1, l2_squared = norms
    if event.epsilon is not None:
        return DiscreteLaplace(scale=Fraction(rows * l1) / (event.epsilon * share))
    return DiscreteGaussian(sigma2=Fraction(rows**2 * l2_squared) / (2 * event.rho * share))
