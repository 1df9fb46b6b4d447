"""Networks whose unit is a node with all of its edges: honest bundles are proved, and who lies with a key is not."""

import importlib
import inspect
import itertools
import json
import re

import pytest

from discreet.accounting.sensitivity import Sensitivity
from discreet.bundle import bundle_files
from discreet.graph import graph_steps
from discreet.graph.degree_limit import DegreeLimitChoice
from discreet.graph.graph_statistics import AtLeast, Edges, TraitMixing
from graph.friends import make as make_friends
from graph.friends import make_persons
from graph.test_private_trait import project_of
from tiers import size
from verify import world
from verify.conftest import state_in
from verify.forger import rules, store, stored
from verify.forging import changes, checker, verdicts
from verify.test_contents import contents_of, with_contents
from verify.test_own_key import everywhere, in_program, in_step, same, summary

DIRECTED = "rows_per_person = 8\ndirected = true"
TRUTHS = [(f"p{place}", "true" if place % 2 else "false") for place in range(31)]


def persons(limit="rows_per_person = 8", **more):
    return lambda folder: make_persons(folder, limit=limit, **more)


def coloured(limit="rows_per_person = 8", **more):
    return lambda folder: project_of(folder, limit=limit, **more)


def stats(by=None, nodes="members", **more):
    return lambda project: project.graph("ties", nodes=nodes, by=by).stats(**{"epsilon": 1} | more).release


def synth(nodes="members"):
    return lambda project: project.graph("ties", nodes=nodes).synth(epsilon=1).card.release


MIXING = "mixing,assortativity"
#: Every verb, with and without a table of nodes, a declared limit, directions, a private trait, and a cost in rho.
MADE = {
    "statistics": (persons(), stats()),
    "nodes with an edge": (persons(), stats(nodes=None)),
    "persons alone": (persons(limit=""), stats(only="nodes")),
    "many degrees": (persons("rows_per_person = 60"), stats(only="degrees", delta="1e-7")),
    "directed": (persons(DIRECTED), stats()),
    "chosen": (persons(limit=""), stats()),
    "chosen for edges": (persons(limit=""), stats(only="edges")),
    "chosen in rho": (persons(limit=""), stats(delta="1e-7")),
    "trait": (coloured(), stats("colour", only=f"{MIXING},homophily,edges")),
    "trait in rho": (coloured(), stats("colour", only=MIXING, delta="1e-7")),
    "trait that is not asked for": (coloured(), stats("colour", only="edges")),
    "directed trait": (coloured(DIRECTED), stats("colour", only=MIXING)),
    "chosen trait": (coloured(""), stats("colour", only="homophily")),
    "true or false": (coloured(colour='type = "boolean"', nodes=TRUTHS), stats("colour", only=MIXING)),
    "model": (persons(), synth()),
    "model alone": (persons(), synth(nodes=None)),
    "chosen model": (persons(limit=""), synth()),
}


class Made(dict):
    """Each bundle when a test first wants it, from a project of its own."""

    def __init__(self, factory):
        super().__init__()
        self.factory = factory

    def __missing__(self, name):
        make, release = MADE[name]
        with state_in(self.factory.mktemp("state") / "here"):
            project = make(self.factory.mktemp("network") / "p")
            self[name] = bundle_files.make_bundle(project, release(project))
        return self[name]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    return Made(tmp_path_factory)


@pytest.mark.parametrize("name", MADE)
def test_every_line_is_proved(name, made):
    assert set(verdicts(made[name]).values()) == {"proved"}
    assert set(verdicts(in_program(made[name], same)).values()) == {"proved"}  # as every lie below is signed


def test_a_stranger_sees_who_owns_which_rows(made, tmp_path):
    done = world.recheck(world.written(made["statistics"], tmp_path / "out"))
    assert done.returncode == 0, done.stdout
    assert "in ties a person has each row with them in from or in to" in done.stdout
    assert "noise for one node with all of its edges, of which at most 8 count" in done.stdout


# The rules.


def grid():
    """Statistics of nodes, with what the rule is asked besides: the limit, and the values of a trait."""
    for limit in (1, 2, 7, 40):
        yield Edges(limit=limit), limit, []
        for thresholds in ((1,), (1, 2, 5), tuple(range(1, 8)), (3, 40)):
            if thresholds[-1] <= limit:
                yield AtLeast(thresholds=thresholds, limit=limit), limit, []
        for groups, directed, alike in itertools.product((2, 3, 5), (False, True), (False, True)):
            kind = TraitMixing(groups=groups, limit=limit, directed=directed and not alike, alike=alike)
            yield kind, limit, [*"abcde"][:groups]


