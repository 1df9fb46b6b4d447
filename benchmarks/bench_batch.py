"""Batches planned as one: their error beside every question by itself, and beside the best that is known of each kind.

Errors are root mean squares of a number at epsilon 1 (pure) or rho 0.5 (zCDP), neighbours by adding or removing a row.
They follow from the plans, before any data, and brute force looks whether they do. `--quick`: fewer workloads.
"""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from results import write_section

from discreet.answers.workload.batch_cells import CellGrid, GridNumber
from discreet.answers.workload.batch_plan import GridPlan, plan_grid
from discreet.answers.workload.grid_answers import rows_over
from discreet.inference.linear.solvers import solver_for
from discreet.inference.strategy_choice.strategy_plan import plan_strategy
from discreet.inference.strategy_choice.workload import Prefixes
from discreet.inference.strategy_choice.workload_error import mean_variance, sensitivity_squared
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from discreet.plan.cell_statistics import RowCount
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code
from discreet.plan.relation import Scan
from discreet.tables.marginals.marginal_workload import MarginalWorkload
from discreet.tables.marginals.marginals_plan import plan_marginals

#: Not those that the planner was made with.
SEED = 2_024

NOISES = ((False, "pure"), (True, "zCDP"))


def grid_of(shape: tuple[int, ...], numbers: list[Any]) -> CellGrid:
    """A grid whose numbers are these cells, a statement each."""
    axes = tuple(
        Axis(of=Code(f"c{place}", 0, size - 1, null=False), edges=tuple(range(size + 1)), null=False, labels=())
        for place, size in enumerate(shape)
    )
    listed = tuple(
        GridNumber(statement=place, place=0, index=0, cell=0, cells=np.asarray(cells, dtype=np.int64))
        for place, cells in enumerate(numbers)
    )
    return CellGrid(plan=Scan(table="t", version=1), axes=axes, statistic=RowCount(), numbers=listed)


def tables(shape: tuple[int, ...], orders: tuple[int, ...]) -> list[Any]:
    """The cells of all tables of so many columns."""
    cells = np.arange(math.prod(shape)).reshape(shape)
    numbers = []
    for order in orders:
        for axes in itertools.combinations(range(len(shape)), order):
            for cell in itertools.product(*(range(shape[axis]) for axis in axes)):
                place: list[Any] = [slice(None)] * len(shape)
                for axis, own in zip(axes, cell, strict=True):
                    place[axis] = own
                numbers.append(np.sort(cells[tuple(place)].ravel()))
    return numbers


def split_total(grid: CellGrid, *, gaussian: bool) -> float:
    """Every question by itself with an equal share, raised until the fullest cell has all: what batches did before.

    Under zCDP with shares of rho, which is more than they did: they shared epsilons.
    """
    loads = np.zeros(grid.size)
    for number in grid.numbers:
        loads[number.cells] += 1
    return len(grid.numbers) * float(loads.max()) ** (1 if gaussian else 2)


def per_number(total: float, count: int, *, gaussian: bool) -> float:
    return math.sqrt(total / count * (1 if gaussian else 2))


def planned(grid: CellGrid, *, gaussian: bool) -> tuple[GridPlan, float]:
    """The plan, and the CPU seconds that it took."""
    start = time.process_time()
    plan = plan_grid(grid, gaussian=gaussian)
    return plan, time.process_time() - start


def prefix_lines() -> Iterator[str]:
    grid = grid_of((90,), [np.arange(end + 1) for end in range(90)])
    for gaussian, noise in NOISES:
        plan, seconds = planned(grid, gaussian=gaussian)
        best = plan_strategy(Prefixes(90), gaussian=gaussian, seconds=5)
        ideal = best.mean_variance * sensitivity_squared(best.strategy, gaussian=gaussian) * 90
        tree = LevelStrategy(90, tuple((2**level, 1) for level in range(8)))
        binary = mean_variance(Prefixes(90), solver_for(tree)) * sensitivity_squared(tree, gaussian=gaussian) * 90
        split = split_total(grid, gaussian=gaussian)
        shown = [per_number(own, 90, gaussian=gaussian) for own in (split, binary, ideal, plan.error)]
        figures = " | ".join(f"{own:.2f}" for own in shown)
        yield f"| {noise} | {figures} | {math.sqrt(plan.error / ideal):.3f} | {seconds:.2f} | {plan.words} |"


