"""Reconcile: how long it takes for a log of questions over ten columns, and how much nearer it comes. CPU seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from discreet.errors import Refused
from discreet.inference.reconcile import Reconciliation, fit_table, make_nonnegative, round_answers
from inference.reconcile.question_log import DOMAIN, People, QuestionLog, measured

SIZES = (100, 300, 1000, 2000)
SEEDS = (1, 2, 3)
TABLE_SIZES = (30, 60, 100)

Result = TypeVar("Result")


def timed(act: Callable[[], Result]) -> tuple[Result, float]:
    start = time.process_time()
    found = act()
    return found, time.process_time() - start


def ask(count: int, seed: int) -> tuple[list, np.ndarray]:
    regions, people = QuestionLog(seed).regions(count), People(10_000, seed)
    exact = np.array([people.count(region) for region in regions], dtype=float)
    return measured(regions, exact, seed), exact


def line(count: int) -> list[float]:
    """Means over seeds: times of the four steps, identities, error over variance raw, fitted, positive, whole."""
    rows = []
    for seed in SEEDS:
        numbers, exact = ask(count, seed)
        variances = np.array([number.variance for number in numbers])
        known, fitting = timed(lambda numbers=numbers: Reconciliation(numbers, DOMAIN))
        nearest, nearing = timed(lambda known=known: make_nonnegative(known))
        rounded, rounding = timed(lambda known=known, nearest=nearest: round_answers(known, nearest.values))
        _, asking = timed(lambda known=known: [known.estimate_of(region) for region in QuestionLog(99).regions(20)])
        raw = [float(number.value) for number in numbers]
        error = [
            float(((np.array(found) - exact) ** 2 / variances).mean())
            for found in (raw, known.reconciled.values, nearest.values, rounded.values)
        ]
        stated = np.array(known.reconciled.standard_errors)
        there = stated > 0
        off = (np.array(known.reconciled.values) - exact)[there] / stated[there]
        rows.append(
            [fitting, nearing, rounding, asking / 20, len(known.reconciled.identities), *error, (off**2).mean()]
        )
    return np.mean(rows, axis=0).tolist()


def tables() -> None:
    print("\n| questions | table: CPU s | squared distance | no table below |\n|---|---|---|---|")
    for count in TABLE_SIZES:
        numbers, _ = ask(count, 1)
        known = Reconciliation(numbers, DOMAIN)
        try:
            found, taken = timed(lambda known=known: fit_table(known))
        except Refused as refused:
            print(f"| {count} | refused: {refused.reason} | | |")
            continue
        print(f"| {count} | {taken:.2f} | {found.distance:.4f} | {found.bound:.4f} |")


def main() -> None:
    print(
        "| questions | fit | non-negative | whole | all (goal at 2,000: 3) | a further question | identities "
        "| error raw | fitted | non-negative (goal 0.52 of raw) | whole | (error/SE)^2 |"
    )
    print("|" + "---|" * 12)
    for count in SIZES:
        fitting, nearing, rounding, asking, identities, *errors, off = line(count)
        print(
            f"| {count} | {fitting:.2f} | {nearing:.2f} | {rounding:.2f} | {fitting + nearing + rounding:.2f} "
            f"| {1000 * asking:.1f} ms | {identities:.0f} | "
            + " | ".join(f"{error:.3f}" for error in errors)
            + f" | {off:.2f} |"
        )
    tables()


if __name__ == "__main__":
    main()