def test_the_rules_are_those_of_the_product():
    """Both were derived from docs/proofs/graphs.md, and neither from the other."""
    checker()
    networks, tried = importlib.import_module("networks"), 0
    for statistic, limit, labels in grid():
        claim = statistic.sensitivity("node")
        count, *far = networks.node_moves(limit, labels, *statistic.to_data())
        assert far == [claim.l1, claim.l2_squared] and count >= claim.l0, statistic
        tried += 1
    assert tried > 50


def test_some_bounds_as_numbers():
    """Theorems 1 and 3, by hand: a node with D edges adds itself to each of T counts, and moves D other degrees."""
    checker()
    moves = importlib.import_module("networks").node_moves
    assert moves(8, [], "edges", 8) == (1, 8, 64)
    assert moves(8, [], "at least", [1, 2, 3], 8, "both", None, 1) == (3, 11, 83)
    assert moves(4, [*"abc"], "trait mixing", 3, 4, False, False) == (6, 12, 48)
    assert moves(4, [*"abc"], "trait mixing", 3, 4, True, False) == (9, 20, 80)
    assert moves(4, [*"abc"], "trait mixing", 3, 4, False, True) == (2, 8, 32)


# Lies.


def charged(change, step=1):
    """The event of a step, in the plan and in the proof."""

    def changed(documents):
        for part in ("plan", "proof"):
            change(documents[part]["steps"][step - 1])

    return changed


def event(place=None, step=1, **members):
    """Other members of an event, or of one of several."""
    return charged(
        lambda told: (told["event"] if place is None else told["event"]["events"][place]).update(members), step
    )


def statistic(place, *other):
    """Another statistic in the place of one that was measured."""
    return everywhere("network", lambda told: told["network"].__setitem__(place, list(other)))


def network(**members):
    return everywhere("network", lambda told: told["of"].update(members))


def noisy(place, many, step=1):
    """So many of the noisy numbers of a vector."""

    def changed(told):
        told["noisy"][place] = (told["noisy"][place] * many)[:many]
        return told

    return in_step(step, changed)


def shape(**members):
    def changed(documents):
        own = stored(documents["plan"])
        own["shape" if "shape" in own else "recipe"] |= members
        store(documents["plan"], own)

    return changed


def declared(table="ties", **members):
    return lambda documents: documents["plan"]["schemas"][table]["declared"].update(members)


def all_of(*lies):
    def changed(told):
        for lie in lies:
            lie(told)

    return changed


RISING = [*range(1, 9)]
#: Half of the limit, with the numbers and the noise that belong to it.
HALF = (
    all_of(noisy(1, 4), event(0, l1=4), event(1, l1=8)),
    all_of(statistic(0, "edges", 4), statistic(1, "at least", [1, 2, 3, 4], 4, "both", None, 1)),
)


def climbed(documents):
    """A ladder, whose rungs are as wide as one edge moves triangles."""
    plan, of = documents["plan"], {"ends": None, "directed": False, "keys": None}
    content = {"climbed": ["triangles"], "of": of, "floor": 10**6}
    ladder = {"kind": "ladder", "decay": "1/1000000", "floor": 10**6, "step": 1}
    for part in ("plan", "proof"):
        documents[part]["steps"][1] = {"number": 2, "of": rules()[1].digest(content), "event": ladder}
    plan["payloads"][f"{plan['release']}.2"] = json.dumps({"noisy": [274], "of": content})


def before(documents):
    """As ladders were when they had no floor: nothing is derived of their rungs."""
    plan, of = documents["plan"], {"climbed": ["triangles"], "of": {"ends": None, "directed": False, "keys": None}}
    for part in ("plan", "proof"):
        step = {"number": 2, "of": rules()[1].digest(of), "event": {"kind": "exponential", "epsilon": "1/8"}}
        documents[part]["steps"][1] = step
    plan["payloads"][f"{plan['release']}.2"] = json.dumps({"noisy": [274], "of": of})
    shape(shares={"edges": "1/4", "degrees": "5/8", "triangles": "1/8"}, floored=False, planned=False)(documents)


def without_choice(documents):
    """The limit comes from nowhere: the step that chose it is left out."""
    plan = documents["plan"]
    kept = [json.loads(plan["payloads"].pop(f"{plan['release']}.{step['number']}")) for step in plan["steps"]][1:]
    for number, told in enumerate(kept, start=1):
        plan["payloads"][f"{plan['release']}.{number}"] = json.dumps(told)
    for part in ("plan", "proof"):
        documents[part]["steps"] = [
            step | {"number": number} for number, step in enumerate(documents[part]["steps"][1:], start=1)
        ]


