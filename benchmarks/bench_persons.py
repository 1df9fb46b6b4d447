"""Synthetic persons: how far whole histories are from the real ones, beside rows that are given to persons at random.

20,000 generated persons at epsilon 3, delta 1e-6, in worlds that nothing was tuned on. `histories` is one table: visits
with the traits of their patients. The base line is our own model of its rows (`--rows-only`), whose rows are given to
persons of exactly the right numbers of visits, in order of their dates. `three tables` are patients, visits and
prescriptions, fitted together. `--seeds=11,12`: these worlds. `--quick`: one of 4,000 persons.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from records import BELOW_LIMITS, ours, write
from results import write_section
from synth_persons import (
    World,
    assigned_at_random,
    changing,
    distances,
    generate,
    person_histograms,
    prescription_histograms,
    read_columns,
    readmission,
    row_histograms,
    write_project,
)

import discreet

#: Worlds that nothing was tuned on.
SEEDS = (11, 12, 13)
EPSILON = "3"
TABLES = ("patients", "visits", "prescriptions")

#: What was asked for: the mean total variation of persons, as a part of the row model's; and points of readmission.
MOST_PART, MOST_POINTS = 0.5, 0.03

NAMES = ("model of rows", "model of persons", "three tables")


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    given = dict(word[2:].split("=", 1) for word in sys.argv[1:] if "=" in word)
    seeds = [int(seed) for seed in given["seeds"].split(",")] if "seeds" in given else SEEDS[: 1 if quick else None]
    reports = [_world(seed, persons=4_000 if quick else 20_000) for seed in seeds]
    means = {
        name: {key: statistics.fmean(report[name][key] for report in reports) for key in reports[0][name]}
        for name in NAMES
    }
    missed = _missed(reports)
    text = _text(means, reports, missed)
    print(text)
    write_section("persons", text, quick=quick)
    records = [
        ours("persons", name, cpu_s=own["cpu_s"], error=own["persons"], error_name="total variation of persons")
        for name, own in means.items()
    ]
    write("persons", records, missed=missed, quick=quick)
    if missed:
        raise SystemExit(BELOW_LIMITS)


def _world(seed: int, *, persons: int) -> dict[str, dict[str, float]]:
    """One world: each model fitted once."""
    world = generate(seed, persons=persons)
    numbers = np.bincount(world.visits["person"])
    numbers = numbers[numbers > 0]
    with tempfile.TemporaryDirectory() as name:
        os.environ["DISCREET_STATE"] = str(Path(name) / "state")
        folder = Path(name) / "project"
        write_project(world, folder)
        discreet.init(folder)
        project = discreet.open(folder)
        for table in (*TABLES, "histories"):
            project.refresh(table)
        report = {}
        started = time.process_time()
        model: Any = project.synthesize("histories", epsilon=EPSILON, rows_only=True)
        rows = read_columns(model.sample(int(numbers.sum()), seed=seed))
        visits: Mapping[str, Any] = assigned_at_random(rows, numbers, seed)
        report[NAMES[0]] = _scores(world, visits, cpu_s=time.process_time() - started)
        started = time.process_time()
        model = project.synthesize("histories", epsilon=EPSILON)
        visits = read_columns(model.sample(len(numbers), seed=seed))
        report[NAMES[1]] = _scores(world, visits, cpu_s=time.process_time() - started)
        started = time.process_time()
        model = project.synthesize(TABLES, epsilon=EPSILON)
        sampled = {each: read_columns(table) for each, table in model.sample(persons, seed=seed).items()}
        cpu_s = time.process_time() - started
        visits = _with_traits(sampled["visits"], sampled["patients"])
        report[NAMES[2]] = _scores(world, visits, cpu_s=cpu_s) | _prescriptions(world, visits, sampled)
    print(
        seed, {each: {key: round(value, 4) for key, value in own.items()} for each, own in report.items()}, flush=True
    )
    return report


def _with_traits(visits: dict[str, Any], patients: dict[str, Any]) -> dict[str, Any]:
    """Visits with the traits of their patients: as one table alone would have them."""
    order = np.argsort(patients["person"])
    place = order[np.searchsorted(patients["person"][order], visits["person"])]
    return visits | {name: patients[name][place] for name in ("sex", "born", "region", "smoker")}


def _scores(world: World, visits: Mapping[str, Any], *, cpu_s: float) -> dict[str, float]:
    persons = distances(person_histograms(world.visits), person_histograms(visits))
    rows = distances(row_histograms(world.visits), row_histograms(visits))
    return {
        "persons": statistics.fmean(persons.values()),
        "transitions": persons["diagnosis to diagnosis"],
        "time": persons["time between visits"],
        "rows": statistics.fmean(rows.values()),
        "readmission": readmission(visits),
        "points": abs(readmission(visits) - readmission(world.visits)),
        "changing": changing(visits),
        "cpu_s": cpu_s,
    }


def _prescriptions(world: World, visits: dict[str, Any], sampled: dict[str, dict[str, Any]]) -> dict[str, float]:
    own = prescription_histograms(visits, sampled["prescriptions"])
    orphans = ~np.isin(sampled["prescriptions"]["visit"], visits["visit"])
    return {
        "prescriptions": statistics.fmean(
            distances(prescription_histograms(world.visits, world.prescriptions), own).values()
        ),
        "orphans": float(orphans.sum()),
    }


def _missed(reports: list[dict[str, dict[str, float]]]) -> list[str]:
    missed = []
    for place, report in enumerate(reports, start=1):
        for name in NAMES[1:]:
            part = report[name]["persons"] / report[NAMES[0]]["persons"]
            if part > MOST_PART:
                missed.append(f"{name}, world {place}: {part:.2f} of the row model's distance, not {MOST_PART}")
            if report[name]["points"] > MOST_POINTS:
                missed.append(f"{name}, world {place}: readmission {100 * report[name]['points']:.1f} points off")
    return missed


def _text(means: dict[str, dict[str, float]], reports: list[dict[str, dict[str, float]]], missed: list[str]) -> str:
    worst = {name: max(report[name]["points"] for report in reports) for name in NAMES}
    lines = [
        f"{len(reports)} generated worlds of persons with visits and prescriptions, epsilon {EPSILON}, delta 1e-6, one fit each; means of",
        "total variations. *Persons*: 57 histograms of whole histories (visits of a person, how often each value, first and",
        "last values, traits by visits, from one visit to the next, time between). *Readmission*: visits followed by another",
        "within 30 days, in points off the truth, mean and worst. *Changing*: persons whose sex or year of birth changes.",
        "The rows of the model of rows are given to persons of exactly the right numbers of visits. CPU s: fit and sample.",
        "",
        "| model | persons | diagnosis to next | time between | pairs in rows | readmission, points | changing | prescriptions | CPU s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, own in means.items():
        prescriptions = f"{own['prescriptions']:.4f}" if "prescriptions" in own else ""
        lines.append(
            f"| **Discreet** {name} | {own['persons']:.4f} | {own['transitions']:.4f} | {own['time']:.4f} | {own['rows']:.4f} "
            f"| {100 * own['points']:.1f} ({100 * worst[name]:.1f}) | {own['changing']:.0%} | {prescriptions} | {own['cpu_s']:.1f} |"
        )
    lines += ["", "Discreet over its limits: " + ("; ".join(missed) or "nowhere") + "."]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
