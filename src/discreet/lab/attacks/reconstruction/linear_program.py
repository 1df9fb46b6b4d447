"""Linear programs over the box (HiGHS): slower than least squares, and better where bounded noise is large."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Flag, Message, MissingPackage, UsageError

#: Entries of the query matrix: beyond, the program takes minutes.
MOST_ENTRIES = 300_000


def check(people: int, queries: int) -> None:
    """Refuse what would take minutes, and say what is missing."""
    if people * queries > MOST_ENTRIES:
        raise UsageError(
            f"a linear program for {people:,} people and {queries:,} queries takes minutes; people times queries "
            f"must be at most {MOST_ENTRIES:,}",
            hint=Message(Flag("method", "squares")),
        )
    try:
        import scipy.optimize  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise MissingPackage("a linear program needs scipy", hint="pip install 'discreet[lab]'") from None


def estimate(
    queries: NDArray[np.float32], answers: NDArray[np.float64], *, bounded: bool = True
) -> NDArray[np.float64]:
    """Values in [0, 1] with the smallest largest error, where noise is bounded; else with the smallest sum."""
    check(queries.shape[1], queries.shape[0])
    from scipy.optimize import linprog

    questions, people = queries.shape
    slack = np.ones((questions, 1)) if bounded else np.eye(questions)
    matrix = np.block([[queries, -slack], [-queries, -slack]])
    cost = np.concatenate([np.zeros(people), np.ones(slack.shape[1])])
    box = [(0, 1)] * people + [(0, None)] * slack.shape[1]
    solution = linprog(cost, A_ub=matrix, b_ub=np.concatenate([answers, -answers]), bounds=box, method="highs-ipm")
    if solution.x is None:
        raise UsageError("the linear program found no solution", hint=Message(Flag("method", "squares")))
    return np.asarray(solution.x[:people], dtype=np.float64)
