"""Mixing by a private trait: how far one person moves it on every small graph, broken builds, and releases of it."""

import itertools
import json

import numpy as np
import pytest

import clinic
import discreet
from bundle.test_networks import checked
from discreet.engines.file_backed_engine import path_of
from discreet.engines.network import graph_reader, memory_network
from discreet.engines.network.exact_graph import ExactGraph
from discreet.errors import Refused, UsageError
from discreet.graph.graph_statistics import TraitMixing
from graph.every import edges_of, exact_graph, projected, shapes, without
from graph.friends import NODES, columns, edges, make, write
from tiers import size

COLOUR = 'type = "category"\nvalues = ["blue", "red", "green"]'


def with_traits(edges, traits, *, directed=False):
    graph = exact_graph(edges, len(traits), directed=directed)
    return ExactGraph(
        graph.exact_from,
        graph.exact_to,
        exact_nodes=len(traits),
        directed=directed,
        exact_traits=np.array(traits, dtype=np.int64),
    )


class Worst:
    """The largest moves that were seen."""

    def __init__(self):
        self.l0 = self.l1 = self.l2_squared = self.linf = 0

    def see(self, one, other):
        gap = np.abs(one - other)
        self.l0, self.l1 = max(self.l0, int(np.count_nonzero(gap))), max(self.l1, int(gap.sum()))
        self.l2_squared, self.linf = max(self.l2_squared, int((gap**2).sum())), max(self.linf, int(gap.max(initial=0)))

    def within(self, claim):
        pairs = ((getattr(self, name), getattr(claim, name)) for name in ("l0", "l1", "l2_squared", "linf"))
        return all(seen <= most for seen, most in pairs)


def neighbours(nodes, groups, rng, *, stride=1, directed=False):
    """Every shape with every trait, unknown ones among them, in an order; and without each node, whose trait goes too."""
    every = itertools.product(shapes(nodes), itertools.product(range(-1, groups), repeat=nodes))
    for shape, traits in itertools.islice(every, 0, None, stride):
        order = [shape[place] for place in rng.permutation(len(shape))]
        if directed:
            order = [edge if rng.random() < 0.5 else edge[::-1] for edge in order]
            order += [edge[::-1] for edge in order if rng.random() < 0.3]
        for node in range(nodes):
            less = tuple(-1 if place == node else trait for place, trait in enumerate(traits))
            yield (order, traits), (without(order, node), less)


@pytest.mark.thin(3)
@pytest.mark.parametrize("alike", [False, True], ids=["matrix", "alike"])
@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_how_far_one_person_moves_it(limit, alike, directed):
    """All graphs of up to 5 nodes by their shapes, with all traits, and some of 6 (fast: some of 4 and 5 as well)."""
    kind, worst = TraitMixing(groups=2, limit=limit, directed=directed and not alike, alike=alike), Worst()
    rng = np.random.default_rng(limit)
    for nodes, stride in ((2, 1), (3, 1), (4, 1), (5, size(97, 1)), (6, size(2903, 41))):
        stride = size(2, 1) if nodes == 4 else stride
        for one, other in neighbours(nodes, 2, rng, stride=stride, directed=directed):
            worst.see(*(kind.apply(with_traits(*each, directed=directed)) for each in (one, other)))
    assert worst.within(kind.sensitivity("node"))
    if not kind.directed and limit == 1:
        assert worst.l1 == kind.sensitivity("node").l1


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("limit", [1, 4])
def test_somebody_with_friends_in_every_group_reaches_the_claim(groups, limit):
    """So no smaller one is true."""
    star = [(0, 1 + place) for place in range(groups * limit)]
    traits = [0, *(place % groups for place in range(groups * limit))]
    kind = TraitMixing(groups=groups, limit=limit)
    moved = kind.apply(with_traits(star, traits))
    claim = kind.sensitivity("node")
    assert (moved.sum(), (moved**2).sum(), moved.max()) == (claim.l1, claim.l2_squared, claim.linf)
    both = [(0, 1 + place) for place in range(groups * limit)] + [(1 + place, 0) for place in range(groups * limit)]
    directed = TraitMixing(groups=groups, limit=limit, directed=True)
    moved = directed.apply(with_traits(both, traits, directed=True))
    assert np.count_nonzero(moved) == directed.sensitivity("node").l0 == 2 * groups - 1


