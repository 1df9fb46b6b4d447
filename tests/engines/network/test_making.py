"""The declared table of a network: each edge once, in an order that its ends alone decide, whatever engine makes it.

Then bugs that would break it, planted one by one: each is caught.
"""

import stat
from collections import Counter
from random import Random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines import duckdb as duckdb_engine
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import EngineFailure
from discreet.engines.keyed_hashes import edge_place, edge_place_sql, edges_secret
from discreet.engines.memory import MemoryEngine
from discreet.engines.network import memory_network, network_size
from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.engines.spark.spark_engine import SparkEngine
from discreet.errors import SchemaError, UsageError
from engines.network.networks import NAMES, Changed, Network, contents, declared, networks, of_rows, tag
from engines.persons_tables import KEY, TAG_KEY, File
from tiers import examples, fuzzed, size

DUCKDB = DuckDBEngine(threads=1)
MEMORY = MemoryEngine()
ENGINES = pytest.mark.parametrize("engine", [MEMORY, DUCKDB], ids=["memory", "duckdb"])
SOME = settings(max_examples=examples(15), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", autouse=True)
def _closed(quick_files):
    yield
    DUCKDB.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("networks")


def expected(network: Network) -> list[tuple[bytes, bytes]]:
    """The different edges in their order, by the definition."""
    pairs = [pair for row in network.source.rows if (pair := network.ends(row)) and pair[0] != pair[1]]
    edges = {(tag(one), tag(two)) for one, two in pairs}
    edges = edges if network.directed else {tuple(sorted(edge)) for edge in edges}
    secret = edges_secret(KEY)
    return sorted(edges, key=lambda edge: edge_place(secret, *edge, directed=network.directed))


@given(network=networks())
@SOME
def test_both_engines_make_what_the_definition_says(folder, network):
    check_definition(folder, network)


def check_definition(folder, network):
    by_memory, by_duckdb = (declared(engine, network, folder) for engine in (MEMORY, DUCKDB))
    assert by_memory == by_duckdb
    making, edges, degrees = by_duckdb
    assert edges == expected(network)
    assert degrees == Counter(end for edge in edges for end in edge)
    left = making.exact_without_person + making.exact_loops + making.exact_doubles
    assert making.exact_rows + left == len(network.source.rows)
    assert (making.exact_rows, making.exact_persons) == (len(edges), len(degrees))


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@given(network=networks(30), seed=st.integers(0, 2**32), chosen=st.sets(st.integers(0, 5), max_size=3))
@settings(SOME, max_examples=fuzzed(3000))
def test_all_of_it_on_many_more(folder, network, seed, chosen):
    check_definition(folder, network)
    check_places(DUCKDB, folder, network, seed)
    check_erased(DUCKDB, folder, network, chosen)


@ENGINES
@given(network=networks(24), seed=st.integers(0, 2**32))
@SOME
def test_the_place_of_an_edge_depends_on_its_ends_alone(engine, folder, network, seed):
    check_places(engine, folder, network, seed)


def check_places(engine, folder, network, seed):
    """Whatever other rows come, in whatever order: edges that were there stand as they stood."""
    rows = network.source.rows
    before = declared(engine, network.with_rows(rows[::3]), folder)[1]
    after = declared(engine, network.with_rows(Random(seed).sample(rows, len(rows))), folder)[1]
    assert [edge for edge in after if edge in set(before)] == before


@ENGINES
@given(network=networks(), chosen=st.sets(st.integers(0, 5), max_size=3))
@SOME
def test_erased_is_as_never_having_been_there(engine, folder, network, chosen):
    check_erased(engine, folder, network, chosen)


def check_erased(engine, folder, network, chosen):
    """From a version, at a refresh, and in the source: the same edges in the same order, and the same persons."""
    persons = network.persons()
    gone = [persons[place] for place in chosen if place < len(persons)]
    tags = [tag(name) for name in gone]
    never = declared(engine, network.without(gone), folder)
    assert declared(engine, network, folder, forgotten=tags)[1:] == never[1:]
    degrees = declared(engine, network, folder)[2]
    assert engine.erase(folder / "made.parquet", tags) == len(set(tags) & set(degrees))
    assert contents(folder / "made.parquet", directed=network.directed) == never[1:]
    exact = engine.graph(folder / "made.parquet", None, directed=network.directed)
    assert exact.exact_nodes == len(never[2])
    assert len(exact.exact_from) == len(never[1])


PAIRS = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "c"), ("", "d"), ("d", "a"), ("b", "c"), ("z", "z")]