def intervals(kind: str, draw: np.random.Generator) -> CellGrid:
    """200 random intervals over two columns of 100 values: of one column or the other, or of both at once."""
    cells = np.arange(10_000).reshape(100, 100)
    numbers = []
    for place in range(200):
        (a, b), (c, d) = np.sort(draw.integers(0, 100, (2, 2)), axis=1).tolist()
        if kind == "each of one column":
            box = cells[a : b + 1] if place % 2 else cells[:, a : b + 1]
        else:
            box = cells[a : b + 1, c : d + 1]
        numbers.append(np.sort(box.ravel()))
    return grid_of((100, 100), numbers)


def interval_lines(runs: int) -> Iterator[str]:
    for kind, (gaussian, noise) in itertools.product(("each of one column", "boxes of both"), NOISES):
        draw = np.random.default_rng(SEED)
        ratios, ours, splits, seconds = [], [], [], []
        for _ in range(runs):
            grid = intervals(kind, draw)
            plan, spent = planned(grid, gaussian=gaussian)
            split = split_total(grid, gaussian=gaussian)
            ratios.append(split / plan.error)
            ours.append(per_number(plan.error, 200, gaussian=gaussian))
            splits.append(per_number(split, 200, gaussian=gaussian))
            seconds.append(spent)
        yield (
            f"| {kind} | {noise} | {np.mean(splits):.2f} | {np.mean(ours):.2f} | {np.mean(ratios):.1f} "
            f"(least {min(ratios):.1f}) | {np.mean(seconds):.2f} |"
        )


SHAPES = ((3, 3, 3, 3, 3), (2, 4, 5, 7, 3), (5, 5, 5, 5, 5), (2, 2, 5, 5, 9), (8, 4, 2, 6, 3), (7, 7, 3, 2, 4))


def marginal_lines() -> Iterator[str]:
    for shape, (gaussian, noise) in itertools.product(SHAPES, NOISES):
        grid = grid_of(shape, tables(shape, (1, 2)))
        plan, seconds = planned(grid, gaussian=gaussian)
        own = plan_marginals(MarginalWorkload.of_order(shape, 2), gaussian=gaussian).mean_variance
        mean = plan.error / len(grid.numbers)
        yield (
            f"| {' x '.join(map(str, shape))} | {noise} | {math.sqrt(own * (1 if gaussian else 2)):.3f} | "
            f"{math.sqrt(mean * (1 if gaussian else 2)):.3f} | {mean / own:.3f} | {seconds:.2f} |"
        )


def random_grid(draw: np.random.Generator) -> CellGrid:
    """Boxes, unions, running counts, tables, repeats, over one to four columns."""
    shape = tuple(int(own) for own in draw.integers(1, 9, draw.integers(1, 5)))
    cells = np.arange(math.prod(shape)).reshape(shape)
    numbers = []
    for _ in range(int(draw.integers(1, 30))):
        sides = []
        for size in shape:
            low, high = np.sort(draw.integers(0, size, 2)).tolist()
            sides.append(draw.choice([slice(low, high + 1), slice(0, high + 1), slice(0, size), slice(low, low + 1)]))
        own = cells[tuple(sides)].ravel()
        if draw.random() < 0.15:
            own = np.union1d(own, cells.ravel()[draw.random(cells.size) < 0.2])
        numbers.append(np.sort(own))
    return grid_of(shape, numbers)


def brute(plan: GridPlan) -> float:
    """How far promised variances are from those of the pseudo-inverse, at most, as a share."""
    strategy = plan.strategy
    assert isinstance(strategy, MergeStrategy)
    matrix = strategy.inner.matrix().astype(np.float64)
    rows = rows_over(strategy.groups, strategy.inner.cells, [number.cells for number in plan.grid.numbers])
    weights = rows @ np.linalg.pinv(matrix, rcond=1e-11)
    variances = (weights**2).sum(axis=1)
    return float((np.abs(plan.variances - variances) / variances).max())


