"""Generated tables of edges, and what was made from them, without its numbers."""

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from discreet.engines.keyed_hashes import person_tag
from discreet.engines.table_file import FROM, TO, persons_file
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.persons_tables import KEY, TAG_KEY, TYPES, File, Rewriting, ids, text

NAMES = ("From", 'the "to"')


@dataclass(frozen=True, kw_only=True)
class Network:
    """A table of edges. Its source holds the ends in two of three columns."""

    source: File
    directed: bool = False

    def table(self, folder: Path) -> Table:
        schema = Schema(table="friends", columns=(), unit=PrivacyUnit(ends=NAMES, rows=3), directed=self.directed)
        return Table(schema=schema, source=self.source.write(folder, "source"), population="people", budget=None)

    def with_rows(self, rows) -> "Network":
        return replace(self, source=self.source.with_rows(rows))

    def ends(self, row) -> tuple[str, str] | None:
        """The two persons of a row, as a person would type them; None where one is nobody."""
        types = self.source.types or (None, None, None)
        found = tuple(text(row[place], types[place]) for place in (0, 2))
        return None if None in found else found

    def persons(self) -> list[str]:
        return list(dict.fromkeys(name for row in self.source.rows for name in self.ends(row) or ()))

    def without(self, persons) -> "Network":
        return self.with_rows(row for row in self.source.rows if not set(self.ends(row) or ()) & set(persons))


def tag(name: str) -> bytes:
    return person_tag([name], TAG_KEY)


def of_rows(rows, *, directed=False) -> Network:
    """A network as a CSV of these pairs."""
    names = (NAMES[0], "weight", NAMES[1])
    return Network(source=File(names=names, rows=tuple((one, "1", two) for one, two in rows)), directed=directed)


@st.composite
def networks(draw, most: int = 14) -> Network:
    """Few persons, so that edges come twice, both ways and round; as a CSV, or of types that may differ."""
    typed = draw(st.booleans())
    kinds = [draw(st.sampled_from(TYPES)) if typed else (pa.string(), ids) for _ in NAMES]
    if typed and draw(st.booleans()):
        kinds[1] = kinds[0]
    values = [draw(st.lists(of, min_size=2, max_size=4, unique=True)) for _, of in kinds]
    if kinds[0] == kinds[1]:
        values = [[*values[0], *values[1]]] * 2
    # By chance, not drawn: hypothesis is fond of few rows and of NULL, and then nobody has an edge.
    chance = Random(draw(st.integers(0, 2**32)))
    size = chance.randint(0, most) if draw(st.integers(0, 9)) == 0 else most
    rows = [tuple(chance.choice(known) if chance.random() < 0.9 else None for known in values) for _ in range(size)]
    rows = [(one, "1", two) for one, two in rows]
    types = (kinds[0][0], pa.string(), kinds[1][0]) if typed else None
    names = (NAMES[0], "weight", NAMES[1])
    return Network(source=File(names=names, rows=tuple(rows), types=types), directed=draw(st.booleans()))


def declared(engine, network: Network, folder: Path, **how):
    """A making, and what was made: see `contents`."""
    target = folder / "made.parquet"
    for old in (target, persons_file(target)):
        old.unlink(missing_ok=True)
    making = engine.declare(
        network.table(folder), folder=folder, target=target, **({"key": KEY, "tag_key": TAG_KEY} | how)
    )
    return making, *contents(target, directed=network.directed)


def contents(file: Path, *, directed: bool = False) -> tuple[list[tuple[bytes, bytes]], dict[bytes, int]]:
    """The edges in their order, as pairs of tags (sorted, unless directed), and the edges of each person."""
    beside = pq.read_table(persons_file(file)).to_pylist()
    tags = {row["number"]: row["tag"] for row in beside}
    assert len(set(tags.values())) == len(tags) == len(beside), "one number, one tag"
    stored = pq.read_table(file)
    assert stored.column_names == [FROM, TO]
    pairs = [(row[FROM], row[TO]) for row in stored.to_pylist()]
    assert all(one != two if directed else one < two for one, two in pairs)
    edges = [(tags[one], tags[two]) for one, two in pairs]
    return edges if directed else [tuple(sorted(edge)) for edge in edges], {row["tag"]: row["rows"] for row in beside}


class Changed(Rewriting):
    """A connection on which a bug is planted."""

    def sql(self, sql, **more):
        return self._connection.sql(self._rewritten(sql), **more)

    def close(self):
        self._connection.close()
        if not self._met:
            raise LookupError("the SQL that the bug is planted in is not there any more")
