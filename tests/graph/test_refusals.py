"""What cannot be asked of a network: a sentence, nothing charged, and the same whatever the edges are."""

from fractions import Fraction

import pytest

import discreet
from discreet.accounting.events import ReservationEvent
from discreet.errors import DiscreetError, Refused, SchemaError, UsageError
from discreet.graph.degree_limit import CANDIDATES
from discreet.graph.statistic_parts import laws
from graph.friends import EDGES, PEOPLE, TEXT, columns, edges, make, make_persons

NUMBER = 'type = "decimal"\nlow = 0\nhigh = 9'
INTEGER = 'type = "integer"\nlow = 0\nhigh = {}'


def refused(project, error, words, *, table="friends", stats=None, **given):
    before = len(list(project.ledger.entries()))
    for verb in ("stats", "plan"):
        with pytest.raises(error, match=words) as caught:
            getattr(project.graph(table, **given), verb)(**({"epsilon": 1} | (stats or {})))
        assert caught.value.hint or stats
    assert len(list(project.ledger.entries())) == before


@pytest.mark.thin(10)
@pytest.mark.parametrize(
    ("error", "words", "given"),
    [
        (UsageError, "no column 'size'", {"nodes": "people", "by": "size"}),
        (UsageError, "no column 'name'", {"nodes": "people", "key": "name"}),
        (UsageError, "does not identify each node once", {"nodes": "people", "key": "colour"}),
        (UsageError, "by needs a table of nodes", {"by": "colour"}),
        (UsageError, "key needs a table of nodes", {"key": "id"}),
        (UsageError, "two ends", {"ends": ("from",)}),
        (UsageError, "two ends", {"ends": ("from", "to", "via")}),
        (UsageError, "column 'from' cannot be both ends", {"ends": ("from", "FROM")}),
        (UsageError, "no declared column 'weight'", {"ends": ("from", "weight")}),
        (UsageError, "persons", {"nodes": "persons"}),
        (Refused, "not public", {"nodes": "friends"}),
        (UsageError, "enemies", {"table": "enemies"}),
        (UsageError, "public", {"table": "people"}),
        (UsageError, "unknown statistic 'degree'", {"stats": {"only": "degree"}}),
        (UsageError, "unknown statistic ''", {"stats": {"only": "edges,"}}),
        (UsageError, "no statistic is named", {"stats": {"only": []}}),
        (UsageError, "a public table under edge", {"nodes": "people", "stats": {"only": "mixing"}}),
        (UsageError, "it is the number of rows of 'people'", {"nodes": "people", "stats": {"only": "nodes"}}),
        (UsageError, "epsilon", {"stats": {"epsilon": 0}}),
        (UsageError, "epsilon", {"stats": {"epsilon": "much"}}),
        (UsageError, "delta", {"stats": {"delta": 2}}),
        (UsageError, "noise would have|too small for this statistic", {"stats": {"epsilon": "1e-8"}}),
    ],
)
def test_of_edges(tmp_path, error, words, given):
    for name, rows in (("some", None), ("none", [])):  # what is refused tells nothing of edges
        refused(make(tmp_path / name, rows=rows), error, words, **given)


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    ("error", "words", "given"),
    [
        *((Refused, "replace every edge", {"stats": {"only": name}}) for name in ("triangles", "wedges", "clustering")),
        (UsageError, "a private one under node", {"stats": {"only": ["mixing"]}}),
        (Refused, "only if its values are declared", {"nodes": "members", "by": "colour"}),
        (UsageError, "no declared column 'size'", {"nodes": "members", "by": "size"}),
        (UsageError, "is its person", {"nodes": "members", "key": "id"}),
        (Refused, "protected who the nodes are", {"nodes": "places"}),
        (UsageError, "to population 'others'", {"nodes": "others"}),
        (UsageError, "already declares its ends: from and to", {"ends": ("to", "from")}),
        (Refused, "must protect edges or both", {"table": "members"}),
        (UsageError, "the two columns of 'others'", {"table": "others"}),
    ],
)
def test_of_persons(tmp_path, error, words, given):
    more = f"""
[tables.places]
source = "members.csv"
public = true
{columns("places", id=TEXT)}
[tables.others]
source = "others.csv"
budget = {{ epsilon = 1 }}
{columns("others", id=TEXT)}
"""
    project = make_persons(tmp_path, more=more)
    (tmp_path / "others.csv").write_text("id\n1\n")
    refused(project, error, words, **({"table": "ties"} | given))


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ({"from": TEXT, "to": 'type = "integer"'}, "declared differently"),
        ({"from": 'type = "category"\nvalues = ["p0"]', "to": 'type = "category"\nvalues = ["p1"]'}, "differently"),
        ({"from": INTEGER.format(9), "to": INTEGER.format(8)}, "declared differently"),
        ({"from": INTEGER.format(9), "to": 'type = "integer"'}, "declared differently"),
        ({"from": NUMBER, "to": NUMBER}, "ends must be text, integers or a category"),
        ({"from": TEXT}, "the two columns of 'friends'"),
    ],
)
def test_ends_are_declared_alike(tmp_path, kinds, words):
    refused(make(tmp_path, toml=columns("friends", **kinds)), UsageError, words)


