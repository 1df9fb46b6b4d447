"""Suppression of cells as a linear program with whole numbers: the fewest `*` of all, for small tables.

A variable for each possible class says whether it is used, and one for each row and class how many of the rows with
these values are in it. The solver is the one of scipy (HiGHS); without it, nothing is solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.lab.anonymize.column_codes import Flags, Integers

Codes = npt.NDArray[np.int64]
#: Larger programs are not tried: so many pairs of a different row and a class that it fits.
MOST_PAIRS = 8_000
#: Then the search ends, and says how far it came. It counts steps, so that a loaded machine finds the same.
MOST_STEPS = 2_000
#: The solver's numbers are floats.
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SolvedClasses:
    """The class of each row, if any were found, and the number of `*` that no others can beat."""

    ids: Integers | None
    fewest: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PossibleClasses:
    """Pairs of a row (of the different ones) and a class that it fits: `row`, `class_`. `stars[class]`: in each row."""

    row: Integers
    class_: Integers
    stars: Integers


def solve_classes(codes: Codes, k: int, *, most: int) -> SolvedClasses | None:
    """The classes with the fewest `*`; `most` is a number of `*` that others have. None: too large, or no solver."""
    try:
        import scipy.optimize  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        return None
    different, ids, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    possible = _possible_classes(different, counts, k)
    if possible is None:
        return None
    outcome = _solve(possible, counts, k, most)
    fewest = ceil(outcome.mip_dual_bound - TOLERANCE) if outcome.mip_dual_bound is not None else 0
    if outcome.x is None:
        return SolvedClasses(ids=None, fewest=min(most, max(0, fewest)))
    shares = np.rint(outcome.x[: len(possible.row)]).astype(np.int64)
    return SolvedClasses(ids=_deal(possible, shares, ids.ravel()), fewest=max(0, fewest))


def _possible_classes(different: Codes, counts: Integers, k: int) -> _PossibleClasses | None:
    """Every set of columns and values that k rows have; a class that could keep one more column is left out."""
    rows, columns = different.shape
    pairs: list[tuple[Integers, Integers]] = []
    stars: list[int] = []
    count = 0
    for number in range(columns, -1, -1):
        for kept in combinations(range(columns), number):
            groups = (
                np.unique(different[:, list(kept)], axis=0, return_inverse=True)[1].ravel()
                if kept
                else np.zeros(rows, dtype=np.int64)
            )
            useful = (np.bincount(groups, weights=counts) >= k) & ~_keeps_more(different, groups, kept)
            fitting = np.flatnonzero(useful[groups])
            count += len(fitting)
            if count > MOST_PAIRS:
                return None
            pairs.append((fitting, len(stars) + (np.cumsum(useful) - 1)[groups[fitting]]))
            stars += [columns - number] * int(useful.sum())
    row, class_ = (np.concatenate(each) for each in zip(*pairs, strict=True))
    return _PossibleClasses(row=row, class_=class_, stars=np.array(stars, dtype=np.int64))


def _keeps_more(different: Codes, groups: Integers, kept: tuple[int, ...]) -> Flags:
    """Which groups agree in a column besides those that they were made by."""
    first = np.empty(int(groups.max()) + 1, dtype=np.int64)
    first[groups[::-1]] = np.arange(len(groups) - 1, -1, -1)
    more = np.zeros(len(first), dtype=bool)
    for column in set(range(different.shape[1])) - set(kept):
        differs = different[:, column] != different[first[groups], column]
        more |= np.bincount(groups[differs], minlength=len(first)) == 0
    return more


def _solve(possible: _PossibleClasses, counts: Integers, k: int, most: int) -> Any:
    """The program. Shares are not required to be whole: for given classes they are a flow, and one of the best is."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_matrix, csr_matrix, hstack, identity  # type: ignore[import-untyped]

    pairs, classes, rows = len(possible.row), len(possible.stars), len(counts)
    every = np.arange(pairs)
    one = np.ones(pairs)
    of_rows = coo_matrix((one, (possible.row, every)), shape=(rows, pairs))
    of_classes = coo_matrix((one, (possible.class_, every)), shape=(classes, pairs))
    capacity = coo_matrix((counts[possible.row].astype(float), (every, possible.class_)), shape=(pairs, classes))
    cost = np.concatenate([possible.stars[possible.class_].astype(float), np.zeros(classes)])
    limits = [
        LinearConstraint(hstack([of_rows, csr_matrix((rows, classes))]), counts, counts),
        LinearConstraint(hstack([of_classes, -k * identity(classes)]), 0, np.inf),
        LinearConstraint(hstack([identity(pairs), -capacity]), -np.inf, 0),
        LinearConstraint(cost, -np.inf, most),
    ]
    return milp(
        cost,
        integrality=np.concatenate([np.zeros(pairs), np.ones(classes)]),
        bounds=Bounds(0, np.concatenate([counts[possible.row].astype(float), np.ones(classes)])),
        constraints=limits,
        options={"node_limit": MOST_STEPS, "mip_rel_gap": 0.0},
    )


def _deal(possible: _PossibleClasses, shares: Integers, ids: Integers) -> Integers:
    """Put the rows of equal values into classes, as many as the solver said."""
    dealt = np.full(len(ids), -1, dtype=np.int64)
    order = np.argsort(possible.row, kind="stable")
    classes = np.repeat(possible.class_[order], shares[order])
    dealt[np.argsort(ids, kind="stable")] = classes
    return dealt