def chosen_afterwards(documents):
    """What was measured comes before the choice of its limit, which may then follow from it."""
    plan = documents["plan"]
    first, second = (f"{plan['release']}.{number}" for number in (1, 2))
    plan["payloads"] |= {first: plan["payloads"][second], second: plan["payloads"][first]}
    for part in ("plan", "proof"):
        one, two, *more = documents[part]["steps"]
        documents[part]["steps"] = [two | {"number": 1}, one | {"number": 2}, *more]


def chosen_twice(documents):
    """A second choice, of another limit, behind what was measured."""
    plan = documents["plan"]
    for part in ("plan", "proof"):
        documents[part]["steps"][2] = documents[part]["steps"][0] | {"number": 3}
    plan["payloads"][f"{plan['release']}.3"] = plan["payloads"][f"{plan['release']}.1"]


def candidates(*other):
    return everywhere("limits", lambda told: told["limits"].update(candidates=list(other)))


def chooses(value=None):
    """A limit as what was chosen: without one, another that was offered."""
    return in_step(1, lambda told: told | {"chosen": value or (2 if told["chosen"] == 1 else 1)})


def trait(place, *other, **members):
    return all_of(statistic(place, "trait mixing", *other), network(**members))


TRAIT = ["members", 1, "colour"]
MORE = {"type": "category", "values": ["blue", "red", "green", "yellow"]}
FACTS = {"persons": 163}
LIES = {
    # A limit.
    "half of the limit": ("statistics", *HALF),
    "half of the limit, in the shape": ("statistics", all_of(HALF[0], shape(limit=4)), HALF[1]),
    "half of the limit, in the declaration": ("statistics", all_of(HALF[0], declared(rows_per_person=4)), HALF[1]),
    "another limit in the shape alone": ("statistics", shape(limit=4)),
    "no limit": ("statistics", event(0, l1=1), statistic(0, "edges", None)),
    "a limit that is a text": ("statistics", same, statistic(0, "edges", "8")),
    "edges move by one": ("statistics", event(0, l1=1, scale="4/1")),
    "degrees move by the limit": ("statistics", event(1, l1=8, scale="64/5")),
    "degrees move by twice the limit less one": ("statistics", event(1, l1=15, scale="24/1")),
    "degrees of a model move by the limit": ("model", event(0, l1=8)),
    "squares of the limit and no more": ("many degrees", charged(lambda told: told["event"].update(l2_squared=3600))),
    # Thresholds.
    "a threshold above the limit": ("statistics", same, statistic(1, "at least", [*RISING[:-1], 9], 8, "both", None, 1)),
    "a threshold again": ("statistics", same, statistic(1, "at least", [1, 1, *RISING[2:]], 8, "both", None, 1)),
    "a threshold of 0": ("statistics", same, statistic(1, "at least", [0, *RISING[1:]], 8, "both", None, 1)),
    "fewer thresholds": ("statistics", event(1, l1=12), statistic(1, "at least", RISING[:4], 8, "both", None, 1)),
    "degrees out of a node": ("directed", same, statistic(1, "at least", RISING, 8, "out", None, 1)),
    "degrees by public groups": ("statistics", same, statistic(1, "at least", RISING, 8, "both", "0" * 64, 1)),
    "degrees by two groups": ("statistics", noisy(1, 16), statistic(1, "at least", RISING, 8, "both", None, 2)),
    # What only an edge bounds.
    "nodes with an edge, of one edge": ("statistics", event(0, l1=2), statistic(0, "touched nodes")),
    "common neighbours, of one edge": ("statistics", event(0, l1=1), statistic(0, "largest common")),
    "groups of public nodes": ("statistics", all_of(event(0, l1=1), noisy(0, 2)), statistic(0, "mixing", "0" * 64, 2, False, "alike")),
    "labels of rows": ("statistics", all_of(event(0, l1=16), noisy(0, 3)), statistic(0, "label mixing", 2, 8, False, False)),
    "a ladder": ("statistics", climbed),
    "a ladder of before, without a floor": ("statistics", all_of(climbed, before)),
    "a ladder in the shape": ("statistics", shape(shares={"persons": "1/8", "edges": "1/4", "triangles": "5/8"})),
    # The network.
    "named ends": ("statistics", same, network(ends=["from", "to"])),
    "an end that is not of the list": ("statistics", same, network(ends=["from", "friend"])),
    "public nodes": ("statistics", same, network(keys="0" * 64)),
    "labels that nobody reads": ("statistics", same, network(labels=["from", "to"])),
    "another direction": ("statistics", same, network(directed=True)),
    "a trait that nobody declared": ("statistics", same, network(trait=TRAIT)),
    "nothing said of its nodes": ("statistics", same, everywhere("network", lambda told: told.pop("of"))),
    "something else beside it": ("statistics", in_step(1, lambda told: told | {"of": FACTS})),
    # Persons.
    "persons of another version": ("statistics", same, everywhere("persons", lambda told: told.update(persons=["members", 2]))),
    "persons that are edges": ("statistics", same, everywhere("persons", lambda told: told.update(persons=["ties", 1]))),
    "half a person": ("statistics", charged(lambda told: told["event"].update(l1=2), step=2)),
    "another table of nodes": ("statistics", summary(counted="ties")),
    "no table of nodes": ("statistics", summary(counted=None, counted_version=None)),
    "another version of the nodes": ("statistics", summary(counted_version=163)),
    "nodes that are not counted": ("statistics", shape(counted=False)),
    # What stands beside, and nobody may know.
    "the number of nodes": ("statistics", shape(nodes=163)),
    "the sizes of blocks": ("model", shape(sizes=[163])),
    "a shape with directions": ("statistics", shape(directed=True)),
    "a public table": ("statistics", summary(public="exactly 163")),
    "labels of nothing": ("statistics", shape(labels=[163])),
    "labels of a model": ("model", shape(labels=[163])),
    "a limit of labels": ("statistics", shape(label_limit=163)),
    # Whom it protects.
    "an edge as the unit": ("statistics", summary(unit="edge")),
    "the shape of an edge": ("statistics", shape(unit="edge")),
    "the recipe of an edge": ("model", shape(unit="edge")),
    # A limit that was chosen.
    "a limit that was not chosen": ("chosen", chooses()),
    "a limit that nobody offered": ("chosen", same, candidates(3, 5, 7)),
    "a limit of no edges": ("chosen", same, candidates(0, *[2**power for power in range(13)])),
    "an exact number in its place": ("chosen", chooses(163)),
    "a cheaper choice": ("chosen", event(epsilon="1/8")),
    "a dearer choice than was charged": ("chosen", same, everywhere("limits", lambda told: told["limits"].update(epsilon="1/8"))),
    "another mechanism": ("chosen", event(kind="permute-and-flip")),
    "noise in its place": ("chosen", charged(lambda told: told.update(event={"kind": "laplace", "l1": 1, "scale": "4/1"}))),
    "no choice": ("chosen", without_choice),
    "a choice afterwards": ("chosen", chosen_afterwards),
    "two choices": (
        "chosen",
        all_of(event(epsilon="1/16"), chosen_twice),
        everywhere("limits", lambda told: told["limits"].update(epsilon="1/16")),
    ),
    "a choice that is declared": ("chosen", declared(rows_per_person=4)),
    "a choice for a model": ("chosen model", chooses()),
    "what nobody reads": ("chosen", same, everywhere("limits", lambda told: told["limits"].update(FACTS))),
    # A private trait.
    "fewer groups": ("trait", all_of(event(1, l1=16), noisy(1, 3)), trait(1, 2, 8, False, False)),
    "more groups than are declared": ("trait", all_of(event(1, l1=32, scale="999/1"), noisy(1, 10)), trait(1, 4, 8, False, False)),
    "more groups, in the shape": (
        "trait",
        all_of(event(1, l1=32, scale="999/1"), noisy(1, 10), shape(labels=MORE["values"])),
        trait(1, 4, 8, False, False),
    ),
    "more groups, in the declaration": ("trait", lambda documents: declared("members", columns={"colour": MORE})(documents)),
    "other labels": ("trait", shape(labels=["blue", "red", "white"])),
    "labels in another order": ("trait", shape(labels=["red", "blue", "green"])),
    "one group for all": ("trait", event(1, l1=8)),
    "groups without directions": ("directed trait", charged(lambda told: told["event"].update(l1=24))),
    "directions of no edge": ("trait", noisy(1, 9), trait(1, 3, 8, True, False)),
    "alike, in all groups": ("trait", event(1, l1=16), trait(1, 3, 8, False, True)),
    "homophily with directions": ("trait", same, statistic(2, "trait mixing", 3, 8, True, True)),
    "homophily of nothing": ("trait", same, statistic(2, "trait mixing", 3, 8, None, True)),
    "homophily of one entry": ("trait", event(2, l1=8)),
    "half of the limit of a trait": ("trait", event(1, l1=12), trait(1, 3, 4, False, False)),
    "groups of nobody": ("trait", same, everywhere("network", lambda told: told["of"].pop("trait"))),
    "a trait of another column": ("trait", same, network(trait=["members", 1, "size"])),
    "a trait of another version": ("trait", same, network(trait=["members", 2, "colour"])),
    "a trait of the edges": ("trait", same, network(trait=["ties", 1, "colour"])),
    "a trait by another name": ("trait", shape(by="size")),
    "several rows for a person": ("trait", declared("members", rows_per_person=2)),
    "a trait of persons of two columns": ("trait", declared("members", person=["clinic", "id"])),
    "a trait that is a text": ("trait", declared("members", columns={"colour": {"type": "text"}})),
}  # fmt: skip


