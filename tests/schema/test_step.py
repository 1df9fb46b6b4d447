"""The step of a decimal column that declares none: from its bounds; stored schemas keep theirs."""

from fractions import Fraction

import pytest

from discreet.errors import DiscreetError
from discreet.schema.column import MOST_CODE, NumberColumn
from discreet.schema.grid_step import derived_step, is_coarse
from discreet.schema.project_file import read_project, read_table


def column(settings, *, project=True):
    columns = {"x": {"type": "decimal", **settings}}
    if project:
        table = read_project({"tables": {"t": {"source": "t.csv", "columns": columns}}}).tables["t"]
    else:
        table = read_table("t", {"source": "t.csv", "columns": columns})
    found = table.schema.columns[0]
    assert isinstance(found, NumberColumn)
    return found


@pytest.mark.parametrize(
    ("settings", "step"),
    [
        ({"low": 0, "high": 20_000}, "0.01"),
        ({"low": 0, "high": 100}, "0.01"),
        ({"low": 0, "high": "99.99"}, "0.001"),
        ({"low": 0, "high": "0.1"}, "0.00001"),
        ({"low": "-0.5", "high": "0.5"}, "0.0001"),
        ({"low": 0, "high": "1e-9"}, "1e-12"),
        ({"low": "0.125", "high": 2000}, "0.001"),
        ({"low": 0, "high": 2000, "edges": [0, "0.5", "1.3333", 2000]}, "0.0001"),
        ({"low": 0, "high": 10**16}, "0.01"),
        ({"low": 0, "high": 10**17}, "0.1"),
        ({"low": -(10**25), "high": 10**25}, "1e7"),
        ({"low": 10**15, "high": 10**15 + 1}, "0.001"),
        ({"low": 3, "high": 3}, "0.01"),
        ({"low": 0}, "0.01"),
        ({"high": "0.125"}, "0.001"),
        ({}, "0.01"),
    ],
)
def test_a_step_follows_from_the_bounds(settings, step):
    found = column(settings)
    assert found.step == Fraction(step)
    assert all(abs(code) <= MOST_CODE for code in (found.low or 0, found.high or 0))
    assert column({**settings, "step": step}) == found, "as if it were declared"


def test_a_declared_step_stands_and_a_stored_schema_keeps_its_own():
    bounds = {"low": 0, "high": "0.1"}
    assert column({**bounds, "step": "0.01"}).step == Fraction(1, 100)
    assert column(bounds, project=False).step == Fraction(1, 100), "made before steps followed from bounds"


@pytest.mark.parametrize("settings", [{"low": "x", "high": 1}, {"low": 0, "high": "1e-13"}, {"low": 2, "high": 1}])
def test_what_is_wrong_with_bounds_is_said_as_before(settings):
    derived_step(settings)
    with pytest.raises(DiscreetError):
        column(settings)


def test_a_step_is_coarse_above_a_thousandth_of_the_range():
    assert is_coarse(column({"low": 0, "high": 5, "step": "0.5"}))
    assert is_coarse(column({"low": 0, "high": "9.99", "step": "0.01"}))
    assert not is_coarse(column({"low": 0, "high": 10, "step": "0.01"}))
    assert not is_coarse(column({"low": 3, "high": 3}))
    assert not is_coarse(column({"low": 0, "high": "0.1"}))
