"""SQL on a table of edges, each end joined with a public table of nodes: an edge is one row, nodes are not protected."""

from itertools import product

import pytest

import discreet
from discreet.bundle import bundle_files as bundling
from discreet.bundle.content import content_of
from discreet.bundle.registry_card import card_of

CITIES = ("north", "south", "east")
EDGES = [(0, 1), (1, 2), (4, 5), (0, 3), (3, 6), (4, 0), (5, 2), (2, 5), (7, 8), (8, 8), (9, 1), (1, 9), (None, 0)]
NODES = range(9)  # nobody knows where 9 lives

JOINED = 'FROM friends JOIN people a ON friends."from" = a.id JOIN people b ON friends."to" = b.id'
MIXED = f"SELECT a.city, b.city, count(*) {JOINED} GROUP BY a.city, b.city"

IDS = {
    "text": ('type = "text"', lambda node: f"p{node}"),
    "integer": ('type = "integer"', str),
    "bounded": ('type = "integer"\nlow = 0\nhigh = 20', str),
    "category": (f'type = "category"\nvalues = {[f"p{node}" for node in range(10)]}', lambda node: f"p{node}"),
}


def city(node):
    return CITIES[node % 3]


@pytest.fixture(params=IDS)
def friends(request, tmp_path):
    declared, name = IDS[request.param]
    told = [",".join("" if end is None else name(end) for end in edge) for edge in EDGES]
    (tmp_path / "friends.csv").write_text("\n".join(["from,to", *told, ""]))
    (tmp_path / "people.csv").write_text("\n".join(["id,city", *(f"{name(node)},{city(node)}" for node in NODES), ""]))
    columns = "".join(f"[tables.friends.columns.{end}]\n{declared}\n" for end in ("from", "to"))
    values = ", ".join(f'"{each}"' for each in CITIES)
    (tmp_path / "discreet.toml").write_text(
        '[tables.friends]\nsource = "friends.csv"\nbudget = { epsilon = 10000, delta = 1e-6 }\n'
        f'{columns}[tables.people]\nsource = "people.csv"\npublic = true\n[tables.people.columns.id]\n{declared}\n'
        f'[tables.people.columns.city]\ntype = "category"\nvalues = [{values}]\n'
    )
    return discreet.init(tmp_path)


def rows(project, text):
    """At epsilon 1000 a number is not the exact one with a chance of 1e-434."""
    return [tuple(row) for row in project.sql(text).ask(epsilon=1000).rows]


def mixed(keep=lambda one, two: True):
    known = [(city(one), city(two)) for one, two in EDGES if one in NODES and two in NODES]
    return {pair: known.count(pair) if keep(*pair) else 0 for pair in product(CITIES, repeat=2)}


@pytest.mark.thin(1)
def test_both_ends_bring_their_attributes(friends):
    assert {row[:2]: row[2] for row in rows(friends, MIXED)} == mixed()
    assert mixed()["south", "east"] != mixed()["east", "south"]  # or swapped ends would pass


@pytest.mark.thin(1)
def test_columns_that_have_one_name_are_told_apart_by_their_tables(friends):
    names = [column.name for column in friends.sql(MIXED).ask(epsilon=1000).columns]
    assert names == ["a.city", "b.city", "count"]
    aliased = friends.sql(MIXED.replace("b.city,", "b.city AS city,", 1)).ask(epsilon=1000)
    assert [column.name for column in aliased.columns] == ["a.city", "city", "count"]
    with pytest.raises(discreet.errors.Refused, match="have the same name"):
        friends.sql(MIXED.replace("b.city,", "a.city,", 1).replace(", b.city", "", 1))


@pytest.mark.thin(1)
def test_ends_are_compared_by_what_they_bring(friends):
    same = rows(friends, f"SELECT count(*) {JOINED} WHERE a.city = b.city")
    assert same == [(sum(count for (one, two), count in mixed().items() if one == two),)]
    apart = MIXED.replace("= b.id", "= b.id AND a.city <> b.city")
    assert {row[:2]: row[2] for row in rows(friends, apart)} == mixed(lambda one, two: one != two)


@pytest.mark.thin(1)
def test_edges_to_unknown_nodes_are_kept_by_a_left_join(friends):
    found = {row[:2]: row[2] for row in rows(friends, MIXED.replace("JOIN", "LEFT JOIN"))}
    assert (found["south", None], found[None, "south"], found[None, "north"]) == (1, 1, 1)
    assert sum(found.values()) == len(EDGES)


def test_an_edge_moves_one_cell_by_one_and_nodes_are_not_protected(friends):
    told = friends.sql(MIXED).explain(epsilon=1)
    because = told["sensitivity"]["because"]
    assert (told["sensitivity"]["l1"], told["sensitivity"]["l0"]) == (1, 1)
    assert because[0] == "the privacy unit is one row: neighbours differ by one row added or removed"
    line = "each row joins at most 1 row of the public table 'people', which is not protected"
    assert because.count(line) == 2  # once for each end


@pytest.mark.thin(1)
def test_the_card_says_that_attributes_are_not_protected(friends):
    release = friends.sql(MIXED).ask(epsilon=1)
    flavor = card_of(content_of(friends, release.id))["deployment"]["dp_flavor"]
    assert flavor["unprotected_quantities"] == "everything in the public table people"
    assert b"everything in the public table people" in bundling.make_bundle(friends, release.id)["card.html"]
    plain = friends.sql("SELECT count(*) FROM friends").ask(epsilon=1)
    assert card_of(content_of(friends, plain.id))["deployment"]["dp_flavor"]["unprotected_quantities"] == "none"