@ENGINES
def test_the_owner_is_told_what_was_left_out(engine, folder):
    making = declared(engine, of_rows(PAIRS), folder)[0]
    assert (making.exact_rows, making.exact_persons) == (3, 4)
    assert (making.exact_without_person, making.exact_loops, making.exact_doubles) == (1, 2, 2)
    assert making.exact_one_way == 2
    directed = declared(engine, of_rows(PAIRS, directed=True), folder)[0]
    assert (directed.exact_rows, directed.exact_doubles, directed.exact_one_way) == (4, 1, None)
    forgotten = declared(engine, of_rows(PAIRS), folder, forgotten=[tag("c"), tag("z")])[0]
    assert (forgotten.exact_rows, forgotten.exact_loops, forgotten.exact_doubles) == (2, 0, 1)
    assert (forgotten.exact_without_person, forgotten.exact_one_way) == (1, 1)


@ENGINES
def test_files_are_for_their_owner_and_a_network_too_large_leaves_none(engine, tmp_path, monkeypatch):
    network = of_rows(PAIRS)
    target = tmp_path / "made" / "t.parquet"
    how = {"folder": tmp_path, "target": target, "key": KEY, "tag_key": TAG_KEY}
    monkeypatch.setattr(network_size, "MOST_EDGES", 3)
    with pytest.raises(UsageError, match="'friends' has 3 distinct edges; a network must have fewer than 3"):
        engine.declare(network.table(tmp_path), **how)
    assert list(target.parent.iterdir()) == []
    monkeypatch.setattr(network_size, "MOST_EDGES", 4)
    engine.declare(network.table(tmp_path), **how)
    assert sorted(file.name for file in target.parent.iterdir()) == ["t.parquet", "t.persons.parquet"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in target.parent.iterdir()} == {0o600}


@ENGINES
def test_ends_of_two_types_are_one_person_where_their_texts_are(engine, folder):
    source = File(
        names=(NAMES[0], "weight", NAMES[1]),
        rows=((7, "", "8"), (8, "", "7"), (7, "", "7"), (7, "", "07")),
        types=(pa.int64(), pa.string(), pa.string()),
    )
    making, edges, degrees = declared(engine, Network(source=source), folder)
    assert (making.exact_rows, making.exact_loops, making.exact_doubles) == (2, 1, 1)
    assert degrees == {tag("7"): 2, tag("8"): 1, tag("07"): 1}
    assert set(edges) == {tuple(sorted((tag("7"), tag(other)))) for other in ("8", "07")}


@ENGINES
def test_ends_that_are_not_exact_are_refused(engine, folder):
    pq.write_table(pa.table({NAMES[0]: [1.5], "weight": [""], NAMES[1]: ["a"]}), folder / "source.parquet")
    source = File(names=(NAMES[0], "weight", NAMES[1]), rows=(), types=(pa.float64(), pa.string(), pa.string()))
    with pytest.raises(SchemaError, match="does not identify people exactly"):
        declared(engine, Network(source=source), folder)
    with pytest.raises(SchemaError, match="has no column 'From'"):
        declared(engine, Network(source=File(names=("a", "b", "c"), rows=())), folder)


