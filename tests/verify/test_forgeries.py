"""Forgeries that hold together: a plan, a law, a claim changed for the better, and signed by somebody's key."""

import importlib
import json
import re
from itertools import islice

import pytest

from tiers import size
from verify.forging import changes, checker, signed_again, verdicts, worst

#: Bundles are made once for all tests of this folder, by whichever comes first.


def at(*path, to):
    """A change of one place in a document; `to`: its new value, or a function of the old one."""

    def change(data):
        held = data
        for key in path[:-1]:
            held = held[key]
        held[path[-1]] = to(held[path[-1]]) if callable(to) else to
        return data

    return change


def in_payload(*path, to):
    """A change within what is stored under the release, which is text."""

    def change(plan):
        stored = at(*path, to=to)(json.loads(plan["payloads"][plan["release"]]))
        plan["payloads"][plan["release"]] = json.dumps(stored)
        return plan

    return change


def both(*made):
    def change(data):
        for each in made:
            data = each(data)
        return data

    return change


VISITS = ("schemas", "visits", "declared")
#: A name, the bundle, the change of its plan, and the line that must be broken.
PLANS = [
    ("fewer rows of a person", "persons: count", at(*VISITS, "rows_per_person", to=1), "unit"),
    ("a row and not a person", "persons: count", at(*VISITS, "person", to=None), "documents"),
    ("a key that is constant", "persons: count", at(*VISITS, "columns", "ward", "constant", to=True), "sensitivity"),
    ("narrower bounds", "persons: constant", at(*VISITS, "columns", "cost", "high", to=25), "sensitivity"),
    ("a coarser step", "persons: constant", at(*VISITS, "columns", "cost", "step", to="1"), "sensitivity"),
    ("fewer values", "persons: person join", at("schemas", "stays", "declared", "columns", "nights", "high", to=3), "sensitivity"),
    ("fewer rows of the joined", "persons: person join", at("schemas", "stays", "declared", "rows_per_person", to=1), "sensitivity"),
    ("a wider law in the payload", "rows: count", in_payload("parts", 0, "laws", 0, "scale", to="2/1"), "sensitivity"),
    ("another kind of law", "rows: count", in_payload("parts", 0, "laws", 0, "kind", to="discrete-gaussian"), "documents"),
    ("a cheaper event", "rows: count", at("event", "scale", to="2/1"), "losses"),
    ("an event less", "rows: average", at("event", "events", to=lambda told: told[1:]), "losses"),
    ("a higher threshold", "rows: discovered", in_payload("parts", 0, "threshold", to=lambda told: told + 1), "sensitivity"),
    ("a lower threshold", "rows: discovered", in_payload("parts", 0, "threshold", to=lambda told: told - 1), "sensitivity"),
    ("another number", "rows: count", in_payload("parts", 0, "noisy", 0, 0, to=lambda told: told + 1), "numbers"),
    ("a number less", "rows: sets", in_payload("parts", 0, "noisy", 0, to=lambda told: told[1:]), "sensitivity"),
    ("another question", "rows: count", at("question", to="0" * 80), "question"),
    ("counted double", "rows: count", at("doubled", to=True), "losses"),
    ("a larger limit", "rows: count", at("guarantee", "epsilon", to="9000/1"), "ledger"),
    ("less spent", "rows: count", at("spent", to="1/100"), "ledger"),
    ("as of an earlier row", "rows: count", at("as_of", to=1), "ledger"),
    ("another version", "rows: count", at("schemas", "patients", "version", to=2), "sensitivity"),
    ("two populations", "persons: person join", at("schemas", "stays", "population", to="others"), "unit"),
    ("people by another column", "persons: count", at("schemas", "visits", "persons", 0, "person", to=["ward"]), "unit"),
    ("people of another kind", "persons: count", at("schemas", "visits", "persons", 0, "kinds", to=["integer"]), "unit"),
    ("people at the end of no way", "persons: count", at("schemas", "visits", "persons", to=lambda told: told + told), "unit"),
    ("another unit in words", "persons: count", at("privacy_unit", to="one row"), "unit"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "line"), [each[1:] for each in PLANS], ids=[each[0] for each in PLANS])
