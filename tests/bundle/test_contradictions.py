"""Bundles that contradict themselves, made and signed by an insider with the product's own code."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.accounting.guarantee import Guarantee
from discreet.bundle import answer_replay, bundle_files, proof
from discreet.bundle.content import content_of
from discreet.bundle.signing_key import Signer
from discreet.bundle.verification import verify
from discreet.kernel.measurement import Measurement
from verify import world

KEYS = "SELECT town, count(DISTINCT id) AS n FROM visits GROUP BY town"
TOP = f"{KEYS} ORDER BY n DESC LIMIT 1"
COUNT = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
ROWS = "SELECT count(*) AS n FROM visits"


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        project = world.persons_project(tmp_path_factory.mktemp("project") / "p")
        found = {text: content_of(project, project.sql(text).ask(epsilon=1).id) for text in (KEYS, TOP, COUNT, ROWS)}
        yield found | {"ranges": content_of(project, project.ranges("visits", "weight", epsilon=1).release)}


def judged(content, folder):
    bundle_files.write(bundle_files.signed_files(content, Signer.load_or_make()), folder)
    report = verify(folder)
    return report, {check.name: check.holds for check in report.checks}


def stored_as(content, change):
    """The content with another stored measurement, and all that follows from it."""
    payload = json.loads(content.payloads[content.release])
    change(payload)
    payloads = dict(content.payloads) | {content.release: json.dumps(payload, sort_keys=True, separators=(",", ":"))}
    found = replace(content, payloads=payloads)
    catalog = answer_replay.catalog_of(content.schemas)
    readings = answer_replay.readings_of(
        Measurement.from_text(payloads[content.release]), catalog, question=content.question
    )
    sheets = answer_replay.sheets_of(
        content.release, payloads, catalog, question=content.question, confidence=content.confidence
    )
    return replace(found, sheets=sheets, derivation=proof.answer_derivation(readings, payloads, content.schemas))


@pytest.mark.parametrize("text", [KEYS, TOP, COUNT, ROWS, "ranges"])
def test_what_does_not_contradict_itself_holds(text, contents, tmp_path):
    report, _ = judged(contents[text], tmp_path / "out")
    assert report.state == "holds", report


@pytest.mark.parametrize("below", [1, -500])
def test_a_key_below_its_threshold(below, contents, tmp_path):
    def lie(payload):
        part = payload["parts"][0]
        part["keys"].append(["zz one person"])
        part["noisy"].append(below)

    _, holds = judged(stored_as(contents[KEYS], lie), tmp_path / "out")
    assert holds["noise"] is False


def test_choices_of_keys_tell_no_numbers(contents, tmp_path):
    def lie(payload):
        (part,) = [part for part in payload["parts"] if part["kind"] == "keys"]
        part["noisy"] = [1234] * len(part["keys"])

    _, holds = judged(stored_as(contents[TOP], lie), tmp_path / "out")
    assert holds["noise"] is False


def declared_as(content, change):
    """The content with another version of its table, told so in the proof, too."""
    schemas = json.loads(json.dumps(dict(content.schemas)))
    change(schemas)
    return replace(content, schemas=schemas)


def persons_gone(schemas):
    del schemas["visits"]["persons"]


def persons_other(schemas):
    schemas["visits"]["persons"][0]["person"] = ["ward"]


def persons_more(schemas):
    schemas["visits"]["persons"][0]["exact"] = 163


def version_other(schemas):
    schemas["visits"]["more"] = 163


def populations(schemas):
    schemas["other"] = schemas["visits"] | {"population": "others"}


@pytest.mark.parametrize("text", [COUNT, "ranges"])
@pytest.mark.parametrize(
    ("change", "holds"),
    [(persons_gone, None), (persons_other, False), (persons_more, False), (version_other, False), (populations, False)],
)
def test_a_unit_that_contradicts_itself(text, change, holds, contents, tmp_path):
    _, found = judged(declared_as(contents[text], change), tmp_path / "out")
    assert found["unit"] is holds


@pytest.mark.parametrize(
    ("change", "name", "holds"),
    [
        ({"unit_changes": ("'visits' identified people by ward",)}, "unit", None),
        ({"unit_words": "one household"}, "unit", False),
        ({"version": 7}, "unit", False),
        ({"spent": Fraction(1000)}, "limit", False),
        ({"spent": Fraction(0)}, "limit", None),
        ({"guarantee": Guarantee(epsilon=Fraction(1, 2)), "spent": Fraction(1, 2)}, "limit", None),
        ({"invariants": ("the total",)}, "limit", False),
    ],
)
@pytest.mark.parametrize("text", [COUNT, ROWS, "ranges"])
def test_a_plan_that_contradicts_itself(text, change, name, holds, contents, tmp_path):
    report, found = judged(replace(contents[text], **change), tmp_path / "out")
    assert found[name] is holds and report.state == ("fails" if holds is False else "not checked")


def test_more_beside_the_row_of_the_ledger(contents, tmp_path):
    content = contents[COUNT]
    _, found = judged(replace(content, ledger={**content.ledger, "exact": 163}), tmp_path / "out")
    assert found["limit"] is False
