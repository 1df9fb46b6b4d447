"""Examples of the lecture notes that have figures: ratings with a defence, differencing of several people, a survey's days.

    ./do bench notes

CPU seconds are those of a whole process of the command, with its start.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from typing import Any

from results import write_section

RATINGS = {
    "eight known": (),
    "eight known, none of the 500 most rated": ("--outside-top", "500"),
    "a sample of 10% is published, 20% of its ratings changed": ("--sample", "0.1", "--perturb", "0.2"),
}
#: The most that the attack takes: enough of them are counted so by chance alone for a narrow interval.
TARGETS = 5_000
#: A yes-or-no question, twice a day for four weeks.
SURVEY = ("--choices", "yes,no", "--protocol", "two-coins", "--every", "day", "--donations", "2", "--periods", "28")


def told(*words: str) -> tuple[dict[str, Any], float]:
    """What a command prints as JSON, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *words, "--json"], stdout=subprocess.PIPE, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratings() -> list[str]:
    """Who is found by a few ratings, of 500 people looked for."""
    lines = ["| attack ratings | found | CPU s |", "|---|---:|---:|"]
    for name, words in RATINGS.items():
        data, cpu_s = told("attack", "ratings", *words)
        lines.append(f"| {name} | {data['success']:.1%} | {cpu_s:.1f} |")
    return lines


def differencing() -> list[str]:
    """How far two answers differ for people who share a secret: the ratio of likelihoods, and how often it is guessed."""
    lines = [
        f"| attack differencing, epsilon 1, {TARGETS:,} targets | exact | Discreet | allowed, e^k | ratio measured "
        "| its interval (95%) | CPU s |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for people in (1, 2, 4):
        data, cpu_s = told("attack", "differencing", "--targets", str(TARGETS), "--people", str(people))
        servers = {server["server"]: server["success"] for server in data["details"]["servers"]}
        group = data["details"].get("group") or {}
        names = ("factor_bound", "factor_measured", "factor_at_least", "factor_at_most")
        bound, measured, low, high = ("–" if group.get(name) is None else f"{group[name]:.1f}" for name in names)
        interval = f"{low} to {high}" if group else "–"
        lines.append(
            f"| {people} share it | {servers['exact']:.1%} | {servers['Discreet']:.1%} | {bound} | {measured} "
            f"| {interval} | {cpu_s:.1f} |"
        )
    lines += [
        "",
        "A claim is violated where the whole interval lies above what is allowed. Laplace noise attains e^k, so an interval "
        "that contains it is what a correct build shows.",
    ]
    return lines


def periods() -> list[str]:
    """What a device loses over 28 days, by its coins."""
    lines = [
        "| survey, two coins, twice a day, 28 days | one donation | all, one answer | all, answers change | CPU s |",
        "|---|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory(prefix="discreet-bench-notes-") as folder:
        for coins in ("memoized", "fresh"):
            data, cpu_s = told("survey", "new", "Slept badly?", *SURVEY, "--coins", coins, "--project", folder)
            loss = data["loss"]
            figures = [loss.get(name) for name in ("donation", "unchanged", "over_survey")]
            shown = " | ".join("–" if each is None else f"{each:.3f}" for each in figures)
            lines.append(f"| {coins} | {shown} | {cpu_s:.1f} |")
    return lines


def main() -> None:
    """Measure, print and keep."""
    text = "\n\n".join("\n".join(part()) for part in (ratings, differencing, periods))
    print(text)
    write_section("notes", text)


if __name__ == "__main__":
    main()
