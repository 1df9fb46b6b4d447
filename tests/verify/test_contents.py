"""What the steps of models, descriptions, ranges and batches measured: stored, charged by its digest, and derived again."""

import base64
import json
import zlib
from dataclasses import replace
from itertools import islice

import pytest

from discreet.bundle import bundle_files
from discreet.kernel import person_table
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.program import AddedRows, Program
from discreet.mechanisms.strategy.partition_cost import PartitionCost
from discreet.mechanisms.strategy.strategy import Strategy
from discreet.mechanisms.strategy.unevenness import Unevenness
from tiers import size
from verify import world
from verify.conftest import state_in
from verify.forger import rules, store, stored
from verify.forging import changes, checker, signed_again, verdicts
from verify.test_forgeries import at

#: Bundles are made once for all tests of this folder, by whichever comes first.

#: Where contents are stored with the release; of the others they are in the proof.
STORED = [
    "model",
    "description",
    "whole persons",
    "model of persons",
    "description of persons",
    "persons in time",
    "comparison",
    "undeclared",
]
DERIVED = [
    "ranges",
    "adaptive",
    "adaptive of persons",
    "ranges by groups",
    "batch of persons",
    "network",
    "model of a network",
]


def contents_of(files):
    """What each step measured."""
    plan, proof = json.loads(files["plan.json"]), json.loads(files["proof.json"])
    if "contents" in proof:
        return json.loads(proof["contents"])
    if plan["kind"] in ("graph", "graph model"):
        return [json.loads(plan["payloads"][f"{plan['release']}.{step['number']}"])["of"] for step in plan["steps"]]
    return json.loads(zlib.decompress(base64.b64decode(stored(plan)["contents"])))


def with_contents(files, contents, *, digests=True):
    """The bundle with other contents, and with the digests of them in its plan and proof."""
    _, measured = rules()
    text = measured.text(contents)

    def step(plan):
        for each, told in zip(plan["steps"], contents if digests else [], strict=False):
            asked = {"run": measured.question_digest(told["inquiry"])} if "inquiry" in told else told
            each["of"] = measured.digest(asked)
        return plan

    def plan(data):
        own = stored(data)
        for number, told in enumerate(contents if data["kind"] in ("graph", "graph model") else [], start=1):
            name = f"{data['release']}.{number}"
            data["payloads"][name] = json.dumps(json.loads(data["payloads"][name]) | {"of": told})
        if "contents" in own:
            own["contents"] = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
            store(data, own)
        return step(data)

    def proof(data):
        return step(data) | ({"contents": text} if "contents" in data else {})

    return signed_again(files, plan=plan, proof=proof)


@pytest.mark.parametrize("name", [*STORED, *DERIVED])
def test_every_step_is_derived(name, programs):
    found = verdicts(programs[name])
    assert found["sensitivity"] == "proved" and "broken" not in found.values()
    assert verdicts(with_contents(programs[name], contents_of(programs[name]))) == found
    assert {each for each, verdict in found.items() if verdict != "proved"} <= {"numbers"}


