"""The log: rows, filters, the verification, and what is not told to whom."""

import json
import re
from dataclasses import replace

import pytest

from console.house import world


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        made = world(tmp_path_factory.mktemp("log") / "clinic")
        project = made.house.handle.project
        for age in range(20, 34):
            project.sql(f"SELECT count(*) FROM patients WHERE age < {age}").ask(epsilon=0.1, analyst="ann", fresh=True)
            project.sql(f"SELECT count(*) FROM visits WHERE cost < {age}").ask(epsilon=0.1, analyst="bob", fresh=True)
        project.forget("patients", ["7"])
        yield made
        made.house.close()


@pytest.fixture(autouse=True)
def state(clinic, monkeypatch):
    folder = clinic.house.handle.project.ledger._journal.anchor.folder.parent
    monkeypatch.setenv("DISCREET_STATE", str(folder))


def rows(browser, query=""):
    return browser.get(f"/log.json{query}").json()


@pytest.mark.deep
def test_rows_come_in_pages_the_newest_first(clinic):
    browser = clinic.browser("analyst")
    first = rows(browser)
    assert first["pages"] == 2 and len(first["rows"]) == 50
    assert first["rows"][0]["row"] == first["head"] == first["count"]
    second = rows(browser, "?page=2")["rows"]
    assert [each["row"] for each in first["rows"] + second] == list(range(first["head"], 0, -1))
    assert rows(browser, "?page=99")["page"] == 2
    for wrong in ("0", "x", "-1", "1" * 9, "%C2%B2"):
        assert browser.get(f"/log?page={wrong}").status_code == 400
    assert "Older" in browser.text("/log") and "Newer" in browser.text("/log?page=2")


def test_filters(clinic):
    browser = clinic.browser("analyst")
    for name, value in (("table", "visits"), ("kind", "charge"), ("analyst", "bob")):
        found = rows(browser, f"?{name}={value}")
        assert found["count"] > 10 and {each[name] for each in found["rows"]} == {value}
    both = rows(browser, "?kind=charge&analyst=ann")
    assert both["count"] == 14 and {each["table"] for each in both["rows"]} == {"patients"}
    assert rows(browser, "?table=nothing")["count"] == 0
    assert browser.get("/log.csv?kind=charge").text.count("\n") == 29


def test_times_and_persons_are_told_to_owners_alone(clinic):
    analyst, owner = clinic.browser("analyst"), clinic.browser("owner")
    entries = list(clinic.house.handle.project.ledger.entries())
    for path in ("/log", "/log.json", "/log.csv", "/log?page=2", "/log/ledger.jsonl"):
        text = analyst.get(path).text
        for entry in entries:
            assert entry.digest not in text and entry.mac not in text and entry.time[11:19] not in text
        assert not re.search(r"(?<![a-z0-9-])forg", text) and "patients.csv" not in text
    by_kind = {each["kind"]: each for each in rows(analyst)["rows"] + rows(analyst, "?page=2")["rows"]}
    assert by_kind["answer"]["time"] is None and by_kind["version"]["time"] is None and by_kind["owner"]["time"] is None
    assert len(by_kind["charge"]["time"]) == len("2026-01-01T00:00Z")
    assert by_kind["owner"] | {"row": 0} == {
        "row": 0, "kind": "owner", "time": None, "table": None, "analyst": None, "release": None, "epsilon": None,
        "words": "an act of the owner",
    }  # fmt: skip
    forgotten = rows(owner, "?kind=forget")["rows"]
    assert len(forgotten) == 2 and all("patients" in each["words"] for each in forgotten)  # before rows go, and after
    tag = json.loads(next(entry.body for entry in entries if entry.kind == "forget"))["tag"]
    assert tag not in owner.get("/log").text and tag not in owner.get("/log.json").text


def test_the_export_is_whole_for_owners(clinic):
    lines = clinic.browser("owner").get("/log/ledger.jsonl").text.splitlines()
    entries = list(clinic.house.handle.project.ledger.entries())
    assert [json.loads(each)["digest"] for each in lines] == [entry.digest for entry in entries]
    lines = clinic.browser("analyst").get("/log/ledger.jsonl").text.splitlines()
    assert [json.loads(each)["row"] for each in lines] == [entry.seq for entry in entries]
    assert clinic.browser("public").get("/log/ledger.jsonl").status_code == 303


def test_verify_says_that_it_holds_or_where_it_does_not(clinic, monkeypatch):
    browser = clinic.browser("analyst")
    held = browser.post("/log/verify")
    assert held.status_code == 200 and "Ledger OK" in held.text and ".json" not in held.text.partition("<footer")[2]
    from discreet.ledger.repair import LedgerVerification
    from discreet.project.project import Project

    broken = LedgerVerification(
        sound=False, rows=3, row=4, problem="row 4 was changed after it was written", warnings=("w",)
    )
    monkeypatch.setattr(Project, "verify", lambda self: broken)
    assert "from entry 4 on: row 4 was changed" in browser.post("/log/verify").text
    assert clinic.browser("public").post("/log/verify").status_code == 401


def test_one_verification_at_a_time(clinic):
    from discreet.console.pages import log

    with log._VERIFYING:
        found = clinic.browser("analyst").post("/log/verify")
    assert found.status_code == 429 and found.headers["retry-after"]


def test_rows_that_are_far_apart_are_read_as_they_are(clinic, monkeypatch):
    from discreet.console.pages import log_index

    ledger = clinic.house.handle.project.ledger
    entries = list(ledger.entries())
    assert list(ledger.entries(after=3, most=2)) == entries[3:5] and list(ledger.entries(most=1)) == entries[:1]
    for near in (0, 2, 50):
        monkeypatch.setattr(log_index, "_NEAR", near)
        for seqs in ([], [1], [2, 3, 9, 11, 12, len(entries)], list(range(1, len(entries) + 1))):
            assert list(log_index.read_entries(ledger, seqs)) == [entries[seq - 1] for seq in seqs], (near, seqs)


def test_the_index_reads_on_and_begins_anew_after_another_history(clinic):
    from discreet.console.pages.log_index import LogIndex

    class Part:
        """A ledger as it was after so many entries."""

        def __init__(self, entries):
            self.rows, self.state, self.read = entries, clinic.house.handle.project.ledger.state, 0

        def entries(self, after=None):
            self.read = len(self.rows[after or 0 :])
            return iter(self.rows[after or 0 :])

    entries = list(clinic.house.handle.project.ledger.entries())
    whole, index = LogIndex().rows(Part(entries)), LogIndex()
    assert index.rows(Part(entries[:20])) == whole[:20]
    later = Part(entries)
    assert index.rows(later) == whole and later.read == len(entries) - 19, "the last one again, and what is new"
    assert index.rows(Part(entries[:7])) == whole[:7], "a ledger that was restored"
    others = [*entries[:6], replace(entries[6], digest="0" * 64), *entries[7:9]]
    assert len(index.rows(Part(others))) == 9, "another row in the place of the last one"