#: What is no lie by itself, and cannot be derived.
OPEN = {"persons that are edges"}


@pytest.mark.parametrize("title", LIES)
def test_lies_are_broken(title, made):
    name, *lie = LIES[title]
    assert sensitivity(in_program(made[name], *lie)) == ("open" if title in OPEN else "broken")


def sensitivity(files):
    """What is said of the noise; of documents that are not read at all nothing is."""
    found = verdicts(files)
    return found.get("sensitivity", found["documents"])


def persons_by(table="ties", **members):
    return lambda documents: documents["plan"]["schemas"][table]["persons"][-1].update(members)


def alike(change):
    """A declaration, and what the version says of its persons."""

    def changed(documents):
        told = documents["plan"]["schemas"]["ties"]
        change(told["declared"])
        told["persons"] = [
            {"table": "ties", "ends": told["declared"]["ends"], "kinds": ["text"] * len(told["declared"]["ends"])}
        ]
        documents["proof"]["unit"]["persons"] = told["persons"]

    return changed


WHOSE = {
    "another end": persons_by(ends=["from", "friend"]),
    "one end": persons_by(ends=["from"], kinds=["text"]),
    "ends of another table": persons_by(table="members", ends=["id", "id"]),
    "ends in another order": persons_by(ends=["to", "from"]),
    "a person beside the ends": persons_by(person=["id"]),
    "a way behind the ends": lambda documents: documents["plan"]["schemas"]["ties"]["persons"].append(
        {"table": "ties", "ends": ["from", "to"]}
    ),
    "one column twice": alike(lambda told: told.update(ends=["from", "FROM"])),
    "three ends": alike(lambda told: told.update(ends=["from", "to", "To"])),
    "one end declared": alike(lambda told: told.update(ends=["from"])),
    "a declared person": alike(lambda told: told.update(person="from")),
    "no edges": alike(lambda told: told.update(rows_per_person=0)),
    "another number of edges": alike(lambda told: told.update(rows_per_person=4)),
    "other persons in the proof": lambda documents: documents["proof"]["unit"].update(persons=[]),
    "one row": lambda documents: documents["plan"].update(privacy_unit="one row"),
    "one edge in the proof": lambda documents: documents["proof"]["unit"].update({"is": "one row"}),
    "nodes of another population": lambda documents: documents["plan"]["schemas"]["members"].update(population="others"),
}  # fmt: skip