class TestMutants:
    def test_one_projection_for_all_groups(self):
        """Edges projected first and sorted by trait after: one person replaces every edge that is kept."""
        path = [(node, node + 1) for node in range(41)]
        traits = (np.arange(43) // 2 % 2).tolist()

        def sorted_after(edges):
            kept = with_traits(projected(edges, 1), traits)
            return TraitMixing(groups=2, limit=50).apply(kept)

        claim = TraitMixing(groups=2, limit=1).sensitivity("node")
        moved = np.abs(sorted_after(path) - sorted_after([(42, 0), *path])).sum()
        assert moved > 40 > claim.l1
        sound = TraitMixing(groups=2, limit=1)
        gap = np.abs(sound.apply(with_traits(path, traits)) - sound.apply(with_traits([(42, 0), *path], traits)))
        assert gap.sum() <= claim.l1

    def test_a_claim_for_one_group_alone(self):
        """`limit` in all, as if somebody had friends in one group."""
        star, traits = [(0, 1), (0, 2)], (0, 0, 1)
        assert TraitMixing(groups=2, limit=1).apply(with_traits(star, traits)).sum() == 2 > 1

    def test_a_trait_that_others_decide(self):
        """Unknown traits filled in with the most common one: one person changes everybody's."""

        def filled(edges, traits):
            known = [trait for trait in traits if trait >= 0]
            common = max(range(2), key=known.count)
            return TraitMixing(groups=2, limit=1).apply(
                with_traits(edges, [common if trait < 0 else trait for trait in traits])
            )

        pairs = [(2 * place, 2 * place + 1) for place in range(1, 6)]
        traits = [0, 1, *([-1] * 10)]
        gap = np.abs(filled(pairs, [0, 1, *traits[2:]]) - filled(pairs, [-1, 1, *traits[2:]])).sum()
        assert gap > TraitMixing(groups=2, limit=1).sensitivity("node").l1


def test_no_claim_without_a_proof():
    with pytest.raises(ValueError):
        TraitMixing(groups=2, limit=1).sensitivity("edge")
    for wrong in ({"groups": 1, "limit": 1}, {"groups": 2, "limit": 0}):
        with pytest.raises(ValueError):
            TraitMixing(**wrong)
    with pytest.raises(ValueError):
        TraitMixing(groups=2, limit=1).apply(exact_graph([(0, 1)], 2))


def project_of(folder, *, nodes=NODES, colour=COLOUR, rows=None, limit="rows_per_person = 8", more=""):
    """`ties`, whose persons are protected with all their edges, and private `members` with their colour."""
    folder.mkdir(exist_ok=True)
    write(folder / "ties.csv", "from,to", edges() if rows is None else rows)
    write(folder / "members.csv", "id,colour", nodes)
    (folder / "discreet.toml").write_text(
        f"""
[populations.all]
budget = {{ epsilon = 4000, delta = 1e-6 }}
[tables.ties]
source = "ties.csv"
ends = ["from", "to"]
{limit}
population = "all"
[tables.members]
source = "members.csv"
person = "id"
population = "all"
[tables.members.columns.colour]
{colour}
{more}"""
    )
    project = discreet.init(folder)
    project.refresh("ties")
    return project


def exact_matrix(nodes=NODES):
    """The edges of the ring between blue and red, as they are: nobody has more than 8."""
    code, found = {"blue": 0, "red": 1}, np.zeros((2, 2), dtype=int)
    colours = dict(nodes)
    for one, other in edges():
        first, second = sorted((code[colours[one]], code[colours[other]]))
        found[first, second] += 1
    return found


def test_a_release_is_near_and_says_what_it_protects(tmp_path):
    """In the order of the table or another: persons of two tables are one by who they are."""
    for turn, nodes in enumerate((NODES, NODES[::-1])):
        project = project_of(tmp_path / str(turn), nodes=nodes)
        network = project.graph("ties", nodes="members", by="colour")
        found = network.stats(epsilon=1000, only="mixing,assortativity,homophily")
        exact = exact_matrix()
        assert found.mixing.labels == ("blue", "red", "green")
        for one, other in ((0, 0), (0, 1), (1, 1)):
            low, high = found.mixing.edges[one][other].interval
            assert low <= exact[one, other] <= high and high - low <= 4
        assert found.mixing.edges[2][2].value <= 1
        share = (exact[0, 0] + exact[1, 1]) / exact.sum()
        assert abs(found.homophily.value - share) < 0.05 and found.limit == 8
        assert found.card["protected"].endswith("whom they are linked to, and what their colour is")
        assert any("at most 8 edges per person are counted" in each for each in found.warnings)
    checked(project, found.release, tmp_path / "out")


def test_everything_is_asked_by_default_and_a_repeat_is_free(tmp_path):
    project = project_of(tmp_path / "p")
    network = project.graph("ties", nodes="members", by="colour")
    found = network.stats(epsilon=2)
    assert {"mixing", "assortativity", "homophily", "degrees"} <= set(found.statistics)
    assert network.stats(epsilon=2).cached
    write(tmp_path / "p" / "members.csv", "id,colour", NODES[:20])
    project.refresh("members")
    again = network.stats(epsilon=2)
    assert not again.cached and again.release != found.release


def test_the_noise_is_for_all_groups_of_a_person(tmp_path):
    quoted = (
        project_of(tmp_path / "p").graph("ties", nodes="members", by="colour").plan(epsilon=1, only="mixing,homophily")
    )
    assert quoted.laws["mixing"].scale == 3 * 8 * 2 and quoted.laws["homophily"].scale == 2 * 8 * 2


def test_a_limit_that_is_chosen_serves_mixing_too(tmp_path):
    found = project_of(tmp_path / "p", limit="").graph("ties", nodes="members", by="colour").stats(epsilon=5)
    assert found.chosen and found.mixing is not None


def test_what_is_refused(tmp_path):
    project = project_of(
        tmp_path / "p",
        more=columns("members", age='type = "integer"\nlow = 0\nhigh = 99', one='type = "category"\nvalues = ["a"]'),
    )
    for by, error, words in (
        ("age", Refused, "only if its values are declared"),
        ("one", UsageError, "has 1 values"),
        ("colours", UsageError, "no declared column"),
    ):
        with pytest.raises(error, match=words):
            project.graph("ties", nodes="members", by=by)
    network = project.graph("ties", nodes="members", by="colour")
    with pytest.raises(Refused, match="no blocks by a private attribute"):
        network.synth(epsilon=1)
    with pytest.raises(Refused, match="replace every edge"):
        network.stats(epsilon=1, only="triangles")


def test_a_trait_that_is_declared_anew(tmp_path):
    network = project_of(tmp_path / "p").graph("ties", nodes="members", by="colour")
    toml = (tmp_path / "p" / "discreet.toml").read_text()
    (tmp_path / "p" / "discreet.toml").write_text(toml.replace('"green"', '"yellow"'))
    discreet.open(tmp_path / "p").refresh("members")
    with pytest.raises(UsageError, match="different declaration of 'colour'"):
        network.stats(epsilon=1)


def test_persons_with_several_rows_have_no_trait(tmp_path):
    project = project_of(tmp_path / "p", more="")
    toml = (tmp_path / "p" / "discreet.toml").read_text().replace('person = "id"', 'person = "id"\nrows_per_person = 3')
    (tmp_path / "p" / "discreet.toml").write_text(toml)
    with pytest.raises(UsageError, match="several rows for a person"):
        discreet.open(tmp_path / "p").graph("ties", nodes="members", by="colour")
    del project


def test_engines_read_the_same_traits(tmp_path):
    """Members without an edge, ends who are no members, and members whose colour is missing."""
    nodes = [(name, "" if place % 5 == 0 else colour) for place, (name, colour) in enumerate(NODES) if place != 3]
    project = project_of(tmp_path / "p", nodes=[*nodes[::-1], ("stranger", "green")])
    project.refresh("members")
    ties, members = (project.versions.peek(name) for name in ("ties", "members"))
    engine = project.curator.engine.at(ties.engine)
    files = [engine.place(version.file, folder=project.curator.folder) for version in (ties, members)]
    place, beside = (path_of(file) for file in files)
    found = [
        module.read_graph(place, None, directed=False, nodes=None, traits=module.read_traits(beside, "colour"))
        for module in (graph_reader, memory_network)
    ]
    assert edges_of(found[0]) == edges_of(found[1])
    assert found[0].exact_traits.tolist() == found[1].exact_traits.tolist()
    missing = sum(1 for place, _ in enumerate(NODES[:30]) if place % 5 == 0 or place == 3)
    assert np.count_nonzero(found[0].exact_traits < 0) == missing


def test_the_command_line(tmp_path, capsys):
    project_of(tmp_path / "p")
    words = ("graph", "stats", "ties", "--nodes", "members", "--by", "colour", "--epsilon", "500")
    code, found, _ = clinic.run(capsys, tmp_path / "p", *words, "--only", "mixing,homophily")
    assert code == 0 and set(found["statistics"]) == {"mixing", "homophily"}
    code, text, _ = clinic.say(capsys, tmp_path / "p", *words, "--only", "mixing,homophily")
    assert code == 0 and "homophily" in text and "what their colour is" in text
    code, told, _ = clinic.run(
        capsys, tmp_path / "p", "graph", "stats", "ties", "--nodes", "members", "--by", "id", "--epsilon", "1"
    )
    assert code == 2 and "no declared column 'id'" in json.dumps(told)


def test_homophily_by_a_public_attribute(tmp_path):
    found = make(tmp_path / "p").graph("friends", nodes="people", by="colour").stats(epsilon=300, only="homophily")
    exact = exact_matrix()
    low, high = found.homophily.interval
    assert low <= (exact[0, 0] + exact[1, 1]) / exact.sum() <= high and high - low < 0.1
    assert found.unit == "edge"
