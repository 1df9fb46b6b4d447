"""The making of a version, stopped from the page of jobs: the version in use stays, nothing is left or charged."""

import threading

import pytest

from console.house import world
from discreet.console.jobs import job_queue, job_runner
from discreet.console.jobs.job_queue import JobQueue
from discreet.engines import duckdb_person_table
from discreet.ledger.ledger import Ledger

STOPPED = "Stopped, so no new version of 'visits' was made; version 1 is still in use."
pytestmark = pytest.mark.usefixtures("patient")


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """Version 1 of `visits`, and other rows by now. A form waits for no job."""
    made = world(tmp_path / "clinic")
    made.house.handle.project.refresh("visits")
    with (made.folder / "visits.csv").open("a") as file:
        file.write("0,7,2026-03-03\n")
    monkeypatch.setattr(job_queue, "PATIENCE_S", 0.0)
    yield made
    made.house.close()


@pytest.fixture
def owner(clinic):
    return clinic.browser("owner")


class Gate:
    """A step of the making that begins, and goes on when it may."""

    def __init__(self, monkeypatch, owner, name):
        self.begun, self.open, self._act = threading.Event(), threading.Event(), getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, **how: self._pass(given, how))

    def _pass(self, given, how):
        self.begun.set()
        assert self.open.wait(60)
        return self._act(*given, **how)


def stored(clinic):
    tables = clinic.folder / ".discreet/tables"
    return {path.name: path.read_bytes() for path in tables.iterdir()}


def job_of(clinic, owner):
    """The page of the job that a refresh has begun, and the job."""
    page = owner.post("/admin/tables/refresh", {"table": "visits"}).headers["location"]
    assert page.startswith("/admin/tables/underway/w-")
    wall = clinic.house.people.clock
    queue = clinic.house.handle.singleton(JobQueue, lambda: JobQueue(clinic.house.settings, wall=wall))
    (job,) = [each for each in queue.jobs() if page.endswith(each.id)]
    return page, job


def entries(clinic):
    return len(list(clinic.house.handle.project.ledger.entries()))


def test_the_stop_button_leaves_the_version_in_use(clinic, owner, monkeypatch):
    before, rows = stored(clinic), entries(clinic)
    gate = Gate(monkeypatch, duckdb_person_table, "write_persons")
    page, job = job_of(clinic, owner)
    try:
        assert gate.begun.wait(60)
        assert "Nothing is charged, and the version in use stays in use" in owner.text(page)
        assert f'action="/jobs/{job.id}/stop"' in owner.get("/jobs").text
        assert owner.post(f"/jobs/{job.id}/stop").headers["location"] == "/jobs"
        assert job.stop._pulled.wait(60)
    finally:
        gate.open.set()
    assert job.wait(60)
    (line,) = [each for each in owner.get("/jobs.json").json()["ended"] if each["job"] == job.id]
    assert (line["state"], line["charged"]["words"], line["too_late"]) == ("stopped", "nothing", False)
    assert line["problem"]["error"] == STOPPED and line["to"] is None
    for path in ("/jobs", page, "/admin/table/visits"):
        assert STOPPED.replace("'", "") in owner.text(path).replace("'", "").replace("&#39;", ""), path
    assert stored(clinic) == before and entries(clinic) == rows
    project = clinic.house.handle.project
    assert project.version("visits").number == 1 and project.verify().sound
    told = owner.get("/admin/table/visits.json").json()
    assert told["report"]["title"] == "Stopped" and told["changed"] is True


def test_the_page_of_the_job_has_the_button_too(clinic, owner, monkeypatch):
    gate = Gate(monkeypatch, duckdb_person_table, "write_persons")
    page, job = job_of(clinic, owner)
    try:
        assert gate.begun.wait(60) and f'action="{page}/stop"' in owner.get(page).text
        assert owner.post(f"{page}/stop").headers["location"] == page
        assert job.stop._pulled.wait(60)
    finally:
        gate.open.set()
    assert job.wait(60) and owner.get(f"{page}.json").json()["state"] == "stopped"


def test_a_stop_that_comes_too_late_says_so_and_the_version_stands(clinic, owner, monkeypatch):
    gate = Gate(monkeypatch, Ledger, "add_version")
    page, job = job_of(clinic, owner)
    try:
        assert gate.begun.wait(60)
        owner.post(f"/jobs/{job.id}/stop")
        assert job.stop._pulled.wait(60)
    finally:
        gate.open.set()
    assert job.wait(60)
    (line,) = [each for each in owner.get("/jobs.json").json()["ended"] if each["job"] == job.id]
    assert (line["state"], line["too_late"]) == ("done", True)
    for path in ("/jobs", page):
        assert "The stop came too late: the job was already done." in owner.text(path)
    report = owner.get("/admin/table/visits.json").json()["report"]
    assert report["title"] == "Version 2 was made"
    assert report["notes"][0] == "The stop came too late: this version was already being entered, so it is in use."
    assert clinic.house.handle.project.version("visits").number == 2


def test_one_that_waits_for_its_turn_is_taken_back(clinic, owner, monkeypatch):
    """Nothing of it ever runs, and its page says the same."""
    gate, before = threading.Event(), stored(clinic)
    wall = clinic.house.people.clock
    queue = clinic.house.handle.singleton(JobQueue, lambda: JobQueue(clinic.house.settings, wall=wall))
    visitor = type("Somebody", (), {"name": "bob", "may": lambda self, role: False})()
    busy = [
        queue.start(visitor, lambda tell: str(gate.wait(60)), area="tables", words="busy", key=str(number))
        for number in range(clinic.house.settings.at_once)
    ]
    try:
        page, job = job_of(clinic, owner)
        owner.post(f"/jobs/{job.id}/stop")
        assert job.wait(60) and job.stop.is_requested
        assert STOPPED.replace("'", "") in owner.text(page).replace("'", "").replace("&#39;", "")
    finally:
        gate.set()
    assert all(each.wait(60) for each in busy) and stored(clinic) == before


def test_erasing_somebody_is_not_stopped(clinic, owner, monkeypatch):
    from discreet.console.pages import owner_tables

    gate = Gate(monkeypatch, owner_tables, "forget_report")
    form = {"table": "visits", "person": "7", "sure": "yes"}
    page = owner.post("/admin/tables/forget", form).headers["location"]
    try:
        assert gate.begun.wait(60)
        assert "It cannot be stopped: an erasure must not be left halfway." in owner.text(page)
        assert "It cannot be stopped: an erasure must not be left halfway." in owner.text("/jobs")
        assert owner.post(f"{page}/stop").status_code == 409
        assert owner.post(f"/jobs/{page.rpartition('/')[2]}/stop").status_code == 409
    finally:
        gate.open.set()
    owner.get("/jobs")


def test_a_server_that_ends_leaves_no_half_made_version(clinic, owner, monkeypatch):
    before = stored(clinic)
    monkeypatch.setattr(job_runner, "STOP_S", 600.0)
    gate = Gate(monkeypatch, duckdb_person_table, "write_persons")
    _, job = job_of(clinic, owner)
    assert gate.begun.wait(60)
    ending = threading.Thread(target=clinic.house.close)
    ending.start()
    assert job.stop._pulled.wait(60)
    gate.open.set()
    ending.join(60)
    assert job.wait(60) and stored(clinic) == before
    assert not ending.is_alive()  # it waits for no job that waits for it
