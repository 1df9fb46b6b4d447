"""Sensitivities, and that each is attained: the claims of plan.query_sensitivity against brute force over small persons."""

from itertools import product

import pytest

from discreet.errors import Refused
from discreet.plan.cell_statistics import DistinctCount, PersonCount, RowCount, Sum
from discreet.plan.expressions import Code
from discreet.plan.query_sensitivity import UnitReach, cells_touched, reach, sensitivity, with_grain
from discreet.plan.relation import Scan
from discreet.schema.project_file import read_table

AGE = Code("age", -2, 3, null=False)


def relation(rows=3, **more):
    schema = {"source": "t.csv", "columns": {"age": {"type": "integer"}, "sex": {"type": "boolean", "constant": True}}}
    schema |= {"person": "id", "rows_per_person": rows} if rows else {}
    return reach(Scan(table="t", version=1, **more), {"t": read_table("t", schema).schema})


def changes(statistic, rows, cells):
    """Every change of the cells that a person of at most `rows` rows can make, from nothing, by brute force."""
    values = range(AGE.low, AGE.high + 1)
    one_row = list(product(range(cells), values))
    for count in range(rows + 1):
        for person in product(one_row, repeat=count):
            vector = [0] * cells
            for cell in range(cells):
                own = [value for place, value in person if place == cell]
                match statistic:
                    case RowCount():
                        vector[cell] = len(own)
                    case PersonCount():
                        vector[cell] = bool(own)
                    case DistinctCount():
                        vector[cell] = len(set(own))
                    case Sum(centre=centre):
                        vector[cell] = sum(value - centre for value in own)
            yield vector


@pytest.mark.thin(30)
@pytest.mark.parametrize(
    "statistic", [RowCount(), PersonCount(), DistinctCount(of=AGE), Sum(of=AGE), Sum(of=AGE, centre=1)]
)
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("cells", [1, 2, 3])
def test_claims_hold_and_are_attained(statistic, rows, cells):
    own = relation(rows)
    claim = sensitivity(statistic, own, touched=cells_touched([AGE], own, groups=cells))
    found = list(changes(statistic, rows, cells))
    assert claim.l0 == max(sum(entry != 0 for entry in vector) for vector in found)
    assert claim.l1 == max(sum(abs(entry) for entry in vector) for vector in found)
    assert claim.l2_squared == max(sum(entry**2 for entry in vector) for vector in found)
    assert claim.linf == max(max(abs(entry) for entry in vector) for vector in found)


def test_constant_keys_touch_one_group():
    own = relation(3)
    assert cells_touched([Code("sex", 0, 1, null=True)], own, groups=3) == 1
    assert cells_touched([Code("age", 0, 9, null=True)], own, groups=10) == 3
    assert cells_touched([Code("age", 0, 1, null=True)], own, groups=2) == 2
    assert cells_touched([], own, groups=1) == 1
    assert cells_touched([Code("age", 0, 9, null=True)], relation(0), groups=10) == 1


def test_a_roster_has_one_row_a_person():
    own = relation(7, roster=True)
    assert own.rows == 1 and own.constant == {"rows"} and own.region.is_whole


@pytest.mark.parametrize("grain", [1, 2, 3, *(pytest.param(grain, marks=pytest.mark.deep) for grain in (7, 8))])
def test_cutting_to_grains_moves_no_further_than_claimed(grain):
    """floor(a / g) and floor(b / g), over every start and every spread of a change."""
    claim = sensitivity(Sum(of=AGE, grain=grain), relation(3), touched=2)
    for start in product(range(-grain, grain + 1), repeat=2):
        for vector in changes(Sum(of=AGE), 3, 2):
            moved = [abs((one + by) // grain - one // grain) for one, by in zip(start, vector, strict=True)]
            assert sum(moved) <= claim.l1
            assert max(moved) <= claim.linf
            assert sum(entry**2 for entry in moved) <= claim.l2_squared


def test_large_sums_get_grains_and_small_ones_do_not():
    own = relation(1000)
    assert with_grain(Sum(of=AGE), own).grain == 1
    wide = with_grain(Sum(of=Code("cost", 0, 2 * 10**6, null=True)), own)
    assert wide.grain == 128
    claim = sensitivity(wide, own, touched=1000)
    assert claim.l1 * wide.grain < 1.0001 * 1000 * 2 * 10**6


def test_what_cannot_be_summed():
    with pytest.raises(Refused, match="needs bounds"):
        sensitivity(Sum(of=Code("age", 0, None, null=True)), relation(3), touched=1)
    with pytest.raises(Refused, match="too large"):
        sensitivity(Sum(of=Code("age", 0, 2**80, null=True)), relation(3), touched=1)


def test_reasons_are_told():
    told = sensitivity(RowCount(), relation(3), touched=1).because
    assert "all rows of one id" in told[0] and "at most 3 rows" in told[1]
    assert isinstance(relation(3), UnitReach)


@pytest.mark.parametrize("rows", [1, 2])
def test_with_one_row_a_person_every_column_tells_persons_apart(rows):
    columns = {"age": {"type": "integer", "low": 0, "high": 9}}
    data = {"source": "t.csv", "budget": {"epsilon": 1}, "person": "who", "rows_per_person": rows, "columns": columns}
    schema = read_table("t", data).schema
    found = reach(Scan(table="t", version=1), {"t": schema})
    assert ("age" in found.narrowing) == ("age" in found.constant) == (rows == 1)