def random_lines(runs: int) -> Iterator[str]:
    for gaussian, noise in NOISES:
        draw = np.random.default_rng(SEED)
        ratios, apart = [], []
        for _ in range(runs):
            grid = random_grid(draw)
            plan = plan_grid(grid, gaussian=gaussian, seconds=0.1)
            ratios.append(plan.error / split_total(grid, gaussian=gaussian))
            apart.append(brute(plan) if plan.strategy.rows * grid.size < 10**6 else 0.0)
        middle = float(np.median(ratios))
        yield f"| {noise} | {runs} | {max(ratios):.4f} | {middle:.3f} | {min(ratios):.4f} | {max(apart):.0e} |"


def large_grids(draw: np.random.Generator) -> Iterator[tuple[str, CellGrid]]:
    """Batches over 4,096 cells."""
    line, square = np.arange(4_096), np.arange(4_096).reshape(64, 64)
    yield "all 4,096 running counts", grid_of((4_096,), [line[: end + 1] for end in range(4_096)])
    ends = np.sort(draw.integers(0, 4_096, (400, 2)), axis=1).tolist()
    single = [line[place : place + 1] for place in line]
    yield "every cell and 400 intervals", grid_of((4_096,), single + [line[a : b + 1] for a, b in ends])
    boxes = [np.sort(draw.integers(0, 64, (2, 2)), axis=1).tolist() for _ in range(300)]
    listed = [square[a : b + 1, c : d + 1].ravel() for (a, b), (c, d) in boxes]
    yield "300 boxes of 64 x 64", grid_of((64, 64), listed)
    yield "all tables of 64 x 64", grid_of((64, 64), tables((64, 64), (0, 1, 2)))
    yield "all pairs of 8 x 8 x 8 x 8", grid_of((8, 8, 8, 8), tables((8, 8, 8, 8), (1, 2)))
    yield (
        "200 sets of a third of the cells",
        grid_of((4_096,), [np.flatnonzero(draw.random(4_096) < 1 / 3) for _ in range(200)]),
    )


def large_lines() -> Iterator[str]:
    for gaussian, noise in NOISES:
        for name, grid in large_grids(np.random.default_rng(SEED)):
            plan, seconds = planned(grid, gaussian=gaussian)
            split = split_total(grid, gaussian=gaussian)
            count = len(grid.numbers)
            yield (
                f"| {name} | {noise} | {per_number(split, count, gaussian=gaussian):.2f} | "
                f"{per_number(plan.error, count, gaussian=gaussian):.2f} | {seconds:.2f} | {plan.words[:90]} |"
            )


def section(title: str, head: str, lines: Callable[[], Iterator[str]]) -> None:
    print(f"### {title}\n\n{head}\n|{'---|' * (head.count('|') - 1)}")
    for line in lines():
        print(line, flush=True)
    print()


def figures(*, quick: bool) -> None:
    """All tables, printed."""
    print(
        "The split: every question by itself with an equal share, raised until the fullest cell has all (under zCDP "
        "shares of rho). SmartNoise and OpenDP's queries are asked one by one, which is that or worse. The binary tree "
        "with consistency is OpenDP's, by its formula. CPU s: planning with one thread.\n"
    )
    head = "| noise | split | binary tree | best known | batch | batch / best known | CPU s | what is measured |"
    section("90 running counts", head, prefix_lines)
    head = "| 200 random intervals | noise | split | batch | split / batch, squared | CPU s |"
    section("two columns of 100 values", head, lambda: interval_lines(2 if quick else 4))
    head = "| columns | noise | `marginals` | batch | batch / `marginals`, squared | CPU s |"
    section("all one- and two-way counts of five columns", head, marginal_lines)
    head = "| noise | workloads | largest batch / split, squared | median | least | brute force differs by |"
    section("random workloads", head, lambda: random_lines(40 if quick else 120))
    head = "| 4,096 cells | noise | split | batch | CPU s | what is measured |"
    section("planning", head, large_lines)


def main(words: list[str]) -> None:
    """Run in a process with one thread, print and keep."""
    quick = "--quick" in words
    if "--figures" in words:
        figures(quick=quick)
        return
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "--figures", *words],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    print(done.stdout)
    write_section("batch", done.stdout, quick=quick)


if __name__ == "__main__":
    main(sys.argv[1:])
