"""The six queries of `./do bench sql`, how many key columns each has, and how far an answer is from the truth."""

from __future__ import annotations

from statistics import fmean, median
from typing import Any

TABLE = "visits"

QUERIES = {
    "Q1": f"SELECT count(*) AS n FROM {TABLE} WHERE age > 24 AND disease = 'd007'",
    "Q2": f"SELECT region, count(*) AS n FROM {TABLE} GROUP BY region",
    "Q3": f"SELECT disease, avg(salary) AS mean FROM {TABLE} GROUP BY disease",
    "Q4": f"SELECT count(DISTINCT user_id) AS n FROM {TABLE}",
    "Q5": f"SELECT region, disease, sex, count(*) AS n, sum(salary) AS total FROM {TABLE} GROUP BY region, disease, sex",
    "Q6": f"SELECT median(salary) AS middle FROM {TABLE}",
}

MEANING = {
    "Q1": "filtered count",
    "Q2": "count by 50 regions",
    "Q3": "avg by 200 diseases",
    "Q4": "count distinct people",
    "Q5": "count and sum, 20,000 groups",
    "Q6": "median",
}

KEYS = {"Q1": 0, "Q2": 1, "Q3": 1, "Q4": 0, "Q5": 3, "Q6": 0}


def error(query: str, truth: list[list[Any]], answer: list[list[Any]]) -> str:
    """The median over groups of the relative error, for each number in turn, and how many groups are missing."""
    shared = _shared(query, truth, answer)
    if not shared:
        return "nothing shown"
    missing = f", {len(truth) - len(shared):,} missing" if len(shared) < len(truth) else ""
    numbers = [median(_relative(*pair) for pair in zip(*columns, strict=True)) for columns in _columns(shared)]
    return " and ".join(f"{number:,.0f}%" if number >= 10 else f"{number:.2g}%" for number in numbers) + missing


def first_error(query: str, truth: list[list[Any]], answer: list[list[Any]]) -> float:
    """The mean over all true groups of the relative error of the first number, in percent.

    A group that is not shown is wholly wrong here: else hiding the small ones would pay.
    """
    shared = _shared(query, truth, answer)
    errors = [_relative(true[0], got[0]) for true, got in shared]
    return fmean([*errors, *[100.0] * (len(truth) - len(shared))])


def _shared(query: str, truth: list[list[Any]], answer: list[list[Any]]) -> list[tuple[list[Any], list[Any]]]:
    """True and told numbers of the groups that were told."""
    keys = KEYS[query]
    found = {tuple(row[:keys]): row[keys:] for row in answer}
    return [(row[keys:], found[tuple(row[:keys])]) for row in truth if tuple(row[:keys]) in found]


def _columns(shared: list[tuple[list[Any], list[Any]]]) -> list[tuple[list[Any], list[Any]]]:
    """Each number's true values and answers."""
    places = range(len(shared[0][0]))
    return [([true[place] for true, _ in shared], [got[place] for _, got in shared]) for place in places]


def _relative(true: float, got: float | None) -> float:
    """In percent; an answer that says nothing is wholly wrong."""
    return 100.0 if got is None else 100 * abs(got - true) / max(abs(true), 1)
