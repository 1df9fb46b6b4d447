"""Bundles of networks: the card says what is public, who is counted and which limit held; what failed has none."""

import importlib
import json
from dataclasses import replace
from fractions import Fraction

import pytest
import yaml as pyyaml

import clinic
import discreet
from discreet import exact
from discreet.accounting import events
from discreet.bundle import bundle_files, content
from discreet.bundle.content import content_of
from discreet.bundle.signing_key import Signer
from discreet.bundle.verification import verify
from discreet.errors import QueryFailed, UsageError
from discreet.graph import graph_steps, project_network
from discreet.graph.graph_shape import read_shares
from discreet.kernel.curator import Curator
from graph.friends import make as make_friends
from graph.friends import make_persons
from verify.forger import rules


def card_of(project, release):
    return pyyaml.safe_load(bundle_files.make_bundle(project, release)["card.yaml"])["deployment"]


def unprotected(project, release):
    return card_of(project, release)["dp_flavor"]["unprotected_quantities"]


def checked(project, release, folder):
    """The bundle alone, and beside its project: nothing is wrong, and nothing stays open."""
    bundle_files.write(bundle_files.make_bundle(project, release), folder)
    for report in (verify(folder), verify(folder, project=project)):
        assert report.sound and report.open == (), report


def test_a_public_table_of_nodes_is_not_protected_and_the_card_says_so(tmp_path):
    project = make_friends(tmp_path / "p")
    alone, net = project.graph("friends"), project.graph("friends", nodes="people", by="colour")
    for each in (net.stats(epsilon=1).release, net.synth(epsilon=1).card.release):
        assert unprotected(project, each) == "everything in the public table people"
        assert "people" not in content_of(project, each).schemas
        checked(project, each, tmp_path / each)
    for each in (alone.stats(epsilon=1).release, alone.synth(epsilon=1).card.release):
        assert unprotected(project, each) == "none"
        checked(project, each, tmp_path / each)


@pytest.mark.deep
def test_the_table_whose_persons_are_counted_is_in_the_domain(tmp_path):
    project = make_persons(tmp_path / "p")
    net = project.graph("ties", nodes="members")
    made = [net.stats(epsilon=1).release, net.synth(epsilon=1).card.release]
    (tmp_path / "p" / "members.csv").write_text("id,colour\np1,red\n")
    project = discreet.open(tmp_path / "p")
    project.refresh("members")  # a newer version is not the one that was counted
    for each in made:
        card = card_of(project, each)
        assert (
            "ties (version 1: the ends from and to), members (version 1: colour)." in card["dp_flavor"]["data_domain"]
        )
        assert card["dp_flavor"]["unprotected_quantities"] == "none"
        assert "rows in members belong to the privacy unit" in card["privacy_loss"]["privacy_unit_description"]
        checked(project, each, tmp_path / each)
    alone = card_of(project, project.graph("ties").stats(epsilon=1).release)
    assert "members" not in str(alone)


def test_a_declared_limit_of_edges_is_laid_on_when_a_question_counts(tmp_path):
    project = make_persons(tmp_path / "p")
    card = card_of(project, project.graph("ties").stats(epsilon=1).release)
    line = card["implementation"]["pre_processing_eda_hyperparameter_tuning"]
    assert "Before any query" not in line and "when a query counts" in line
    assert "8 edges, by the declaration" in line and "chosen" not in line
    assert "Each person contributes at most 8 edges." in card["privacy_loss"]["privacy_unit_description"]


