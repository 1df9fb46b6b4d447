"""Planning ranges: errors beside the targets, and CPU seconds to plan.

Errors are per query at epsilon 1 (pure) or rho 0.5 (zCDP), neighbours by adding or removing a row. Run with one BLAS
thread: OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np

from discreet.inference.linear.solvers import solver_for
from discreet.inference.strategy_choice.strategy_plan import StrategyPlan, plan_strategy
from discreet.inference.strategy_choice.workload import AllRanges, GivenRanges, Prefixes, ProductWorkload, Workload
from discreet.mechanisms.bits import system
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace

MILLION = 2**20


def per_query(planned: StrategyPlan) -> float:
    moves = planned.strategy.sensitivity(1)
    scale = moves.l2_squared if planned.gaussian else 2 * moves.l1**2
    return math.sqrt(scale * planned.mean_variance)


def raw_binary(cells: int) -> float:
    """The tree of lectures without consistency: a range is the sum of the fewest blocks that make it up."""
    total, levels = 0.0, cells.bit_length()
    for level in range(levels):
        start = np.arange(0, cells, 2**level)
        parent = start // 2 ** (level + 1) * 2 ** (level + 1)
        total += ((start + 1.0) * (cells - start - 2**level + 1)).sum()
        if level < levels - 1:
            total -= ((parent + 1.0) * (cells - parent - 2 ** (level + 1) + 1)).sum()
    return math.sqrt(2 * levels**2 * total / (cells * (cells + 1) / 2))


def lines() -> None:
    print("| workload | noise | strategy | seconds asked | RMSE | target | lower bound | CPU s | what is measured |")
    print("|---|---|---|---|---|---|---|---|---|")
    print(f"| all ranges, 1,024 | pure | binary, no consistency | - | {raw_binary(1024):.2f} | 44.04 | - | - | - |")
    print(f"| all ranges, 4,096 | pure | binary, no consistency | - | {raw_binary(4096):.2f} | 58.15 | - | - | - |")
    random = np.random.default_rng(1)
    ends = np.sort(random.integers(0, 1024, (100, 2)), axis=1)
    hundred = GivenRanges(1024, ends[:, 0], ends[:, 1])
    square = ProductWorkload(AllRanges(256), AllRanges(256))
    for name, workload, gaussian, strategy, seconds, target in (
        ("all ranges, 1,024", AllRanges(1024), False, "identity", 0, "26.15"),
        ("all ranges, 1,024", AllRanges(1024), False, "binary", 0, "21.83"),
        ("all ranges, 4,096", AllRanges(4096), False, "identity", 0, "52.27"),
        ("all ranges, 4,096", AllRanges(4096), False, "binary", 0, "27.90"),
        ("all ranges, 1,024", AllRanges(1024), False, "best", 0, ""),
        ("all ranges, 1,024", AllRanges(1024), False, "best", 1, "<= 12.43"),
        ("all ranges, 1,024", AllRanges(1024), False, "best", 4, "<= 11.06"),
        ("all ranges, 1,000", AllRanges(1000), False, "best", 1, ""),
        ("all ranges, 4,096", AllRanges(4096), False, "best", 1, "<= 16.15"),
        ("all ranges, 4,096", AllRanges(4096), False, "best", 4, ""),
        ("all ranges, 2^20", AllRanges(MILLION), False, "best", 1, "<= 34.6"),
        ("all ranges, 10^6 + 3", AllRanges(10**6 + 3), False, "best", 1, ""),
        ("prefixes, 1,024", Prefixes(1024), False, "best", 1, "10.91 (tree)"),
        ("100 ranges of 1,024", hundred, False, "best", 1, ""),
        ("boxes, 256 x 256", square, False, "best", 1, "<= 46.2"),
        ("all ranges, 1,024", AllRanges(1024), True, "best", 0, "<= 4.25"),
        ("all ranges, 1,024", AllRanges(1024), True, "best", 1, "<= 3.52"),
        ("all ranges, 1,024", AllRanges(1024), True, "best", 4, ""),
        ("prefixes, 1,024", Prefixes(1024), True, "best", 1, "<= 2.96"),
        ("prefixes, 1,024", Prefixes(1024), True, "best", 4, "<= 2.96"),
        ("100 ranges of 1,024", hundred, True, "best", 1, ""),
        ("boxes, 256 x 256", square, True, "best", 1, ""),
        ("all ranges, 4,096", AllRanges(4096), True, "best", 1, "5.064 (tree)"),
    ):
        line(name, workload, gaussian, strategy, seconds, target)


def line(name: str, workload: Workload, gaussian: bool, strategy: str, seconds: float, target: str) -> None:
    start = time.process_time()
    planned = plan_strategy(workload, gaussian=gaussian, seconds=seconds, strategy=strategy)
    spent = time.process_time() - start
    error = per_query(planned)
    bound = error * math.sqrt(planned.lower_bound / planned.mean_variance)
    law = "zCDP" if gaussian else "pure"
    words = planned.words if len(planned.words) < 90 else planned.words[:87] + "..."
    print(f"| {name} | {law} | {strategy} | {seconds} | {error:.4g} | {target} | {bound:.4g} | {spent:.2f} | {words} |")


def drawn() -> None:
    """Promised and measured, with the real noise."""
    print("\n| all ranges | noise | draws | promised RMSE | measured | standard error |\n|---|---|---|---|---|---|")
    for cells, gaussian, draws in ((256, False, 3000), (256, True, 3000), (1024, False, 500), (1024, True, 500)):
        planned = plan_strategy(AllRanges(cells), gaussian=gaussian)
        moves, found = planned.strategy.sensitivity(1), solver_for(planned.strategy)
        law = (
            DiscreteGaussian(sigma2=Fraction(moves.l2_squared))
            if gaussian
            else DiscreteLaplace(scale=Fraction(moves.l1))
        )
        noise = law.draw(draws * planned.strategy.rows, bits=system()).reshape(draws, -1)
        prefixes = np.cumsum([found.fit(one) for one in noise], axis=1)
        squares = ((cells + 1) * (prefixes**2).sum(axis=1) - prefixes.sum(axis=1) ** 2) / planned.workload.queries
        root = math.sqrt(squares.mean())
        name = "zCDP" if gaussian else "pure"
        promised = math.sqrt(planned.mean_variance * law.variance())
        error = squares.std() / math.sqrt(draws) / (2 * root)
        print(f"| {cells:,} | {name} | {draws:,} | {promised:.3f} | {root:.3f} | {error:.3f} |")


def widths() -> None:
    print("\n| half widths at 95 %, epsilon 1 | ranges | CPU s |\n|---|---|---|")
    random = np.random.default_rng(2)
    for cells, strategy, count in (
        (1024, "best", 5000),
        (4096, "best", 2000),
        (MILLION, "best", 5000),
        (1024, "binary", 500),
    ):
        planned = plan_strategy(AllRanges(cells), gaussian=False, strategy=strategy)
        ends = np.sort(random.integers(0, cells, (count, 2)), axis=1)
        found, law = solver_for(planned.strategy), DiscreteLaplace(scale=Fraction(planned.strategy.sensitivity(1).l1))
        start = time.process_time()
        found.half_widths(ends[:, 0], ends[:, 1], law, Fraction(95, 100))
        print(f"| {cells:,}, {strategy} | {count:,} | {time.process_time() - start:.2f} |")


if __name__ == "__main__":
    lines()
    drawn()
    widths()
