"""After the charge nothing may fail for a reason that lies in the data: no value makes a question fail."""

from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.memory import MemoryEngine
from discreet.plan.cells import Cells, Filter, Scan, axis, width_axis
from discreet.plan.predicate import TRUE
from discreet.schema.column import Boolean, Category, Moment, Number, Text
from discreet.schema.schema import Schema
from discreet.schema.unit import PrivacyUnit
from engines.tables import _FLAGS, _MOMENTS, _NUMBERS, WORDS, Rows, questions

AGE = Number(name="age", type="integer", low=0, high=120)
COST = Number(name="cost", type="decimal", step=Fraction("0.01"), low=-500, high=500, edges=(-500, -3, 0, 499, 501))
SCHEMA = Schema(
    table="people",
    columns=(
        AGE,
        COST,
        Number(name="id", type="integer"),
        Moment(name="day", type="date", low=0, high=100),
        Moment(name="moment", type="timestamp"),
        Boolean(name="flag"),
        Category(name="word", values=("a", "A", "é"), closed=True),
        Category(name="kind", values=("1", "else"), other="else"),
        Text(name="note"),
    ),
    unit=PrivacyUnit(),
)
STRANGE = [None, "", " ", "\0", "'", '"', "\\", "%", *_NUMBERS.split(), *_MOMENTS.split(), *_FLAGS.split(), *WORDS]


@pytest.fixture(scope="module")
def engine():
    engine = DuckDBEngine(threads=1)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory, engine):
    """A table with every strange value in every column, and an empty one."""
    folder = tmp_path_factory.mktemp("strange")
    made = []
    for name, values in (("strange", STRANGE), ("empty", [])):
        rows = Rows(schema=SCHEMA, types=None, rows=tuple((value,) * len(SCHEMA.columns) for value in values))
        engine.declare(rows.write(folder, name), folder=folder, target=folder / f"{name}.parquet")
        made.append(folder / f"{name}.parquet")
    return made


@given(cells=questions(SCHEMA))
@settings(max_examples=90, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_value_makes_a_question_fail(engine, files, cells):
    strange, empty = (engine.count(cells, SCHEMA, file=file).exact_values for file in files)
    assert strange.shape == empty.shape == (cells.size,)
    assert not empty.any()
    assert strange.tolist() == MemoryEngine().count(cells, SCHEMA, file=files[0]).exact_values.tolist()


AXES = [axis(AGE), axis(COST), width_axis(AGE, 7), width_axis(COST, 300)]


@pytest.mark.parametrize("place", range(len(AXES)))
def test_codes_that_cannot_be_are_left_out_and_harm_nobody(engine, tmp_path, place):
    """No declared table holds them; were the file wrong, counting would still neither fail nor go astray."""
    codes = [None, 0, 5, 120, -1, 121, -500, 500, 501, 2**63 - 1, -(2**63), 2**60, -(2**60)]
    found = AXES[place]
    pq.write_table(pa.table({found.column: pa.array(codes, pa.int64())}), tmp_path / "wrong.parquet")
    cells = Cells(plan=Filter(source=Scan(table="people"), where=TRUE), axes=(found,))
    exact_values = engine.count(cells, SCHEMA, file=tmp_path / "wrong.parquet").exact_values
    assert exact_values.sum() == 1 + sum(
        code is not None and found.edges[0] <= code < found.edges[-1] for code in codes
    )
    assert (
        exact_values.tolist()
        == MemoryEngine().count(cells, SCHEMA, file=tmp_path / "wrong.parquet").exact_values.tolist()
    )


def test_null_where_no_null_can_be_is_left_out(engine, tmp_path):
    closed = SCHEMA.columns[6]
    pq.write_table(pa.table({"word": pa.array([None, 0, 2, 3], pa.int8())}), tmp_path / "wrong.parquet")
    cells = Cells(plan=Filter(source=Scan(table="people"), where=TRUE), axes=(axis(closed),))
    found = engine.count(cells, SCHEMA, file=tmp_path / "wrong.parquet").exact_values
    assert found.tolist() == [1, 0, 1]