def test_a_limit_that_was_chosen_is_on_the_card(tmp_path):
    project = make_persons(tmp_path / "p", limit="")
    net = project.graph("ties", nodes="members")
    stats, fitted = net.stats(epsilon=1), net.synth(epsilon=1)
    for release, limit in ((stats.release, stats.limit), (fitted.card.release, fitted.measured.limit)):
        card = card_of(project, release)
        most = "1 edge" if limit == 1 else f"{limit} edges"
        line = card["implementation"]["pre_processing_eda_hyperparameter_tuning"]
        assert f"{most}, chosen by the exponential mechanism" in line and "Before any query" not in line
        assert f"Each person contributes at most {most}." in card["privacy_loss"]["privacy_unit_description"]
    persons = card_of(project, net.stats(epsilon=1, only="nodes").release)  # no edge is counted: there is no limit
    assert "at most" not in persons["privacy_loss"]["privacy_unit_description"]
    assert "chosen" not in persons["implementation"]["pre_processing_eda_hyperparameter_tuning"]


def test_a_table_of_persons_is_still_cut_before_any_question(tmp_path):
    project = make_persons(tmp_path / "p")
    card = card_of(project, project.sql("SELECT count(*) AS n FROM members").ask(epsilon=1).id)
    assert "truncated to their limit of rows" in str(card["implementation"])
    assert "Each person contributes at most one row." in card["privacy_loss"]["privacy_unit_description"]


@pytest.mark.deep
def test_releases_that_were_stored_without_names_still_read(tmp_path, monkeypatch):
    """And do not say that nothing is public where something was."""
    project = make_friends(tmp_path / "p")
    known = content._payloads

    def older(ledger, release):
        found = known(ledger, release)
        told = json.loads(found[release])
        kept = {name: part for name, part in told.items() if name not in ("public", "counted", "counted_version")}
        assert kept != told
        return {**found, release: json.dumps(kept)}

    monkeypatch.setattr(content, "_payloads", older)
    for nodes, words in (("people", "everything in the public table of its nodes"), (None, "none")):
        net = project.graph("friends", nodes=nodes)
        for each in (net.stats(epsilon=1).release, net.synth(epsilon=1).card.release):
            assert unprotected(project, each) == words


def broken(*ignored):
    raise MemoryError


def stopped(*ignored):
    raise KeyboardInterrupt


def last(project):
    return list(project.ledger.refresh().charges)[-1]


@pytest.mark.parametrize("verb", ["stats", "synth"])
def test_what_failed_in_its_draw_is_no_release(tmp_path, monkeypatch, verb):
    project = make_friends(tmp_path / "p")
    net = project.graph("friends")
    with monkeypatch.context() as patch:
        patch.setattr(graph_steps, "apply_statistics", broken)
        with pytest.raises(QueryFailed):
            getattr(net, verb)(epsilon=1)
    failed = last(project)
    assert "(charged, but failed)" in project.recall(failed).words
    with pytest.raises(UsageError, match="no complete answer") as refused:
        bundle_files.make_bundle(project, failed)
    assert "--fresh" in refused.value.hint
    getattr(net, verb)(epsilon=1, fresh=True)
    whole = last(project)
    assert whole != failed and "charged, but" not in project.recall(whole).words
    checked(project, whole, tmp_path / "out")


@pytest.mark.thin(2)
@pytest.mark.parametrize("drawn", range(4))
def test_what_died_between_its_steps_is_no_release_until_it_is_whole(tmp_path, monkeypatch, drawn):
    """A process that died stored all steps that it took, and not all that there are: measured, triangles, wedges."""
    project = make_friends(tmp_path / "p")
    net, taken = project.graph("friends"), []
    step = graph_steps.ReservationSteps.step

    def dies(self, *parts, **named):
        if len(taken) == drawn:
            raise KeyboardInterrupt
        taken.append(self.id)
        return step(self, *parts, **named)

    with monkeypatch.context() as patch:
        patch.setattr(graph_steps.ReservationSteps, "step", dies)
        if drawn < 3:
            with pytest.raises(KeyboardInterrupt):
                net.stats(epsilon=1)
        else:
            net.stats(epsilon=1)
    begun = last(project)
    if drawn < 3:
        assert "(charged, but not finished)" in project.recall(begun).words
        with pytest.raises(UsageError, match="no complete answer") as refused:
            content_of(project, begun)
        assert "costs nothing more" in refused.value.hint
    assert net.stats(epsilon=1).release == begun
    assert project.recall(begun).words == "statistics of a network"
    checked(project, begun, tmp_path / "out")


