"""Marginals through the real engine and ledger: neighbours, errors, repeats, refusals."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BudgetExceeded, LedgerFault, Refused, UsageError
from discreet.inference.linear.residual_part import ResidualPart
from discreet.kernel.curator import Curator
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.tables.marginals import marginals_request
from discreet.tables.marginals.marginals_plan import MarginalsPlan
from tables.marginals.worlds import COLUMNS, LINES, PURE, ZCDP, people, price, release

TERMS = [ZCDP, PURE]


@pytest.mark.parametrize("terms", TERMS)
def test_a_person_costs_what_is_reserved_and_no_more(tmp_path, terms, monkeypatch):
    """Exact neighbours on the real engine: the noise that is drawn hides a person of many rows at the price paid."""
    seen = [measured(tmp_path / str(rows), rows, terms, monkeypatch) for rows in (0, 50)]
    lost = loss(*seen)
    event = seen[0][0].cost
    most = event.epsilon or event.rho
    assert Fraction(999, 1000) * most < lost <= most  # five equal rows attain it


def measured(folder, rows, terms, monkeypatch):
    lines = [f"{line},p{number}" for number, line in enumerate(LINES)] + ["cardio,F,30,x,me"] * rows
    project = people(folder, columns=COLUMNS | {"who": None}, lines=lines, table='person = "who"\nrows_per_person = 5')
    calls, known = [], Curator.add_noise

    def add(self, law, exact_values, own):
        calls.append((law, exact_values))
        return known(self, law, exact_values, own)

    with monkeypatch.context() as patched:
        patched.setattr(Curator, "add_noise", add)
        return release(project, order=2, **terms), calls


def loss(before, after):
    """What telling the two apart gains at most: in rho, or in epsilon."""
    found = Fraction(0)
    for (law, less), (same, more) in zip(before[1], after[1], strict=True):
        assert law == same
        change = [int(each) for each in more - less]
        if isinstance(law, DiscreteGaussian):
            found += Fraction(sum(each**2 for each in change)) / (2 * law.sigma2)
        else:
            found += Fraction(sum(map(abs, change))) / law.scale
    return found


def test_a_norm_that_is_too_small_is_refused_by_the_ledger(tmp_path, monkeypatch):
    project = people(tmp_path)
    monkeypatch.setattr(ResidualPart, "norms", lambda self, sizes: (1, 1))
    with pytest.raises((UsageError, LedgerFault, BudgetExceeded)):
        release(project, **ZCDP)
    assert not any(len(own.steps) for own in project.ledger.state.reservations.values())


@pytest.mark.parametrize("terms", TERMS)
def test_errors_are_as_stated(tmp_path, terms):
    """2,000 cells, nearly independent: the mean of their squared errors is within 7 of its standard deviations.

    Of a Laplace draw's square the standard deviation is 2.24 times its mean; for a mean of 2,000 that is 0.05.
    """
    check_errors(people(tmp_path, columns=WIDE, lines=WIDE_LINES), terms)


WIDE = {
    name: f'type = "category"\nvalues = {[str(value) for value in range(size)]}\nclosed = true'.replace("'", '"')
    for name, size in (("a", 50), ("b", 40))
}
WIDE_LINES = [f"{number * 7 % 50},{number * number % 40}" for number in range(900)]


def check_errors(project, terms):
    table = release(project, ("a", "b"), order=2, **terms).marginal("a", "b")
    counts = np.zeros((50, 40), dtype=int)
    np.add.at(counts, tuple(np.array([line.split(",") for line in WIDE_LINES], dtype=int).T), 1)
    errors = table.values - counts
    assert abs(float((errors**2).mean()) / table.standard_error**2 - 1) < 0.35
    assert float((np.abs(errors) > table.half_width).mean()) < 0.1


def test_noise_that_is_too_small_is_seen(tmp_path, monkeypatch):
    project, known = people(tmp_path, columns=WIDE, lines=WIDE_LINES), MarginalsPlan.precision
    monkeypatch.setattr(MarginalsPlan, "precision", lambda self, laws: halved(known(self, laws)))
    with pytest.raises(AssertionError):
        check_errors(project, ZCDP)


def halved(precision):
    return replace(precision, of={subset: 2 * told for subset, told in precision.of.items()})


@pytest.mark.thin(1)
@pytest.mark.parametrize("terms", TERMS)
def test_tables_agree_and_have_one_total(tmp_path, terms):
    made = release(people(tmp_path), order=3, **terms)
    assert [table.columns for table in made] == [
        ("ward",), ("sex",), ("age",), ("ward", "sex"), ("ward", "age"), ("sex", "age"), ("ward", "sex", "age"),
    ]  # fmt: skip
    whole = made.marginal("ward", "sex", "age")
    assert np.allclose(whole.values.sum(axis=1), made.marginal("age", "ward").values.T, rtol=0, atol=1e-9)
    assert np.allclose(whole.values.sum(axis=(0, 2)), made.marginal("SEX").values, rtol=0, atol=1e-9)
    for table in made:
        assert table.whole.min() >= 0 and int(table.whole.sum()) == made.total
        assert table.values.sum() == pytest.approx(made.residuals.total, abs=1e-9)
        assert table.half_width > 1.5 * table.standard_error
    mean = sum(table.values.size * table.standard_error**2 for table in made)
    assert made.expected_rmse == pytest.approx(math.sqrt(mean / sum(table.values.size for table in made)))
    assert made.marginal().values == pytest.approx(made.residuals.total)


@pytest.mark.thin(1)
@pytest.mark.parametrize("terms", TERMS)
def test_the_same_wish_again_is_free(tmp_path, terms, monkeypatch):
    project = people(tmp_path)
    first = release(project, **terms)
    spent = project.budget("people").spent
    monkeypatch.setattr(marginals_request, "plan_marginals", rounding_otherwise(marginals_request.plan_marginals))
    for columns in (("ward", "sex", "age"), ("Age", "SEX", "ward")):
        again = release(project, columns, **terms)
        assert again.cached and again.release == first.release and again.to_data()["cost"]["epsilon"] == 0
        for table in first:
            assert (table.values == again.marginal(*table.columns).values).all()
    assert project.budget("people").spent == spent
    surer = release(project, confidence="0.999", **terms)  # a matter of showing, not of measuring
    assert surer.cached and surer.marginal("sex").half_width > 1.2 * first.marginal("sex").half_width
    assert release(project, objective="max", **terms).release != first.release
    assert release(project, order=1, **terms).release != first.release
    assert release(project, tables={("ward", "sex"): 3}, **terms).release != first.release
    assert release(project, fresh=True, **terms).release != first.release
    assert project.budget("people").spent.epsilon > spent.epsilon


def rounding_otherwise(known):
    """The planner of another machine, or of a later day."""

    def otherwise(wish, *, gaussian):
        found = known(wish, gaussian=gaussian)
        return replace(found, shares=tuple(share * Fraction(99, 100) for share in found.shares))

    return otherwise


def test_a_broken_off_release_goes_on(tmp_path, monkeypatch):
    """Charged, perhaps measured, and killed: it goes on by the plan that it began with, whatever the planner does now."""
    for number, place in enumerate(
        ("discreet.kernel.binned_table.BinnedTable.linear", "discreet.inference.linear.residual_fit.Residuals.fit")
    ):
        project = people(tmp_path / str(number))
        with monkeypatch.context() as patched:
            patched.setattr(place, lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                release(project, **ZCDP)
        spent = project.budget("people").spent
        (held,) = project.ledger.state.reservations.values()
        assert len(held.steps) == number
        begun = json.loads(project.ledger.answer(held.id))
        with monkeypatch.context() as patched:
            patched.setattr(marginals_request, "plan_marginals", rounding_otherwise(marginals_request.plan_marginals))
            made = release(project, **ZCDP)
        assert made.cached and project.budget("people").spent == spent
        assert {"kind": "marginals", "columns": ["age", "sex", "ward"], **made.planned.to_data()} == begun


def test_a_plan_is_free_and_says_what_a_release_says(tmp_path):
    project = people(tmp_path)
    for terms in TERMS:
        told = price(project, order=2, **terms)
        assert not project.ledger.state.charges
        data = told.to_data()
        assert data["cells"] == 3 + 2 + 5 + 6 + 15 + 10
        assert ["ward", "age"] in [each["columns"] for each in data["marginals"]]
        assert 0 < data["lower_bound"] <= data["expected_rmse"] * 1.001
    project = people(tmp_path / "other")
    told = price(project, order=2, **ZCDP)
    made = release(project, order=2, **ZCDP)
    assert made.expected_rmse == told.expected_rmse and made.strategy == told.planned.words
    assert [table.standard_error for table in made] == told.errors
    assert told.expected_rmse == pytest.approx(told.lower_bound, rel=1e-2)  # attained, but for discreteness


def test_gaussian_noise_is_recommended_where_it_is_much_better(tmp_path):
    columns = {f"c{number}": COLUMNS["ward"] for number in range(9)}
    lines = [",".join(["cardio"] * 9)] * 50
    project = people(tmp_path / "some", columns=columns, lines=lines)
    limits, advice = price(project, (), order=3, **PURE).warnings
    assert limits.startswith("numbers and intervals describe the declared table: other values of c0 are ")
    assert "Gaussian noise at the same rho, 0.5" in advice
    pure = people(tmp_path / "none", columns=columns, lines=lines, budget="{ epsilon = 9, delta = 0 }")
    assert price(pure, (), order=3, **PURE).warnings == (limits,)


def test_weights_and_named_tables(tmp_path):
    project = people(tmp_path)
    made = release(project, (), tables={("sex", "ward"): 4, "age": 1}, **ZCDP)
    assert [table.columns for table in made] == [("age",), ("ward", "sex")]
    assert made.marginal("ward").values.shape == (3,)
    with pytest.raises(UsageError, match="no table of sex, age"):
        made.marginal("sex", "age")
    with pytest.raises(UsageError, match="no column 'agee'"):
        made.marginal("agee")
    everything = price(project, ("ward", "sex", "age"), order=2, tables={("ward", "sex"): 9}, **ZCDP)
    assert dict(zip(everything.planned.workload.sets, everything.planned.workload.weights, strict=True))[1, 2] == 9
    assert price(project, (), **ZCDP).planned.workload.sizes == (5, 2, 3)  # note has no known values


def test_what_cannot_be_is_refused_before_it_is_paid(tmp_path):
    project = people(tmp_path)
    for wish, kind, words in (
        ({"columns": ("ward", "sx")}, UsageError, "no column 'sx'"),
        ({"columns": ("ward", "note")}, Refused, "'note' are not declared"),
        ({"columns": ("ward", "Ward")}, UsageError, "named twice"),
        ({"order": 4}, UsageError, "from 1 to"),
        ({"order": "1.5"}, UsageError, "whole number"),
        ({"objective": "least"}, UsageError, "mean or max"),
        ({"tables": {("ward", "sex"): 1, ("sex", "ward"): 2}}, UsageError, "named twice"),
        ({"tables": {("ward",): -1}}, UsageError, "weight"),
        ({"confidence": "1"}, UsageError, "confidence"),
    ):
        with pytest.raises(kind, match=words):
            release(project, **({"columns": ("ward", "sex", "age")} | wish), **ZCDP)
    with pytest.raises(BudgetExceeded):
        release(project, epsilon="91")
    assert not project.ledger.state.charges


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "wish",
    [
        {"columns": [5]},
        {"columns": 5},
        {"columns": None},
        {"columns": [["ward"]]},
        {"tables": [5]},
        {"tables": 5},
        {"tables": {5: 1}},
        {"tables": {("ward", 5): 1}},
        {"zork": 1},
        {"objective": None},
        {"order": None, "exactly": True, "tables": ["sx"]},
    ],
)
def test_what_is_no_wish_is_said(tmp_path, wish):
    with pytest.raises(UsageError):
        price(people(tmp_path), **wish, **ZCDP)


def test_a_word_that_is_nearly_one_is_recognised(tmp_path):
    with pytest.raises(UsageError, match="have no option 'ordre'") as caught:
        price(people(tmp_path), ordre=2, **ZCDP)
    assert "order" in caught.value.hint


def test_one_string_is_one_name(tmp_path):
    project = people(tmp_path)
    for wish in ({"columns": "sex"}, {"columns": (), "tables": "sex"}, {"columns": (), "tables": {"sex": 2}}):
        assert [column.name for column in price(project, **wish, **ZCDP).columns] == ["sex"]
    made = release(project, "sex", **ZCDP)
    for name in (5, None, ["sex"]):
        with pytest.raises(UsageError, match="must be text"):
            made.marginal(name)


def test_the_reader_is_told_what_is_left_out_and_which_noise_it_is(tmp_path):
    lines = [f"{line},p{number}" for number, line in enumerate(LINES)]
    table = 'person = "who"\nrows_per_person = 5\naccounting = "either"'
    project = people(tmp_path, columns=COLUMNS | {"who": None}, lines=lines, table=table)
    (limit,) = release(project, "sex", **PURE).warnings
    assert "at most 5 rows" in limit
    release(project, "ward", **ZCDP)  # ends the pure part
    told = release(project, "ward", epsilon="0.5")
    assert "at most 5 rows per person, other values of ward are" in told.warnings[0]
    assert "sum of epsilons is at its limit" in told.warnings[1]
    assert release(project, "sex", **PURE).warnings == (limit,)  # as it was measured, not as it would be now
    assert "sum of epsilons is at its limit" in price(project, "sex", epsilon="0.4").warnings[1]


def test_noise_that_cannot_be_drawn_is_refused_before_it_is_paid(tmp_path):
    lines = [f"{line},p{number}" for number, line in enumerate(LINES)]
    table = 'person = "who"\nrows_per_person = 100000'
    project = people(tmp_path, columns=COLUMNS | {"who": None}, lines=lines, table=table)
    with pytest.raises(UsageError, match="noise would have"):
        release(project, epsilon="1e-9")
    assert not project.ledger.state.charges


def test_tables_speak_arrow(tmp_path):
    columns = {"value": COLUMNS["sex"], "low": COLUMNS["age"]}
    table = release(people(tmp_path, columns=columns, lines=["F,7", "M,33"] * 20), ("value", "low"), **ZCDP).marginal(
        "low", "value"
    )
    found = table.to_arrow()
    assert found.column_names == list(table.header) == ["low", "value", "value_", "low_", "high"]
    assert found["low"].to_pylist()[::2] == ["[0, 20)", "[20, 40)", "[40, 60)", "[60, 99]", None]
    lines = [[*map(str, row[:2]), *row[2:]] for row in table.rows()]
    told = [
        [str(a), str(b), value, [low, high]] for a, b, value, low, high in zip(*found.to_pydict().values(), strict=True)
    ]
    assert lines == told
