"""Noise that was made as if a person had 1 row, where the table allows 10: a signed bundle that adds up is not believed."""

import csv
import json
from dataclasses import replace

import pytest

import clinic
import discreet
from discreet.accounting import events
from discreet.bundle import answer_replay, bundle_files, proof
from discreet.bundle.content import content_of
from discreet.bundle.signing_key import Signer
from discreet.bundle.verification import verify
from discreet.kernel.measurement import Measurement
from graph.friends import make_persons

DECLARED = """
[tables.visits]
source = "visits.csv"
person = "id"
rows_per_person = 1
budget = { epsilon = 900.0, delta = 1e-4 }
[tables.visits.columns.ward]
type = "category"
values = ["a", "b", "c"]
[tables.visits.columns.sex]
type = "category"
values = ["F", "M"]
[tables.visits.columns.age]
type = "integer"
low = 0
high = 99
[tables.visits.columns.town]
type = "text"
"""

SQL = {
    "count": "SELECT ward, count(*) AS n FROM visits GROUP BY ward",
    "sum": "SELECT sum(age) AS s FROM visits",
    "keys": "SELECT town, count(*) AS n FROM visits GROUP BY town",
    "most common": "SELECT town, count(DISTINCT id) AS n FROM visits GROUP BY town ORDER BY n DESC LIMIT 1",
    "keys and quantiles": "SELECT town, median(age) AS m FROM visits GROUP BY town",
}
PROGRAMS = ["ranges", "adaptive", "marginals", "publish", "independent", "aim", "words", "description"]


def asked(project, name):
    """One release of every kind."""
    if name in SQL:
        return project.sql(SQL[name]).ask(epsilon=1).id
    if name in ("ranges", "adaptive"):
        strategy = "adaptive" if name == "adaptive" else "best"
        return project.ranges("visits", "age", epsilon=0.5, strategy=strategy, fresh=True).release
    if name == "marginals":
        return project.marginals("visits", ["ward", "sex"], epsilon=0.5).release
    if name == "description":
        return project.describe("visits", epsilon=1).release
    if name == "publish":
        plan = project.folder / "plan.toml"
        plan.write_text('table = "visits"\nattributes = ["sex"]\n[hierarchy]\ncolumns = ["ward"]\n')
        return project.publish(plan, epsilon=1).release
    columns = ["ward", "sex", "town"] if name == "words" else ["ward", "sex"]
    model = project.synthesize("visits", epsilon=1, columns=columns, model="independent" if name == "words" else name)
    return model.card.release


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """What bundles of every kind tell, of a table whose persons have 1 row."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        folder = tmp_path_factory.mktemp("project") / "p"
        discreet.init(folder)
        with (folder / "visits.csv").open("w", newline="") as stream:
            rows = [[f"p{each}", "abc"[each % 3], "FM"[each % 2], each % 100, "tu"[each % 2]] for each in range(400)]
            csv.writer(stream).writerows([["id", "ward", "sex", "age", "town"], *rows])
        (folder / "discreet.toml").write_text((folder / "discreet.toml").read_text() + DECLARED)
        project = discreet.open(folder)
        yield {name: content_of(project, asked(project, name)) for name in [*SQL, *PROGRAMS]}


def of_ten_rows(content):
    """The same numbers of a table that allows 10 rows: an insider declares it so, and lets all else follow."""
    schemas = json.loads(json.dumps(dict(content.schemas)))
    schemas["visits"]["declared"]["rows_per_person"] = 10
    lie = replace(content, schemas=schemas)
    if content.kind != "answer":
        return lie
    measurement = Measurement.from_text(content.payloads[content.release])
    readings = answer_replay.readings_of(measurement, answer_replay.catalog_of(schemas), question=content.question)
    warnings = dict.fromkeys(line for reading in readings for line in answer_replay.warnings_of(reading.query))
    return replace(
        lie, derivation=proof.answer_derivation(readings, content.payloads, schemas), warnings=tuple(warnings)
    )


def checked(content, folder):
    bundle_files.write(bundle_files.signed_files(content, Signer.load_or_make()), folder)
    return verify(folder, key=None)


@pytest.mark.parametrize("name", [*SQL, *PROGRAMS])
def test_noise_for_one_row_is_not_noise_for_ten(name, contents, tmp_path):
    honest = checked(contents[name], tmp_path / "honest")
    assert honest.sound and ("noise" in honest.open) == (name == "aim"), honest
    lie = checked(of_ten_rows(contents[name]), tmp_path / "lie")
    assert [check.name for check in lie.checks if check.holds is False] == ["noise"], lie
    assert lie.state == "fails"


@pytest.mark.parametrize("name", ["ranges", "marginals", "publish", "independent", "description"])
def test_steps_that_lose_more_than_was_reserved(name, contents, tmp_path):
    """A tenth of the charge in the charge and in the claims: the steps say otherwise."""
    content = contents[name]
    event = content.event
    epsilon = None if event.epsilon is None else event.epsilon / 10
    lie = replace(content, event=events.ReservationEvent(epsilon=epsilon, rho=event.rho / 100, delta=event.delta))
    assert [check.name for check in checked(lie, tmp_path / "lie").checks if check.holds is False] == ["noise"]


@pytest.mark.parametrize("name", ["ranges", "adaptive", "marginals", "description"])
def test_a_step_measured_what_the_release_says(name, contents, tmp_path):
    steps = [dict(step) for step in contents[name].steps]
    lie = replace(contents[name], steps=(*steps[:-1], steps[-1] | {"of": "0" * 64}))
    assert [check.name for check in checked(lie, tmp_path / "lie").checks if check.holds is False] == ["noise"]


@pytest.mark.thin(1)
@pytest.mark.parametrize("rows", [1, 3])
def test_bounds_that_a_description_bought_are_derived_again(tmp_path, rows):
    """Choices of ends, too: they follow from the declaration and from what was drawn before them."""
    folder = tmp_path / "p"
    discreet.init(folder)
    cells = "".join(f"{each // rows},{each * 97 % 60_000},{'ab'[each % 2]}\n" for each in range(900))
    (folder / "t.csv").write_text("id,pay,word\n" + cells)
    with (folder / "discreet.toml").open("a") as stream:
        stream.write(f"""
