"""A real table behind the answers: non-negative numbers of people in atoms, nearest to what was measured.

Column generation: fit the atoms found so far (non-negative least squares), then look for an atom along which the
distance falls; climbing finds most of them, the search proves that there is none. An unfinished fit can be far worse
than what was measured, so a table is given out only if it is proved to be near the best one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from discreet.accounting.region import Value
from discreet.errors import Refused
from discreet.inference.reconcile.atom_pricing import AtomPricing
from discreet.inference.reconcile.column_axes import Flags, Floats, Integers
from discreet.inference.reconcile.measured_number import ROWS
from discreet.inference.reconcile.nonnegative_answers import make_nonnegative
from discreet.inference.reconcile.nonnegative_least_squares import nonnegative_least_squares
from discreet.inference.reconcile.reconciliation import NumberFamily, Reconciliation
from discreet.inference.reconcile.record_atoms import Atoms

#: An atom is worth adding if the gradient along it exceeds this share of the largest.
WORTHLESS = 1e-10

#: How near the best a table has to be: its squared distance exceeds a proved bound by this for each measured number.
NEAR = 0.01

#: Climbs in a round, nodes of a search, rounds.
CLIMBS = 24
NODES = 256
MOST_ROUNDS = 200

Cells = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciledTable:
    """`values`: of the measured numbers, as the table gives them. `records`: of each atom in it some record, and how
    many such there are. `distance` as in `NonnegativeAnswers`; `bound`: no table is nearer."""

    values: tuple[float, ...]
    records: tuple[tuple[Mapping[str, Value | None], float], ...]
    distance: float
    bound: float


def fit_table(
    reconciliation: Reconciliation, *, family: str = ROWS, near: float = NEAR, rounds: int = MOST_ROUNDS
) -> ReconciledTable:
    """A table of non-negative numbers near the measured ones of one family. Refused if it is not proved to be near."""
    own = reconciliation.families[family]
    values = np.array(reconciliation.reconciled.values)
    bound = make_nonnegative(reconciliation, [family]).bound
    # What no table changes: other families, repeats of a question, numbers of nobody.
    fixed = reconciliation.distance(values) - _distance(own, own.fit.values)
    enough = near * len(own.given)
    columns = _Columns(own)
    upper = columns.run(rounds, target=bound - fixed + enough)
    there = own.geometry.number >= 0
    values[own.given[there]] = columns.values()[own.geometry.number[there]]
    distance = reconciliation.distance(values)
    bound = max(bound, fixed + columns.bound(upper))
    if distance > bound + enough + WORTHLESS * (1.0 + distance):
        raise Refused(
            "no table was found that is proved to be close to the best one: the squared distance found is "
            f"{distance:.6g}, and {bound:.6g} may be possible",
            hint="use the reconciled answers without a table",
        )
    return ReconciledTable(values=tuple(values.tolist()), records=columns.records(), distance=distance, bound=bound)


def _distance(family: NumberFamily, values: Floats) -> float:
    """Of the different regions of a family, to the averages of their own numbers."""
    return float(((family.noisy - values) ** 2 / family.variances).sum())


class _Columns:
    """The atoms found so far and the best amounts on them."""

    def __init__(self, family: NumberFamily) -> None:
        self.family = family
        self.weights = 1.0 / family.variances
        self.atoms = Atoms(family.geometry)
        self.pricing = AtomPricing(family.geometry, self.atoms)
        self.regions_by_atom: dict[Cells, Flags] = {}
        self.amounts: Floats = np.zeros(0)

    def run(self, rounds: int, *, target: float) -> float:
        """Improve until the distance is down to the target or no atom helps; a bound on the gradient along atoms."""
        for _ in range(rounds):
            worth = self._gradient()
            floor = WORTHLESS * float(np.abs(worth).max(initial=0.0))
            fresh = self._climbed(worth, floor)
            if not fresh:
                priced = self.pricing.best(worth, floor=floor, nodes=NODES)
                if priced.atom is None or _cells(priced.atom) in self.regions_by_atom:
                    return priced.upper
                fresh = [priced.atom]
            self.regions_by_atom |= {_cells(atom): self.atoms.regions_holding(atom) for atom in fresh}
            self._fit()
            if _distance(self.family, self.values()) <= target:
                break
        return np.inf

    def values(self) -> Floats:
        return np.asarray(self._matrix() @ self.amounts)

    def records(self) -> tuple[tuple[Mapping[str, Value | None], float], ...]:
        return tuple(
            (self.atoms.record(np.array(atom)), float(amount))
            for atom, amount in zip(self.regions_by_atom, self.amounts, strict=True)
        )

    def bound(self, upper: float) -> float:
        """No table is nearer than this, if no atom's gradient is above `upper`.

        Because: for any g that is at most 0 on every atom, sum(2 g z - g^2 / w) is below the distance of every table:
            w (y - z)^2 >= 2 g (z - y) - g^2 / w, and g y <= 0. Taking `upper` off the region of everybody, where
            there is one, makes the gradient such a g.
        """
        gradient, whole = self._gradient(), self.family.geometry.whole
        if upper > WORTHLESS * float(np.abs(gradient).max(initial=0.0)):
            if whole is None or not np.isfinite(upper):
                return 0.0
            gradient[whole] -= upper
        return float((2.0 * gradient * self.family.noisy - gradient**2 / self.weights).sum())

    def _gradient(self) -> Floats:
        return np.asarray(self.weights * (self.family.noisy - self.values()))

    def _matrix(self) -> Floats:
        memberships = np.array(list(self.regions_by_atom.values()), dtype=np.float64)
        return memberships.reshape(len(self.regions_by_atom), len(self.weights)).T

    def _fit(self) -> None:
        """Non-negative least squares on the atoms found; those without people are forgotten."""
        root = np.sqrt(self.weights)
        matrix = self._matrix() * root[:, None]
        scale = 1.0 / np.sqrt((matrix * matrix).sum(axis=0))
        start = np.zeros(matrix.shape[1])
        start[: len(self.amounts)] = self.amounts / scale[: len(self.amounts)]
        amounts = nonnegative_least_squares(matrix * scale, root * self.family.noisy, start) * scale
        kept = amounts > 0.0
        self.regions_by_atom = {
            atom: regions for (atom, regions), keep in zip(self.regions_by_atom.items(), kept, strict=True) if keep
        }
        self.amounts = amounts[kept]

    def _climbed(self, worth: Floats, floor: float) -> list[Integers]:
        """Atoms worth adding, by climbing from those found last and from the regions that lack most."""
        starts = [np.array(atom, dtype=np.int64) for atom in self.regions_by_atom][-CLIMBS:]
        starts += [self.atoms.within(int(region)) for region in np.argsort(-worth)[:CLIMBS] if worth[region] > 0.0]
        fresh: dict[Cells, Integers] = {}
        for start in starts:
            atom, best = self.atoms.climb(start, worth)
            if best > floor:
                fresh[_cells(atom)] = atom
        return [atom for cells, atom in fresh.items() if cells not in self.regions_by_atom]


def _cells(atom: Integers) -> Cells:
    return tuple(atom.tolist())