def test_a_forged_plan_is_seen(name, change, line, bundles):
    assert verdicts(signed_again(bundles[name]))[line] != "broken"
    assert verdicts(signed_again(bundles[name], plan=change))[line] == "broken"


def test_one_who_changes_everything_together_must_still_add_the_noise_that_follows(bundles):
    """Half of the sensitivity in the proof, in both events and in the claims: derived from the schema, it is broken."""

    def cheaper(data):
        text = json.dumps(data).replace('"l1": 4', '"l1": 2').replace('\\"l1\\":4', '\\"l1\\":2')
        return json.loads(text)

    files = bundles["persons: count"]
    forged = signed_again(files, manifest=cheaper, plan=cheaper, proof=cheaper)
    assert cheaper(json.loads(files["plan.json"])) != json.loads(files["plan.json"])
    assert verdicts(forged)["sensitivity"] == "broken"


def test_a_public_table_cannot_be_made_smaller(bundles):
    """What it is like stays open; but rows, sensitivity, law and event must follow from what is said of it."""
    for change in (at("publics", 0, "fan_out", to=1), at("publics", 0, "content", to="0"), at("publics", to=[])):
        assert verdicts(signed_again(bundles["persons: public"], proof=change))["sensitivity"] == "broken"


def test_rows_that_are_units_themselves_have_no_person():
    """Else whoever says that there is one could group everybody's rows into one, and call it stable."""
    checker()
    relation = importlib.import_module("relation")
    told = {"version": 1, "declared": {"columns": {}}}
    schemas = {"rows": told, "persons": {"version": 1, "declared": {"person": "id", "rows_per_person": 2}}}
    rows, persons = {"scan": "rows", "version": 1}, {"scan": "persons", "version": 1}
    assert relation.Relation({"per-person": [], "by": [], "of": persons}, schemas, iter(()), 1).rows == 1
    for strange in (
        {"per-person": [], "by": [], "of": rows},
        {"person": persons, "columns": [], "outer": False, "of": rows},
        {"person": rows, "columns": [], "outer": False, "of": persons},
    ):
        with pytest.raises(relation.Broken):
            relation.Relation(strange, schemas, iter(()), 1)


@pytest.mark.parametrize("name", ["rows: average", "persons: public"])
def test_every_change_of_what_is_claimed_is_seen(name, bundles):
    told = json.loads(bundles[name]["manifest.json"])
    for part in ("claims", "ledger"):
        for path, changed in islice(changes(told[part]), 0, None, size(3, 1)):
            forged = signed_again(bundles[name], manifest=lambda told, new=changed, part=part: told | {part: new})
            assert worst(forged) == "broken", path


def test_the_numbers_on_the_card_are_read(bundles):
    files = bundles["rows: discovered"]
    card = files["card.yaml"].decode()
    block = re.search(r" +privacy_parameters:\n(?: +[a-z]+: [0-9.e-]+\n)+", card)[0]
    for lie in (
        card.replace("epsilon: 1", "epsilon: 0", 1),
        card.replace(block, "".join(block.splitlines(keepends=True)[:-1])),
        card.replace(block, ""),
        card.replace(block, block + block),
        card.replace('name: "Approximate DP"', 'name: "Pure DP"'),
    ):
        assert lie != card
        assert verdicts(signed_again(files | {"card.yaml": lie.encode()}))["claims"] == "broken"


def test_numbers_of_data_json_are_those_that_were_drawn(bundles):
    for name in ("rows: count", "rows: histogram", "rows: discovered", "persons: constant"):
        for turn in (-1, 0):

            def lie(data, turn=turn):
                place = next(place for place, each in enumerate(data["tables"][0]["columns"]) if each["kind"] != "key")
                row = data["tables"][0]["rows"][turn]
                row[place] = row[place] + 1000
                return data

            assert verdicts(signed_again(bundles[name], data=lie))["numbers"] == "broken", (name, turn)
