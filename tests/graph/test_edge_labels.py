"""Mixing by what the rows of edges say of their ends: one row, and one node's label in all its rows, on small graphs."""

import itertools
import json

import numpy as np
import pytest

import clinic
import discreet
from bundle.test_networks import checked
from discreet.engines.file_backed_engine import path_of
from discreet.engines.network import graph_reader, memory_network
from discreet.engines.network.edge_labels import edge_labels, label_pairs, node_hashes
from discreet.engines.network.exact_graph import ExactGraph
from discreet.errors import Refused, UsageError
from discreet.graph.graph_statistics import LabelMixing
from graph.every import edges_of, pairs, shapes
from graph.friends import EDGES, NODES, columns, edges, write
from graph.test_private_trait import Worst, exact_matrix
from tiers import size

COLOUR = 'type = "category"\nvalues = ["blue", "red"]'


def graph_of(rows, nodes, *, hashes=None):
    """The graph of rows (from, to, label, label), -1 for none, as an engine reads it."""
    first, second, one, other = (
        (np.array(each, dtype=np.int64) for each in zip(*rows, strict=True))
        if rows
        else (np.zeros(0, dtype=np.int64) for _ in range(4))
    )
    turned = first > second
    first, second = np.where(turned, second, first), np.where(turned, first, second)
    one, other = np.where(turned, other, one), np.where(turned, one, other)
    first, second, one, other = label_pairs(first, second, (one, other), nodes)
    found = edge_labels(first, second, one, other, node_hashes(range(nodes)) if hashes is None else hashes)
    return ExactGraph(first, second, exact_nodes=nodes, exact_labels=found)


def rows_of(edges, traits):
    return [(one, other, traits[one], traits[other]) for one, other in edges]


def every(nodes, *, stride):
    """Every shape of so many nodes, with every label of every node, unknown ones among them."""
    both = itertools.product(shapes(nodes), itertools.product((-1, 0, 1), repeat=nodes))
    return itertools.islice(both, 0, None, stride)


#: In the deep tier all graphs of up to 4 nodes by their shapes, and evenly spread ones of 5 and 6.
SIZES = ((2, 1), (3, size(2, 1)), (4, size(17, 1)), (5, size(997, 7)), (6, size(30_011, 331)))
KINDS = [LabelMixing(groups=2, limit=limit, alike=alike) for limit in (None, 1, 2) for alike in (False, True)]


def test_one_row_more():
    """A new edge, or a row that says something else of an edge that is there."""
    worst = [Worst() for _ in KINDS]
    for nodes, stride in SIZES:
        for shape, traits in every(nodes, stride=stride):
            rows = rows_of(shape, traits)
            here = graph_of(rows, nodes)
            for one, other in pairs(nodes):
                for labels in {(traits[one], traits[other]), (0, 1)}:
                    there = graph_of([*rows, (one, other, *labels)], nodes)
                    for kind, move in zip(KINDS, worst, strict=True):
                        move.see(kind.apply(here), kind.apply(there))
    for kind, move in zip(KINDS, worst, strict=True):
        assert move.within(kind.sensitivity("edge"))
        assert move.l1 >= (1 if kind.limit is None else size(2, 3))


def test_what_all_rows_say_of_one_node():
    """Its label is another in every row that names it: what a limit protects, and its absence does not."""
    worst = [Worst() for _ in KINDS]
    for nodes, stride in SIZES:
        for shape, traits in every(nodes, stride=stride):
            here = graph_of(rows_of(shape, traits), nodes)
            for node, label in itertools.product(range(nodes), (-1, 0, 1)):
                other = [label if place == node else trait for place, trait in enumerate(traits)]
                there = graph_of(rows_of(shape, other), nodes)
                for kind, move in zip(KINDS, worst, strict=True):
                    move.see(kind.apply(here), kind.apply(there))
    for kind, move in zip(KINDS, worst, strict=True):
        if kind.limit is None:
            assert not move.within(kind.sensitivity("edge")) and move.l1 > 4
        else:
            assert move.within(kind.sensitivity("edge")) and move.l1 == 2 * kind.limit


