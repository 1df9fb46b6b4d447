"""Objects of a bundle have the members that are read, and no others: whatever else stands in one, nobody derived."""

import base64
import json
import zlib

import pytest

from verify.forger import forged, store, stored
from verify.forging import checker, signed_again, worst

#: Bundles are made once for all tests of this folder, by whichever comes first.


def inside(*path, **more):
    """A member more of an object of the plan."""

    def lie(documents):
        held = documents["plan"]
        for step in path:
            held = held[step]
        held |= more or {"exact": 163}
        documents["proof"] |= {"limit": documents["plan"]["guarantee"]}

    return lie


def persons(**more):
    """Of the columns that identify people, told alike in plan and proof."""

    def lie(documents):
        version = documents["plan"]["schemas"]["visits"]
        version["persons"][0] |= more
        documents["proof"]["unit"]["persons"] = version["persons"]

    return lie


def payload(change):
    def lie(documents):
        own = stored(documents["plan"])
        change(own)
        store(documents["plan"], own)

    return lie


def law(documents):
    """In what is stored and in the proof."""
    payload(lambda own: own["parts"][0]["laws"][0].update(exact=163))(documents)
    (steps,) = documents["proof"]["measured"].values()
    steps[0]["law"]["exact"] = 163


def condition(documents):
    documents["proof"]["question"]["plan"]["filter"] = {"every": [], "exact": 163}


def statistic(documents):
    documents["proof"]["question"]["statistics"][0][-1] = {"exact": [163]}


def bought(documents):
    """The confidence of a quantile, which nobody reads here."""
    own = stored(documents["plan"])
    next(part for part in own["parts"] if part["kind"] == "bins")["confidence"] = {"exact": 163}
    store(documents["plan"], own)


def named(documents):
    for name in ("manifest", "proof"):
        documents[name]["ledger"]["ledger"] = "F exactly 163"


COLUMN = ("schemas", "visits", "declared", "columns", "cost")
#: The bundle, the lie, the line that tells, and which member it names.
LIES = {
    "the plan": ("persons: constant", inside(), "documents", "exact"),
    "the limit": ("persons: constant", inside("guarantee"), "documents", "exact"),
    "what people say": ("persons: constant", inside("about"), "documents", "exact"),
    "a version": ("persons: constant", inside("schemas", "visits"), "documents", "exact"),
    "a declaration": ("persons: constant", inside("schemas", "visits", "declared"), "documents", "exact"),
    "a column": ("persons: constant", inside(*COLUMN, exact_mean=512), "documents", "exact_mean"),
    "a value of a column": ("persons: constant", inside(*COLUMN, bins=[163]), "documents", "cost"),
    "a member of another type": ("persons: constant", inside(*COLUMN, values=[163]), "documents", "values"),
    "persons": ("persons: constant", persons(exact=163), "documents", "exact"),
    "kinds": ("persons: constant", persons(kinds=["F exactly 163"]), "documents", "F exactly 163"),
    "kinds of no column": ("persons: constant", persons(kinds=["text", "integer"]), "documents", "kinds"),
    "kinds that are none": ("persons: constant", persons(kinds=163), "documents", "list of texts"),
    "what is stored": ("rows: count", payload(lambda own: own.update(exact=163)), "documents", "exact"),
    "a law": ("rows: count", law, "documents", "exact"),
    "a condition": ("persons: capitals", condition, "documents", "exact"),
    "a statistic": ("rows: sum", statistic, "documents", "exact"),
    "a quantile": ("rows: quantile", bought, "documents", "ratio"),
    "the ledger": ("rows: count", named, "ledger", "name"),
    "a version of Discreet": (
        "rows: count", lambda told: told["manifest"].update(discreet="0.1.0 F=163"), "documents", "version"
    ),
    "a confidence": ("rows: count", inside(confidence="950163/1000000"), "documents", "confidence"),
    "a sentence": ("rows: count", inside(warnings=[{"exact": 163}]), "documents", "warnings"),
    "a day": ("rows: count", inside(day="2024-01-01 163"), "documents", "day"),
}  # fmt: skip


def lines(files):
    return {name: (verdict, words) for verdict, name, words in checker().checked(files).found}


@pytest.mark.parametrize(("name", "lie", "line", "member"), LIES.values(), ids=LIES)
def test_an_unknown_member_is_broken_and_named(name, lie, line, member, bundles, honest):
    assert "broken" not in honest(name).values()
    verdict, words = lines(forged(bundles[name], lie))[line]
    assert verdict == "broken" and member in words


def test_events_too(bundles):
    """In the event of discovered keys, wherever it is told."""

    def more(event):
        found = event | ({"exact": 163} if event["kind"] == "threshold" else {})
        return found | ({"events": [more(each) for each in event["events"]]} if "events" in event else {})

    def plan(data):
        own = stored(data)
        store(data, own | {"event": more(own["event"])})
        return data | {"event": more(data["event"])}

    def proof(data):
        (steps,) = data["measured"].values()
        for step in steps:
            step["event"] = more(step["event"])
        return data

    verdict, words = lines(signed_again(bundles["rows: discovered"], plan=plan, proof=proof))["losses"]
    assert verdict == "broken" and "exact" in words


def stored_in(plan, number, change):
    """Another payload of a release, or of one of its steps."""
    name = f"{plan['release']}.{number}" if number else plan["release"]
    data = json.loads(plan["payloads"][name])
    plan["payloads"][name] = json.dumps(change(data))
    return plan


def packed(values, more=b""):
    return {"type": "<i8", "data": base64.b64encode(zlib.compress(bytes(8 * values)) + more).decode()}


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (0, lambda data: data | {"exact": 163}),
        (1, lambda data: data | {"exact": 163} if isinstance(data, dict) else [*data, {"exact": 163}]),
        (1, lambda data: data | {"beside": [163]} if isinstance(data, dict) else [*data, "163"]),
        (1, lambda data: data | {"noisy": [packed(3, b"163")]} if isinstance(data, dict) else [packed(3, b"163")]),
    ],
)
def test_nothing_stands_beside_what_programs_store(number, change, programs):
    for name, files in programs.items():
        assert worst(files) != "broken", name
        lie = signed_again(files, plan=lambda plan: stored_in(plan, number, change))
        assert lines(lie)["documents"][0] == "broken", name


def test_steps_tell_what_they_measured_by_a_digest(programs):
    for name, files in programs.items():
        for change in (lambda step: step | {"exact": 163}, lambda step: step | {"of": "163"}):

            def lie(data, change=change):
                return data | {"steps": [change(step) for step in data["steps"]]}

            assert lines(signed_again(files, plan=lie, proof=lie))["documents"][0] == "broken", name
