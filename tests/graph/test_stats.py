"""`project.graph(...).stats(...)`: what is told, what it costs, what is free."""

import itertools
import json
from fractions import Fraction

import pytest

import discreet
from discreet.accounting import events
from discreet.cli.main import call
from discreet.errors import BudgetExceeded, LedgerFault, QueryFailed
from discreet.graph.graph_shape import NAMES
from discreet.graph.graph_statistics import Triangles
from discreet.kernel.program import step_digest
from graph.friends import EDGES, LINKS, NODES, PEOPLE, TEXT, columns, edges, make, make_persons, write


def opened(project):
    """Its ledger is opened while the state folder is that of shared worlds."""
    assert project.ledger.state is not None
    return project


@pytest.fixture(scope="module")
def friends(tmp_path_factory):
    return opened(make(tmp_path_factory.mktemp("friends")))


@pytest.fixture(scope="module")
def concentrated(tmp_path_factory):
    """One whose budget's pure part is used up."""
    return opened(make(tmp_path_factory.mktemp("concentrated")))


@pytest.fixture(scope="module")
def ties(tmp_path_factory):
    return opened(make_persons(tmp_path_factory.mktemp("ties")))


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_everything_is_told_and_holds_together(friends, concentrated, delta):
    project = friends if delta is None else concentrated
    found = project.graph("friends", nodes="people", by="colour").stats(epsilon=8, delta=delta)
    names = tuple(name for name in NAMES if name != "homophily")  # which has to be asked for
    assert found.statistics == names and found.unit == "edge" and found.limit is None
    assert found.nodes.value == len(NODES) and found.nodes.exact
    assert (found.cost.epsilon is None) == (delta is not None)
    for name in ("edges", "density", "mean_degree", "triangles", "wedges", "clustering", "assortativity"):
        low, high = getattr(found, name).interval
        assert low <= getattr(found, name).value <= high and low < high, name
    assert found.degrees.at_least == tuple(range(1, 31))
    values = found.degrees.values
    assert all(one >= other for one, other in itertools.pairwise(values))
    assert values[0] <= len(NODES) and values[-1] >= 0
    assert found.mixing.labels == ("blue", "red")
    assert found.mixing.edges[0][1] == found.mixing.edges[1][0]
    data = json.loads(json.dumps(found.to_data()))
    assert set(data["statistics"]) == set(names) and data["limit"] is None
    assert data["statistics"]["nodes"] == {"value": 31, "interval": [31, 31], "exact": True}
    assert sum(data["card"]["shares"].values()) == pytest.approx(1, abs=1e-3)
    assert any("people" in each for each in data["card"]["not_protected"])


def test_much_epsilon_tells_the_truth(friends):
    found = friends.graph("friends", nodes="people", by="colour").stats(epsilon=12, only="edges,mixing", fresh=True)
    assert abs(found.edges.value - len(LINKS)) <= 8
    within = sum((one - other) % 2 == 0 for one, other in LINKS)
    assert abs(found.mixing.edges[0][0].value + found.mixing.edges[1][1].value - within) <= 12


def test_the_same_question_is_free_and_another_is_not(friends):
    network = friends.graph("friends", nodes="people")
    first = network.stats(epsilon="0.5", only=["edges", "degrees"])
    spent = friends.budget("friends").spent
    again = friends.graph("friends", ends=("from", "to"), nodes="people", key="id").stats(
        epsilon="0.5", only="degrees, Edges"
    )
    assert again.cached and again.release == first.release and again.cost.epsilon == 0
    assert again.degrees == first.degrees and friends.budget("friends").spent == spent
    other = network.stats(epsilon="0.5", only=["edges", "degrees"], fresh=True)
    assert not other.cached and other.release != first.release
    assert friends.budget("friends").spent.epsilon > spent.epsilon


def test_a_project_that_is_opened_anew_reads_the_same_numbers(tmp_path):
    network = make(tmp_path).graph("friends")
    first = network.stats(epsilon="0.3")
    again = discreet.open(tmp_path).graph("friends").stats(epsilon="0.3")
    assert again.cached
    told, retold = first.to_data(), again.to_data()
    assert {**told, "cached": True, "cost": retold["cost"]} == retold


