"""Synthetic data from a Bayesian network: a graph of columns, and a noisy table for each."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.console.pages.lessons.lesson import Cell, Figure, Lesson, LessonQuestion
from discreet.lab.attacks.floats import discreet_laplace
from discreet.lab.evidence import percent

Counts = NDArray[np.float64]

NAMES = ("sex", "age", "education", "income")
VALUES = (("female", "male"), ("up to 30", "31 to 50", "over 50"), ("college", "no college"), ("up to 50K", "over 50K"))
#: The network of the lecture notes with two parents: its tables make the people here.
SEX = (0.33, 0.67)
#: By sex. The notes' row of men adds up to 1.09; here it is divided by that.
AGE = ((0.40, 0.43, 0.17), (0.29 / 1.09, 0.59 / 1.09, 0.21 / 1.09))
#: College, by age and sex; more than 50K, by education and age.
COLLEGE = ((0.18, 0.16), (0.25, 0.28), (0.17, 0.25))
RICH = ((0.17, 0.55, 0.59), (0.04, 0.24, 0.25))
#: The parents of each column, for each largest number of parents.
PARENTS = (((), (), (), ()), ((), (0,), (1,), (2,)), ((), (0,), (0, 1), (1, 2)))
PEOPLE, EPSILON = (100, 300, 1_000, 3_000, 10_000, 30_000), 1.0
SHOWN, TURNS = 3_000, 10


def make() -> Lesson:
    """People of the lecture notes' network, and networks of no, one and two parents that learn from them."""
    exact = _people(SHOWN)
    return Lesson(
        name="bayes",
        title="A network of columns",
        lead="Draw which column depends on which, publish one small noisy table for each, and sample people from them.",
        paragraphs=(
            "DataSynthesizer makes synthetic rows in three ways. The random mode keeps only types. The independent "
            "mode "
            "publishes a noisy histogram of each column. The correlated mode learns a Bayesian network with PrivBayes: "
            "each column has up to K parents, "
            "and a noisy table of its values for each combination of the parents' values.",
            "An arrow means that one column helps to predict the other. It does not mean that one causes the "
            "other. "
            "With K = 1 each "
            "column "
            "has one parent. With K = 2, income depends on education and age at once.",
            "More parents describe more and cost more: each table has more cells with fewer people, and every "
            "cell has the same noise. With few people a network of two parents is worse than one without arrows.",
            "Without noise the tables reveal people. "
            "If only one person has a combination of values, the published share of high incomes there is 0% or "
            "100%, and reveals this person's income. Noise removes this certainty. "
            "Then "
            "the "
            "rows are sampled from the noisy tables alone, and are free.",
            "DataSynthesizer spends half of epsilon on choosing the arrows and half on the tables. Here the arrows are "
            "given, so the tables get all of it. If the arrows are chosen by looking at the private rows, that choice "
            "must be paid for as well.",
        ),
        figures=(_errors(), _incomes(exact), _cells()),
        verb="discreet synth fit patients --epsilon 1 --model correlated --degree 2 -o model.json",
        to="/synth/new",
        there="Fit a network to a table",
        task="At epsilon 1, from how many people on does K = 2 misplace the fewest people? And at epsilon 0.1?",
        question=LessonQuestion(
            text="A network has ten columns of yes and no, and each has up to K = 3 parents. How many cells does "
            "the largest "
            "table have?",
            answer=16,
            solution="A column and its three parents have 2 × 2 × 2 × 2 = 16 combinations. All ten columns in one "
            "table "
            "would have 1,024.",
        ),
        play={
            "tables": {"sex": SEX, "age": AGE, "college": COLLEGE, "rich": RICH},
            "parents": PARENTS,
            "values": VALUES,
        },
    )


@cache
def _joint() -> Counts:
    """The share of each combination."""
    shares = np.zeros([len(values) for values in VALUES])
    for sex, age, education, income in np.ndindex(*shares.shape):
        college, rich = COLLEGE[age][sex], RICH[education][age]
        shares[sex, age, education, income] = (
            SEX[sex] * AGE[sex][age] * (college, 1 - college)[education] * (1 - rich, rich)[income]
        )
    return shares


def _people(many: int) -> Counts:
    """So many generated people, counted."""
    drawn = np.random.default_rng().multinomial(many, _joint().ravel())
    return drawn.reshape(_joint().shape).astype(np.float64)