class TestMutants:
    def test_an_order_that_labels_decide(self):
        """Edges of the same group first: then a label changes which edges count, and whose do."""

        def by_label(traits):
            ordered = sorted(rows_of(edges, traits), key=lambda row: (row[2] != row[3], row[:2]))
            place, kept = {}, []
            for one, other, *labels in ordered:
                if max(place.get(one, 0), place.get(other, 0)) < 1:
                    kept.append((one, other, *labels))
                place[one], place[other] = place.get(one, 0) + 1, place.get(other, 0) + 1
            return LabelMixing(groups=2).apply(graph_of(kept, 9))

        edges = [*((leaf, leaf + 4) for leaf in range(4)), *((leaf + 4, 8) for leaf in range(4))]
        traits = [1, 1, 1, 1, 0, 0, 0, 0]
        moved = np.abs(by_label([*traits, 0]) - by_label([*traits, 1])).sum()
        assert moved > LabelMixing(groups=2, limit=1).sensitivity("edge").l1

    def test_an_order_by_place_among_all_edges(self):
        """Hashes of a node's number instead of its value: a new node shifts the numbers of others."""
        kind = LabelMixing(groups=2, limit=1)
        star = [(0, leaf, 0, leaf % 2) for leaf in range(1, 9)]
        moved = set()
        for shift in range(1, 40):
            shifted = node_hashes(range(shift, shift + 9))
            moved.add(tuple(kind.apply(graph_of(star, 9, hashes=shifted)).tolist()))
        assert len(moved) > 1  # which edge counts follows from the hashes alone, so they must be those of values

    def test_a_row_that_overrides_others(self):
        """The last row decides: then a row moves an edge from one entry to another, by 2 where 1 is claimed."""
        rows = [(0, 1, 0, 0), (0, 1, 1, 1)]
        honest = [LabelMixing(groups=2).apply(graph_of(rows[:count], 2)) for count in (1, 2)]
        assert np.abs(honest[0] - honest[1]).sum() == 1
        last = [LabelMixing(groups=2).apply(graph_of([rows[count - 1]], 2)) for count in (1, 2)]
        assert np.abs(last[0] - last[1]).sum() == 2 > LabelMixing(groups=2).sensitivity("edge").l1


def test_no_claim_without_a_proof():
    with pytest.raises(ValueError):
        LabelMixing(groups=2).sensitivity("node")
    for wrong in ({"groups": 1}, {"groups": 2, "limit": 0}):
        with pytest.raises(ValueError):
            LabelMixing(**wrong)


def project_of(folder, *, rows=None, colour=COLOUR, more=""):
    """`friends`, each row of which says the colours of both."""
    folder.mkdir(exist_ok=True)
    colours = dict(NODES)
    listed = [(one, other, colours[one], colours[other]) for one, other in edges()]
    write(folder / "friends.csv", "from,to,mine,yours", listed if rows is None else rows)
    head = '[tables.friends]\nsource = "friends.csv"\nbudget = { epsilon = 4000, delta = 1e-6 }\n'
    (folder / "discreet.toml").write_text(head + EDGES + columns("friends", mine=colour, yours=colour) + more)
    return discreet.init(folder)


def test_releases_are_near_and_say_what_they_protect(tmp_path):
    project, exact = project_of(tmp_path / "p"), exact_matrix()
    found = project.graph("friends", by="mine,yours").stats(epsilon=500, only="mixing,homophily,assortativity")
    assert [[each.value for each in row] for row in found.mixing.edges] == [
        [exact[0, 0], exact[0, 1]],
        [exact[0, 1], exact[1, 1]],
    ]
    assert abs(found.homophily.value - (exact[0, 0] + exact[1, 1]) / exact.sum()) < 0.02
    assert any("many edges has it in many" in " ".join(fact.split()) for fact in found.card["not_protected"])
    kept = project.graph("friends", by="mine,yours", edges_per_node=4).stats(epsilon=900, only="mixing")
    assert "in mine,yours, together" in kept.card["protected"]
    assert sum(row[place].value for turn, row in enumerate(kept.mixing.edges) for place in range(turn, 2)) < exact.sum()
    assert any("at most 4 edges of a node" in each for each in kept.warnings)
    for release in (found.release, kept.release):
        checked(project, release, tmp_path / release)


