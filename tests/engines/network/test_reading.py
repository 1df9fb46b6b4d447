"""The graph of a table whose rows are edges: simple, whatever rows it has, and moved by one row by one edge at most."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import EngineFailure
from discreet.engines.memory import MemoryEngine
from discreet.engines.network import graph_reader
from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.engines.table_location import PostgresTable
from discreet.schema.column import NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.network.networks import declared, of_rows
from engines.persons_tables import IDS
from tiers import examples

DUCKDB = DuckDBEngine(threads=1)
MEMORY = MemoryEngine()
ENGINES = pytest.mark.parametrize("engine", [MEMORY, DUCKDB], ids=["memory", "duckdb"])
SOME = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
ENDS = ("from", "to")


@pytest.fixture(scope="module", autouse=True)
def _closed(quick_files):
    yield
    DUCKDB.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("graphs")


#: Values of two ends as they are stored, near each other and far apart.
VALUES = {
    "text": (pa.string(), st.sampled_from(IDS[:12])),
    "near": (pa.int32(), st.integers(-3, 5)),
    "far": (pa.int64(), st.sampled_from([-(2**63) + 2, -1, 0, 7, 2**40, 2**63 - 2])),
}


@st.composite
def tables(draw):
    """The name of a kind, and rows of it; few values, some of them NULL."""
    kind = draw(st.sampled_from(sorted(VALUES)))
    value = VALUES[kind][1]
    end = st.one_of(st.none(), value, value, value, value)
    return kind, draw(st.lists(st.tuples(end, end), max_size=14))


def write(folder, kind, rows):
    file = folder / "t.parquet"
    arrays = [pa.array([row[place] for row in rows], VALUES[kind][0]) for place in (0, 1)]
    pq.write_table(pa.Table.from_arrays(arrays, names=list(ENDS)), file)
    return file


def plain(graph):
    assert graph.exact_from.dtype == graph.exact_to.dtype == np.int64
    return list(zip(graph.exact_from.tolist(), graph.exact_to.tolist(), strict=True)), graph.exact_nodes, graph.directed


def edges_of(rows, *, directed, nodes):
    """The edges between values, by the definition."""
    kept = [row for row in rows if None not in row and row[0] != row[1]]
    kept = [row for row in kept if nodes is None or set(row) <= set(nodes)]
    return set(kept) if directed else {frozenset(row) for row in kept}


@given(table=tables(), directed=st.booleans(), data=st.data())
@SOME
def test_both_engines_read_the_simple_graph_of_the_rows(folder, table, directed, data):
    kind, rows = table
    nodes = data.draw(st.one_of(st.none(), st.lists(VALUES[kind][1], unique=True, max_size=6)))
    file = write(folder, kind, rows)
    read = [plain(engine.graph(file, ENDS, directed=directed, nodes=nodes)) for engine in (MEMORY, DUCKDB)]
    assert read[0] == read[1]
    edges, exact_nodes, _ = read[1]
    found = edges_of(rows, directed=directed, nodes=nodes)
    known = sorted({value for edge in found for value in edge}) if nodes is None else nodes
    named = [(known[one], known[two]) for one, two in edges]
    assert (set(named) if directed else {frozenset(edge) for edge in named}) == found
    assert (len(edges), exact_nodes) == (len(found), len(known))
    assert all(one != two if directed else one < two for one, two in edges)


@given(table=tables(), directed=st.booleans(), place=st.integers(0, 13))
@SOME
def test_one_row_moves_the_graph_by_one_edge_at_most(folder, table, directed, place):
    """Read with fixed nodes, so that numbers stay."""
    kind, rows = table
    nodes = sorted({value for row in rows for value in row if value is not None})
    file = write(folder, kind, rows)
    before = set(plain(DUCKDB.graph(file, ENDS, directed=directed, nodes=nodes))[0])
    file = write(folder, kind, rows[:place] + rows[place + 1 :])
    after = set(plain(DUCKDB.graph(file, ENDS, directed=directed, nodes=nodes))[0])
    assert after <= before
    assert len(before - after) <= 1


@ENGINES
def test_an_empty_table_has_an_empty_graph(engine, folder):
    for kind in VALUES:
        file = write(folder, kind, [])
        assert plain(engine.graph(file, ENDS, directed=False)) == ([], 0, False)
        assert plain(engine.graph(file, ENDS, directed=True, nodes=[])) == ([], 0, True)
    file = write(folder, "near", [(1, 2)])
    assert plain(engine.graph(file, ENDS, directed=False, nodes=[])) == ([], 0, False)
    assert plain(engine.graph(file, ENDS, directed=False, nodes=[2, 9, 1])) == ([(0, 2)], 3, False)
    assert plain(engine.graph(file, ENDS, directed=True, nodes=[2, 9, 1])) == ([(2, 0)], 3, True)


@ENGINES
def test_from_a_source_to_its_graph(engine, tmp_path):
    """Codes of a declared table: text bytewise, numbers clamped, what does not fit NULL."""
    (tmp_path / "s.csv").write_text('a,b\nx,X\nX,x\n"x, ""y""",X\n,X\nx,x\n')
    columns = (TextColumn(name="a"), TextColumn(name="b"))
    schema = Schema(table="friends", columns=columns, unit=PrivacyUnit())
    table = Table(schema=schema, source="s.csv", population="friends", budget=None)
    engine.declare(table, folder=tmp_path, target=tmp_path / "t.parquet")
    nodes = ["x", "X", 'x, "y"', "nobody"]
    graph = engine.graph(tmp_path / "t.parquet", ("a", "b"), directed=False, nodes=nodes)
    assert plain(graph) == ([(0, 1), (1, 2)], 4, False)
    (tmp_path / "n.csv").write_text("a,b\n1,2\n2,99\n99,1\n1.5,2\n")
    columns = tuple(NumberColumn(name=name, type="integer", low=0, high=9) for name in "ab")
    schema = Schema(table="numbers", columns=columns, unit=PrivacyUnit())
    table = Table(schema=schema, source="n.csv", population="numbers", budget=None)
    engine.declare(table, folder=tmp_path, target=tmp_path / "n.parquet")
    assert plain(engine.graph(tmp_path / "n.parquet", ("a", "b"), directed=False))[0] == [(0, 1), (0, 2), (1, 2)]


