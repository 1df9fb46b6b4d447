"""What the ledger shows of time: whole seconds, and of one question the time of its charge alone."""

import json
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from clinic import make, run
from discreet.console.pages import ledger_rows
from discreet.errors import QueryFailed
from discreet.kernel import version
from discreet.ledger import chain
from discreet.ledger.chain import GENESIS, canonical_json, digest
from discreet.ledger.public_entries import entries_as_data

COUNT = "select count(*) from patients"


class Ticking(datetime):
    """A clock on which 1.234567 seconds pass whenever somebody looks."""

    passed = 0

    @classmethod
    def now(cls, tz=None):
        Ticking.passed += 1
        return datetime(2026, 1, 31, 10, 20, 30, 400_000, tzinfo=UTC) + Ticking.passed * timedelta(seconds=1.234567)


@pytest.fixture
def ticking(monkeypatch):
    monkeypatch.setattr(chain, "datetime", Ticking)


@pytest.fixture
def project(tmp_path, ticking):
    return make(tmp_path, budget="{ epsilon = 10.0, delta = 1e-6 }")


def ask(project, words=COUNT):
    return project.sql(words).ask(epsilon="0.1")


def times(found, *kinds):
    return {one["time"] if isinstance(one, dict) else one.time for one in found if one["kind"] in kinds}


def shown(project):
    return entries_as_data(project.ledger.entries(), project.ledger.refresh())


def test_an_answer_has_the_time_of_its_charge_in_the_ledger_itself(project):
    ask(project)
    stored = {entry.kind: entry for entry in project.ledger.entries()}
    assert stored["answer"].time == stored["charge"].time
    assert stored["charge"].time != stored["version"].time, "the clock goes on"
    assert all(entry.time.endswith(".000000Z") for entry in project.ledger.entries())


def test_a_failure_has_the_time_of_its_charge(project, monkeypatch):
    monkeypatch.setattr("discreet.engines.duckdb.DuckDBEngine.count", lambda *_, **__: 1 / 0)
    with pytest.raises(QueryFailed):
        ask(project)
    assert len(times(shown(project), "charge", "failure")) == 1


def test_the_steps_of_a_program_have_the_time_of_its_charge(project):
    project.synthesize("patients", epsilon="1", model="independent", columns=["sex", "smoker"])
    found = shown(project)
    assert sum(one["kind"] == "step" for one in found) >= 1
    assert len(times(found, "charge", "step", "answer")) == 1


def old(monkeypatch):
    """Write as earlier versions did: to the microsecond, each row at its own time."""
    monkeypatch.setattr(chain, "truncate_to_second", lambda time: time)
    monkeypatch.setattr(chain, "FOLLOWS_CHARGE", frozenset())


@pytest.fixture
def mixed(project):
    """A ledger that an earlier version began and this one goes on with."""
    with pytest.MonkeyPatch.context() as patched:
        old(patched)
        ask(project)
    ask(project, f"{COUNT} where age < 50")
    return project


def test_rows_of_earlier_versions_verify_and_are_shown_on_the_grid(mixed):
    stored = [entry for entry in mixed.ledger.entries() if entry.kind in ("charge", "answer")]
    assert stored[0].time[:19] != stored[1].time[:19] and not stored[1].time.endswith(".000000Z")
    assert mixed.ledger.verify().sound
    found = [one for one in shown(mixed) if one["kind"] in ("charge", "answer")]
    assert found[0]["time"] == found[1]["time"] != found[2]["time"] == found[3]["time"]
    assert all(one["time"].endswith(".000000Z") for one in shown(mixed))


def test_no_digest_is_shown_by_which_a_time_could_be_tried_out(mixed):
    """A digest covers the time: a million tries would find its microseconds, also by the digest of the next row."""
    assert {one["digest"] for one in shown(mixed)} == {None}
    assert all(one["mac"] for one in shown(mixed))


def test_an_export_is_a_chain_that_anybody_can_compute(project, capsys, tmp_path):
    ask(project)
    code, _, _ = run(capsys, project.folder, "ledger", "export", str(tmp_path / "rows.jsonl"))
    assert code == 0
    previous = GENESIS
    for line in (tmp_path / "rows.jsonl").read_text().splitlines():
        one = json.loads(line)
        body = canonical_json(one["body"])
        assert one["digest"] == digest(seq=one["seq"], time=one["time"], kind=one["kind"], body=body, previous=previous)
        previous = one["digest"]


def stamps(found):
    """The moments, in seconds, that the names of versions' files hold."""
    return [int(one["body"]["file"].split("-")[2][:8], 16) for one in found if one["kind"] == "version"]


def test_no_row_tells_when_the_making_of_a_version_began(project):
    """The row is written at its end: the difference would tell how long it took."""
    before = int(time.time())
    ask(project)
    project.refresh("patients", force=True)
    found = stamps(shown(project))
    assert len(found) == 2 and all(stamp % 86_400 == 0 for stamp in found)
    assert all(before < stamp <= time.time() + 2 * 86_400 for stamp in found)


def test_which_day_a_name_holds_is_chance_and_no_edge_of_a_day(monkeypatch):
    monkeypatch.setattr(version, "time", SimpleNamespace(time=lambda: 100 * 86_400 - 1.0))
    for chance, day in [(0, 100), (1, 101), (86_399, 101)]:
        monkeypatch.setattr(version.secrets, "randbelow", lambda most, one=chance: one if most == 86_400 else most)
        name = version.new_version_name("patients", ledger="abcdefghijklmnop", ending=".parquet")
        assert int(name.split("-")[2][:8], 16) == day * 86_400


def test_a_name_of_an_earlier_version_is_not_shown_nor_digests_to_try_it_out(project, monkeypatch):
    name = "patients-abcdefghijklmnop-6a0c1d2f00112233445566aa.parquet"
    monkeypatch.setattr("discreet.kernel.curator.new_version_name", lambda *_, **__: name)
    monkeypatch.setattr("discreet.kernel.curator.check_in_time", lambda _: None)
    ask(project)
    assert [entry.data()["file"] for entry in project.ledger.entries() if entry.kind == "version"] == [name]
    assert name not in json.dumps(shown(project))
    assert {one["digest"] for one in shown(project)} == {None}
    assert project.ledger.verify().sound


def test_the_verbs_show_the_same(mixed, capsys, tmp_path):
    _, data, _ = run(capsys, mixed.folder, "ledger", "show")
    run(capsys, mixed.folder, "ledger", "export", str(tmp_path / "rows.jsonl"))
    exported = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert data["entries"] == exported == shown(mixed)


def test_the_console_shows_the_same(mixed):
    state = mixed.ledger.refresh()
    rows = list(mixed.ledger.entries())
    assert [ledger_rows.export_row(row, state, owner=True) for row in rows] == shown(mixed)
    lines = [ledger_rows.row_json(row, state, owner=True) for row in rows]
    assert [line["time"] for line in lines] == [f"{one['time'][:19]}Z" for one in shown(mixed)]
    assert {line["digest"] for line in lines} == {None}


def test_an_answer_is_read_by_the_versions_there_were_though_the_second_is_the_same(tmp_path, monkeypatch):
    class Standing(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 1, 31, tzinfo=UTC)

    monkeypatch.setattr(chain, "datetime", Standing)
    project = make(tmp_path)
    release = ask(project)
    project.refresh("patients", force=True)
    state = project.ledger.refresh()
    made, charge = state.versions["patients"], state.charges[release.id]
    assert made[1].time == made[2].time == charge.time and made[1].seq < charge.seq < made[2].seq
    assert project.release(release.id).rows == release.rows
