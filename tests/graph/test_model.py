"""`project.graph(...).synth(...)`: what is charged, what is free, and what a model is drawn from."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BudgetExceeded, Refused, UsageError
from discreet.graph.degree_limit import CANDIDATES
from discreet.graph.model import model_measurement
from discreet.graph.model.graph_model import GraphModel
from discreet.graph.model.model_measurement import read_back
from discreet.graph.model.recipe import recipe_of
from graph.friends import LINKS, NODES, TEXT, columns, make, make_persons


def opened(project):
    """Its ledger is opened while the state folder is that of shared worlds."""
    assert project.ledger.state is not None
    return project


@pytest.fixture(scope="module")
def friends(tmp_path_factory):
    return opened(make(tmp_path_factory.mktemp("friends")))


@pytest.fixture(scope="module")
def ties(tmp_path_factory):
    return opened(make_persons(tmp_path_factory.mktemp("ties")))


def spent(project, table="friends"):
    return project.budget(table).spent


def test_a_model_of_public_nodes_and_blocks(friends):
    found = friends.graph("friends", nodes="people", by="colour").synth(epsilon=20)
    assert found.nodes == len(NODES) and abs(found.edges - len(LINKS)) <= 20
    assert found.measured.labels == ("blue", "red") and found.measured.sizes == (16, 15)
    assert found.measured.limit is None and found.card.cost() == {"epsilon": 20.0, "rho": 200.0, "delta": 0.0}
    exact = np.zeros((2, 2), dtype=int)
    for one, other in LINKS:
        exact[min(one % 2, other % 2), max(one % 2, other % 2)] += 1
    assert np.abs(found.fitted.edges - exact).max() <= 8
    table = found.sample(seed=1)
    assert found.edges - 15 <= table.num_rows <= found.edges and set(table["to_colour"].to_pylist()) == {"blue", "red"}
    assert any("'people'" in each and "public" in each for each in found.warnings)


def test_blocks_may_be_numbers_truths_or_missing(tmp_path):
    nodes = [(name, ["", "0.5", "2"][place % 3]) for place, (name, _) in enumerate(NODES)]
    kinds = {"id": TEXT, "colour": 'type = "decimal"\nstep = 0.5\nlow = 0\nhigh = 9'}
    people = '[tables.people]\nsource = "people.csv"\npublic = true\n' + columns("people", **kinds)
    found = (
        make(tmp_path / "p", nodes=nodes, people=people).graph("friends", nodes="people", by="colour").synth(epsilon=9)
    )
    assert found.measured.labels == (0.5, 2, None) and sum(found.measured.sizes) == len(NODES)
    found.save(tmp_path / "model.json")
    assert GraphModel.load(tmp_path / "model.json").measured == found.measured
    assert None in found.sample(seed=1)["to_colour"].to_pylist()


def test_the_same_again_is_free_and_fresh_is_not(friends):
    network = friends.graph("friends", nodes="people")
    first = network.synth(epsilon=2)
    before = spent(friends)
    again = network.synth(epsilon="2.0")
    assert again.card.repeat and not first.card.repeat and again.measured == first.measured
    assert spent(friends) == before and again.card.release == first.card.release
    assert read_back(first.card.release, ledger=friends.ledger).measured == first.measured
    other = network.synth(epsilon=2, fresh=True)
    assert not other.card.repeat and other.card.release != first.card.release
    assert spent(friends).epsilon == before.epsilon + 2
    assert friends.recall(first.card.release).kind == "graph model"


@pytest.mark.thin(3)
@pytest.mark.parametrize("delta", [None, "1e-6"])
@pytest.mark.parametrize("given", [{}, {"nodes": "people"}, {"nodes": "people", "by": "colour"}])
def test_all_of_the_reservation_is_spent_and_no_more(tmp_path, given, delta):
    project = make(tmp_path / "p")
    found = project.graph("friends", **given).synth(epsilon=3, delta=delta)
    held = project.ledger.reservation(found.card.release)
    losses = [step.loss for step in held.steps]
    recipe = recipe_of(
        project.graph("friends", **given).source(project.version("friends")),
        project.graph("friends", **given).nodes,
        counted=False,
    )
    assert sum(recipe.shares.values()) == 1 and all(share > 0 for share in recipe.shares.values())
    laws = recipe.laws(held.event, None)
    nobody = np.zeros(0, dtype=np.int64)
    moves = {part: recipe.statistic(part, None, nobody).sensitivity("edge") for part in recipe.parts}
    if delta is None:
        assert sum(moves[part].l1 / laws[part].scale for part in recipe.parts) == 3 == held.event.epsilon
    else:
        rho = sum(Fraction(moves[part].l2_squared) / (2 * laws[part].sigma2) for part in recipe.parts)
        assert rho == held.event.rho and held.event.epsilon is None
    assert sum(loss.rho for loss in losses) <= held.event.rho and len(losses) == 1


def test_persons_are_hidden_with_all_their_edges(ties):
    declared = ties.graph("ties", nodes="members").synth(epsilon=40)
    assert declared.measured.unit == "node" and declared.measured.limit == 8
    assert abs(declared.nodes - len(NODES)) <= 10 and abs(declared.edges - len(LINKS)) <= 30
    assert any("at most 8 edges per person" in each for each in declared.warnings)
    alone = ties.graph("ties").synth(epsilon=40)
    assert alone.measured.persons is None and alone.nodes <= 45
    assert alone.spread(seeds=2, runs=2).nodes == alone.nodes


def test_a_limit_is_chosen_where_none_is_declared(tmp_path):
    project = make_persons(tmp_path / "p", limit="")
    found = project.graph("ties").synth(epsilon=80)
    assert found.measured.limit in CANDIDATES[2:] and found.measured.unit == "node"
    assert project.graph("ties").synth(epsilon=80).measured == found.measured


def test_what_is_begun_is_gone_on_with_and_paid_once(tmp_path, monkeypatch):
    project = make(tmp_path / "p")
    network = project.graph("friends")
    with monkeypatch.context() as patched:
        patched.setattr(model_measurement, "_draw", lambda *more: None)
        with pytest.raises(UsageError, match="its measurement was not finished"):
            network.synth(epsilon=2)
    before = spent(project)
    found = network.synth(epsilon=2)
    assert spent(project) == before and before.epsilon == 2 and found.card.repeat


def test_what_cannot_be_is_refused_and_free(tmp_path):
    project = make(tmp_path / "p", extra="directed = true", budget="{ epsilon = 1 }")
    with pytest.raises(Refused, match="is directed, but a model has only undirected edges"):
        project.graph("friends").synth(epsilon=1)
    plain = make(tmp_path / "q", budget="{ epsilon = 1 }")
    for wrong in ({"epsilon": 0}, {"epsilon": "much"}, {"epsilon": 1, "delta": 2}):
        with pytest.raises(UsageError):
            plain.graph("friends").synth(**wrong)
    with pytest.raises(BudgetExceeded):
        plain.graph("friends").synth(epsilon=2)
    few = make(tmp_path / "r", nodes=NODES[:1])
    with pytest.raises(UsageError, match="can have 2 to"):
        few.graph("friends", nodes="people").synth(epsilon=1)
    assert not any(each.ledger.refresh().charges for each in (project, plain, few))


def test_only_a_model_is_read_back(friends):
    other = friends.graph("friends").stats(epsilon=1)
    with pytest.raises(UsageError, match="is not a model of a network"):
        read_back(other.release, ledger=friends.ledger)
    with pytest.raises(UsageError, match="no release 'r-nothing'"):
        read_back("r-nothing", ledger=friends.ledger)