@pytest.mark.parametrize("title", WHOSE)
def test_whose_edges_they_are(title, made):
    assert verdicts(in_program(made["statistics"], WHOSE[title])).get("unit", "broken") == "broken"


def test_nodes_and_persons_of_two_columns_stay_open(made):
    """Nobody says which of them are one person."""

    def two(documents):
        told = documents["plan"]["schemas"]["members"]
        told["declared"]["person"] = ["clinic", "id"]
        told["persons"][-1] |= {"person": ["clinic", "id"], "kinds": ["text", "text"]}

    assert verdicts(in_program(made["statistics"], two))["unit"] == "open"


def test_an_older_bundle_stays_open(made):
    """Which does not say what its steps measured, who identifies people, or which tables stand beside the network."""

    def silent(documents):
        plan = documents["plan"]
        for step in plan["steps"]:
            name = f"{plan['release']}.{step['number']}"
            told = json.loads(plan["payloads"][name])
            plan["payloads"][name] = json.dumps({part: told[part] for part in told if part != "of"})

    def unnamed(documents):
        own = stored(documents["plan"])
        store(
            documents["plan"], {part: own[part] for part in own if part not in ("public", "counted", "counted_version")}
        )

    def unidentified(documents):
        del documents["plan"]["schemas"]["ties"]["persons"]
        documents["proof"]["unit"]["persons"] = []

    for name in ("nodes with an edge", "model alone"):
        for change, line in ((silent, "sensitivity"), (unnamed, "sensitivity"), (unidentified, "unit")):
            found = verdicts(in_program(made[name], change))
            assert found[line] == "open" and "broken" not in found.values(), (name, change)