@ENGINES
def test_a_network_with_ends_is_read_as_it_stands(engine, tmp_path):
    network = of_rows([("a", "b"), ("b", "c"), ("c", "d"), ("e", "f")])
    _, edges, _ = declared(engine, network, tmp_path)
    graph = engine.graph(tmp_path / "made.parquet", None, directed=False)
    assert (len(graph.exact_from), graph.exact_nodes) == (4, 6)
    degrees = np.bincount(np.concatenate([graph.exact_from, graph.exact_to]), minlength=graph.exact_nodes)
    assert sorted(degrees) == [1, 1, 1, 1, 2, 2]
    touching = [{place for place, edge in enumerate(edges) if end in edge} for end in {e for x in edges for e in x}]
    read = zip(graph.exact_from.tolist(), graph.exact_to.tolist(), strict=True)
    read = list(read)
    assert sorted(map(sorted, touching)) == sorted(
        sorted(place for place, edge in enumerate(read) if node in edge) for node in range(6)
    ), "in the order of the file"


@ENGINES
def test_it_fails_as_an_engine_does_and_shows_nothing(engine, folder):
    file = write(folder, "text", [("a", "b")])
    graph = engine.graph(file, ENDS, directed=False)
    assert "a" not in repr(graph).split() and "not shown" in repr(graph)
    with pytest.raises(TypeError):
        pickle.dumps(graph)
    for ends, nodes in ((None, None), (("from", "other"), None)):
        with pytest.raises(EngineFailure):
            engine.graph(file, ends, directed=False, nodes=nodes)
    with pytest.raises(EngineFailure):
        engine.graph(folder / "gone.parquet", ENDS, directed=False)
    declared(engine, of_rows([("a", "b")]), folder)
    with pytest.raises(EngineFailure):
        engine.graph(folder / "made.parquet", None, directed=False, nodes=["a"])


def test_other_engines_read_none():
    engine = PostgresEngine("postgresql://nobody@nowhere/db")
    with pytest.raises(EngineFailure):
        engine.graph(PostgresTable(schema="s", name="t"), ENDS, directed=False)


@pytest.mark.parametrize(
    "bug", [lambda first, second, gone: (first, second), lambda first, second, gone: (first[gone], second[gone])]
)
def test_a_planted_bug_is_caught(folder, monkeypatch, bug):
    file = write(folder, "near", [(1, 1), (1, 2), (2, 1), (3, 2)])
    good = plain(MEMORY.graph(file, ENDS, directed=False))
    monkeypatch.setattr(graph_reader, "_without", bug)
    assert plain(DUCKDB.graph(file, ENDS, directed=False)) != good
