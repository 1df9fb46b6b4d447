"""Persons' rows and keys against the definitions, written out once more here: which rows are kept, and what a key weighs."""

import base64
import hashlib
import hmac
from collections import Counter, defaultdict
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.earlier_version import EarlierVersion
from discreet.engines.engine import TableLocations
from discreet.engines.file_source import stamp_of
from discreet.engines.table_file import PERSON, persons_file
from discreet.plan.price import region_of
from discreet.schema.column import NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from discreet.sql.catalog import CatalogTable
from discreet.sql.query_parser import parse_query
from tiers import size

KEY, TAG_KEY = b"k" * 32, b"t" * 32
KEYS = {"key": KEY, "tag_key": TAG_KEY}
DUCKDB = DuckDBEngine(threads=1)


@pytest.fixture(scope="module", autouse=True)
def _closed(quick_files):
    yield
    DUCKDB.close()


def keyed(key, label, who):
    return hmac.new(key, f"{label}{len(who.encode())}:{who}".encode(), "sha256").digest()[:16]


def digest(who, codes, number):
    secret = base64.b64encode(keyed(KEY, "rows ", who)).decode()
    texts = ["" if c is None else f"{len(c.encode())}:{c}" if isinstance(c, str) else str(c) for c in codes]
    return hashlib.sha256(":".join([secret, str(number), *texts]).encode()).hexdigest()[:32]


def expected(rows, limit, constants):
    """The first rows of each person by the digests of content and number, with the constants of the very first."""
    kept = Counter()
    for who in {who for who, *_ in rows} - {None}:
        seen, ranked = Counter(), []
        for owner, *codes in rows:
            if owner == who:
                seen[tuple(codes)] += 1
                ranked.append((digest(who, codes, seen[tuple(codes)]), codes))
        ranked.sort(key=lambda pair: pair[0])
        first = ranked[0][1]
        for _, codes in ranked[:limit]:
            row = tuple(first[place] if place in constants else code for place, code in enumerate(codes))
            kept[keyed(TAG_KEY, "person ", who), row] += 1
    return kept


def stored(file):
    tags = {row["number"]: row["tag"] for row in pq.read_table(persons_file(file)).to_pylist()}
    rows = pq.read_table(file).to_pylist()
    return Counter((tags[row.pop(PERSON)], tuple(row.values())) for row in rows)


def write(folder, name, rows):
    kinds = {"who": pa.string(), "n": pa.int64(), "x": pa.string()}
    columns = {key: pa.array([row[place] for row in rows], kind) for place, (key, kind) in enumerate(kinds.items())}
    pq.write_table(pa.table(columns), folder / f"{name}.parquet")


@pytest.mark.parametrize("seed", range(size(12, 400)))
def test_the_kept_rows_are_those_of_the_definition_made_at_once_or_file_by_file(tmp_path, seed):
    random = Random(seed)
    limit, constants = random.randint(1, 6), {place for place in range(2) if random.random() < 0.4}
    columns = (
        NumberColumn(name="n", type="integer", low=0, high=5, constant=0 in constants),
        TextColumn(name="x", constant=1 in constants),
    )
    unit = PrivacyUnit(person=("who",), rows=limit)
    table = Table(
        schema=Schema(table="v", columns=columns, unit=unit), source="s*.parquet", population="p", budget=None
    )
    kinds = [(random.choice([0, 1, 2, None]), random.choice(["a", ":", "1:a", "b", None])) for _ in range(4)]
    people = [f"p{number}" for number in range(random.randint(1, 20))] + [None]
    rows, place = [], None
    for step in range(3):
        files = tuple(sorted(tmp_path.glob("s*")))
        earlier = place and EarlierVersion(place=place, files=files, stamps=stamp_of(files))
        added = [(random.choice(people), *random.choice(kinds)) for _ in range(random.choice([0, 5, 60, 200]))]
        write(tmp_path, f"s{random.randint(0, 9)}{step}", added)
        rows, place, whole = rows + added, tmp_path / f"grown{step}.parquet", tmp_path / f"whole{step}.parquet"
        DUCKDB.declare(table, folder=tmp_path, target=whole, **KEYS)
        if earlier is None:
            DUCKDB.declare(table, folder=tmp_path, target=place, **KEYS)
        else:
            assert DUCKDB.extend(table, folder=tmp_path, target=place, earlier=earlier, **KEYS) is not None
        assert stored(whole) == stored(place) == expected(rows, limit, constants)


QUERIES = {
    "SELECT x, count(*) FROM v GROUP BY x": lambda n, x: (x,),
    "SELECT x, n, count(*) FROM v GROUP BY x, n": lambda n, x: (x,),  # the values of n are known
    "SELECT x, count(*) FROM v WHERE n IN (1, 2) GROUP BY x": lambda n, x: (x,) if n in (1, 2) else None,
    "SELECT x, count(*) FROM v WHERE n IS NULL GROUP BY x": lambda n, x: (x,) if n is None else None,
    "SELECT x, count(*) FROM v WHERE x > 'a' AND n < 2 GROUP BY x": lambda n, x: (
        (x,) if x is not None and x > "a" and n is not None and n < 2 else None
    ),
}


@pytest.mark.parametrize("seed", range(size(8, 200)))
def test_a_key_weighs_what_its_persons_add(tmp_path, seed):
    random = Random(seed)
    limit = random.randint(1, 6)
    columns = (NumberColumn(name="n", type="integer", low=0, high=5), TextColumn(name="x"))
    schema = Schema(table="v", columns=columns, unit=PrivacyUnit(person=("who",), rows=limit))
    texts = ["a", "A", "a ", "", None, "é", "e\u0301", "a\0", "NULL", "b"]
    rows = [
        (f"p{random.randrange(40)}", random.choice([0, 1, 2, None]), random.choice(texts))
        for _ in range(random.choice([0, 1, 30, 300]))
    ]
    write(tmp_path, "s", rows)
    place = tmp_path / "made.parquet"
    DUCKDB.declare(
        Table(schema=schema, source="s.parquet", population="p", budget=None), folder=tmp_path, target=place, **KEYS
    )
    declared = [(tag, *row) for (tag, row), times in stored(place).items() for _ in range(times)]
    for text, key_of in QUERIES.items():
        asked = parse_query(text, {"v": CatalogTable(schema=schema, population="p")})
        owners = defaultdict(set)
        for tag, n, x in declared:
            if (key := key_of(n, x)) is not None:
                owners[key].add(tag)
        many = Counter(tag for tags in owners.values() for tag in tags)
        weights = tuple(
            (number, random.choice([840 // number, random.randrange(1, 2**50)])) for number in range(1, limit + 1)
        )
        added = {tag: next((weight for end, weight in weights if number <= end), 0) for tag, number in many.items()}
        for given, told in (
            (None, {key: len(tags) for key, tags in owners.items()}),
            (weights, {key: sum(added[tag] for tag in tags) for key, tags in owners.items()}),
        ):
            keys = DUCKDB.keys(
                asked.inquiry.plan,
                asked.inquiry.keys,
                region_of(asked.inquiry, asked.reach),
                persons=True,
                tables=TableLocations(files=dict.fromkeys(asked.tables, place)),
                weights=given,
            )
            assert dict(zip(keys.exact_keys, keys.exact_persons.tolist(), strict=True)) == told
