"""Generated tables of persons, the files that hold them, and what must hold of what is made from them."""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from discreet.engines.keyed_hashes import person_tag
from discreet.engines.missing_values import is_missing
from discreet.engines.table_file import PERSON, persons_file
from discreet.lab.neighbours.engine_site import KEY, TAG_KEY
from discreet.lab.neighbours.source_rows import SourceRows as File
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.tables import cells_of_text, columns

#: Ids that only a careless eye takes for one another.
IDS = [
    "1", "01", " 1", "1 ", "1.0", "+1", "A", "a", "é", "e\u0301", "É", "ß", "SS", "1:1", "a:", "2:", ",", "\0", "a\0", "a\0b",
    "NULL", "null", "\u200b", "\ufeff", "\U0001f600", "x'y", 'x"y', "a\nb", "a\tb", "-", "\\", "%", "\u00a01", "１", "İ",
]  # fmt: skip
ids = st.one_of(st.sampled_from(IDS), st.text(st.characters(codec="utf-8"), max_size=3))

#: How a Parquet file may hold an id, and what ids it then holds.
TYPES = [
    (pa.string(), ids),
    (pa.string(), ids),
    (pa.int64(), st.one_of(st.integers(-2, 2), st.sampled_from([2**63 - 1, -(2**63)]))),
    (pa.uint64(), st.sampled_from([0, 1, 2**64 - 1])),
    (pa.int8(), st.integers(-2, 2)),
    (pa.decimal128(20, 0), st.integers(-2, 2)),
    (pa.bool_(), st.booleans()),
    (pa.date32(), st.sampled_from([0, 1, -719_162, -719_163, 2_932_896, 2_932_897, 2**31 - 1, -(2**31) + 1])),
    (pa.dictionary(pa.int8(), pa.string()), ids),
]


@dataclass(frozen=True, kw_only=True)
class Persons:
    """A table of persons. Its source holds the key in the first columns, then the declared ones."""

    schema: Schema
    source: File

    @property
    def parts(self) -> int:
        return len(self.source.names) - len(self.schema.columns)

    def keys(self) -> list[tuple[object, ...]]:
        """The different keys that name somebody, in the order of the rows."""
        found = dict.fromkeys(row[: self.parts] for row in self.source.rows)
        return [key for key in found if None not in self.texts(key)]

    def texts(self, key) -> list[str | None]:
        """A key as a person would type it; None for what names nobody."""
        types = self.source.types or [None] * self.parts
        return [text(part, type_) for part, type_ in zip(key, types[: self.parts], strict=True)]

    def with_rows(self, rows) -> "Persons":
        return replace(self, source=self.source.with_rows(rows))

    def without(self, key) -> "Persons":
        return self.with_rows(row for row in self.source.rows if row[: self.parts] != key)

    def alone(self, key) -> "Persons":
        return self.with_rows(row for row in self.source.rows if row[: self.parts] == key)

    def tag(self, key) -> bytes:
        return person_tag(self.texts(key), TAG_KEY)

    def write(self, folder: Path, name: str = "source") -> Table:
        return Table(schema=self.schema, source=self.source.write(folder, name), population="people", budget=None)


def text(part: object, type_: pa.DataType | None) -> str | None:
    if is_missing(part):
        return None
    if type_ == pa.date32():
        day = int(part) + date(1970, 1, 1).toordinal()
        return date.fromordinal(day).isoformat() if 1 <= day <= date.max.toordinal() else None
    return str(part).lower() if isinstance(part, bool) else str(part)


@st.composite
def persons(draw, most: int = 12, types=TYPES) -> Persons:
    """Few keys and few different rows, so that persons have many and equal rows."""
    declared = [draw(columns(name)) for name in ["x", "y", 'the "z"'][: draw(st.integers(1, 3))]]
    declared = [replace(column, constant=draw(st.booleans())) for column in declared]
    names = tuple(["Who", "who else"][: draw(st.integers(1, 2))])
    typed = draw(st.booleans())
    kinds = [draw(st.sampled_from(types)) if typed else (pa.string(), ids) for _ in names]
    part = [st.one_of(st.none(), values, values, values, values) for _, values in kinds]
    keys = draw(st.lists(st.tuples(*part), min_size=1, max_size=4))
    contents = draw(st.lists(st.tuples(*(cells_of_text(column) for column in declared)), min_size=1, max_size=4))
    row = st.tuples(st.sampled_from(keys), st.sampled_from(contents)).map(lambda pair: (*pair[0], *pair[1]))
    found = draw(st.lists(row, max_size=most))
    unit = PrivacyUnit(person=names, rows=draw(st.integers(1, 4)))
    return Persons(
        schema=Schema(table="people", columns=tuple(declared), unit=unit),
        source=File(
            names=(*names, *(column.name for column in declared)),
            rows=tuple(found),
            types=(*(type_ for type_, _ in kinds), *(pa.string() for _ in declared)) if typed else None,
        ),
    )


def declared(engine, table: Table, folder: Path, **how):
    """A making, and what was made, without its numbers: see `contents`."""
    target = folder / "made.parquet"
    for old in (target, persons_file(target)):
        old.unlink(missing_ok=True)
    making = engine.declare(table, folder=folder, target=target, **({"key": KEY, "tag_key": TAG_KEY} | how))
    return making, *contents(target)


def contents(file: Path) -> tuple[Counter, dict[bytes, int]]:
    """The rows of a declared table, each under its person's tag, as a multiset; and everybody's rows in the source."""
    beside = pq.read_table(persons_file(file)).to_pylist()
    tags = {row["number"]: row["tag"] for row in beside}
    assert len(set(tags.values())) == len(tags) == len(beside), "one number, one tag"
    stored = pq.read_table(file).to_pylist()
    assert {row[PERSON] for row in stored} == set(tags), "everybody has a row, and a row is somebody's"
    rows = Counter((tags[row.pop(PERSON)], tuple(row.values())) for row in stored)
    return rows, {row["tag"]: row["rows"] for row in beside}


def of(rows: Counter, tag: bytes) -> Counter:
    return Counter({row: count for row, count in rows.items() if row[0] == tag})


def check_unit(rows: Counter, schema: Schema) -> None:
    """Nobody has more rows than the limit, or two values of a constant."""
    constants = [place for place, column in enumerate(schema.columns) if column.constant]
    for tag in {tag for tag, _ in rows}:
        own = of(rows, tag)
        assert own.total() <= schema.unit.rows
        assert len({tuple(codes[place] for place in constants) for _, codes in own}) == 1


class Rewriting:
    """A connection on which every statement is changed, and at least one must be."""

    def __init__(self, connection, old, new):
        self._connection, self._old, self._new, self._met = connection, old, new, False

    def _rewritten(self, sql):
        self._met |= self._old in sql
        return sql.replace(self._old, self._new)

    def execute(self, sql, *parameters):
        return self._connection.execute(self._rewritten(sql), *parameters)

    def sql(self, sql, **how):
        return self._connection.sql(self._rewritten(sql), **how)

    def close(self):
        self._connection.close()
        assert self._met, "the SQL that the bug is planted in is not there any more"
