"""What is left, once for each population: in epsilon, and in counts that everybody understands."""

from __future__ import annotations

from typing import Any

from discreet.console import public_facts
from discreet.project.project import Project

#: What a meter has of its population's budget.
_FACTS = ("population", "limit", "spent", "remaining", "share_spent", "events", "large_limit")


def population_meters(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A meter for each population of tables, which are lines of `public_facts.table_line`.

    counts: how many more counts of a table within plus or minus 50 its budget pays for; tables whose persons have as
    many rows have the same, and stand together. All of them are paid from one budget: they are choices, no sum.
    """
    meters: dict[str, dict[str, Any]] = {}
    for line in tables:
        budget = line["budget"]
        if budget is None:
            continue
        meter = meters.setdefault(
            budget["population"],
            {
                **{name: budget[name] for name in _FACTS},
                "tables": [],
                "counts": [],
            },
        )
        meter["tables"].append(line["name"])
        same = next((each for each in meter["counts"] if each["counts"] == budget["counts_within_50"]), None)
        if same is None:
            meter["counts"].append({"counts": budget["counts_within_50"], "tables": [line["name"]]})
        else:
            same["tables"].append(line["name"])
    for meter in meters.values():
        meter["counts"].sort(key=lambda each: -each["counts"])
    return list(meters.values())


def table_lines(project: Project) -> list[dict[str, Any]]:
    """Every table in a list, the private ones first."""
    tables = sorted(project.file.tables.values(), key=lambda table: table.public)
    return [public_facts.table_line(project, table) for table in tables]
