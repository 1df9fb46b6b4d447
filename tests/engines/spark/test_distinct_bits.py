"""Different persons and numbers, counted as bits of blocks, are those that `count(DISTINCT)` counts."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.accounting.region import Region, ValueSet
from discreet.engines.dense_cells import dense_cells
from discreet.plan.cell_statistics import DistinctCount, PersonCount, RowCount, Sum
from discreet.plan.cells import Axis, Cells
from discreet.plan.expressions import Code, Member, Plus, TextCode, Whole
from discreet.plan.relation import Scan
from discreet.sql.dialect import DistinctBits
from discreet.sql.emitter import Emitter
from discreet.sql.spark_dialect import SparkDialect
from discreet.sql.sql_writer import PERSON, SqlTableNames, SqlWriter
from engines.spark.server import spark_tests

pytestmark = spark_tests

MOST = 2**62 - 1
SCAN = Scan(table="visits", version=1)
NUMBER, AGE = Code("number", -MOST, MOST, null=True), Code("age", 0, 9, null=True)
BY_AGE = Axis(of=AGE, edges=tuple(range(11)), null=True, labels=())
OLD = Member("age", ValueSet(((5, 10),), False))
NOBODY = Member("age", ValueSet(((7, 8),), False))

#: On both sides of the ends of words and blocks, and of the sign; far out as a person's number on Spark is, which names its task.
EDGES = (0, 1, 62, 63, 64, 65, 127, 128, 191, 192, 255, 256, 2**31 - 1, 2**31, 2**33, 2**33 + 63, 2**33 + 64, 2**62 - 1)


def visits():
    """Rows of persons on the edges, most of them several, in two ages; numbers of both signs, and NULL. Nobody is 7."""
    rows = []
    for turn, person in enumerate([*EDGES, *range(300, 700)]):
        for number in (person, -person, None)[: 1 + turn % 3]:
            rows.append((person, number, (None, 0, 3, 5, 6, 9)[turn % 6], turn))
            rows.append((person, number, (0, 9)[turn % 2], -turn))
    person, number, age, cost = zip(*rows, strict=True)
    return pa.table(
        {
            PERSON: pa.array(person, pa.int64()),
            "number": pa.array(number, pa.int64()),
            "age": pa.array(age, pa.int32()),
            "cost": pa.array(cost, pa.int32()),
            "note": pa.array([f"note {turn % 5}" for turn in range(len(rows))]),
        }
    )


@pytest.fixture
def ask(spark_engine, tmp_path):
    """The cells of a question in rows that lie in three files."""

    def answer(cells, rows):
        session, folder = spark_engine.session(), tmp_path / f"rows-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        for turn in range(3):
            pq.write_table(
                rows.take(pa.array(range(turn, rows.num_rows, 3), pa.int64())), folder / f"part-{turn}.parquet"
            )
        session.read.parquet(str(folder)).createOrReplaceTempView("visits")
        names = SqlTableNames(scan=lambda scan: "visits", persons=None, public=None)
        writer = SqlWriter(emitter=Emitter(dialect=SparkDialect()), names=names)
        sql = writer.count(cells, Region.whole())
        found = session.sql(sql).toArrow()
        assert all(pa.types.is_integer(each.type) and not found[each.name].null_count for each in found.schema), sql
        columns = {name: found[name].to_numpy() for name in found.column_names}
        return sql, [values.tolist() for values in dense_cells(columns, cells)]

    return answer


def cells(*statistics, axes=()):
    return Cells(plan=SCAN, axes=axes, statistics=statistics)


#: Every statistic beside a count of persons, with and without conditions; NULL in what is counted; a sum with a centre.
BESIDE = (
    RowCount(),
    PersonCount(where=OLD),
    PersonCount(where=NOBODY),
    Sum(of=Code("cost", -500, 500, null=False)),
    Sum(of=Code("cost", -500, 500, null=False), centre=7, where=OLD),
    RowCount(where=NOBODY),
)
QUESTIONS = (
    cells(PersonCount()),
    cells(PersonCount(), axes=(BY_AGE,)),
    cells(PersonCount(where=OLD)),
    cells(PersonCount(where=NOBODY)),
    cells(PersonCount(), *BESIDE),
    cells(PersonCount(), *BESIDE, axes=(BY_AGE,)),
    cells(DistinctCount(of=NUMBER)),
    cells(DistinctCount(of=NUMBER), DistinctCount(of=NUMBER, where=OLD), RowCount(), axes=(BY_AGE,)),
)


def check(ask, monkeypatch, rows):
    """The same numbers in two levels as in one."""
    for question in QUESTIONS:
        sql, found = ask(question, rows)
        assert "bit_or" in sql and "DISTINCT" not in sql
        with monkeypatch.context() as patch:
            patch.setattr(SparkDialect, "distinct_bits", lambda self, number: None)
            plain, expected = ask(question, rows)
        assert "bit_or" not in plain and "DISTINCT" in plain
        assert found == expected, sql


def test_blocks_count_what_distinct_counts(ask, monkeypatch):
    rows = visits()
    check(ask, monkeypatch, rows)
    _, [[persons]] = ask(cells(PersonCount()), rows)
    _, [[numbers]] = ask(cells(DistinctCount(of=NUMBER)), rows)
    assert persons == len(set(rows[PERSON].to_pylist()))
    assert numbers == len(set(rows["number"].to_pylist()) - {None})


def test_no_rows_are_nobody(ask, monkeypatch):
    check(ask, monkeypatch, visits().slice(0, 0))


def test_one_person_moves_each_number_by_one(ask):
    """Whoever leaves was counted once, wherever that person had rows, and nobody else moves."""
    rows = visits()
    question = cells(PersonCount(), PersonCount(where=OLD), axes=(BY_AGE,))
    persons, ages = rows[PERSON].to_pylist(), rows["age"].to_pylist()
    _, exact = ask(question, rows)
    for leaving in (0, 63, 64, 2**33 + 63, 2**62 - 1):
        _, without = ask(question, rows.filter(pa.array([person != leaving for person in persons])))
        own = {10 if age is None else age for age, person in zip(ages, persons, strict=True) if person == leaving}
        moved = [[left - right for left, right in zip(*pair, strict=True)] for pair in zip(exact, without, strict=True)]
        assert moved == [
            [int(age in own) for age in range(11)],
            [int(age in own and 5 <= age < 10) for age in range(11)],
        ]


def test_many_cells_are_counted_in_one_level():
    """A block of one cell would hold one person or none, and take more room than that person."""
    names = SqlTableNames(scan=lambda scan: "visits", persons=None, public=None)
    writer = SqlWriter(emitter=Emitter(dialect=SparkDialect()), names=names)
    for size, in_blocks in ((64, True), (65, False)):
        axis = Axis(of=Code("age", 0, size - 1, null=False), edges=tuple(range(size + 1)), null=False, labels=())
        sql = writer.count(cells(PersonCount(), axes=(axis,)), Region.whole())
        assert ("bit_or" in sql) is in_blocks


@pytest.mark.parametrize(
    "statistics",
    [
        (DistinctCount(of=TextCode("note")),),
        (DistinctCount(of=Plus(NUMBER, Whole(1))),),
        (DistinctCount(of=replace(NUMBER, high=None)),),
        (DistinctCount(of=replace(NUMBER, high=2**62)),),
        (DistinctCount(of=NUMBER), PersonCount()),
        (RowCount(),),
    ],
    ids=["texts", "computed", "open", "wide", "two columns", "none"],
)
def test_what_is_not_one_column_of_64_bits_is_counted_in_one_level(statistics):
    names = SqlTableNames(scan=lambda scan: "visits", persons=None, public=None)
    sql = SqlWriter(emitter=Emitter(dialect=SparkDialect()), names=names).count(cells(*statistics), Region.whole())
    assert "bit_or" not in sql


# Mistakes that must be seen

RIGHT = SparkDialect.distinct_bits


def planted(old, new):
    def wrong(self, number):
        bits = RIGHT(self, number)
        assert old in bits.block + bits.bits[3]
        changed = tuple(each.replace(old, new) for each in bits.bits)
        return DistinctBits(block=bits.block.replace(old, new), bits=changed)

    return wrong


MISTAKES = {
    "blocks of twice as many numbers": (SparkDialect, "distinct_bits", planted(", 8)", ", 9)")),
    "three words of four": (SparkDialect, "distinct_bits", planted("& 3 = 3", "& 3 = 2")),
    "half of the bits": (SparkDialect, "distinct_bits", planted("& 63", "& 31")),
    "who comes twice has gone": (SparkDialect, "distinct_bits", planted("bit_or", "bit_xor")),
    "one number of a word": (SparkDialect, "distinct_bits", planted("bit_or", "max")),
    "blocks are counted": (DistinctBits, "size", staticmethod(lambda bits: "1")),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_seen(ask, monkeypatch, mistake):
    monkeypatch.setattr(*MISTAKES[mistake])
    with pytest.raises(AssertionError):
        check(ask, monkeypatch, visits())
