"""Which parts to measure, and how to share the budget among them: before any data, and free.

Under zCDP the answer is known in closed form: one centred part for each residual, and shares proportional to the
square root of what it costs times what it gives (Xiao and others 2023); no Gaussian strategy is better. Under a pure
epsilon the best is not known; `pure` searches.
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
from discreet.accounting.events import Reserved
from discreet.inference.linear.residual import Precision
from discreet.inference.linear.residual_part import Part
from discreet.mechanisms.combined import Noise
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.tables.marginals.pure import Split, pure_split
from discreet.tables.marginals.workload import Wish

Floats = NDArray[np.float64]

#: Shares keep so many bits, so that equal tables get equal noise.
_BITS = 24
#: Noise of a variance below this is none.
_NOTHING = 1e-100
#: The worst table is balanced until its variance is this near the least possible, or so many rounds are done.
_NEAR = 1e-3
_ROUNDS = {True: 500, False: 12}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Parts to measure and the share of the reservation that each costs.

    `mean_variance`: of a cell, over all cells of all tables by weight (under the objective `max`: the weighted
    variance of the worst table), times 2 rho, or times epsilon^2 / 2, for units of one row. `lower_bound`: the same
    number can be no smaller for any strategy with Gaussian noise under zCDP, or with Laplace noise under a pure
    epsilon; under zCDP and the mean it is attained. Both are of noise that is not discrete; discrete noise of a
    small scale has a smaller variance.
    """

    wish: Wish
    gaussian: bool
    parts: tuple[Part, ...]
    shares: tuple[Fraction, ...]
    mean_variance: float
    lower_bound: float

    def __post_init__(self) -> None:
        if not self.parts or sum(self.shares) > 1 or min(self.shares) <= 0:
            raise ValueError("shares of more than there is")

    def laws(self, event: Reserved, *, rows: int) -> tuple[Noise, ...]:
        """The noise of each part, for units of so many rows.

        Guarantee: measuring all parts under these laws loses at most `event`.
        Because: a column's norm is the part's own, times the rows of a unit; a part loses its share of the epsilon or
            of the rho exactly, losses add, and shares add to at most 1.
        """
        if (event.epsilon is None) != self.gaussian:
            raise ValueError("a plan for the other kind of noise")
        pairs = zip(self.parts, self.shares, strict=True)
        return tuple(part_law(part.norms(self.wish.sizes), share, event, rows) for part, share in pairs)

    def precision(self, laws: Sequence[Noise]) -> Precision:
        """How exactly noise of these laws tells every residual."""
        return Precision.known(self.wish.sizes, self.parts, [max(law.variance(), _NOTHING) for law in laws])

    def to_data(self) -> dict[str, Any]:
        """What is measured, as JSON data."""
        return {
            "parts": [[list(part.axes), list(part.centred)] for part in self.parts],
            "shares": [exact.write(share) for share in self.shares],
        }

    def from_data(self, data: dict[str, Any]) -> Planned:
        """This wish, by the parts and shares of data."""
        parts = tuple(Part(axes=tuple(axes), centred=tuple(centred)) for axes, centred in data["parts"])
        return replace(self, parts=parts, shares=tuple(exact.read(share) for share in data["shares"]))

    @property
    def words(self) -> str:
        """What is measured, for people: "residuals of 15 sets of columns: total, 14 single"."""
        signs = sum(bool(part.centred) for part in self.parts)
        kinds = Counter(len(part.axes) for part in self.parts)
        named = ", ".join(f"{count:,} of {_columns(order)}" for order, count in sorted(kinds.items()))
        if self.gaussian:
            return f"Gaussian noise on {counted(len(self.parts), 'residual')}: {named}"
        told = f", {signs:,} of them by contrasts" if signs else ""
        return f"Laplace noise on {counted(len(self.parts), 'table')}: {named}{told}"


def counted(count: int, what: str) -> str:
    """So many of something, for people.

    >>> counted(1, "table"), counted(2000, "table")
    ('1 table', '2,000 tables')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _columns(order: int) -> str:
    return counted(order, "column") if order else "no column"


def plan(wish: Wish, *, gaussian: bool) -> Planned:
    """The parts and shares for a wish."""
    split = gaussian_split if gaussian else pure_split
    cells = np.array(wish.cells, dtype=np.float64)
    weights = np.array(wish.weights)
    if wish.objective == "max":
        found, value, bound = _balanced(wish, weights, split, rounds=_ROUNDS[gaussian])
    else:
        found = split(wish, cells * weights)
        value = bound = found.value / float(cells @ weights)
        bound = min(bound, gaussian_split(wish, cells * weights).value / float(cells @ weights))
    shares = _rounded(found.shares)
    return Planned(
        wish=wish, gaussian=gaussian, parts=found.parts, shares=shares, mean_variance=value, lower_bound=bound
    )


def gaussian_split(wish: Wish, weights: Floats) -> Split:
    """The shares of rho that make the sum over tables of weight times a cell's variance least. In closed form.

    Because: a share s tells the residual of S with variance p / s at 2 rho = 1, p the product of (n - 1) / n over S;
        the sum of c p / s with shares that add to 1 is least for shares proportional to (c p)^(1/2). That it is the
        least of all strategies: docs/proofs/tables-marginals.md.
    """
    residuals = wish.residuals
    own = [math.prod((wish.sizes[axis] - 1) / wish.sizes[axis] for axis in subset) for subset in residuals.subsets]
    roots = np.sqrt(residuals.costs(weights) * np.array(own))
    parts = tuple(Part(axes=subset, centred=subset) for subset in residuals.subsets)
    shares = roots / roots.sum()
    return Split(parts=parts, shares=shares, value=float(roots.sum()) ** 2, variances=np.array(own) / shares)


def _balanced(
    wish: Wish, weights: Floats, split: Callable[[Wish, Floats], Split], *, rounds: int
) -> tuple[Split, float, float]:
    """The split whose worst weighted variance is least, by weighing up the tables that are worse than others.

    For every such weighing that adds to 1 the least weighted mean is a lower bound of the least maximum.
    """
    lifted = np.array(wish.cells, dtype=np.float64)
    best: tuple[Split, float] | None = None
    bound = 0.0
    for _ in range(rounds):
        lifted = lifted / lifted.sum()
        found = split(wish, lifted * weights)
        bound = max(bound, gaussian_split(wish, lifted * weights).value)
        worse = weights * wish.residuals.variances(found.variances, len(wish.sets))
        value = float(worse.max())
        if best is None or value < best[1]:
            best = found, value
        if best[1] <= bound * (1 + _NEAR):
            break
        lifted = lifted * worse / value
    assert best is not None
    return best[0], best[1], bound


def _rounded(shares: Floats) -> tuple[Fraction, ...]:
    """Shares as Fractions, rounded down so that they add to at most 1."""
    found = []
    for share in shares / shares.sum() * (1 - 2.0**-40):
        mantissa, exponent = math.frexp(float(share))
        found.append(Fraction(math.floor(mantissa * 2**_BITS)) * Fraction(2) ** (exponent - _BITS))
    return tuple(found)


def part_law(norms: tuple[int, int], share: Fraction, event: Reserved, rows: int) -> Noise:
    """The noise on a part of these norms that costs a share of a reservation, for units of so many rows."""
    l1, l2_squared = norms
    if event.epsilon is not None:
        return DiscreteLaplace(scale=Fraction(rows * l1) / (event.epsilon * share))
    return DiscreteGaussian(sigma2=Fraction(rows**2 * l2_squared) / (2 * event.rho * share))