@pytest.mark.parametrize(
    ("epsilon", "delta", "only"),
    [("1", None, None), ("1", "1e-6", None), ("2", None, "clustering"), ("1", "1e-6", "nodes,triangles")],
)
def test_the_steps_cost_what_was_reserved(friends, concentrated, epsilon, delta, only):
    project = friends if delta is None else concentrated
    made = project.graph("friends").stats(epsilon=epsilon, delta=delta, only=only, fresh=True)
    held = project.ledger.reservation(made.release)
    losses = [step.loss for step in held.steps]
    assert held.event.holds(losses)
    if delta is None:
        # a ladder's decay is a multiple of a part in 1,024
        assert Fraction(998, 1000) * Fraction(epsilon) < sum(loss.epsilon for loss in losses) <= Fraction(epsilon)
    else:
        spent = sum(loss.rho for loss in losses)
        assert held.event.rho * Fraction(999_999, 1_000_000) < spent <= held.event.rho


def test_under_node_privacy_the_steps_cost_what_was_reserved(tmp_path):
    project = make_persons(tmp_path, limit="")
    for nodes, delta in ((None, None), ("members", None), ("members", "1e-6")):  # the pure part goes last
        made = project.graph("ties", nodes=nodes).stats(epsilon=2, delta=delta)
        held = project.ledger.reservation(made.release)
        losses = [step.loss for step in held.steps]
        assert held.event.holds(losses) and len(losses) == 2 + (nodes is not None)
        assert made.chosen and made.limit in [2**power for power in range(13)]
        assert made.degrees.at_least[-1] == made.limit
        if delta is None:
            assert sum(loss.epsilon for loss in losses) == 2


def test_persons_and_their_limit(ties):
    found = ties.graph("ties", nodes="members").stats(epsilon=8)
    assert found.unit == "node" and found.limit == 8 and not found.chosen
    assert found.statistics == ("nodes", "edges", "density", "mean_degree", "degrees")
    assert found.degrees.at_least == tuple(range(1, 9))
    assert abs(found.nodes.value - len(NODES)) < 30
    assert not found.card["not_protected"] and "person" in found.card["unit"]
    assert any("at most 8 edges per person" in each for each in found.warnings)


def test_the_number_of_persons_is_that_of_the_table_of_nodes(ties):
    found = ties.graph("ties", nodes="members").stats(epsilon=20, only="nodes")
    assert abs(found.nodes.value - len(NODES)) <= 2
    held = ties.ledger.reservation(found.release)
    assert [step.loss.epsilon for step in held.steps] == [20]  # no edge was looked at, and no limit needed


def test_every_node_statistic_uses_the_limit(ties):
    """The noise is that of the declared limit, not of one edge."""
    quoted = ties.graph("ties").plan(epsilon=1)
    laws = {part["name"]: part for part in quoted.to_data()["parts"]}
    assert quoted.laws["edges"].scale == 8 / Fraction(2, 7)
    assert quoted.laws["degrees"].scale == 16 / Fraction(5, 7)
    assert laws["edges"]["plus_minus"] == quoted.laws["edges"].half_width(Fraction(95, 100))


def test_a_plan_is_free_and_reads_no_edge(tmp_path):
    project = make(tmp_path)
    (tmp_path / "friends.csv").unlink()
    told = project.graph("friends", nodes="people", by="colour").plan(epsilon=1).to_data()
    assert told["cost"] == {"epsilon": 1.0, "rho": 0.5, "delta": 0.0}
    assert [part["name"] for part in told["parts"]] == [
        "edges", "degrees", "mixing", "triangles_width", "triangles", "wedges_width", "wedges",
    ]  # fmt: skip
    ladder = told["parts"][4]
    assert ladder["plus_minus"] is None and set(ladder["plus_minus_if_an_edge_moves_it_by"]) == {"10", "100", "1000"}
    assert not project.ledger.state.versions and project.budget("friends").spent.epsilon == 0