def test_edges_are_no_nodes_and_nodes_no_edges(programs, made):
    """A table whose rows were units, relabelled as one of nodes with all of their rows; and the other way round."""

    def nodes(documents):
        told = documents["plan"]["schemas"]["friends"]
        ends = {"ends": ["from", "to"]}
        told |= {"declared": told["declared"] | ends | {"rows_per_person": 1}, "persons": [{"table": "friends"} | ends]}
        own = {"is": "all edges of one person", "rows": 1, "persons": told["persons"]}
        documents["proof"]["unit"], documents["plan"]["privacy_unit"] = own, own["is"]
        all_of(summary(unit="node", public=None), shape(unit="node", limit=1, nodes=None, by=None, labels=[]))(
            documents
        )

    def edges(documents):
        told = documents["plan"]["schemas"]["ties"]
        told["declared"] = {"columns": {}}
        del told["persons"]
        documents["proof"]["unit"] = {"is": "one row", "rows": 1, "persons": []}
        documents["plan"]["privacy_unit"] = "one row"
        all_of(summary(unit="edge"), shape(unit="edge", limit=None))(documents)

    for files, change in ((programs["network"], nodes), (made["nodes with an edge"], edges)):
        found = verdicts(in_program(files, change))
        assert (found["unit"], found["sensitivity"]) == ("proved", "broken"), found


def test_edges_with_directions(tmp_path):
    """A network of edges as units has the direction that its table declares, too, and no trait of nodes."""
    with state_in(tmp_path / "state"):
        project = make_friends(tmp_path / "p", extra="directed = true")
        files = bundle_files.make_bundle(project, project.graph("friends").stats(epsilon=1, only="degrees").release)
    assert set(verdicts(files).values()) == {"proved"}
    for lie in (network(directed=False), network(trait=["friends", 1, "from"]), network(ends=None)):
        assert sensitivity(in_program(files, same, lie)) == "broken"


def test_only_a_network_is_released_of_edges(made):
    """Rows of edges, each of which belongs to two persons, are neither counted nor cut into cells."""
    content = {"measure": [[0]], "axes": [[{"column": "size"}, [0, 1], True]], "groups": [[0, 1]]}

    def counted(documents):
        plan = documents["plan"]
        declared(columns={"size": {"type": "integer"}})(documents)
        step = {"number": 2, "of": rules()[1].digest(content), "event": {"kind": "laplace", "l1": 8, "scale": "64/1"}}
        for part in ("plan", "proof"):
            documents[part]["steps"][1] = step
        plan["payloads"][f"{plan['release']}.2"] = json.dumps([[163, 99]])

    contents = contents_of(made["statistics"])
    files = in_program(made["statistics"], counted)
    assert contents[1] == {"persons": ["members", 1]}
    assert verdicts(files)["sensitivity"] != "proved"
    contents[1] = content

    def told(documents):
        """The same in what the step stores, which is then what was charged."""
        plan = documents["plan"]
        counted(documents)
        plan["payloads"][f"{plan['release']}.2"] = json.dumps({"noisy": [[163, 99]], "of": content})

    assert verdicts(in_program(made["statistics"], told))["sensitivity"] == "broken"


#: Changes of what steps measured, or of what is stored beside, that say nothing false: a price and candidates of a
#: choice, which are whatever was charged; words; shares, which the events have; how another kind of network is drawn.
FREE = re.compile(
    r"\d/limits/(price|candidates/\d+)|statistics(/\d)?|shape/(statistics/\d|shares/\w+|floored|planned)"
    r"|recipe/shares/\w+|notes/\d"
)


def named(path):
    return "/".join(map(str, path[:-1]))


@pytest.mark.parametrize("name", ["statistics", "directed trait", "chosen for edges", "model", "trait"])
def test_every_change_of_what_was_measured_is_seen(name, made, monkeypatch):
    """Each leaf changed, each part taken out, with digests that fit."""
    monkeypatch.setattr(checker(), "signed", lambda *_: True)
    tried = 0
    for path, changed in itertools.islice(changes(contents_of(made[name])), 0, None, size(2, 1)):
        if len(path) > 2 and not FREE.fullmatch(named(path)):
            assert sensitivity(with_contents(made[name], changed)) == "broken", path
            tried += 1
    assert tried > 10