def test_a_limit_without_its_numbers_is_no_release(tmp_path, monkeypatch):
    project = make_persons(tmp_path / "p", limit="")
    net = project.graph("ties", nodes="members")
    for verb in ("stats", "synth"):
        with monkeypatch.context() as patch:
            patch.setattr(graph_steps.GraphSteps, "persons", stopped)
            with pytest.raises(KeyboardInterrupt):
                getattr(net, verb)(epsilon=1)
        begun = last(project)
        with pytest.raises(UsageError, match="no complete answer"):
            content_of(project, begun)
        getattr(net, verb)(epsilon=1)
        checked(project, begun, tmp_path / verb)


def test_a_bundle_of_what_failed_does_not_pass_beside_the_project(tmp_path, monkeypatch):
    """Whoever made one before this was refused."""
    project = make_friends(tmp_path / "p")
    with monkeypatch.context() as patch:
        patch.setattr(graph_steps, "apply_statistics", broken)
        with pytest.raises(QueryFailed):
            project.graph("friends").stats(epsilon=1)
    with monkeypatch.context() as patch:
        patch.setattr(content, "refuse_unmeasured", lambda *ignored: None)
        bundle_files.write(bundle_files.make_bundle(project, last(project)), tmp_path / "out")
    report = verify(tmp_path / "out", project=project)
    assert [check.name for check in report.checks if check.holds is False] == ["noise"]


@pytest.mark.deep
def test_what_is_no_question_in_sql_is_not_measured_again(tmp_path):
    friends, patients = make_friends(tmp_path / "p"), clinic.make(tmp_path / "clinic")
    net = friends.graph("friends")
    made = [
        (friends, net.stats(epsilon=1).release, "statistics of a network"),
        (friends, net.synth(epsilon=1).card.release, "a model of a network"),
        (patients, patients.ranges("patients", "age", epsilon=0.3, seconds=0.1).release, "the ranges and quantiles"),
    ]
    for project, release, words in made:
        charges = len(project.ledger.refresh().charges)
        with pytest.raises(UsageError, match=f"release {release} is {words}") as refused:
            project.again(release, epsilon="0.1")
        assert "--fresh" in refused.value.hint
        assert len(project.ledger.refresh().charges) == charges


def test_ranges_that_failed_are_no_release_either(tmp_path, monkeypatch):
    project = clinic.make(tmp_path / "p")
    with monkeypatch.context() as patch:
        patch.setattr(Curator, "add_noise", broken)
        with pytest.raises(QueryFailed):
            project.ranges("patients", "age", epsilon="0.3", seconds=0.1)
    with pytest.raises(UsageError, match="no complete answer"):
        content_of(project, last(project))


@pytest.mark.parametrize("without", ["floored", "planned"])
def test_ladders_of_before_are_read_as_they_were_drawn(tmp_path, monkeypatch, without):
    """A release that was stored when ladders had no floor, or one decay: the same question returns it, both checkers know it."""
    project = make_friends(tmp_path / "p")
    net = project.graph("friends", nodes="people")
    shape_of = project_network.shape_of
    with monkeypatch.context() as patch:
        patch.setattr(
            project_network, "shape_of", lambda *given, **more: replace(shape_of(*given, **more), **{without: False})
        )
        before = net.stats(epsilon=2, only="triangles,wedges")
    assert json.loads(project.ledger.answer(before.release))["shape"][without] is False
    again = net.stats(epsilon=2, only="triangles,wedges")
    assert (again.release, again.triangles, again.wedges) == (before.release, before.triangles, before.wedges)
    checked(project, before.release, tmp_path / "out")