@pytest.mark.parametrize("verb", ["plan", "stats", "synth"])
def test_noise_that_only_the_largest_limit_makes_too_large(tmp_path, verb):
    """Which limit is chosen is known once it is paid: what any of them forbids is refused before."""
    project = make_persons(tmp_path, limit="")
    before = list(project.ledger.entries())
    with pytest.raises(UsageError, match="noise would have"):
        getattr(project.graph("ties"), verb)(epsilon="1e-8")
    assert list(project.ledger.entries()) == before and project.budget("ties").spent.epsilon == 0
    shape = project.graph("ties").plan(epsilon=1).shape
    event = ReservationEvent(epsilon=Fraction(1, 10**8), rho=Fraction(1, 2 * 10**16), delta=Fraction(0))
    for limit in CANDIDATES[:6]:  # those could be drawn
        laws(shape, event, limit, None)


def test_two_pairs_of_ends_are_one_too_many(tmp_path):
    project = make(tmp_path, toml=EDGES + columns("friends", source=TEXT, target=TEXT))
    refused(project, UsageError, "2 pairs of columns named from and to, source and target")
    assert project.graph("friends", ends=("Source", "TARGET")).ends == ("source", "target")


def test_nodes_and_ends_of_different_types_meet_nowhere(tmp_path):
    kind = 'type = "integer"'
    project = make(tmp_path, toml=columns("friends", **{"from": kind, "to": kind}))
    refused(project, UsageError, "no node would have an edge", nodes="people", key="id")


def test_a_table_of_nodes_without_a_key_asks_for_one(tmp_path):
    project = make(tmp_path, nodes=[("p1", "c1"), ("p2", "c2")], people=PEOPLE.replace("columns.id", "columns.first"))
    (tmp_path / "people.csv").write_text("first,colour\np1,c1\np2,c2\n")
    refused(project, UsageError, "the column of 'people' that identifies each node once", nodes="people")
    assert project.graph("friends", nodes="people", key="first").nodes.keys == ("p1", "p2")


def test_more_public_nodes_than_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.engines.public_table_loader.MOST_ROWS", 20)
    project = make(tmp_path)
    before = len(list(project.ledger.entries()))
    with pytest.raises(UsageError, match="more than 20 rows"):
        project.graph("friends", nodes="people")
    assert len(list(project.ledger.entries())) == before


def test_more_edges_of_persons_than_the_limit_is_told_to_the_owner(tmp_path, monkeypatch):
    import discreet.engines.network.network_size as limit

    name = next(name for name in vars(limit) if name.startswith("MOST"))
    monkeypatch.setattr(limit, name, 3)
    with pytest.raises(DiscreetError, match="edges"):
        make_persons(tmp_path, rows=edges())


def test_ends_and_person_and_columns_do_not_go_together(tmp_path):
    for extra in ('person = "from"\nends = ["from", "to"]', 'ends = ["from", "to"]', 'ends = ["from", "from"]'):
        folder = tmp_path / str(len(extra))
        folder.mkdir()
        (folder / "discreet.toml").write_text(
            f'[tables.friends]\nsource = "friends.csv"\nbudget = {{ epsilon = 1 }}\n{extra}\n{EDGES}'
        )
        with pytest.raises(SchemaError):
            discreet.init(folder)