@pytest.mark.parametrize("what", ["edges", "rows", "persons"])
def test_a_plan_says_beforehand_what_each_number_would_be_alone(tmp_path, what):
    """Computed, as if only that were asked for; and narrower, since nothing else takes a share."""
    if what == "persons":
        network = make_persons(tmp_path, limit="").graph("ties")
    else:
        extra = "directed = true" if what == "rows" else ""
        network = make(tmp_path, extra=extra).graph("friends", nodes="people", by="colour")
    quoted = network.plan(epsilon="0.7").to_data()
    wanted = {"edges", "degrees"} | ({"mixing", "triangles", "wedges"} if what != "persons" else set())
    assert {each["only"] for each in quoted["alone"]} == wanted
    together = {part["name"]: part for part in quoted["parts"]}
    for each in quoted["alone"]:
        alone = network.plan(epsilon="0.7", only=each["only"]).to_data()
        assert each["parts"] == alone["parts"] and alone["alone"] == []
        for part in each["parts"]:
            for name in ("plus_minus", "plus_minus_if_an_edge_moves_it_by"):
                narrow, wide = part.get(name), together[part["name"]].get(name)
                if isinstance(narrow, dict):
                    assert all(narrow[first] < wide[first] for first in narrow)
                elif narrow is not None and part["name"] != "limit":
                    assert narrow < wide


def test_the_command_and_its_words_of_a_number_alone(tmp_path, capsys):
    make(tmp_path)
    words = ["graph", "stats", "friends", "--epsilon", "1", "--plan", "--project", str(tmp_path)]
    call(words)
    shown = capsys.readouterr().out
    alone = discreet.open(tmp_path).graph("friends").plan(epsilon=1, only="triangles").to_data()
    (errors,) = [each["plus_minus_if_an_edge_moves_it_by"] for each in alone["parts"] if each["name"] == "triangles"]
    ten, hundred = (f"± {errors[change]:,} for a change of {change}" for change in ("10", "100"))
    assert f"(--only triangles), at the same price: {ten}, {hundred}" in shown
    assert "± if asked for alone" in shown
    call([*words, "--only", "triangles"])
    assert "alone" not in capsys.readouterr().out


def test_directed_edges_have_two_curves(tmp_path):
    project = make(tmp_path, extra="directed = true", rows=[("p0", f"p{place}") for place in range(1, 20)])
    network = project.graph("friends", nodes="people", by="colour")
    found = network.stats(epsilon=20, only="degrees")
    assert found.directed and found.degrees is None
    assert abs(found.out_degrees.values[10] - 1) < 4 and abs(found.in_degrees.values[0] - 19) < 4
    found = network.stats(epsilon=20, only="mixing,edges,density,mean_degree")
    assert found.mixing.edges[1][0].value < 4 < found.mixing.edges[0][1].value  # blue p0 to red ones, and none back
    assert found.density.value == pytest.approx(found.edges.value / (31 * 30), rel=0.2)
    assert found.mean_degree.value == pytest.approx(found.edges.value / 31, rel=0.2)


def test_loops_doubles_and_ways_do_not_count(tmp_path):
    rows = [*edges([(0, 1), (1, 2)]), ("p1", "p0"), ("p0", "p1"), ("p3", "p3"), ("", "p4"), ("p5", "")]
    project = make(tmp_path, rows=rows)
    found = project.graph("friends").stats(epsilon=20, only="nodes")
    assert abs(found.nodes.value - 3) <= 2
    found = project.graph("friends").stats(epsilon=20, only="edges")
    assert abs(found.edges.value - 2) <= 1
    assert any("repeat an edge" in each for each in found.warnings)


def test_edges_to_strangers_are_left_out(tmp_path):
    rows = [*edges([(0, 1)]), *((f"x{place}", "p0") for place in range(200))]
    found = make(tmp_path, rows=rows).graph("friends", nodes="people").stats(epsilon=20, only="edges")
    assert found.edges.value <= 4


def test_an_empty_table_answers_like_any_other(tmp_path):
    project = make(tmp_path, rows=[])
    found = project.graph("friends", nodes="people", by="colour").stats(epsilon=200)  # so much that noise is 0
    assert found.nodes.value == 31 and found.edges.interval[0] == 0
    assert found.assortativity.interval == (-1.0, 1.0)
    assert found.triangles.interval[0] == found.clustering.interval[0] == 0
    persons = make_persons(tmp_path / "persons", rows=[], limit="")
    assert persons.graph("ties").stats(epsilon=200).edges.interval[0] == 0