def test_a_ladder_that_covers_less_than_one_edge(tmp_path):
    """By both checkers: steps for half an edge, a floor and a decay that nobody drew, a ladder where there was none."""
    project = make_friends(tmp_path / "p")
    release = project.graph("friends", nodes="people").stats(epsilon=2, only="wedges").release
    content = content_of(project, release)
    steps = [dict(step) for step in content.steps]
    event = steps[-1]["event"]
    assert event["kind"] == "ladder" and event["step"] == 2
    relation, climbed = rules()[0], rungs_of(content)
    climbed()
    decay = Fraction(event["decay"])
    lies = [
        event | {"step": 1},
        event | {"floor": 10 * event["floor"]},
        event | {"floor": event["floor"] + 1},  # it follows from the noisy width
        event | {"floor": event["floor"] - 1},
        event | {"decay": exact.write(decay * Fraction(1025, 1024))},
        event | {"decay": exact.write(decay * Fraction(1023, 1024))},
        event | {"floor": 10**9, "decay": exact.write(2 * Fraction(7, 9) * Fraction(1023, 1024))},
        {"kind": "exponential", "epsilon": "1/9"},
    ]
    for turn, lie in enumerate(lies):
        steps[-1] = steps[-1] | {"event": lie}
        lying = bundle_files.signed_files(replace(content, steps=tuple(steps)), Signer.load_or_make())
        bundle_files.write(lying, tmp_path / f"lie {turn}")
        report = verify(tmp_path / f"lie {turn}")
        assert "noise" in [check.name for check in report.checks if check.holds is False], lie
        with pytest.raises(relation.Broken):
            climbed(last=lie)


def rungs_of(content):
    """The rule of the checker that stands alone for the ladders of a release; of one with other parts, where given."""
    rules()
    release, networks = content.release, importlib.import_module("networks")
    stored, taken = json.loads(content.payloads[release]), [step["event"] for step in content.steps]
    drawn = [json.loads(content.payloads[f"{release}.{number}"]) for number in range(1, len(taken) + 1)]
    reserved = events.to_data(content.event)

    def climbed(*, first=taken[0], last=taken[-1], noisy=drawn[0]["noisy"], **shape):
        told = [first, *taken[1:-1], last]
        networks.check_ladders(stored["shape"] | shape, told, [{"noisy": noisy}, *drawn[1:]], reserved)

    return climbed


@pytest.mark.thin(6)
@pytest.mark.parametrize("delta", [None, "1e-6"])
@pytest.mark.parametrize("nodes", [None, "people"])
@pytest.mark.parametrize("without", [None, "planned", "floored"])
def test_both_checkers_derive_ladders_from_what_was_drawn(tmp_path, monkeypatch, without, nodes, delta):
    project = make_friends(tmp_path / "p")
    shape_of = project_network.shape_of
    if without:
        monkeypatch.setattr(
            project_network, "shape_of", lambda *given, **more: replace(shape_of(*given, **more), **{without: False})
        )
    net = project.graph("friends", nodes=nodes)
    release = net.stats(epsilon=2, delta=delta, only="edges,triangles,wedges").release
    checked(project, release, tmp_path / "out")
    climbed, relation = rungs_of(content_of(project, release)), rules()[0]
    climbed()
    if without == "floored":
        return
    for lie in (
        {"planned": without == "planned"},
        {"noisy": [[0], [10**6], [10**6]], "nodes": None} if without is None else {"floored": False},
        {"shares": dict.fromkeys(["edges", "triangles_width", "triangles", "wedges_width", "wedges"], "1/5")},
        {"first": {"kind": "together", "events": 3 * [{"kind": "laplace", "l1": 1, "scale": "1/1"}]}},
    ):
        with pytest.raises(relation.Broken):
            climbed(**lie)


@pytest.mark.parametrize("share", ["1e99999999", "0.5", "nan", "1/0"])
def test_shares_that_are_no_ratios_are_refused_before_they_are_computed(share):
    with pytest.raises((ValueError, ZeroDivisionError)):
        read_shares({"triangles": share})
    assert read_shares({"triangles": "7/11", "edges": "1"}) == {"triangles": Fraction(7, 11), "edges": 1}