def learned(exact: Counts, parents: tuple[tuple[int, ...], ...], epsilon: float | None) -> Counts:
    """The shares of a network that was fitted to counts: a table for each column, with an equal part of epsilon.

    A person is in one cell of each table, so each table's noise has scale 4 / epsilon.
    """
    shares = np.ones(exact.shape)
    for column, above in enumerate(parents):
        rest = tuple(axis for axis in range(exact.ndim) if axis != column and axis not in above)
        table = exact.sum(axis=rest, keepdims=True)
        if epsilon is not None:
            noise = discreet_laplace(0, exact.ndim / epsilon, table.size)
            table = np.clip(table + noise.reshape(table.shape), 0, None)
        total = table.sum(axis=column, keepdims=True)
        even = np.full(table.shape, 1 / exact.shape[column])
        shares = shares * np.divide(table, total, out=even, where=total > 0)
    return shares


def misplaced(exact: Counts, shares: Counts) -> float:
    """The share of people that would have to move."""
    return float(np.abs(exact / exact.sum() - shares).sum() / 2)


def _errors() -> Figure:
    names = ("no arrows", "K = 1", "K = 2")
    points: list[list[dict[str, float]]] = [[], [], []]
    rows: list[tuple[Cell, ...]] = []
    for many in PEOPLE:
        worlds = [_people(many) for _ in range(TURNS)]
        shares = [
            sum(misplaced(exact, learned(exact, parents, EPSILON)) for exact in worlds) / TURNS for parents in PARENTS
        ]
        for series, share in zip(points, shares, strict=True):
            series.append({"x": round(float(np.log10(many)), 2), "value": 100 * share})
        rows.append((many, *map(percent, shares)))
    return Figure(
        chart={
            "chart": "lines",
            "title": "Percent of people that a network misplaces, at epsilon 1",
            "series": [{"name": name, "points": series} for name, series in zip(names, points, strict=True)],
            "across": "people, as a power of 10 (3 is 1,000)",
            "up": "percent misplaced",
        },
        caption=f"Generated people of the notes' own network, {TURNS} times for each point, with Discreet's noise. "
        "To the right of a crossing, the network with more parents is better.",
        columns=("people", *names),
        rows=tuple(rows),
    )


def _incomes(exact: Counts) -> Figure:
    """Income by education and age: as the notes have it, counted, and published."""
    noisy = exact.sum(axis=0) + discreet_laplace(0, exact.ndim / EPSILON, exact[0].size).reshape(exact.shape[1:])
    noisy = np.clip(noisy, 0, None)
    bars: list[dict[str, object]] = []
    rows: list[tuple[Cell, ...]] = []
    for education, age in product(range(2), range(3)):
        counted, published = exact.sum(axis=0)[age, education], noisy[age, education]
        share = float(published[1] / max(published.sum(), 1.0))
        label = f"{VALUES[2][education]}, {VALUES[1][age]}"
        bars.append({"label": label, "value": 100 * share, "text": percent(share)})
        rows.append((label, f"{RICH[education][age]:.2f}", int(counted.sum()), int(published.sum()), f"{share:.2f}"))
    return Figure(
        chart={
            "chart": "bars",
            "title": "Percent with more than 50K, as the noisy table of K = 2 has it",
            "bars": bars,
        },
        caption=f"One of the four tables of K = 2, for {SHOWN:,} people and epsilon 1 in total.",
        columns=("education, age", "share in the notes", "people", "people, published", "share, published"),
        rows=tuple(rows),
    )


def _cells() -> Figure:
    bars: list[dict[str, object]] = []
    rows: list[tuple[Cell, ...]] = []
    for most, parents in enumerate(PARENTS):
        for column, above in enumerate(parents):
            cells = prod(len(VALUES[axis]) for axis in (column, *above))
            given = " and ".join(NAMES[axis] for axis in above)
            if most:
                bars.append({"label": f"K = {most}: {NAMES[column]}", "value": cells})
            rows.append((f"K = {most}" if most else "no arrows", NAMES[column], given or "–", cells))
    return Figure(
        chart={"chart": "bars", "title": "Cells of each column's table", "bars": bars},
        caption="The parents of each column. One table of all four columns has 24 cells.",
        columns=("network", "column", "parents", "cells"),
        rows=tuple(rows),
    )