[tables.t]
source = "t.csv"
person = "id"
rows_per_person = {rows}
budget = {{ epsilon = 900.0, delta = 1e-4 }}
[tables.t.columns.pay]
type = "integer"
[tables.t.columns.word]
type = "text"
""")
    project = discreet.open(folder)
    for delta in (0, "1e-6"):
        content = content_of(project, project.describe("t", epsilon=80, delta=delta).release)
        honest = checked(content, tmp_path / f"honest-{delta}")
        assert honest.sound and not honest.open
        kinds = [part["kind"] for step in content.steps for part in step["event"].get("events", [step["event"]])]
        assert "exponential" in kinds
        lie = replace(content, steps=tuple(dict(step) | {"of": content.steps[0]["of"]} for step in content.steps))
        assert [check.name for check in checked(lie, tmp_path / f"lie-{delta}").checks if check.holds is False] == [
            "noise"
        ]


def test_keys_that_no_step_discovered(contents, tmp_path):
    """The discovering step is left out of what is stored, and of what is charged."""
    content = contents["keys and quantiles"]
    stored = json.loads(content.payloads[content.release])
    stored["parts"] = [part for part in stored["parts"] if part["kind"] != "keys"]
    own = [part for part in stored["event"]["events"] if part["kind"] != "threshold"]
    stored["event"] = own[0] if len(own) == 1 else {"kind": "together", "events": own}
    lie = replace(
        content,
        payloads={content.release: json.dumps(stored, sort_keys=True, separators=(",", ":"))},
        event=events.from_data(stored["event"]),
    )
    lie = replace(of_ten_rows(lie), schemas=content.schemas)
    measurement = Measurement.from_text(lie.payloads[lie.release])
    readings = answer_replay.readings_of(measurement, answer_replay.catalog_of(lie.schemas), question=lie.question)
    lie = replace(
        lie, derivation=proof.answer_derivation(readings, lie.payloads, lie.schemas), warnings=content.warnings
    )
    assert "noise" in [check.name for check in checked(lie, tmp_path / "lie").checks if check.holds is False]


def test_a_network_of_a_person_with_more_edges(tmp_path):
    """Noise for a declared limit of 8 edges, and a declaration of 80."""
    project = make_persons(tmp_path / "p")
    net = project.graph("ties", nodes="members")
    for turn, release in enumerate((net.stats(epsilon=1).release, net.synth(epsilon=1).card.release)):
        content = content_of(project, release)
        assert checked(content, tmp_path / f"honest {turn}").state == "holds"
        schemas = json.loads(json.dumps(dict(content.schemas)))
        schemas["ties"]["declared"]["rows_per_person"] = 80
        payloads = dict(content.payloads)
        for change in ({}, {release: payloads[release].replace('"limit": 8', '"limit": 80')}):
            lie = replace(content, schemas=schemas, payloads=payloads | change)
            report = checked(lie, tmp_path / f"lie {turn} {len(change)}")
            assert [check.name for check in report.checks if check.holds is False] == ["noise"], report


def test_a_bundle_without_a_proof_is_derived_from_its_plan_all_the_same(contents, tmp_path):
    """Who says that it was made before there were proofs is not believed more."""
    told = bundle_files.signed_files(of_ten_rows(contents["marginals"]), Signer.load_or_make())
    files = {name: content for name, content in told.items() if name != "proof.json"}
    from discreet.bundle import manifest

    own = manifest.read(files.pop("manifest.json")).manifest
    digests = {name: manifest.digest(content) for name, content in files.items()}
    signed = replace(own, files=digests, format=1).sign(Signer.load_or_make())
    bundle_files.write({**files, "manifest.json": signed}, tmp_path / "out")
    report = verify(tmp_path / "out")
    assert [check.name for check in report.checks if check.holds is False] == ["noise"]


def test_what_is_not_derived_is_no_success(contents, tmp_path, capsys):
    """It is said, in words, in JSON and by the exit code, which is not that of a bundle that fails."""
    bundle_files.write(bundle_files.signed_files(contents["aim"], Signer.load_or_make()), tmp_path / "out")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    code, report, _ = clinic.run(capsys, elsewhere, "release", "verify", str(tmp_path / "out"))
    assert code == 1 and report["state"] == "not checked" and "noise" in report["open"]
    code, text, _ = clinic.say(capsys, elsewhere, "release", "verify", str(tmp_path / "out"))
    assert code == 1 and "open   noise   not checked:" in text
    code, report, _ = clinic.run(capsys, elsewhere, "release", "verify", str(tmp_path / "out"), "--accept-open")
    assert code == 0 and report["state"] == "not checked"