@pytest.mark.parametrize("name", ["trait", "chosen", "model"])
def test_every_change_of_what_is_stored_is_seen(name, made, monkeypatch):
    monkeypatch.setattr(checker(), "signed", lambda *_: True)
    own = stored(json.loads(made[name]["plan.json"]))
    tried = 0
    for path, changed in itertools.islice(changes(own), 0, None, size(2, 1)):
        if not FREE.fullmatch(named(path)) and path[-1] != "taken out":
            other = in_program(made[name], lambda documents, changed=changed: store(documents["plan"], changed))
            assert sensitivity(other) == "broken", path
            tried += 1
    assert tried > 10


# Rules that are wrong, and a Discreet that is.


#: A rule, what stands in it, what would stand there if it were forgotten, and a lie that would then be proved.
FORGOTTEN = [
    ("node_moves", "limit + many, (limit", "limit, (limit", "degrees move by the limit"),
    ("node_moves", "limit + many, (limit", "limit + many - 1, (limit", "degrees move by twice the limit less one"),
    ("node_moves", "(limit + 1) ** 2 + many - 1", "limit**2", "squares of the limit and no more"),
    ("node_moves", "moved = 1, limit, limit**2", "moved = 1, 1, 1", "edges move by one"),
    ("node_moves", 'plain == ["both", None, 1] and ', "", "degrees out of a node"),
    ("node_moves", 'plain == ["both", None, 1] and ', "", "degrees by public groups"),
    ("node_moves", " and thresholds[-1] <= limit", "", "a threshold above the limit"),
    ("node_moves", "groups == len(labels) > 0 and ", "", "more groups than are declared"),
    ("node_moves", "groups == len(labels) > 0 and ", "", "fewer groups"),
    ("node_moves", "2 * groups - 1 if directed else groups", "groups", "groups without directions"),
    ("node_moves", "2 * groups - 1 if directed else groups", "1", "one group for all"),
    ("node_moves", "own = 2 if alike", "own = 1 if alike", "homophily of one entry"),
    ("node_moves", "whole(limit) != most", "False", "half of the limit"),
    ("node_moves", "whole(limit) != most", "False", "half of the limit of a trait"),
    ("node_moves", "whole(limit) != most", "False", "no choice"),
    ("node_moves", "whole(limit) != most", "False", "a choice afterwards"),
    ("node_moves", " and directed + alike < 2", "", "homophily with directions"),
    ("node_moves", "{type(directed), type(alike)} == {bool} and directed + alike", "bool(directed) + alike", "homophily of nothing"),
    ("rising", "whole(one) >= whole(two)", "False", "a threshold again"),
    ("trait", "unit(declared) != (False, 1) or ", "", "several rows for a person"),
    ("trait", ' or len(listed(declared["person"])) != 1', "", "a trait of persons of two columns"),
    ("Network", " or self.limit is not None", "", "two choices"),
    ("Network", " or events != charged", "", "a cheaper choice"),
    ("Network", " or events != charged", "", "another mechanism"),
    ("Network", ' or chosen not in content["candidates"]', "", "a limit that nobody offered"),
    ("Network", 'min(content["candidates"]) < 1 or ', "", "a limit of no edges"),
    ("Network", "if self.of_nodes or not self.is_planned", "if not self.is_planned", "a ladder of before, without a floor"),
    ("Network", 'self.labels if "trait" in of else []', "self.labels", "groups of nobody"),
    ("Network", '{"trait": self.trait}', '{"trait": of["trait"]}', "a trait of another column"),
    ("Network", '{"trait": self.trait}', '{"trait": of["trait"]}', "a trait of another version"),
    ("Network", '{"ends": None, "keys": None}', 'of | {"ends": None}', "public nodes"),
    ("Network", '{"ends": None, "keys": None}', 'of | {"ends": None}', "labels that nobody reads"),
    ("Network", '{"ends": None, "keys": None}', 'of | {"keys": None}', "an end that is not of the list"),
    ("Network", '{"directed": self.directed}', '{"directed": of["directed"]}', "another direction"),
    ("Network", "told.get(\"unit\", word) for told in (stored, form)", "word", "an edge as the unit"),
    ("Network", 'form["labels"], form["limit"]]', "self.labels, self.limit]", "other labels"),
    ("Network", 'form["labels"], form["limit"]]', "self.labels, self.limit]", "another limit in the shape alone"),
    ("Network", 'form.get("counted", counted is not None)', "counted is not None", "nodes that are not counted"),
    ("Network", 'own = [stored["counted_version"]', 'own = [beside.get("version")', "another version of the nodes"),
    ("Network", 'form.get("directed", self.directed)', "self.directed", "a shape with directions"),
    ("Network", ', stored["public"]]', ", None]", "a public table"),
    ("Network", 'form.get(name) for name', "None for name", "the number of nodes"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "other", "title"), FORGOTTEN)