def test_nodes_without_attribute_are_a_group(tmp_path):
    project = make(tmp_path, nodes=[*NODES[:30], ("p30", "")])
    found = project.graph("friends", nodes="people", by="colour").stats(epsilon=5, only="mixing")
    assert found.mixing.labels == ("blue", "red", None)


@pytest.mark.parametrize("kind", ['type = "integer"', 'type = "category"\nvalues = ["1", "2", "3"]'])
def test_ends_of_other_types(tmp_path, kind):
    own = kind if "integer" in kind else TEXT
    project = make(
        tmp_path,
        toml=columns("friends", **{"from": kind, "to": kind}),
        rows=[(1, 2), (2, 3), (3, 2), (7, 1)],
        nodes=[(1, "red"), (2, "red"), (3, "blue")],
        people=PEOPLE.replace(f"id]\n{TEXT}", f"id]\n{own}"),
    )
    found = project.graph("friends", nodes="people", by="colour").stats(epsilon=60, only="mixing,edges")
    assert abs(found.edges.value - 2) <= 1
    assert [[each.value for each in row] for row in found.mixing.edges] == [[0, 1], [1, 1]]


def test_a_member_of_several_rows_is_one_node(tmp_path):
    project = make_persons(tmp_path, each=3)
    found = project.graph("ties", nodes="members").stats(epsilon=60, only="nodes")
    assert abs(found.nodes.value - len(NODES)) <= 2
    assert abs(project.graph("ties", nodes="members").synth(epsilon=300).nodes - len(NODES)) <= 2


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("bounds", "names"),
    [("low = 0\nhigh = 40", ["from and to"]), ("high = 40", ["from and to"]), ("low = 0", ["from and to"]), ("", [])],
)
def test_ends_with_bounds_are_told_of(tmp_path, bounds, names):
    """Beyond its bounds a number counts as the bound: nodes become one, and only the declaration says so."""
    kind = f'type = "integer"\n{bounds}'
    project = make(tmp_path, toml=columns("friends", **{"from": kind, "to": kind}), rows=LINKS)
    told = [each for each in project.graph("friends").stats(epsilon=1).warnings if "declared bounds" in each]
    assert told == [each for each in project.graph("friends").synth(epsilon=1).warnings if "declared bounds" in each]
    assert [each.split("bounds of ")[1].split(" are moved")[0] for each in told] == names


def test_an_overdrawn_budget_charges_nothing(tmp_path):
    project = make(tmp_path, budget="{ epsilon = 1 }")
    project.graph("friends").stats(epsilon="0.5", only="edges")
    before = len(list(project.ledger.entries()))
    with pytest.raises(BudgetExceeded, match="costs"):
        project.graph("friends").stats(epsilon=1)
    assert len(list(project.ledger.entries())) == before


def test_what_broke_off_is_gone_on_with(tmp_path, monkeypatch):
    """The first step is stored; killed in the second, the same question goes on with it and pays nothing more."""
    project = make(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Triangles, "apply", stopping)
        with pytest.raises(KeyboardInterrupt):
            project.graph("friends").stats(epsilon=1)
    spent = project.budget("friends").spent
    assert spent.epsilon == 1
    found = discreet.open(tmp_path).graph("friends").stats(epsilon=1)
    assert found.cached and project.budget("friends").spent == spent
    assert len(project.ledger.refresh().reservations[found.release].steps) == 3


def stopping(self, graph):
    raise KeyboardInterrupt


def test_a_step_that_fails_says_one_constant_thing_and_stays_charged(tmp_path, monkeypatch):
    project = make(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Triangles, "apply", lambda self, graph: {}[str(graph.exact_from)])
        with pytest.raises(QueryFailed) as caught:
            project.graph("friends").stats(epsilon=1)
    assert str(caught.value) == str(QueryFailed()) and caught.value.__cause__ is None
    assert project.budget("friends").spent.epsilon == 1
    with pytest.raises(LedgerFault, match="fresh"):
        project.graph("friends").stats(epsilon=1)
    assert not project.graph("friends").stats(epsilon=1, fresh=True).cached


