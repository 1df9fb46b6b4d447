"""Bundles that contradict themselves, made and signed by an insider with the product's own code."""

import json
from dataclasses import replace

import pytest

from discreet.bundle import make, manifest, proof, reread
from discreet.bundle.content import content_of
from discreet.bundle.signing import Signer
from discreet.bundle.verify import verify
from discreet.measurement import Measurement
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
    make.write(make.files_of(content, Signer.here()), folder)
    report = verify(folder)
    return report, {check.name: check.holds for check in report.checks}


def stored_as(content, change):
    """The content with another stored measurement, and all that follows from it."""
    payload = json.loads(content.payloads[content.release])
    change(payload)
    payloads = dict(content.payloads) | {content.release: json.dumps(payload, sort_keys=True, separators=(",", ":"))}
    found = replace(content, payloads=payloads)
    catalog = reread.catalog_of(content.schemas)
    readings = reread.asked_of(Measurement.from_text(payloads[content.release]), catalog, question=content.question)
    sheets = reread.sheets_of(
        content.release, payloads, catalog, question=content.question, confidence=content.confidence
    )
    return replace(found, sheets=sheets, derivation=proof.answered(readings, payloads, content.schemas))


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
