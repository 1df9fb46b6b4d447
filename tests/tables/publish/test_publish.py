"""Published tables on the real engine: right, adding up, repeated for nothing, and as exact as they say."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.errors import BudgetExceeded, UsageError
from discreet.kernel.project_session import open_session
from discreet.ledger.charge_request import UNNAMED
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.tables.publish import publication_offer, publication_price, published_tables
from discreet.tables.publish import publish as publishing
from discreet.tables.publish.layout import lay_out
from discreet.tables.publish.public_join import PublicPlaceJoin
from discreet.tables.publish.publication_offer import _mean_variance
from discreet.tables.publish.published_tables import half_widths
from discreet.tables.publish.table_estimates import expected_accuracy, refine
from tables.publish.census import BLOCKS, PLAN, exact_table, make, people, plan

HUGE = "{ epsilon = 100000 }"


def run(project, text=PLAN, *, epsilon=1, delta=None, fresh=False):
    told = publishing.plan_of(plan(project.folder, text))
    return publishing.publish(
        told,
        open_session(project, "people", UNNAMED),
        epsilon=epsilon,
        delta=delta,
        publics=project.public,
        fresh=fresh,
    )


def as_rows(table):
    names = [name for name in table.column_names if name not in ("count", "estimate", "standard_error", "low", "high")]
    return {tuple(row[name] for name in names): row for row in table.to_pylist()}


def check_adds_up(made):
    """Counts are whole, not negative, and every cell of a level is the sum of the cells below it."""
    for upper, lower in zip(made.levels, made.levels[1:], strict=False):
        above, below = as_rows(made.table(upper)), as_rows(made.table(lower))
        depth = made.levels.index(upper)
        sums = {}
        for key, row in below.items():
            assert isinstance(row["count"], int) and row["count"] >= 0
            short = (*key[:depth], *key[depth + 1 :])
            sums[short] = sums.get(short, 0) + row["count"]
        assert sums == {key: row["count"] for key, row in above.items()}
        totals = as_rows(made.totals(upper))
        by_node = {}
        for key, row in above.items():
            by_node[key[:depth]] = by_node.get(key[:depth], 0) + row["count"]
        assert by_node == {key: row["count"] for key, row in totals.items()}


@pytest.mark.thin(1)
@pytest.mark.parametrize("delta", ["1e-7", 0])
def test_tables_add_up(tmp_path, delta):
    made = run(make(tmp_path), delta=delta)
    check_adds_up(made)
    assert made.price.is_pure == (delta == 0)


def test_with_hardly_any_noise_tables_are_the_truth(tmp_path):
    """Every path through axes, places, strategies and arrays: the numbers stand where they belong."""
    rows = people()
    made = run(make(tmp_path, rows=rows, budget=HUGE), epsilon=900)
    truth = exact_table(rows)
    labels = {0: "[0, 15)", 1: "[15, 65)", 2: "[65, 99]", None: None}
    expected = {(*key[:4], labels[key[4]]): count for key, count in truth.items()}
    found = as_rows(made.table("block"))
    assert len(found) == 21 * 8
    for key, row in found.items():
        assert row["count"] == expected.pop(key, 0)
        assert row["low"] <= row["count"] <= row["high"]
    assert not expected
    assert made.total == len(rows)
    state = as_rows(made.table("state"))
    assert state["AA", "F", "[0, 15)"]["count"] == sum(
        count for key, count in truth.items() if (key[0], key[3], key[4]) == ("AA", "F", 0)
    )
    assert as_rows(made.totals("state"))[(None,)]["count"] == sum(row[0] == "" for row in rows)


def test_places_that_are_mixed_up_are_caught(tmp_path, monkeypatch):
    """The planted mistake: labels of the wrong order."""
    known = published_tables._Labels
    monkeypatch.setattr(published_tables, "_Labels", lambda labels: known(labels[::-1]))
    with pytest.raises(AssertionError):
        test_with_hardly_any_noise_tables_are_the_truth(tmp_path)


def test_the_same_plan_again_is_free_and_the_same(tmp_path):
    project = make(tmp_path)
    first = run(project)
    spent = project.budget("people").spent
    again = run(discreet.open(project.folder), PLAN + "# another word\n")
    assert again.cached and not first.cached and again.release == first.release
    assert project.budget("people").spent == spent
    assert all((one == other).all() for one, other in zip(first.refined.counts, again.refined.counts, strict=True))
    third = run(project, fresh=True)
    assert not third.cached and third.release != first.release
    other = run(project, PLAN.replace('"nation"', '"country"'))
    assert other.release not in (first.release, third.release)


def test_the_better_noise_is_taken_and_found_again(tmp_path):
    """Few levels: Laplace. When the pure sum is gone it does not fit, and what was published is still found."""
    project = make(tmp_path, extra='accounting = "either"\n')
    first = run(project)
    assert first.price.is_pure
    pure, rho = (
        publication_offer.make_offer(first.layout, price)
        for price in publication_price.possible_prices(1, None, project.guarantee("people"))
    )
    assert pure.mean_variance < rho.mean_variance
    run(project, delta="4e-7", epsilon=6, fresh=True)  # ends the pure sum for everybody
    assert not run(project, fresh=True).price.is_pure
    again = run(project)
    assert again.cached and again.release == first.release
    zcdp = project.guarantee("people")
    zcdp = replace(zcdp, accounting="zcdp")
    assert [price.is_pure for price in publication_price.possible_prices(1, None, zcdp)] == [False]


def test_many_levels_are_better_under_rho(tmp_path):
    project = make(tmp_path)
    layout = lay_out(publishing.plan_of(plan(tmp_path)), project.version("people"), project.public)
    pure, rho = (
        publication_offer.make_offer(layout, price)
        for price in publication_price.possible_prices(200, None, project.guarantee("people"))
    )
    assert pure.price.is_pure and pure.mean_variance < 1 and rho.mean_variance < 1


def test_levels_that_do_not_pay_are_left_out(tmp_path):
    """Two places in each: under pure epsilon a few levels measured well beat all of them, and every error is stated."""
    project = make(tmp_path)
    text = 'table = "people"\n[hierarchy]\ncolumns = ["sex", "work"]\n'
    layout = lay_out(publishing.plan_of(plan(tmp_path, text)), project.version("people"), project.public)
    (price,) = publication_price.possible_prices(1, 0, project.guarantee("people"))
    offer = publication_offer.make_offer(layout, price)
    measured = [bool(level) for level in offer.layout.queries]
    assert measured[-1] and not all(measured)
    for chosen in itertools.product([0, 1], repeat=2):
        shares = "".join(
            f"[levels.{name}]\nshare = {share}\n" for name, share in zip(("total", "sex"), chosen, strict=True)
        )
        other = lay_out(publishing.plan_of(plan(tmp_path, text + shares)), project.version("people"), project.public)
        found = publication_offer.make_offer(other, price)
        assert [bool(level) for level in found.layout.queries] == [*map(bool, chosen), True]  # as the plan says
        assert offer.mean_variance <= found.mean_variance * (1 + 1e-12)
        assert found.mean_variance == pytest.approx(_mean_variance(layout, price, (*map(bool, chosen), True)))


def test_a_charge_that_does_not_fit_is_refused(tmp_path):
    project = make(tmp_path, budget="{ epsilon = 0.5 }")
    with pytest.raises(BudgetExceeded):
        run(project)
    assert project.budget("people").events == 0


def seen_by_noise(project):
    """The exact numbers that noise is added to, and how far they are said to move."""
    seen = []
    known = type(project.curator).add_noise

    def add(self, law, exact, moves):
        seen.append((exact.copy(), moves))
        return known(self, law, exact, moves)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(project.curator), "add_noise", add)
        run(project, delta="1e-7")
    assert len(seen) == 4
    return seen


def test_a_person_moves_each_level_by_their_rows_and_no_more(tmp_path):
    """Exact neighbours on the real engine: with and without somebody of many rows; the bound is attained."""
    counts = []
    for rows in (0, 50):
        folder = tmp_path / str(rows)
        folder.mkdir()
        listed = [[*row, f"p{number}"] for number, row in enumerate(people())]
        listed += [["AAa10", "F", 20, "false", "x"]] * rows
        counts.append(
            seen_by_noise(make(folder, rows=listed, extra='person = "who"\nrows_per_person = 5', person=True))
        )
    for (before, moves), (after, _) in zip(*counts, strict=True):
        assert (moves.l1, moves.l2_squared) == (5, 25)
        assert np.abs(after - before).sum() == 5 and ((after - before) ** 2).sum() == 25


def test_less_noise_than_was_paid_for_is_caught(tmp_path, monkeypatch):
    """The planted mistake: noise for one row a person, where a person has five; the ledger adds up what it costs."""
    project = make(
        tmp_path,
        rows=[[*row, f"p{number}"] for number, row in enumerate(people(50))],
        extra='person = "who"\nrows_per_person = 5',
        person=True,
    )
    known = publication_price.law_of
    monkeypatch.setattr(publication_price, "law_of", lambda price, share, rows: known(price, share, rows=1))
    with pytest.raises(UsageError, match="beyond what"):
        run(project)


MANY = """
[levels.nation]
share = 0.5
queries = ["total", ["sex"], ["age"], "cells"]
[levels.state]
share = 0
[levels.county]
share = 2
queries = [["sex", "age"], ["age"]]
"""


def test_stated_errors_are_those_of_the_linear_map(tmp_path):
    """Estimates are linear in what is measured: their errors follow from its coefficients, one by one, exactly."""
    project = make(tmp_path)
    layout = lay_out(publishing.plan_of(plan(tmp_path, PLAN + MANY)), project.version("people"), project.public)
    (price,) = publication_price.possible_prices(1, "1e-6", project.guarantee("people"))
    laws = publication_price.laws_of(layout, price)
    assert sum(query.share for level in layout.queries for query in level) == 1
    found = expected_accuracy(layout, laws)
    sizes = layout.places.tree.sizes
    empty = [[np.zeros((query.kinds, sizes[level])) for query in own] for level, own in enumerate(layout.queries)]
    squares = [np.zeros((layout.cells, size)) for size in sizes]
    totals = [np.zeros(size) for size in sizes]
    for level, own in enumerate(laws):
        for place, law in enumerate(own):
            for at in np.ndindex(empty[level][place].shape):
                empty[level][place][at] = 1.0
                estimates = refine(found, laws, empty, None).estimates
                empty[level][place][at] = 0.0
                for turn, each in enumerate(estimates):
                    squares[turn] += law.variance() * each**2
                    totals[turn] += law.variance() * each.sum(axis=0) ** 2
    for level in range(len(sizes)):
        stated = found.spread(level, found.cell_errors(level))
        np.testing.assert_allclose(np.broadcast_to(stated, squares[level].shape), np.sqrt(squares[level]), rtol=1e-8)
        stated = found.spread(level, found.total_errors(level))
        np.testing.assert_allclose(np.broadcast_to(stated, totals[level].shape), np.sqrt(totals[level]), rtol=1e-8)


@pytest.mark.thin(4)
@pytest.mark.parametrize("scale", [0.4, 2.0])
@pytest.mark.parametrize("weights", [[1.0], [0.5, 0.5], [0.7, 0.2, 0.1], [0.1] * 10, [0.5, -0.5, 0.9]])
def test_intervals_hold_as_often_as_they_say(scale, weights):
    """Weighted sums of discrete Laplace noise, 400,000 draws; below is six standard errors of the share."""
    generator = np.random.default_rng(7)
    ratio = np.exp(-1 / scale)
    noise = generator.geometric(1 - ratio, size=(400_000, len(weights))) - generator.geometric(
        1 - ratio, size=(400_000, len(weights))
    )
    error = np.sqrt(2 * ratio / (1 - ratio) ** 2 * np.square(weights).sum())
    for confidence in (Fraction(1, 2), Fraction(95, 100), Fraction(99, 100)):
        half = half_widths(np.array([error]), confidence, [DiscreteLaplace(scale=Fraction(scale))])
        held = (np.abs(noise @ np.array(weights)) <= half).mean()
        assert held > float(confidence) - 6 * np.sqrt(float(confidence * (1 - confidence)) / 400_000)


def test_no_weighted_sum_of_laplace_noise_has_a_wider_quantile():
    """P(|sum of a_i X_i| > t) = sum of exp(-t / a_i) times the product of a_i^2 / (a_i^2 - a_j^2), by partial fractions."""
    generator = np.random.default_rng(0)
    law = DiscreteLaplace(scale=Fraction(1000))  # as good as continuous
    for confidence in (Fraction(1, 2), Fraction(9, 10), Fraction(95, 100), Fraction(999, 1000)):
        for _ in range(500):
            scales = np.cumsum(generator.uniform(0.002, 1, size=generator.integers(2, 5)) ** 3 + 1e-3)
            scales /= np.sqrt(2 * (scales**2).sum())
            half = half_widths(np.array([1e6]), confidence, [law])[0] / 1e6
            squares = scales**2
            tail = sum(
                np.exp(-half / one) * np.prod([square / (square - other) for other in squares if other != square])
                for one, square in zip(scales, squares, strict=True)
            )
            assert tail <= float(1 - confidence) * (1 + 1e-6)


def test_what_is_known_exactly_has_no_interval():
    law = DiscreteGaussian(sigma2=Fraction(4))
    found = half_widths(np.array([0.0, 2.0]), Fraction(95, 100), [law])
    assert found[0] == 0.0 and 4.4 < found[1] < 5.0


def test_files_say_the_same_as_the_tables(tmp_path):
    project = make(tmp_path)
    made = run(project)
    files = made.write(tmp_path / "out")
    assert {file.name for file in (tmp_path / "out").iterdir()} == {file.name for file in files}
    for level in made.levels:
        stored = pq.read_table(tmp_path / "out" / f"{level}.parquet")
        assert stored.to_pylist() == made.table(level).to_pylist()
        lines = (tmp_path / "out" / f"{level}.csv").read_text().splitlines()
        assert len(lines) == stored.num_rows + 1 and lines[0].replace('"', "").split(",") == stored.column_names
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert card["release"] == made.release and card["guarantee"]["presence_protected"]
    assert [level["level"] for level in card["levels"]] == ["nation", "state", "county", "block"]
    page = (tmp_path / "out" / "card.html").read_text()
    assert "http:" not in page and "https:" not in page and "src=" not in page and made.release in page


def test_a_table_in_pieces_is_the_same_table(tmp_path, monkeypatch):
    made = run(make(tmp_path))
    whole = made.table("block").to_pylist()
    monkeypatch.setattr(published_tables, "_ROWS_AT_ONCE", 30)
    assert made.table("block").to_pylist() == whole
    made.write(tmp_path / "out")
    assert pq.read_table(tmp_path / "out" / "block.parquet").to_pylist() == whole


def test_a_full_folder_is_left_alone(tmp_path):
    made = run(make(tmp_path))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        made.write(tmp_path / "out")
    made.write(tmp_path / "out", force=True)
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


TEXT = {'type = "category"\nvalues = [' + ", ".join(f'"{block}"' for block in BLOCKS) + "]": 'type = "text"'}


def with_text(project):
    """The same nation with blocks that no declaration lists."""
    file = project.folder / "discreet.toml"
    text = file.read_text()
    (declared, undeclared), *_ = TEXT.items()
    assert declared in text
    file.write_text(text.replace(declared, undeclared))
    return discreet.open(project.folder)


def test_places_that_are_too_many_to_declare_are_joined(tmp_path):
    """A text column and a public table give the same tables as a declared category."""
    rows = [*people(), ["Atlantis", "F", 30, "false"]]
    made = run(with_text(make(tmp_path, rows=rows, budget=HUGE)), epsilon=900)
    assert made.layout.places.joined is not None
    truth = exact_table(rows)
    labels = {0: "[0, 15)", 1: "[15, 65)", 2: "[65, 99]", None: None}
    expected = {(*key[:4], labels[key[4]]): count for key, count in truth.items()}
    for key, row in as_rows(made.table("block")).items():
        assert row["count"] == expected.pop(key, 0)
    assert not expected and made.total == len(rows)


def test_a_person_moves_joined_tables_by_their_rows_and_no_more(tmp_path):
    counts = []
    for rows in (0, 50):
        folder = tmp_path / str(rows)
        folder.mkdir()
        listed = [[*row, f"p{number}"] for number, row in enumerate(people(100))]
        listed += [["AAa10", "F", 20, "false", "x"]] * rows
        project = with_text(make(folder, rows=listed, extra='person = "who"\nrows_per_person = 5', person=True))
        counts.append(seen_by_noise(project))
    for (before, moves), (after, _) in zip(*counts, strict=True):
        assert (moves.l1, moves.l2_squared) == (5, 25)
        assert np.abs(after - before).sum() == 5 and ((after - before) ** 2).sum() == 25


def test_a_join_that_multiplies_rows_is_caught(tmp_path, monkeypatch):
    known = PublicPlaceJoin.plan
    monkeypatch.setattr(PublicPlaceJoin, "plan", lambda self, scan: replace(known(self, scan), fan_out=2))
    with pytest.raises(ValueError, match="more rows"):
        run(with_text(make(tmp_path)))
