"""Networks whose edges are rows of a table in PostgreSQL: the same graph as from a file, releases, and refusals."""

import pytest

import discreet
from discreet.engines.engine import EngineFailure
from engines.postgres.people import MARK, words
from engines.postgres.server import execute, new_name
from graph.every import edges_of
from graph.friends import NODES, edges, write

#: Repeated edges, one the other way round, loops, ends and labels that are missing, rows that disagree.
ODD = [
    ("p0", "p1", "blue", "red"),
    ("p1", "p0", "red", "blue"),
    ("p3", "p3", "red", "red"),
    (None, "p4", "blue", "blue"),
    ("p5", None, "red", None),
    ("p6", "p9", "red", None),
    ("p1", "p2", "blue", "blue"),
    ("Ä", "p2", "red", "blue"),
]
COLOURS = dict(NODES)
ROWS = [*((one, other, COLOURS[one], COLOURS[other]) for one, other in edges()), *ODD]


def declaration(source, engine, *, ends=("text", "text")):
    columns = {"from": f'type = "{ends[0]}"', "to": f'type = "{ends[1]}"'}
    columns |= dict.fromkeys(("mine", "yours"), 'type = "category"\nvalues = ["blue", "red"]')
    head = f'[tables.friends]\nsource = "{source}"\nbudget = {{ epsilon = 4000, delta = 1e-6 }}\n{engine}\n'
    people = '[tables.people]\nsource = "people.csv"\npublic = true\n[tables.people.columns.id]\ntype = "text"\n'
    people += '[tables.people.columns.colour]\ntype = "text"\n'
    return head + "".join(f"[tables.friends.columns.{name}]\n{kind}\n" for name, kind in columns.items()) + people


def project_of(folder, source, engine="", **more):
    folder.mkdir()
    write(folder / "people.csv", "id,colour", NODES)
    (folder / "discreet.toml").write_text(declaration(source, engine, **more))
    return discreet.init(folder)


@pytest.fixture
def there(postgres_address):
    """The table on the server."""
    name = new_name("friends")
    rows = ", ".join("(" + ", ".join("NULL" if each is None else f"'{each}'" for each in row) + ")" for row in ROWS)
    execute(
        postgres_address,
        f'CREATE TABLE {name} ("from" text, "to" text, mine text, yours text, note text DEFAULT \'{MARK}\')',
        f'INSERT INTO {name} ("from", "to", mine, yours) VALUES {rows}',
    )
    yield name
    execute(postgres_address, f"DROP TABLE IF EXISTS {name}")


@pytest.fixture
def both(tmp_path, there, postgres_address):
    """The same rows on the server, and in a file."""
    far = project_of(tmp_path / "far", there, f'engine = "{postgres_address}"')
    near = tmp_path / "near"
    project = project_of(near, "friends.csv")
    write(near / "friends.csv", "from,to,mine,yours", [["" if each is None else each for each in row] for row in ROWS])
    return far, project


def graph_of(project, ends=("from", "to"), **how):
    project.refresh("friends")
    version = project.versions.peek("friends")
    engine = project.curator.engine.at(version.engine)
    return engine.graph(engine.place(version.file, folder=project.curator.folder), ends, **how)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("nodes", [None, ("p9", "p6", "p1", "p0", "nobody")], ids=["any", "public"])
def test_the_same_graph(both, directed, nodes):
    far, near = (graph_of(project, directed=directed, nodes=nodes, labels=("mine", "yours")) for project in both)
    assert edges_of(far) == edges_of(near) and far.exact_nodes == near.exact_nodes > 3
    for name in ("exact_from", "exact_to", "exact_later"):
        assert getattr(far.exact_labels, name).tolist() == getattr(near.exact_labels, name).tolist()
    plain = [graph_of(project, directed=directed, nodes=nodes) for project in both]
    assert edges_of(plain[0]) == edges_of(plain[1]) == edges_of(far)


def test_statistics_of_it(both):
    """At an epsilon that leaves hardly any noise, and once at a usual one: charged, stored, free when repeated."""
    found = [
        project.graph("friends", nodes="people", by="colour").stats(epsilon=1000, only="edges,mixing,triangles")
        for project in both
    ]
    assert found[0].edges.value == found[1].edges.value > 80
    assert [[cell.value for cell in row] for row in found[0].mixing.edges] == [
        [cell.value for cell in row] for row in found[1].mixing.edges
    ]
    far = both[0].graph("friends", by="mine,yours")
    first = far.stats(epsilon=1, only="homophily")
    assert far.stats(epsilon=1, only="homophily").cached and first.release
    assert both[0].verify()


def test_ends_that_are_numbers(tmp_path, postgres_address):
    name = new_name("links")
    execute(
        postgres_address,
        f'CREATE TABLE {name} AS SELECT g AS "from", g % 7 AS "to", NULL AS mine, NULL AS yours '
        "FROM generate_series(-20, 60) AS g",
    )
    project = project_of(tmp_path / "p", name, f'engine = "{postgres_address}"', ends=("integer", "integer"))
    graph = graph_of(project, directed=False)
    pairs = {tuple(sorted((g, abs(g) % 7 * (1 if g > 0 else -1)))) for g in range(-20, 61)}
    assert len(edges_of(graph)) == len({pair for pair in pairs if pair[0] != pair[1]})
    execute(postgres_address, f"DROP TABLE {name}")


def test_a_table_without_rows(tmp_path, postgres_address, there):
    execute(postgres_address, f"DELETE FROM {there}")
    project = project_of(tmp_path / "p", there, f'engine = "{postgres_address}"')
    graph = graph_of(project, directed=False, labels=("mine", "yours"))
    assert edges_of(graph) == [] and graph.exact_nodes == 0


def test_what_fails_on_the_server_says_nothing_of_it(both, postgres_address):
    far, _ = both
    far.refresh("friends")
    version = far.versions.peek("friends")
    engine = far.curator.engine.at(version.engine)
    place = engine.place(version.file, folder=far.curator.folder)
    with pytest.raises(EngineFailure) as failed:
        engine.graph(place, ("from", MARK), directed=False)
    assert MARK not in words(failed.value)
    with pytest.raises(EngineFailure, match="protected persons"):
        engine.graph(place, None, directed=False)