def test_the_noise_is_for_a_node_with_all_its_rows(tmp_path):
    project = project_of(tmp_path / "p")
    plain = project.graph("friends", by="mine,yours").plan(epsilon=1, only="mixing")
    limited = project.graph("friends", by="mine,yours", edges_per_node=10).plan(epsilon=1, only="mixing")
    assert (plain.laws["mixing"].scale, limited.laws["mixing"].scale) == (1, 20)


def test_a_repeat_is_free_and_another_limit_is_another_question(tmp_path):
    project = project_of(tmp_path / "p")
    ask = {"epsilon": 1, "only": "mixing"}
    one = project.graph("friends", by="mine,yours").stats(**ask)
    assert project.graph("friends", by="mine, yours").stats(**ask).cached
    other = project.graph("friends", by="mine,yours", edges_per_node=3).stats(**ask)
    assert not other.cached and other.release != one.release


def test_engines_read_the_same_labels(tmp_path):
    """Rows that repeat an edge the other way round, that disagree, that say nothing, loops, and ends that are missing."""
    rows = [
        ("a", "b", "blue", "red"),
        ("b", "a", "red", "blue"),
        ("b", "c", "red", "red"),
        ("b", "c", "blue", "red"),
        ("c", "d", "red", ""),
        ("d", "d", "red", "red"),
        ("", "a", "red", "red"),
        ("d", "a", "blue", "blue"),
    ]
    project = project_of(tmp_path / "p", rows=rows)
    project.refresh("friends")
    version = project.versions.peek("friends")
    place = path_of(project.curator.engine.at(version.engine).place(version.file, folder=project.curator.folder))
    for directed, nodes in ((False, None), (True, None), (False, ("d", "a", "b"))):
        found = [
            module.read_graph(place, ("from", "to"), directed=directed, nodes=nodes, labels=("mine", "yours"))
            for module in (graph_reader, memory_network)
        ]
        assert edges_of(found[0]) == edges_of(found[1])
        for name in ("exact_from", "exact_to", "exact_later"):
            read, written = (getattr(each.exact_labels, name).tolist() for each in found)
            assert read == written
        if not directed and nodes is None:
            assert edges_of(found[0]) == [(0, 1), (0, 3), (1, 2), (2, 3)]
            assert found[0].exact_labels.exact_from.tolist() == [0, 0, -1, -1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"by": "mine,theirs"}, "name two declared columns"),
        ({"by": "mine,yours,from"}, "name two declared columns"),
        ({"by": "mine,mine"}, "do not say the same"),
        ({"by": "mine,yours", "edges_per_node": 0}, "must be a whole number"),
        ({"edges_per_node": 3}, "only for groups that the rows of edges state"),
    ],
)
def test_what_makes_no_sense(tmp_path, given, words):
    with pytest.raises(UsageError, match=words):
        project_of(tmp_path / "p").graph("friends", **given)


def test_what_is_refused(tmp_path):
    project = project_of(tmp_path / "p")
    with pytest.raises(Refused, match="only if its values are declared"):
        project.graph("friends", by="from,to")
    with pytest.raises(Refused, match="no blocks by a private attribute"):
        project.graph("friends", by="mine,yours").synth(epsilon=1)


#: What a JSON of something that charges tells beside its cost, the same for a stored answer.
AFTER = ("price", "spent", "remaining")


def test_the_command_line(tmp_path, capsys):
    project_of(tmp_path / "p")
    words = ("graph", "stats", "friends", "--by", "mine,yours", "--edges-per-node", "5", "--epsilon", "9")
    code, found, _ = clinic.run(capsys, tmp_path / "p", *words, "--only", "mixing,homophily")
    assert code == 0 and set(found["statistics"]) == {"mixing", "homophily"}
    assert found["price"]["epsilon"] == 9 == found["cost"]["epsilon"] == found["spent"]["epsilon"]
    code, again, _ = clinic.run(capsys, tmp_path / "p", *words, "--only", "mixing,homophily")
    assert again["cost"]["epsilon"] == 0 and {name: again[name] for name in AFTER} == {n: found[n] for n in AFTER}
    code, told, _ = clinic.run(capsys, tmp_path / "p", *words[:5], "--edges-per-node", "0", "--epsilon", "9")
    assert code == 2 and "--edges-per-node 10" in json.dumps(told)