def test_a_release_holds_noisy_numbers_and_public_facts_alone(friends):
    made = friends.graph("friends").stats(epsilon="0.7", fresh=True)
    stored = [json.loads(friends.ledger.answer(made.release))]
    stored += [json.loads(friends.ledger.answer(step.id)) for step in friends.ledger.reservation(made.release).steps]
    assert [set(each) for each in stored[1:]] == [{"noisy", "of"}] * 3
    taken = friends.ledger.reservation(made.release).steps
    assert [step_digest(each["of"]) for each in stored[1:]] == [step.of for step in taken]
    assert stored[0]["kind"] == "graph" and "noisy" not in stored[0]
    told = friends.recall(made.release)
    assert told.kind == "graph" and told.words == "statistics of a network" and not told.is_readable
    assert isinstance(told.event, events.ReservationEvent)


def test_the_exact_network_is_read_once_and_only_when_drawn(friends, monkeypatch):
    from discreet.graph.graph_source import GraphSource

    reads = []
    whole = GraphSource.exact_graph
    monkeypatch.setattr(GraphSource, "exact_graph", lambda self, curator: reads.append(1) or whole(self, curator))
    friends.graph("friends").stats(epsilon="0.9")
    assert len(reads) == 1
    friends.graph("friends").stats(epsilon="0.9")
    assert len(reads) == 1


def test_thousands_of_groups_are_no_grouping(tmp_path):
    from discreet.errors import UsageError

    nodes = [(f"p{place}", f"c{place}") for place in range(300)]
    with pytest.raises(UsageError, match="300 values"):
        make(tmp_path, nodes=nodes).graph("friends", nodes="people", key="id", by="colour")


def test_bits_differ(friends):
    """No seed on this path."""
    network = friends.graph("friends")
    made = [network.stats(epsilon="0.1", only="degrees", fresh=True).release for _ in range(2)]
    assert len({friends.ledger.answer(f"{release}.1") for release in made}) == 2


def test_edges_and_toml_are_as_this_file_thinks():
    assert "from" in EDGES and len(LINKS) == 90


def test_other_public_nodes_or_another_version_are_another_question(tmp_path):
    project = make(tmp_path)
    first = project.graph("friends", nodes="people").stats(epsilon=1, only="edges")
    write(tmp_path / "people.csv", "id,colour", NODES[:20])
    other = discreet.open(tmp_path).graph("friends", nodes="people").stats(epsilon=1, only="edges")
    assert not other.cached and other.release != first.release
    assert discreet.open(tmp_path).graph("friends", nodes="people").stats(epsilon=1, only="edges").cached
    mixed = discreet.open(tmp_path).graph("friends", nodes="people", by="colour").stats(epsilon=1, only="mixing")
    write(tmp_path / "people.csv", "id,colour", [(name, "red") for name, _ in NODES[:19]] + [("p19", "blue")])
    other = discreet.open(tmp_path).graph("friends", nodes="people", by="colour").stats(epsilon=1, only="mixing")
    assert not other.cached and other.release != mixed.release and other.mixing.labels == mixed.mixing.labels
    project = discreet.open(tmp_path)
    project.refresh("friends", force=True)
    assert not project.graph("friends", nodes="people").stats(epsilon=1, only="edges").cached
    assert project.budget("friends").spent.epsilon == 5


def test_whoever_is_forgotten_is_counted_no_more(tmp_path):
    """And what was released stays as it was."""
    rows = edges([(0, other) for other in range(1, 30)])
    project = make_persons(tmp_path, rows=rows, limit="rows_per_person = 1")
    first = project.graph("ties").stats(epsilon=40, only="edges")
    assert abs(first.edges.value - 1) <= 1
    project.forget("ties", ["p0"])
    assert project.graph("ties").stats(epsilon=40, only="edges").edges == first.edges
    assert project.graph("ties").stats(epsilon=40, only="edges", fresh=True).edges.value == 0


def test_an_analyst_with_a_quota_stays_within_it(tmp_path):
    project = make(tmp_path, people=PEOPLE + "\n[analysts.ann]\nepsilon = 1.0\n")
    project.graph("friends").stats(epsilon="0.8", only="edges", analyst="ann")
    with pytest.raises(BudgetExceeded):
        project.graph("friends").stats(epsilon="0.8", only="degrees", analyst="ann")