@pytest.mark.parametrize(
    "name", ["model", "description of persons", "persons in time", "undeclared", "adaptive", "batch of persons"]
)
def test_every_change_of_what_was_measured_is_seen(name, programs, monkeypatch):
    """By the digest that was charged. Each leaf changed, each part taken out; signed again."""
    monkeypatch.setattr(checker(), "signed", lambda *_: True)
    contents, tried = contents_of(programs[name]), 0
    every = list(changes(contents))
    for path, changed in islice(every, 0, None, max(1, len(every) // size(25, 400))):
        assert verdicts(with_contents(programs[name], changed, digests=False))["sensitivity"] == "broken", path
        tried += 1
    assert tried >= 20


def first(contents, kind):
    return next(told for told in contents if kind in told)


def table_less(contents):
    first(contents, "measure")["measure"].pop()


def table_more(contents):
    told = first(contents, "measure")
    told["measure"].append(told["measure"][0])


def table_of_more_columns(contents):
    told = first(contents, "measure")
    told["measure"][0] = [*range(len(told["axes"]))] if len(told["axes"]) > 1 else []


def weighted(contents):
    """Records of persons that are their weighted rows, which move 5,040 times as far."""
    first(contents, "measure")["persons"]["of"] = "StepProgram"


def of_rows(contents):
    """Records of persons that are their rows."""
    del first(contents, "measure")["persons"]


def overlapping(contents):
    axis = first(contents, "measure")["axes"][0]
    axis[1][1] = axis[1][0]


def more_facts(contents):
    first(contents, "changes")["changes"][0].append(0)


def more_distances(contents):
    told = first(contents, "distances")
    told["distances"][0].append(told["distances"][0][0])


def more_parts(contents):
    first(contents, "distances")["parts"] *= 2


def rows_of_a_person(contents):
    """A question of all rows that was charged as one of persons."""
    first(contents, "run")["inquiry"]["statistics"] = [["rows", {"every": []}], ["persons", {"every": []}]]


def coarser_unevenness(contents):
    """Larger blocks, in whose units a row moves twice as far."""
    blocks = contents[0]["linear"][0][1][2]
    blocks.append(2 * blocks[-1])


def other_strategy(contents):
    """A strategy that is written nowhere."""
    contents[-1]["linear"][0] = ["diagonal", "0" * 64]


def wider(contents):
    """What is added up moves further: a sum of squares."""
    told = first(contents, "added")["added"]
    told["statistic"] = ["sum", {"times": [{"column": "cost"}, {"column": "cost"}]}, 0, 1, {"every": []}]


def more_numbers(contents):
    """A threshold more, in the same noise."""
    told = next(each for each in contents[0]["network"] if each[0] == "at least")
    told[1].append(told[1][-1] + 1)


def one_end(contents):
    """Degrees of edges that leave a node alone: an edge moves one of them."""
    told = next(each for each in contents[0]["network"] if each[0] == "at least")
    told[3] = "out"


def two_ends(contents):
    """Nodes with an edge, of which an edge has two, where all edges were counted."""
    told = next(each for each in contents[0]["network"] if each[0] == "edges")
    told[:] = ["touched nodes"]


def limited(contents):
    next(each for each in contents[0]["network"] if each[0] == "edges")[1] = 3


def other_count(contents):
    first(contents, "climbed")["climbed"] = ["edges"]


#: Lies whose digests fit: what is said to be measured moves further than the noise covers, or has other numbers.
LIES = [
    ("model", table_less), ("model", table_more), ("model", table_of_more_columns), ("model", overlapping),
    ("description", table_less), ("description of persons", rows_of_a_person), ("whole persons", weighted),
    ("whole persons", of_rows), ("persons in time", more_facts), ("comparison", more_distances),
    ("comparison", more_parts), ("adaptive", coarser_unevenness), ("adaptive", other_strategy),
    ("ranges by groups", other_strategy), ("batch of persons", wider), ("network", more_numbers),
    ("network", one_end), ("network", two_ends), ("network", limited), ("network", other_count),
]  # fmt: skip


@pytest.mark.parametrize(("name", "lie"), LIES, ids=lambda each: getattr(each, "__name__", each))
def test_what_moves_further_than_its_noise_is_seen(name, lie, programs):
    contents = contents_of(programs[name])
    lie(contents)
    assert contents != contents_of(programs[name])
    assert verdicts(with_contents(programs[name], contents))["sensitivity"] == "broken"


@pytest.mark.parametrize(
    "name",
    [
        "model of persons",
        "description of persons",
        "persons in time",
        "adaptive of persons",
        "batch of persons",
    ],
)
def test_less_noise_in_any_step_is_seen(name, programs, monkeypatch):
    """Of each event in turn: half as far, with half of the noise, which loses the same."""
    monkeypatch.setattr(checker(), "signed", lambda *_: True)
    files, tried = programs[name], 0
    for turn, step in enumerate(json.loads(files["plan.json"])["steps"]):
        parts = step["event"].get("events", [None])
        for place in range(0, len(parts), size(max(1, len(parts) // 2), 1)):
            path = ("steps", turn, "event", *(("events", place) if "events" in step["event"] else ()))
            event = step["event"] if parts == [None] else parts[place]
            if event["kind"] not in ("laplace", "gaussian"):
                continue
            moved = "l1" if event["kind"] == "laplace" else "l2_squared"
            for other in {max(1, event[moved] // 2), event[moved] - 1, 1} - {event[moved], 0}:
                less = at(*path, moved, to=other)
                assert verdicts(signed_again(files, plan=less, proof=less))["sensitivity"] == "broken", path
                tried += 1
    assert tried


def test_edges_of_persons_are_no_units(programs):
    """Whose rows are four edges moves what is counted four times as far."""
    files = programs["network"]
    table = json.loads(files["plan.json"])["table"]
    for rows in (1, 4):
        declared = at(
            "schemas", table, "declared", to=lambda told, rows=rows: told | {"person": "a", "rows_per_person": rows}
        )
        assert verdicts(signed_again(files, plan=declared))["sensitivity"] == "broken"


def test_contents_are_text_and_nothing_else(programs):
    """Bytes after what is packed, or a text that is not what a digest is made of."""
    files = programs["model"]
    packed = stored(json.loads(files["plan.json"]))["contents"]
    raw = zlib.decompress(base64.b64decode(packed))
    for strange in (
        zlib.compress(raw) + b"163",
        zlib.compress(raw.replace(b",", b", ")),
        zlib.compress(raw[:-1] + b",163]"),
        zlib.compress(bytes(2**27)),
        b"163",
        zlib.compress(raw)[:-2],
    ):

        def other(plan, strange=strange):
            own = stored(plan) | {"contents": base64.b64encode(strange).decode()}
            store(plan, own)
            return plan

        assert verdicts(signed_again(files, plan=other))["sensitivity"] == "broken"


def test_who_says_less_has_less_proved(programs):
    """Without contents a bundle is one of an older version: open, and never proved."""

    def silent(plan):
        own = stored(plan)
        del own["contents"]
        store(plan, own)
        return plan

    for name in STORED:
        assert verdicts(signed_again(programs[name], plan=silent))["sensitivity"] == "open"


def rows_are_one(patch):
    """Tables are charged as if a person had one row."""
    true = Program.__init__

    def made(self, *given, **more):
        true(self, *given, **more)
        self.moves = replace(self.moves, l0=1, l1=1, l2_squared=1, linf=1)

    patch.setattr(Program, "__init__", made)


def steps_weigh_one(patch):
    """A person's rows after the first are charged as one record."""
    patch.setattr(person_table, "step_moves", lambda rows: person_table.RECORD_MOVES)


def tables_are_one(patch):
    """A step measures more tables than it says."""
    true = BinnedTable._data
    patch.setattr(
        BinnedTable,
        "_data",
        lambda self, sets=(): true(self, sets) | {"groups": [[0] * axis.size for axis in self.axes]},
    )


def strategies_move_half(patch):
    """Rows move what is measured half as far as they do."""
    for kind in (Strategy, Unevenness, PartitionCost):
        true = kind.sensitivity
        patch.setattr(kind, "sensitivity", lambda self, rows, true=true: true(self, max(1, rows // 2)))


def joins_add_one(patch):
    """A join on the person does not multiply rows."""
    patch.setattr(AddedRows, "most_added", lambda self, schemas: 1)


MUTANTS = [
    (rows_are_one, "description of persons"), (rows_are_one, "model of persons"), (steps_weigh_one, "persons in time"),
    (tables_are_one, "description of persons"), (strategies_move_half, "adaptive of persons"),
    (joins_add_one, "batch of persons"),
]  # fmt: skip


@pytest.mark.parametrize(("mutant", "name"), MUTANTS, ids=lambda each: getattr(each, "__name__", each))
def test_a_wrong_discreet_is_seen(mutant, name, tmp_path, monkeypatch):
    with state_in(tmp_path / "state"):
        project = world.persons_project(tmp_path / "p")
        mutant(monkeypatch)
        found = verdicts(bundle_files.make_bundle(project, world.PROGRAMS[name](project)))
        assert found["sensitivity"] == "broken", found