def test_no_rule_can_be_forgotten(name, text, other, title, made, monkeypatch):
    """A lie is proved by a checker that forgot a rule: so the lie is seen by this rule, and its test can fail."""
    checker()
    networks, contents = (importlib.import_module(each) for each in ("networks", "contents"))
    source, space = inspect.getsource(getattr(networks, name)), dict(vars(networks))
    assert source.count(text) == 1
    exec(source.replace(text, other), space)
    monkeypatch.setattr(networks if name != "Network" else contents, name, space[name])
    bundle, *lie = LIES[title]
    assert sensitivity(in_program(made[bundle], *lie)) == "proved"


#: The same of whose edges they are.
UNOWNED = [
    ("len(steps) > 1 or ", "", "a way behind the ends"), ("1 or person or ", "1 or ", "a declared person"),
    ("len(ends) != 2 or ", "", "three ends"), ("len(set(map(str.lower, ends))) != 2", "False", "one column twice"),
    ('own = {"ends": ends}', 'own = {"ends": steps[0]["ends"]}', "another end"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "other", "title"), UNOWNED)
def test_no_rule_of_ends_can_be_forgotten(text, other, title, made, monkeypatch):
    relation, _ = rules()
    source, space = inspect.getsource(relation.persons), dict(vars(relation))
    assert source.count(text) == 1
    exec(source.replace(text, other), space)
    monkeypatch.setattr(checker(), "persons", space["persons"])
    change = WHOSE[title]
    shown = all_of(change, lambda documents: documents["proof"]["unit"].update(
        persons=documents["plan"]["schemas"]["ties"]["persons"]
    ))  # fmt: skip
    assert verdicts(in_program(made["statistics"], shown))["unit"] == "proved"


def claim(moves):
    """How far a statistic is said to move: in one number, as far as this."""
    return lambda self, unit: Sensitivity(
        l0=1, l1=moves(self), l2_squared=moves(self) ** 2, linf=moves(self), because=("a mistake",)
    )


def degrees_move_by_the_limit(patch):
    """A node is forgotten: only its friends' degrees change."""
    patch.setattr(AtLeast, "sensitivity", claim(lambda self: self.limit))


def edges_move_by_one(patch):
    """Edges are protected, and not nodes."""
    patch.setattr(Edges, "sensitivity", claim(lambda self: 1))


def traits_move_one_entry(patch):
    """As if somebody had friends in one group."""
    patch.setattr(TraitMixing, "sensitivity", claim(lambda self: self.limit))


def limits_are_doubled(patch):
    """Twice the limit that was chosen."""
    true = graph_steps.GraphSteps.limit
    patch.setattr(graph_steps.GraphSteps, "limit", lambda self, limits: 2 * true(self, limits))


def limits_are_halved(patch):
    """Choices are charged as if they were made by half of their epsilon."""
    true = DegreeLimitChoice.of
    patch.setattr(DegreeLimitChoice, "to_data", lambda self: vars_of(true(self.epsilon * 2)))


def vars_of(limits):
    return {"epsilon": str(limits.epsilon), "price": limits.price, "candidates": list(limits.candidates)}


MUTANTS = [
    (degrees_move_by_the_limit, "statistics"), (degrees_move_by_the_limit, "model"), (edges_move_by_one, "statistics"),
    (traits_move_one_entry, "trait"), (traits_move_one_entry, "directed trait"), (limits_are_doubled, "chosen for edges"),
    (limits_are_halved, "chosen in rho"),
]  # fmt: skip


@pytest.mark.parametrize(("mutant", "name"), MUTANTS, ids=lambda each: getattr(each, "__name__", each))
def test_a_wrong_discreet_is_seen(mutant, name, tmp_path, monkeypatch):
    make, release = MADE[name]
    with state_in(tmp_path / "state"):
        project = make(tmp_path / "p")
        mutant(monkeypatch)
        assert verdicts(bundle_files.make_bundle(project, release(project)))["sensitivity"] == "broken"
