"""A network that outlives a refresh: it is not asked under a declaration that its table no longer has."""

import pytest

import discreet
from discreet.errors import UsageError
from graph.friends import EDGES, NODES, TEXT, columns, edges, make, make_persons

INTEGER = 'type = "integer"\nlow = 0\nhigh = {}'
CATEGORY = 'type = "category"\nvalues = {}'


def both(kind):
    return columns("friends", **{"from": kind, "to": kind})


def redeclared(folder, table, old, new):
    """The owner's act: another declaration, and a refresh."""
    file = folder / "discreet.toml"
    told = file.read_text()
    assert old in told
    file.write_text(told.replace(old, new))
    discreet.open(folder).refresh(table, force=True)


def refused(project, network, words="refreshed with a different declaration"):
    before = len(list(project.ledger.entries()))
    for verb in ("stats", "synth"):
        with pytest.raises(UsageError, match=words) as caught:
            getattr(network, verb)(epsilon=1, fresh=True)
        assert caught.value.hint
    assert len(list(project.ledger.entries())) == before


def names(count=4):
    return "[" + ", ".join(f'"p{place}"' for place in range(count)) + "]"


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (both(CATEGORY.format(names())), both(CATEGORY.format('["p3", "p2", "p1", "p0"]'))),
        (both(CATEGORY.format(names())), both(CATEGORY.format(names(5)))),
        (both(CATEGORY.format(names())), EDGES),
        (EDGES, "directed = true\n" + EDGES),
        (EDGES, columns("friends", source=TEXT, target=TEXT)),
    ],
)
def test_of_edges(tmp_path, old, new):
    project = make(tmp_path, toml=old, rows=edges([(0, 1), (1, 2)]), nodes=NODES[:4])
    if "source" in new:
        (tmp_path / "friends.csv").write_text("from,to,source,target\np0,p1,p0,p1\n")
    networks = [project.graph("friends"), project.graph("friends", nodes="people", by="colour")]
    networks[1].stats(epsilon=1, only="edges")
    redeclared(tmp_path, "friends", old, new)
    for network in networks:
        refused(project, network)


def test_bounds_of_integers(tmp_path):
    old, new = (both(INTEGER.format(high)) for high in (9, 5))
    project = make(tmp_path, toml=old, rows=[(0, 1), (8, 9)])
    network = project.graph("friends")
    network.stats(epsilon=1, only="edges")
    redeclared(tmp_path, "friends", old, new)
    refused(project, network)
    assert discreet.open(tmp_path).graph("friends").stats(epsilon=1, only="edges").version == 2


@pytest.mark.parametrize("new", ['ends = ["to", "from"]', 'person = "from"'])
def test_of_persons(tmp_path, new):
    project = make_persons(tmp_path)
    network = project.graph("ties")
    more = "" if "ends" in new else columns("ties", to=TEXT)
    redeclared(tmp_path, "ties", 'ends = ["from", "to"]\nrows_per_person = 8\npopulation = "all"',
               f'{new}\nrows_per_person = 8\npopulation = "all"\n{more}')  # fmt: skip
    refused(project, network)


def test_the_same_declaration_is_asked_on(tmp_path):
    project = make(tmp_path)
    network = project.graph("friends", nodes="people", by="colour")
    assert network.stats(epsilon=1, only="edges").version == 1
    discreet.open(tmp_path).refresh("friends", force=True)
    assert network.stats(epsilon=1, only="edges").version == 2
