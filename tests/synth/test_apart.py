"""Cells that constraints tell apart: no cell of the model straddles a constraint, so that hardly a row is mended."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.schema.column import CategoryColumn, NumberColumn
from discreet.synth import synthesis as fit_file
from discreet.synth.attribute import attribute_of
from discreet.synth.cell_choice import split_groups
from discreet.synth.cell_decoder import draw_codes
from discreet.synth.constraints import MOST_APART
from discreet.synth.constraints_file import read_constraints
from discreet.synth.row_repair import broken_rows
from synth.worlds import CLINIC, CLINIC_RULES, clinic_lines, fit, keeps_clinic_rules, open_project

AGE = NumberColumn(name="age", type="integer", low=0, high=9999)
JOB = CategoryColumn(name="job", values=("cook", "nurse", "smith", "judge"))
SEX = CategoryColumn(name="sex", values=("F", "M"), closed=True)
TOLD = {
    "zeros": [{"age": "0 to 1507", "job": ["nurse", "judge"]}],
    "dependencies": [{"from": "job", "to": "sex", "map": {"cook": "F", "nurse": "M", "smith": "F"}}],
}


def prepared(told, columns=(AGE, JOB, SEX)):
    known = read_constraints(told, columns)
    return known, known.prepare_attributes([attribute_of(column) for column in columns])


def test_fine_cells_are_cut_where_a_constraint_says_so():
    _, (age, job, sex) = prepared(TOLD)
    assert 1508 in age.edges and age.fine == 256 + 1 + 1
    assert len(set(age.apart[: age.edges.index(1508)])) == 1
    assert age.apart[0] != age.apart[-1] and age.apart[-2] == age.apart[-1]
    # cook and smith go to the same; nurse to another and is ruled out; judge is ruled out and free; NULL is free
    assert job.apart[0] == job.apart[2] and len(set(job.apart.tolist())) == 4
    assert sex.apart.tolist() == [0, 1] and job.edges == (0, 1, 2, 3, 4)


def test_whatever_is_grouped_no_cell_straddles_a_constraint():
    """Rows of any cells that the rules allow keep them, whatever code is drawn: nothing is left to mend."""
    known, attributes = prepared(TOLD)
    for seed in range(20):
        random = np.random.default_rng(seed)
        found = []
        for each in attributes:
            groups = np.unique(random.integers(0, 3, size=each.fine), return_inverse=True)[1]
            found.append(each.with_groups(split_groups(groups, each.apart), random.random(each.fine)))
        cells = [random.integers(0, each.size, size=3000) for each in found]
        rows = {each.name: draw_codes(each, own, random) for each, own in zip(found, cells, strict=True)}
        possible = np.ones(3000, dtype=bool)
        for axes, table in known.allowed(found):
            possible &= table[tuple(cells[axis] for axis in axes)]
        assert possible.any() and not possible.all()
        assert np.array_equal(broken_rows(known.rules, rows), ~possible)


def test_a_constraint_that_tells_too_much_apart_leaves_the_cells():
    pairs = [[number, number] for number in range(MOST_APART + 1)]
    other = NumberColumn(name="other", type="integer", low=0, high=9999)
    _, (age, _) = prepared({"dependencies": [{"from": "age", "to": "other", "pairs": pairs}]}, (AGE, other))
    assert age.edges == attribute_of(AGE).edges and not age.apart.any()


def test_a_fit_on_prepared_cells(tmp_path, monkeypatch):
    """Cities whose counts are public are told apart however rare they are, and sampled exactly."""
    known = fit_file.describe_attributes
    lines = clinic_lines(900)
    cities = {
        name: sum(line.split(",")[2] == name for line in lines) for name in {line.split(",")[2] for line in lines}
    }
    told = CLINIC_RULES | {"totals": [{"column": "city", "counts": cities}]}
    project = open_project(tmp_path, CLINIC, lines)
    constraints = read_constraints(told, project.version("people").schema.columns)
    monkeypatch.setattr(
        fit_file, "describe_attributes", lambda *given, **more: constraints.prepare_attributes(known(*given, **more))
    )
    model = fit(project, constraints=told, epsilon="1")
    sizes = {attribute.name: attribute.size for attribute in model.attributes}
    assert sizes["city"] >= len(cities)
    table = model.sample(900, seed=1)
    assert keeps_clinic_rules(table)
    found = table.to_pandas()["city"].value_counts().to_dict()
    assert found == cities
    model.save(tmp_path / "model.json")
    assert type(model).load(tmp_path / "model.json").sample(900, seed=1).equals(table)


def test_splitting_keeps_what_is_not_told_apart():
    groups = np.array([0, 0, 1, 2, 2])
    assert split_groups(groups, np.zeros(5, dtype=np.int64)).tolist() == groups.tolist()
    with pytest.raises(ValueError, match="groups"):
        attribute_of(JOB).with_groups(np.zeros(2, dtype=np.int64), np.zeros(2))
