"""What a cell is and what types are proposed, by example, on every engine."""

import pyarrow as pa
import pytest

from discreet.accounting.region import ValueSet
from discreet.plan.predicate import Member
from discreet.schema.column import CategoryColumn, NumberColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.sql.group_keys import declared_axis
from engines.asking import asked, counted, typed
from engines.conformance.agreeing import Declaration
from engines.persons_tables import File

SEX = CategoryColumn(name="sex", values=("F", "M"))
AGE = NumberColumn(name="age", type="integer", low=0, high=2)
ROWS = (("F", "0"), ("M", "1"), ("M", "1"), (None, "1"), ("F", None), (None, None), ("M", "2"))


def people(rows):
    return Declaration(
        schema=Schema(table="people", columns=(SEX, AGE), unit=PrivacyUnit()),
        file=File(names=("sex", "age"), rows=rows, types=(pa.string(), pa.string())),
    )


def test_cells_are_row_major_and_the_null_cell_is_last(any_ground):
    _, place = people(ROWS).declare(any_ground)
    cells = asked(axes=(declared_axis(AGE), declared_axis(SEX)))
    (exact_values,) = counted(any_ground.engine, cells, place)
    assert exact_values.reshape(cells.shape).tolist() == [[1, 0, 0], [0, 2, 1], [0, 1, 0], [1, 0, 1]]
    (total,) = counted(any_ground.engine, asked(where=Member("age", ValueSet.interval(1, 3))), place)
    assert total.tolist() == [4]


def test_an_empty_table_has_empty_cells(any_ground):
    making, place = people(()).declare(any_ground)
    assert making.exact_rows == 0 and any_ground.stored(place) == []
    (found,) = counted(any_ground.engine, asked(axes=(declared_axis(SEX),)), place)
    assert found.tolist() == [0, 0, 0]


#: Types, and what is proposed where a column has them.
TYPED = {
    "i": (pa.uint64(), 1, "integer"),
    "f": (pa.float64(), 1.5, "decimal"),
    "d": (pa.date32(), 1, "date"),
    "t": (pa.timestamp("us"), 1, "timestamp"),
    "b": (pa.bool_(), True, "boolean"),
    "s": (pa.string(), "1", "text"),
    "n": (pa.decimal128(5, 0), 1, "integer"),
    "m": (pa.decimal128(5, 1), 1, "decimal"),
}


def test_types_are_proposed(any_ground):
    file = File(
        names=tuple(TYPED),
        rows=(tuple(value for _, value, _ in TYPED.values()),),
        types=tuple(type_ for type_, *_ in TYPED.values()),
    )
    source = any_ground.lay(file, "typed")
    wanted = {name: {"type": proposed} for name, (*_, proposed) in TYPED.items()}
    assert any_ground.engine.columns(source, folder=any_ground.folder) == wanted
    assert any_ground.engine.header(source, folder=any_ground.folder).names == tuple(TYPED)


@pytest.mark.parametrize("any_ground", ["memory", "duckdb"], indirect=True)
def test_types_are_proposed_for_texts(any_ground):
    (any_ground.folder / "s.csv").write_text(
        "whole,part,day,moment,flag,code,word,nothing,mixed\n"
        "1,1,2020-01-01,2020-01-01,true,007,x,,1\n"
        "-2,2.5,2020-01-02,2020-01-01 10:00,False,010,y,,x\n"
    )
    assert any_ground.engine.columns("s.csv", folder=any_ground.folder) == typed(
        whole="integer", part="decimal", day="date", moment="timestamp", flag="boolean",
        code="text", word="text", nothing="text", mixed="text",
    )  # fmt: skip


def test_public_rows(any_ground):
    """What a public table holds: the same for `public.load`, wherever it lies."""
    file = File(names=("a", "b", "c"), rows=((1, "é", True), (None, None, None), (3, "e\u0301", False)), types=(pa.int64(), pa.string(), pa.bool_()))  # fmt: skip
    source = any_ground.lay(file, "open")
    found = [tuple(row) for row in any_ground.engine.rows(source, ["c", "a"], folder=any_ground.folder)]
    assert sorted(map(str, found)) == sorted(map(str, [(True, 1), (None, None), (False, 3)]))