@ENGINES
def test_an_end_that_is_no_text_is_nobody(engine, tmp_path):
    network = of_rows([("a", "b"), ("b", "c")])
    table = network.table(tmp_path)
    (tmp_path / table.source).write_bytes(b'From,weight,"the ""to"""\na,1,b\nb,1,c\n\xff,1,c\nc,1,\xfe\n')
    target = tmp_path / "damaged.parquet"
    making = engine.declare(table, folder=tmp_path, target=target, key=KEY, tag_key=TAG_KEY)
    assert (making.exact_rows, making.exact_without_person) == (2, 2)


def test_other_engines_keep_no_network(tmp_path):
    table = of_rows([("a", "b")]).table(tmp_path)
    for engine in (PostgresEngine("postgresql://nobody@nowhere/db"), SparkEngine("spark://nowhere:1")):
        with pytest.raises(ValueError, match="kept beside the ledger"):
            engine.declare(table, folder=tmp_path, target=tmp_path / "t", key=KEY, tag_key=TAG_KEY)
        with pytest.raises(EngineFailure, match="is not kept"):
            engine.graph(tmp_path / "t", None, directed=False)
    with pytest.raises(ValueError, match="not sent anywhere"):
        DUCKDB.end_texts(table, folder=tmp_path)


@given(first=st.binary(min_size=16, max_size=16), second=st.binary(min_size=16, max_size=16), directed=st.booleans())
@settings(SOME, max_examples=size(6, 50))
def test_duckdb_finds_the_same_place(first, second, directed):
    sql = ", ".join(edge_place_sql("$first::BLOB", "$second::BLOB", directed=directed))
    values = {"secret": edges_secret(KEY), "first": first, "second": second}
    with duckdb.connect() as connection:
        [(high, low)] = connection.execute(f"SELECT {sql}", values).fetchall()
    assert f"{high:016x}{low:016x}" == edge_place(edges_secret(KEY), first, second, directed=directed)
    assert edge_place(b"another", first, second, directed=directed) != f"{high:016x}{low:016x}"


#: Bugs that DuckDB's SQL could have: what stands there, and what would stand there.
BUGS = {
    "edges as they come": ("ORDER BY CAST('0x'", "ORDER BY one, other, CAST('0x'"),
    "places of numbers": ("least(first.tag, second.tag)", "CAST(CAST(one AS VARCHAR) AS BLOB)"),
    "loops kept": ("WHERE one <> other", "WHERE true"),
    "doubles kept": ("GROUP BY one, other", "GROUP BY one, other, forward"),
    "one end forgotten": ("NOT one.forgotten AND NOT other.forgotten", "NOT one.forgotten"),
    "rows of nobody not told": ("first IS NULL OR second IS NULL", "first IS NULL AND second IS NULL"),
}

TRIED = [(str(number * number % 11), str(number % 7)) for number in range(40)]


#: Whether it was seen to stand without a bug: once is enough for all.
_stands = []


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_caught(folder, monkeypatch, bug):
    network = of_rows([*TRIED, ("1", "1"), ("", "2"), ("2", ""), ("", "")])
    forgotten = [tag("4")]
    good = declared(MEMORY, network, folder, forgotten=forgotten)
    if not _stands:
        assert declared(DUCKDB, network, folder, forgotten=forgotten) == good
        _stands.append(True)
    connect = duckdb_engine._connect
    monkeypatch.setattr(duckdb_engine, "_connect", lambda *how, **more: Changed(connect(*how, **more), *BUGS[bug]))
    assert differs(network, folder, forgotten, good)


def differs(network, folder, forgotten, good) -> bool:
    """Whether something else is made, or what no network is."""
    try:
        return declared(DUCKDB, network, folder, forgotten=forgotten) != good
    except AssertionError:
        return True


def test_an_order_by_position_is_caught(folder, monkeypatch):
    """As a keyed order that numbers rows would be: the relative order of edges then moves with other rows."""
    numbers = iter(range(10_000))
    monkeypatch.setattr(memory_network, "edge_place", lambda *edge, directed: next(numbers))
    before = declared(MEMORY, of_rows(TRIED), folder)[1]
    after = declared(MEMORY, of_rows([*reversed(TRIED)]), folder)[1]
    assert [edge for edge in after if edge in set(before)] != before
