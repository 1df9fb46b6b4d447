"""A fit that is paid for ends in a model; what could end otherwise is refused before anything is paid."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.schema.column import MomentColumn, NumberColumn
from discreet.synth.constraint_bounds import (
    attributes_from_totals,
    check_satisfiable,
    open_ended_attribute,
    refuse_contradiction,
    stretch_to_constraints,
)
from discreet.synth.constraints_file import read_constraints
from discreet.synth.fit_request import FitRequest
from discreet.synth.model import Model
from discreet.synth.model_size import most_cells, refuse_large_marginals
from synth.model_tables import letters, planted, spent
from synth.worlds import AGE, SEX, fit, open_project

TEXT, WHOLE = 'type = "text"', 'type = "integer"'
KINDS = ("auto", "independent", "privbayes", "mst", "aim")


@pytest.mark.noisy  # each of 1,400 unique words shows with the chance that delta allows: together about 1e-5
@pytest.mark.thin(2)
@pytest.mark.parametrize("kind", KINDS)
def test_identifiers_alone_come_out_as_placeholders(tmp_path, kind):
    """Every value is unique, so none is found. How many rows there are, and how many are NULL, is known all the same."""
    lines = [f"id{n},{'' if n % 4 == 0 else f'note {n}'}" for n in range(800)]
    project = open_project(tmp_path, {"id": TEXT, "note": TEXT}, lines)
    model = fit(project, kind=kind, epsilon="10")
    assert model.total == pytest.approx(800, abs=60)
    model.save(tmp_path / "model.json")
    for each in (model, Model.load(tmp_path / "model.json")):
        rows = each.sample(400, seed=1)
        assert rows["id"].to_pylist()[:2] == ["id 1", "id 2"] and rows["id"].null_count < 40
        assert 60 <= rows["note"].null_count <= 140
        assert set(rows["note"].to_pylist()) - {None} <= {f"note {n}" for n in range(1, 401)}
    assert sum("id, note contain only placeholders" in warning for warning in model.card.warnings) == 1
    assert not any("were not declared" in warning for warning in model.card.warnings)
    assert spent(project, model) == 1
    for column, problem in (("id", "has only placeholders"), ("note", "not a value of column")):
        with pytest.raises(UsageError, match=problem):
            model.sample(3, given={column: "id7"})


@pytest.mark.noisy  # each of 900 unique words may show: together about 1e-5
def test_text_that_people_share_is_modelled_as_before(tmp_path):
    project = open_project(
        tmp_path, {"id": TEXT, "word": TEXT}, [f"id{n},{'yes' if n % 2 else 'no'}" for n in range(900)]
    )
    model = fit(project, kind="mst", epsilon="10")
    assert [attribute.name for attribute in model.attributes] == ["word"]
    assert model.sample(2, seed=1)["id"].to_pylist() == ["id 1", "id 2"]


FAR_OFF = {"totals": [{"column": "n", "counts": [[0, 100], [1_000_000_000, 150], [{"null": True}, 50]]}]}


def test_known_counts_declare_their_column(tmp_path):
    """Counts are public: what they name is the domain, however far from the data, and nothing is bought."""
    project = open_project(tmp_path, {"n": WHOLE, "sex": SEX}, [f"{n % 5},{'FM'[n % 2]}" for n in range(300)])
    model = fit(project, kind="mst", constraints=FAR_OFF)
    assert "describing" not in model.card.shares and not model.card.warnings
    assert model.attributes[0].open and model.attributes[0].column.high == 1_000_000_000
    assert Counter(model.sample(300, seed=1)["n"].to_pylist()) == {0: 100, 1_000_000_000: 150, None: 50}
    model.save(tmp_path / "model.json")
    again = Model.load(tmp_path / "model.json").sample(300, seed=1)
    assert Counter(again["n"].to_pylist()) == {0: 100, 1_000_000_000: 150, None: 50}


@pytest.mark.thin(1)
@pytest.mark.parametrize(
    ("rules", "seen"),
    [
        ({"dependencies": [{"from": "sex", "to": "n", "map": {"F": 10**9, "M": 3}}]}, {10**9, 3}),
        ({"zeros": [{"n": [{"from": -(10**6)}, {"null": True}]}]}, None),
        ({"zeros": [{"n": "0 to 1000000", "sex": "F"}, {"n": {"null": True}}, {"n": {"from": -500, "to": -1}}]}, None),
        ({"orders": [["m", "n"]], "zeros": [{"n": {"null": True}}, {"m": {"null": True}}]}, None),
    ],
)  # fmt: skip
def test_constraints_that_bought_bounds_miss(tmp_path, rules, seen):
    """The data break them, and noise could: what was paid for comes out, and keeps them."""
    lines = [f"{n % 5},{'FM'[n % 2]},{2000 + n % 9}" for n in range(300)]
    project = open_project(tmp_path, {"n": WHOLE, "sex": SEX, "m": WHOLE}, lines)
    known = read_constraints(rules, project.version("people").schema.columns)
    model = fit(project, kind="mst", epsilon="5", constraints=rules)
    rows = model.sample(200, seed=1).to_pandas()
    assert len(rows) == 200
    codes = {name: np.array(rows[name].fillna(-(2**63)), dtype=np.int64) for name in ("n", "m")}
    codes["sex"] = np.array(rows["sex"] == "M", dtype=np.int64)
    assert not any(rule.broken(codes).any() for rule in known.rules)
    assert seen is None or set(rows["n"].dropna()) <= seen


@pytest.mark.parametrize(
    "rules",
    [
        {"zeros": [{"n": [{"from": 0}, {"to": 10}, {"null": True}]}]},
        {"zeros": [{"n": [{"from": 0}, {"null": True}], "sex": "F"}, {"n": {"to": -1}, "sex": "F"}, {"sex": "M"}]},
        {"totals": [{"column": "n", "counts": {"3": 10}}], "zeros": [{"n": 3}]},
    ],
)  # fmt: skip
def test_what_no_table_keeps_costs_nothing(tmp_path, rules):
    project = open_project(tmp_path, {"n": WHOLE, "sex": SEX}, ["1,F"])
    before = project.ledger.state.seq
    with pytest.raises(UsageError):
        fit(project, kind="mst", constraints=rules)
    assert project.ledger.state.seq == before


def test_ends_of_moments_and_of_one_declared_end():
    day, number = MomentColumn(name="day", type="date"), NumberColumn(name="n", type="integer", low=5)
    told = {"totals": [{"column": "day", "counts": {"2020-01-05": 3, "2024-01-01": 4, "2030-01-01": 0}}]}
    known = read_constraints(told, [day, number])
    (found,) = attributes_from_totals([day, number], known.totals).values()
    assert [found.column.label(code) for code in (found.edges[0], found.edges[-1] - 1)] == ["2020-01-05", "2024-01-01"]
    nothing = read_constraints({"totals": [{"column": "n", "counts": [[{"null": True}, 7]]}]}, [day, number])
    assert attributes_from_totals([day, number], nothing.totals)["n"].edges == (5, 6)
    # A declared end is never left, whatever a rule tells apart beyond it.
    rules = read_constraints({"zeros": [{"n": [{"from": 10, "to": 90}, {"null": True}]}]}, [number])
    refuse_contradiction(rules, [number], {})
    (stretched,) = stretch_to_constraints(rules, [open_ended_attribute(number, 20, 30)], [number])
    assert stretched.edges[0] == 9 and stretched.edges[-1] == 92
    check_satisfiable(rules, [stretched])
    (same,) = stretch_to_constraints(rules, [open_ended_attribute(number, 5, 30)], [number])
    assert (same.edges[0], same.edges[-1]) == (5, 31)


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("marginals", "why"),
    [
        ([("c0", "c1", "c2", "c3")], r"the marginal of c0, c1, c2, c3 has up to 12,960,000 cells, .* room for 1,310,720"),
        ([("c0", "c1"), ("c1", "c2"), ("c2", "c3"), ("c0", "c3"), ("c0", "c2"), ("c1", "c3")], "together have up to 12,"),
        ([("C0", "word", "c1")], "the marginal of c0, c1, word has up to 3,607,200"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["auto", "mst", "aim"])
def test_named_marginals_that_are_too_large_cost_nothing(tmp_path, kind, marginals, why):
    columns = {f"c{place}": letters(60) for place in range(4)} | {"word": TEXT}
    project = open_project(tmp_path, columns, ["v1,v2,v3,v4,w"])
    before = project.ledger.state.seq
    with pytest.raises(UsageError, match=why) as caught:
        fit(project, kind=kind, marginals=tuple(marginals), model_mb=Fraction(10))
    assert "fewer" in caught.value.hint
    assert project.ledger.state.seq == before


def test_a_named_marginal_that_just_fits(tmp_path):
    project = planted(tmp_path, sizes=(4, 3, 5, 2), rows=300)
    for cells, fits in ((62, True), (61, False)):  # 60 cells, and 2 of the column that stands alone
        try:
            model = fit(project, kind="mst", marginals=(("c0", "c1", "c2"),), model_mb=Fraction(8 * cells, 2**20))
        except UsageError:
            assert not fits
        else:
            assert fits and (0, 1, 2) in {each.attributes for each in model.measured}


def test_columns_count_for_the_most_cells_that_bins_leave(tmp_path):
    project = open_project(tmp_path, {"age": AGE, "n": WHOLE, "few": letters(7)}, ["1,2,v1"])
    columns = project.version("people").schema.columns
    rules = {"zeros": [{"age": "10 to 20", "few": "v0"}]}
    wanted = FitRequest(
        epsilon=Fraction(1), marginals=(("age", "n", "few"),), constraints=read_constraints(rules, columns)
    )
    with pytest.raises(UsageError, match=f"{(33 + 2) * 33 * 7:,} cells"):
        refuse_large_marginals(wanted, columns, {}, model_mb=0.01)
    assert most_cells(open_ended_attribute(NumberColumn(name="n", type="integer"), 0, 10)) == 12


def test_a_model_larger_than_inference_makes_is_no_wish():
    with pytest.raises(UsageError, match="model_mb"):
        FitRequest.of(epsilon=1, model_mb=2000)
    assert FitRequest.of(epsilon=1, model_mb=1024).model_mb == 1024
