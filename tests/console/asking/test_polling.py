"""Whoever looks often enough sees no finer than a tick whether a question's counting has ended.

Instead of many looks and a correlation, two questions that differ in nothing but that: of one the work has ended, of
the other it is held up until the look is over. At the same place between two ticks all that others may look at, and
the asker's own jobs, limits and stops, must say the same. And the same looks tell the two apart when ends are entered
as they come.
"""

import itertools
import threading
import time

import pytest

from console.house import world
from discreet.console.jobs import job_runner
from discreet.engines.duckdb import DuckDBEngine
from discreet.kernel.curator import Curator

GRID_MS = 3_000
#: From the end of the work to so long after the look there was no tick, or it is done again: the machine was busy.
SPARE_S = 0.4
_keys = itertools.count()


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("polling")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(folder / "state"))
        made = world(folder / "clinic", grid_ms=GRID_MS, each=1)
    made.house.handle.project.version("patients")
    yield made
    made.house.close()


class Work:
    """What depends on data, in a question: it says when it came to its end, and may be held up there."""

    def __init__(self):
        self.ended, self.go, self.at = threading.Event(), threading.Event(), 0.0

    def end(self):
        self.at = time.monotonic()
        self.ended.set()
        assert self.go.wait(30)


@pytest.fixture(
    params=[
        "a draw",
        pytest.param("a failure", marks=pytest.mark.deep),
        pytest.param("a making", marks=pytest.mark.deep),
    ]
)
def planted(request, monkeypatch, clinic):
    """Where the work is, and the question: the making of a first version is work, too."""
    work = []
    if request.param == "a draw":
        real = Curator.add_noise
        monkeypatch.setattr(Curator, "add_noise", lambda *told: (real(*told), work[-1].end())[0])
    elif request.param == "a failure":
        monkeypatch.setattr(Curator, "draw", lambda *told: (work[-1].end(), 1 / 0))
    else:
        make = DuckDBEngine.declare
        monkeypatch.setattr(DuckDBEngine, "declare", lambda *told, **more: (make(*told, **more), work[-1].end())[0])
    return request.param, work


def table_of(clinic, kind, number):
    """Patients; for a making a table that has no version yet, of patients, too."""
    if kind != "a making":
        return "patients"
    name = f"copy{number}"
    (clinic.folder / f"{name}.csv").write_text((clinic.folder / "patients.csv").read_text())
    with (clinic.folder / "discreet.toml").open("a") as file:
        file.write(
            f'\n[tables.{name}]\nsource = "{name}.csv"\npopulation = "people"\nperson = "id"\nrows_per_person = 1\n'
            f'[tables.{name}.columns.age]\ntype = "integer"\nlow = 0\nhigh = 100\n'
        )
    return name


def looked(clinic, kind, work, *, held):
    """What is seen between two ticks of a question whose work has ended, or is held up."""
    number = next(_keys)
    sql = f"select count(*) from {table_of(clinic, kind, number)} where age > {number}"
    headers = {"authorization": f"Bearer {clinic.token()}"}
    looker, found = clinic.client(), []
    before = rows(looker, headers), entered(clinic)
    work.append(Work())
    if not held:
        work[-1].go.set()

    def ask():
        key = {"idempotency-key": f"k{number}"}
        body = {"sql": sql, "epsilon": "0.05", "fresh": True}
        found.append(clinic.client().post("/api/v1/query", json=body, headers=headers | key))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert work[-1].ended.wait(30)
        (job,) = [each for each in clinic.house.queries._queue.jobs() if each.key == f"k{number}"]
        time.sleep(0.25)  # it would be entered by now
        seen = facts(clinic, looker, headers, sql, job, before)
        ticks = [(moment - job.began) * 1000 // GRID_MS for moment in (work[-1].at, time.monotonic() + SPARE_S)]
    finally:
        work[-1].go.set()
        asking.join(40)
        clinic.house.handle.project.ledger.state.failures.clear()  # what failed locks no further question
    return seen if ticks[0] == ticks[1] else looked(clinic, kind, work, held=held)


def rows(looker, headers):
    return looker.get("/api/v1/releases?limit=500", headers=headers).json()["releases"]


def listed(browser):
    found = browser.get("/a.json")
    assert found.status_code == 200, found.text
    return found.json()["releases"]


def entered(clinic):
    return [entry.kind for entry in clinic.house.handle.project.ledger.entries()]


def facts(clinic, looker, headers, sql, job, before):
    known, log = before
    new = [each for each in rows(looker, headers) if each["release"] not in {old["release"] for old in known}]
    answers = clinic.browser("analyst")
    probe = {"sql": "select nothing from patients", "epsilon": "0.1"}
    seen = {
        "releases": [each["answered"] for each in new],
        "release": [looker.get(f"/api/v1/releases/{each['release']}", headers=headers).status_code for each in new],
        "page": [answers.get(f"/a/{each['release']}.json").status_code for each in new],
        "answers": [each["kind"] for each in listed(answers)[: len(new)]],
        "price": answers.post("/ask/price", {"sql": sql, "epsilon": "0.05"}).json().get("stored") is None,
        "explain": looker.post("/api/v1/explain", json={"sql": sql, "epsilon": "0.05"}, headers=headers).json()[
            "stored"
        ],
        "entered": entered(clinic)[len(log) :],
        "log": answers.get("/log.json").json()["count"] - len(log),
        "state": looker.get("/api/v1/jobs", headers=headers).json()["jobs"][0]["state"],
    }
    # No grid for the looker: what is looked at is what the handler says, not when it leaves.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.console.app.until_tick", _at_once)
        key = {"idempotency-key": f"probe{job.id}"}
        seen["probe"] = looker.post("/api/v1/query", json=probe, headers=headers | key).status_code
        looker.delete(f"/api/v1/jobs/{job.id}", headers=headers)
    told = looker.get("/api/v1/jobs", headers=headers).json()["jobs"]
    seen["stopping"] = [each["stopping"] for each in told if each["job"] == job.id]
    return seen


async def _at_once(began, *, grid_ms):
    pass


def test_between_ticks_nothing_tells_that_the_work_has_ended(clinic, planted, monkeypatch):
    kind, work = planted
    running_ = looked(clinic, kind, work, held=True)
    ended = looked(clinic, kind, work, held=False)
    assert ended == running_
    assert running_["state"] == "open" and running_["probe"] == 429 and running_["stopping"] == [True]
    monkeypatch.setattr(job_runner, "wait_until_due", lambda began, **more: None)
    bare = looked(clinic, kind, work, held=False)
    assert bare != running_ and bare["probe"] != 429, "the same looks see it where ends are entered as they come"
