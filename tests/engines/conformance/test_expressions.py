"""Every form of scalar SQL that is known, on the worst rows there are: each engine has the reference's value in each row.

Numbers and texts are asked for as keys, conditions as counts, one row a cell; what is wider than 64 bits as sums.
"""

import pyarrow as pa
import pytest

from discreet.accounting.region import NOT_NULL, Region
from discreet.engines.engine import TableLocations
from discreet.plan.cell_statistics import RowCount, Sum
from discreet.plan.cells import Cells
from discreet.plan.expressions import Code, Words
from discreet.plan.predicate import within
from discreet.plan.relation import Scan
from discreet.schema.column import NumberColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.sql.group_keys import axis_of
from discreet.sql.typed_expression import BooleanKind, column_expression
from engines.conformance.agreeing import Declaration, agree
from engines.persons_tables import File
from engines.test_expressions import ROWS
from sql.patients import SCHEMA, condition, given, sample_expression
from sql.samples import SAMPLES

ROW = NumberColumn(name="row", type="integer", low=0, high=len(ROWS) - 1)
SCAN = Scan(table="patients", version=1)

FOUND = {text: sample_expression(text) for text in SAMPLES}


def is_wide(expression):
    ends = () if isinstance(expression, Words) else (expression.low, expression.high)
    return None not in ends and any(abs(end) >= 2**62 for end in ends)


WIDE = {text for text, found in FOUND.items() if is_wide(found.expression)}
TRUTHS = [text for text, found in FOUND.items() if isinstance(found.kind, BooleanKind)]
#: So many at once: planning is what takes long on Spark.
CHUNK = 45


def patients(ground):
    """The worst rows, of which PostgreSQL holds those without a NUL in a text."""
    rows = [row for row in ROWS if ground.name != "postgres" or "\0" not in (row["note"] or "")]
    table = given(rows)
    return Declaration(
        schema=Schema(table="patients", columns=(ROW, *SCHEMA.columns), unit=PrivacyUnit()),
        file=File(
            names=tuple(table.column_names),
            rows=tuple(zip(*(_plain(column) for column in table.columns), strict=True)),
            types=tuple(table.schema.types),
        ),
    )


def _plain(column):
    """Dates and moments as numbers, as `File` holds them."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column.to_pylist()


@pytest.fixture(scope="module")
def places(reference, light_ground):
    made = agree(reference, light_ground, patients(light_ground))
    return dict(zip((reference, light_ground), made, strict=True))


def chunks(texts):
    return [texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK)]


VALUES = chunks([text for text in SAMPLES if text not in WIDE])


@pytest.mark.thin(4)
@pytest.mark.parametrize("number", range(len(VALUES)))
def test_values(places, number):
    texts = VALUES[number]
    keys = (Code("row", 0, len(ROWS), null=True), *(FOUND[text].expression for text in texts))
    said = []
    for ground, place in places.items():
        tables = TableLocations(files={SCAN: place})
        found = ground.engine.keys(SCAN, keys, Region.whole(), persons=False, tables=tables)
        said.append({key[0]: key[1:] for key in found.exact_keys})
        assert found.exact_persons.tolist() == [1] * len(said[-1])
    for row, wanted in said[0].items():
        here = said[1][row]
        wrong = [(text, one, two) for text, one, two in zip(texts, wanted, here, strict=True) if one != two]
        assert not wrong, (row, wrong)
    assert said[0].keys() == said[1].keys()


def counted(places, statistics):
    """A cell for each row."""
    cells = Cells(plan=SCAN, axes=(axis_of(column_expression(ROW)),), statistics=tuple(statistics))
    for ground, place in places.items():
        exact = ground.engine.count(cells, Region.whole(), tables=TableLocations(files={SCAN: place})).exact_values
        yield [[int(each) for each in vector] for vector in exact]


def test_what_is_wider_than_64_bits(places):
    texts = sorted(WIDE)
    found = [FOUND[text].expression for text in texts]
    statistics = [Sum(of=each) for each in found] + [RowCount(where=within(each, NOT_NULL)) for each in found]
    wanted, here = counted(places, statistics)
    for place, text in enumerate([*texts, *texts]):
        assert here[place] == wanted[place], text
    assert any(abs(each) >= 2**64 for vector in wanted for each in vector)


CONDITIONS = chunks(TRUTHS)


@pytest.mark.thin(2)
@pytest.mark.parametrize("number", range(len(CONDITIONS)))
def test_conditions(places, number):
    """When they are TRUE and when they are FALSE: neither where they are NULL."""
    texts = CONDITIONS[number]
    statistics = [RowCount(where=condition(text, wanted=wanted)) for text in texts for wanted in (True, False)]
    wanted, here = counted(places, statistics)
    for place, text in enumerate(each for each in texts for _ in range(2)):
        assert here[place] == wanted[place], text
