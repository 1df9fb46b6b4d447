"""rows_per_person: the figure by summation, the privacy by removing persons, the choice end to end."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from answers.visits import make, rows_of, sizes
from discreet.accounting import events
from discreet.answers.bounds.row_limit import LIMITS, limit_choice, limit_price
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import TableLocations
from tiers import size

CELLS, FOR_EPSILON = 50, Fraction(1)


def histogram(counts):
    """Persons by the least limit that leaves them whole."""
    return np.bincount(np.searchsorted(LIMITS, counts), minlength=len(LIMITS))


def error(counts, limit, *, cells=CELLS, for_epsilon=FOR_EPSILON):
    """The mean error of a cell, of cells of one size: bias and Laplace noise together. `counts`: rows and persons."""
    rows, persons = counts
    bias, scale = (np.maximum(rows - limit, 0) * persons).sum() / cells, float(limit / for_epsilon)
    return bias + scale * np.exp(-bias / scale)


def within_two(counts, epsilon, *, cells=CELLS, for_epsilon=FOR_EPSILON):
    """The chance that the limit chosen is within twice the error of the best fixed one; and the mean ratio."""
    pairs = np.unique(counts, return_counts=True)
    best = min(error(pairs, int(limit), cells=cells, for_epsilon=for_epsilon) for limit in 1.05 ** np.arange(250))
    ratios = np.array([error(pairs, limit, cells=cells, for_epsilon=for_epsilon) / best for limit in LIMITS])
    chances = limit_choice(epsilon=Fraction(epsilon), cells=cells, for_epsilon=for_epsilon).chances(histogram(counts))
    return np.sum(np.array(chances)[ratios <= 2]), np.sum(chances * ratios)


def test_the_limits_are_round_and_lie_close():
    assert LIMITS[:10] == tuple(range(1, 11))
    assert LIMITS[-1] == 10**9
    assert all(low < high <= 2 * low for low, high in pairwise(LIMITS))
    assert all(1.08 < high / low < 1.2 for low, high in pairwise(LIMITS) if low >= 10)


def test_skewed_tables_get_a_limit_within_twice_the_best():
    """The figure of the issue, on its distribution: 1,000,000 persons, the largest with 90,000 rows, half with 6."""
    counts = sizes(1_000_000)
    assert 80_000 < counts.max() < 100_000 and np.median(counts) == 6
    for epsilon in ("0.05", "0.1"):
        chance, mean = within_two(counts, epsilon)
        assert chance > 0.99 and mean < 1.25
    usual = np.maximum(counts - 5, 0).sum() / counts.sum()
    assert 0.5 < usual < 0.6  # what the usual limit of 5 would lose


@pytest.mark.thin(1)
@pytest.mark.parametrize("epsilon", ["0.05", "0.1", "1"])
def test_other_tables_do_too(epsilon):
    generator = np.random.default_rng(3)
    for counts in (
        sizes(10_000),
        generator.geometric(0.1, 100_000),
        np.ceil(np.exp(generator.normal(1.8, 1.2, 100_000))).astype(np.int64),
        np.full(100_000, 5),
    ):
        chance, mean = within_two(counts, epsilon)
        assert chance > 0.9 and mean < 1.5


@pytest.mark.deep
def test_what_it_is_for_matters():
    counts = sizes(100_000)

    def likeliest(**more):
        terms = {"epsilon": Fraction(1), "cells": CELLS, "for_epsilon": FOR_EPSILON}
        return LIMITS[np.argmax(limit_choice(**(terms | more)).chances(histogram(counts)))]

    assert likeliest(cells=1) > likeliest() > likeliest(cells=5000)
    assert likeliest(for_epsilon=Fraction(10)) > likeliest() > likeliest(for_epsilon=Fraction(1, 10))


def test_nobody_and_few_get_the_least_limit():
    choice = limit_choice(epsilon=Fraction(1, 10), cells=CELLS, for_epsilon=FOR_EPSILON)
    for counts in (np.zeros(0, np.int64), np.array([7]), np.full(20, 90_000)):
        assert choice.chances(histogram(counts))[0] > 0.9


def test_a_small_table_can_afford_a_limit():
    """Forty persons of a hundred rows: at a large epsilon that is seen, whatever the questions are."""
    for cells in (1, 20):
        chances = np.array(
            limit_choice(epsilon=Fraction(20), cells=cells, for_epsilon=FOR_EPSILON).chances(
                histogram(np.full(40, 100))
            )
        )
        assert chances[[LIMITS.index(limit) for limit in (100, 110, 120)]].sum() > 0.8


def test_a_limit_is_hardly_ever_absurd():
    """Beyond the largest person there are a hundred candidates, of which nothing says that they are wrong."""
    counts = sizes(10_000)
    chances = np.array(
        limit_choice(epsilon=Fraction(1, 20), cells=CELLS, for_epsilon=FOR_EPSILON).chances(histogram(counts))
    )
    assert chances[np.array(LIMITS) > 10 * counts.max()].sum() < 1e-4


def test_one_person_moves_one_bin_by_one(tmp_path):
    """On the real engine, roster and all: each of several persons goes in turn, the largest and a nobody among them."""
    counts = sizes(60)
    rows = [*rows_of(counts), ["", "1", "", "", "", "", ""]]
    engine, exact = DuckDBEngine(threads=1), {}
    for gone in (None, f"p{counts.argmax()}", *size((), (f"p{counts.argmin()}",)), "p7", ""):
        folder = tmp_path / f"without-{gone}"
        project = make(folder, [row for row in rows if gone is None or row[0] != gone])
        version = project.version("visits")
        found = limit_price(version, epsilon=Fraction(1), cells=CELLS, for_epsilon=FOR_EPSILON)
        (step,) = found.steps
        tables = TableLocations(files={step.cells.plan: project.curator.folder / version.file})
        (exact[gone],) = engine.count(step.cells, found.region, tables=tables).exact_values
    whole = exact.pop(None)
    assert whole.tolist() == histogram(counts).tolist()
    assert (whole - exact.pop("")).any() == 0  # a row without a person is nobody's
    for gone, less in exact.items():
        assert (whole - less).tolist() == histogram(counts[[int(gone[1:])]]).tolist()
        assert np.abs(whole - less).sum() == 1 == found.reach.rows == found.steps[0].mechanism.rows


def test_it_is_charged_and_written_down(tmp_path):
    project = make(tmp_path, rows_of(sizes(400)), bits=1)
    found = project.bounds("visits", ["rows_per_person"], epsilon="0.5", cells=5)
    limit = found.settings["rows_per_person"]
    pairs = np.unique(sizes(400), return_counts=True)
    assert error(pairs, limit, cells=5) < 2 * min(error(pairs, each, cells=5) for each in LIMITS)
    assert found.shares == {"rows_per_person": Fraction(1, 2)}
    (charge,) = project.ledger.state.charges.values()
    assert charge.price == Fraction(1, 2)
    assert project.curator.stored_measurement(found.releases[0]).event == events.ExponentialEvent(
        epsilon=Fraction(1, 2)
    )
    text = (tmp_path / "discreet.toml").read_text()
    assert f"rows_per_person = {limit}\nrows_per_person_measured = 0.5\n" in text
    assert "# the visits" in text and "# in euros" in text
    assert project.table("visits").schema.unit.rows == limit
    assert project.version("visits").schema.unit.rows == 1
    project.refresh("visits")
    assert project.version("visits").schema.unit.rows == limit


@pytest.mark.deep
def test_another_wish_is_another_question(tmp_path):
    """Or a stored answer would be taken for what it is not."""
    version = make(tmp_path, rows_of(sizes(5))).version("visits")

    def question(**more):
        terms = {"epsilon": Fraction(1), "cells": CELLS, "for_epsilon": FOR_EPSILON}
        return limit_price(version, **(terms | more)).inquiry.question()

    assert question() == question(epsilon=Fraction(2))  # the same, measured better
    assert (
        len({question(), question(cells=60), question(for_epsilon=Fraction(2)), question(epsilon=Fraction(1, 100))})
        == 4
    )
