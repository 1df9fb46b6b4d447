"""Questions under limits and keys: a retry never pays twice, whatever came between."""

import json
import threading
import time
from contextlib import ExitStack
from dataclasses import replace

import pytest

from console.house import ORIGIN, clinic
from console.rooms import held
from discreet.console.jobs import stored_results
from discreet.console.jobs.idempotency import KEPT_S, check_key, key_owner
from discreet.console.jobs.query_request import QueryRequest
from discreet.console.jobs.query_service import AnswerLost, QueryService
from discreet.console.jobs.release_json import without_infinities
from discreet.console.jobs.time_grid import due
from discreet.console.people.people import People
from discreet.console.project_handle import ProjectHandle
from discreet.console.responses import NotFound, RequestDenied
from discreet.console.settings import Settings
from discreet.console.visitor import Visitor
from discreet.engines.stop_signal import Stopped
from discreet.errors import BudgetExceeded, QueryFailed, Refused, UsageError
from discreet.kernel.curator import Curator
from discreet.ledger.ledger import Ledger
from discreet.sql.sql_writer import SqlWriter

COUNT = "select count(*) n from patients"
ANN = Visitor(role="analyst", name="ann", analyst="ann", via="token")
BOB = Visitor(role="analyst", name="bob", analyst="bob", via="token")
OLGA = Visitor(role="owner", name="olga", analyst="olga", via="token")
SLOW = "SELECT 0 AS cell, count(*) AS s0 FROM range(100000000000) WHERE range % 7 = 3"


class Place:
    """A clinic with a console's asking over it; `again` is what a process finds that starts after a crash."""

    def __init__(self, folder, **limits):
        self.folder = folder
        self.settings = Settings(origin=ORIGIN, **{"grid_ms": 50, **limits})
        self.people = People.of(folder)
        self.desk = ProjectHandle(folder, deadline_s=30)
        self.asking = QueryService(handle=self.desk, people=self.people, settings=self.settings)

    def again(self):
        return Place(self.folder)

    def ask(self, text=COUNT, *, key="k", who=ANN, **more):
        wanted = QueryRequest(text=text, **({"epsilon": "0.1"} | more))
        return self.asking.ask(wanted, who, key=key)

    @property
    def charges(self):
        return self.desk.project.ledger.refresh().charges


@pytest.fixture
def place(tmp_path):
    clinic(tmp_path / "clinic", epsilon="10")
    made = Place(tmp_path / "clinic")
    made.desk.project.version("patients")
    return made


@pytest.fixture
def begun(monkeypatch):
    """Whatever is counted takes minutes, and says when it begins."""
    told = threading.Semaphore(0)

    def count(self, cells, region):
        told.release()
        return SLOW

    monkeypatch.setattr(SqlWriter, "count", count)
    return lambda: told.acquire(timeout=20)


def background(act):
    """Do it in a thread; what came of it, error or not, comes from the function returned."""
    found = []

    def run():
        try:
            found.append(act())
        except Exception as problem:
            found.append(problem)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join(30)
        return found[0]

    return wait


# -- keys ----------------------------------------------------------------------------------------


def test_a_retry_is_the_same_answer_and_one_charge(place):
    first, again = place.ask(), place.ask()
    assert again.releases == first.releases and again.replayed and not first.replayed
    assert len(place.charges) == 1
    assert first.releases[0]["release"] in place.charges
    assert first.releases[0]["table"] == "patients" and first.releases[0]["event"]["kind"] == "laplace"


def test_a_fresh_draw_is_retried_as_the_same_draw(place):
    first, again, other = place.ask(fresh=True), place.ask(fresh=True), place.ask(fresh=True, key="other")
    assert first.releases == again.releases != other.releases
    assert len(place.charges) == 2


def test_a_key_is_bound_to_its_request_and_its_person(place):
    place.ask()
    for other in ({"epsilon": "0.2"}, {"text": COUNT + " where age > 3"}, {"fresh": True}, {"confidence": "0.9"}):
        with pytest.raises(RequestDenied, match="another request") as told:
            place.ask(**other)
        assert told.value.status == 422
    assert place.ask(epsilon="0.10").replayed, "the same number in another spelling is the same request"
    place.ask(who=BOB, text=COUNT + " where age > 3")
    assert len(place.charges) == 2
    assert place.ask(who=Visitor(role="analyst", name="ANN", analyst="ann", via="session")).replayed


def test_a_refusal_costs_nothing_and_the_key_may_be_tried_again(place):
    with pytest.raises(Refused):
        place.ask("select * from patients")
    with pytest.raises(RequestDenied, match="another request"):
        place.ask()
    with pytest.raises(BudgetExceeded):
        place.ask(key="big", epsilon="11")
    place.desk.project.grant("patients", epsilon="30", delta="1e-6")
    assert place.ask(key="big", epsilon="11").releases[0]["cost"]["epsilon"] == pytest.approx(11)
    assert len(place.charges) == 1


@pytest.mark.parametrize("key", ["", " a", "a ", "é", "a\nb", "x" * 201, "\0"])
def test_what_is_no_key(key):
    with pytest.raises(RequestDenied) as told:
        check_key(key)
    assert told.value.status == 400
    assert check_key("x" * 200) and check_key("a b") and check_key("~")


def test_of_many_at_the_same_moment_one_pays(place):
    waits = [background(lambda: place.ask(fresh=True)) for _ in range(4)]
    found = [wait() for wait in waits]
    assert len({json.dumps(each.releases) for each in found}) == 1
    assert len(place.charges) == 1


def test_of_two_processes_at_the_same_moment_one_pays(place):
    """Two servers over one folder, each with its own ledger and jobs; they know of each other by the disk alone."""
    other = place.again()
    barrier = threading.Barrier(2)

    def one(which):
        barrier.wait()
        return which.ask(fresh=True)

    found = [wait() for wait in [background(lambda w=which: one(w)) for which in (place, other)]]
    assert len(place.charges) == 1
    assert any(not isinstance(each, Exception) for each in found)
    assert all(isinstance(each, AnswerLost) or each.releases for each in found)
    assert place.ask(fresh=True).releases == other.ask(fresh=True).releases


def test_the_first_result_that_is_kept_stands(place, monkeypatch):
    """Another process may have kept its own a moment before; what leaves is read back."""
    real, other = place.people.keys.finish, '[{"release": "the first"}]'

    def finish(owner, key, *, state, result):
        real(owner, key, state=state, result=other)
        return real(owner, key, state=state, result=result)

    monkeypatch.setattr(place.people.keys, "finish", finish)
    assert place.ask().releases == ({"release": "the first"},) == place.ask().releases


class Killed(BaseException):
    """The process is gone: nothing after it happens."""


def killed(place, monkeypatch, target, name, *, after):
    """Ask, and die in or just after a call."""
    real = getattr(target, name)

    def die(*given, **more):
        if after:
            real(*given, **more)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(target, name, die)
        patch.setattr("discreet.ledger.ledger.Ledger.fail", lambda *given, **more: pytest.fail("the dead do nothing"))
        job = background(lambda: place.ask(fresh=True))
        time.sleep(0)
        with pytest.raises(Killed):
            raise place_of_death(place)
        del job


def place_of_death(place):
    """What the thread of the only job died of."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for job in place.asking._queue.jobs():
            if job.future is not None and job.future.done():
                return job.future.exception()
        time.sleep(0.01)
    raise AssertionError("it did not die")


CRASHES = {
    "before the key": (lambda place: place.people.keys, "begin", False, "asked"),
    "after the key": (lambda place: place.people.keys, "begin", True, "asked"),
    "before the charge": (lambda place: Ledger, "charge", False, "asked"),
    "after the charge": (lambda place: Ledger, "charge", True, "lost"),
    "after the count": (lambda place: Curator, "draw", True, "lost"),
    "before the answer is stored": (lambda place: Ledger, "store", False, "lost"),
    "after the answer is stored": (lambda place: Ledger, "store", True, "stored"),
    "before the result is kept": (lambda place: place.people.keys, "finish", False, "stored"),
    "after the result is kept": (lambda place: place.people.keys, "finish", True, "stored"),
}


@pytest.mark.thin(4)
@pytest.mark.parametrize("moment", CRASHES)
def test_a_crash_at_any_point_pays_once(tmp_path, monkeypatch, moment):
    clinic(tmp_path / "clinic", epsilon="10")
    place = Place(tmp_path / "clinic", deadline_s=1.0)
    place.desk.project.version("patients")
    find, name, after, then = CRASHES[moment]
    killed(place, monkeypatch, find(place), name, after=after)
    paid = len(place.charges)
    assert paid == (0 if then == "asked" else 1)
    later = place.again()
    if then == "lost":
        for _ in range(2):
            with pytest.raises(AnswerLost, match="not charged again") as told:
                later.ask(fresh=True)
            assert told.value.exit_code == 6 and next(iter(later.charges)) in told.value.reason
    else:
        found = later.ask(fresh=True)
        assert later.ask(fresh=True).releases == found.releases
        if then == "stored":
            assert found.releases[0]["release"] == next(iter(later.charges))
    assert len(later.charges) == 1


def test_a_lost_file_of_the_console_pays_nothing_again(place):
    """The ledger alone knows what was charged under a key."""
    first = place.ask(fresh=True)
    place.people.close()
    for file in place.people.store.path.parent.glob("console.db*"):
        file.unlink()
    later = place.again()
    found = later.ask(fresh=True)
    assert [each["rows"] for each in found.releases] == [each["rows"] for each in first.releases]
    assert len(later.charges) == 1


def test_old_results_are_forgotten_and_their_charges_are_not(place, monkeypatch):
    first = place.ask(fresh=True)
    monkeypatch.setattr(place.people, "clock", lambda later=time.time() + KEPT_S + 10: later)
    place.ask(key="another")
    assert place.people.keys.find(key_owner("ann"), "k") is None
    assert place.ask(fresh=True).releases[0]["release"] == first.releases[0]["release"]
    assert len(place.charges) == 1


def test_without_the_ledgers_rule_two_processes_would_pay_twice(place, monkeypatch):
    """The mutant: the charge without its key. It shows that the tests above could fail."""
    other, real, both = place.again(), Ledger.charge, threading.Barrier(2)

    def charge(self, request):
        both.wait(10)
        return real(self, replace(request, asker=replace(request.asker, key=None)))

    monkeypatch.setattr(Ledger, "charge", charge)
    waits = [background(lambda w=which: w.ask(fresh=True)) for which in (place, other)]
    assert [wait() for wait in waits] and len(place.charges) == 2


def test_a_batch_pays_once_for_each_part(place, monkeypatch):
    text = f"{COUNT}; select sum(age) s from patients"
    found = place.ask(text, kind="batch")
    assert len(found.releases) == 2
    paid = len(place.charges)
    place.people.keys.forget(before=int(place.people.clock()) + KEPT_S)
    again = place.ask(text, kind="batch")
    assert len(place.charges) == paid
    assert [each["rows"] for each in again.releases] == [each["rows"] for each in found.releases]


def test_again_is_charged_once(place):
    first = place.ask().releases[0]
    two = place.ask(first["release"], key="a", kind="again", epsilon="0.2")
    same = place.ask(first["release"], key="a", kind="again", epsilon="0.2")
    assert two.releases == same.releases and len(place.charges) == 2


# -- limits --------------------------------------------------------------------------------------


def test_rows_are_limited_before_the_charge(tmp_path):
    clinic(tmp_path / "clinic")
    place = Place(tmp_path / "clinic", most_rows=3)
    with pytest.raises(Refused, match="4 rows, but this server answers with at most 3"):
        place.ask("select disease, count(*) from patients group by disease")
    with pytest.raises(Refused, match="4 rows, but this server answers with at most 3"):
        place.ask(f"{COUNT}; select disease, count(*) from patients group by disease", kind="batch", key="b")
    assert place.ask("select sex, count(*) from patients group by sex", key="c").releases
    assert len(place.charges) == 1


def test_too_many_wait_or_are_one_persons(tmp_path, begun):
    clinic(tmp_path / "clinic")
    place = Place(tmp_path / "clinic", at_once=1, waiting=2, each=2)
    waits = [background(lambda n=n: place.ask(f"{COUNT} where age > {n}", key=f"{n}")) for n in range(2)]
    assert begun()
    until = time.monotonic() + 10
    while len(place.asking.jobs(ANN)) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(RequestDenied, match="You already have 2 queries running") as told:
        place.ask(key="third")
    assert told.value.status == 429 and told.value.wait_s
    waits.append(background(lambda: place.ask(key="b", who=BOB)))
    while len(place.asking.jobs(OLGA)) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(RequestDenied, match="Too many queries are waiting") as told:
        place.ask(key="o", who=OLGA)
    assert told.value.status == 429 and told.value.wait_s
    place.asking._queue.drain(0)
    assert len(place.charges) == 1, "of those that waited none was charged"
    assert sorted(type(wait()).__name__ for wait in waits) == ["QueryFailed", "RequestDenied", "RequestDenied"]


def test_few_wait_for_one_job(place, begun):
    """Each holds a thread of the server: a key that is sent a hundred times must not take them all."""
    waits = [background(place.ask) for _ in range(12)]
    assert begun()
    until = time.monotonic() + 10
    (job,) = place.asking._queue.jobs()
    while sum(1 for _ in place.asking.jobs(ANN)) and job.waiters < 8 and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(RequestDenied, match="already running") as told:
        place.ask()
    assert told.value.status == 429
    place.asking.cancel(job.id, ANN)
    found = [wait() for wait in waits]
    assert sum(isinstance(each, QueryFailed) for each in found) >= 8 and job.waiters == 0
    assert len(place.charges) == 1


def test_not_all_threads_wait_for_jobs(tmp_path, begun):
    clinic(tmp_path / "clinic")
    place = Place(tmp_path / "clinic", at_once=1, waiting=0)
    place.asking._queue._most_waiters = 2
    waits = [background(place.ask) for _ in range(2)]
    assert begun()
    (job,) = place.asking._queue.jobs()
    until = time.monotonic() + 10
    while job.waiters < 2 and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(RequestDenied, match="already running"):
        place.ask()
    place.asking.cancel(job.id, ANN)
    assert [type(wait()).__name__ for wait in waits] == ["QueryFailed", "QueryFailed"]


def test_large_results_are_read_from_the_ledger_again(place, monkeypatch):
    monkeypatch.setattr(stored_results, "LONGEST", 10)
    first, again = place.ask(fresh=True), place.ask(fresh=True)
    assert again.releases == first.releases
    assert len(place.charges) == 1 and again.replayed


BATCH = "select disease, count(*) n from patients group by disease; select sum(age) s, count(*) n from patients"


@pytest.mark.thin(1)
@pytest.mark.parametrize("longest", [10, 1 << 20])
def test_a_batch_is_read_again_however_long_it_is(place, monkeypatch, longest):
    """Long ones are not kept beside the key: only where they lie, and what the ledger does not say again."""
    monkeypatch.setattr(stored_results, "LONGEST", longest)
    first, again = place.ask(BATCH, kind="batch", epsilon="1"), place.ask(BATCH, kind="batch", epsilon="1")
    assert again.replayed and again.releases == first.releases
    assert len(place.charges) == 1
    key = place.people.keys.find(key_owner("ann"), "k")
    assert ('"rows"' in key.result) == (longest > 10)
    assert stored_results.decode_releases(key.result, place.again().desk.project) == list(first.releases)


def test_what_the_ledger_does_not_say_letter_for_letter_is_kept_whole(place, monkeypatch):
    """An answer that follows from another has no release of its own."""
    place.ask("select disease, count(*) n from patients group by disease", epsilon="1", key="first")
    monkeypatch.setattr(stored_results, "LONGEST", 10)
    text = "select count(*) n from patients where disease = 'flu'"
    first, again = place.ask(text, epsilon="0.1"), place.ask(text, epsilon="0.1")
    assert first.releases[0]["derived"] and len(place.charges) == 1
    assert again.replayed and again.releases == first.releases


def test_no_result_stays_in_memory_when_nobody_waits(place):
    release = place.ask().releases[0]["release"]
    (job,) = place.asking._queue.jobs()
    assert job.is_over and job.waiters == 0 and job._result is None
    assert place.ask().releases[0]["release"] == release


def test_what_waits_beyond_the_deadline_is_taken_back_free(tmp_path, begun):
    clinic(tmp_path / "clinic")
    place = Place(tmp_path / "clinic", at_once=1, deadline_s=1.0)
    first = background(lambda: place.ask(key="first"))
    assert begun()
    with pytest.raises(RequestDenied, match="Nothing was charged") as told:
        place.ask(f"{COUNT} where age > 3", key="second")
    assert told.value.status == 429
    late = first()
    assert isinstance(late, RequestDenied) and late.status == 409 and "It continues" in late.sentence
    with pytest.raises(RequestDenied, match="It continues"):
        place.ask(key="first")
    assert len(place.charges) == 1
    place.asking._queue.drain(0)


def test_a_cancel_stops_what_runs_and_the_charge_stays(place, begun):
    wait = background(place.ask)
    assert begun()
    (job,) = place.asking.jobs(ANN)
    assert job["state"] == "open" and job["text"] == COUNT
    assert place.asking.jobs(BOB) == []
    with pytest.raises(NotFound):
        place.asking.cancel(job["job"], BOB)
    assert place.asking.cancel(job["job"], ANN) == {"job": job["job"], "stopping": True}
    assert place.asking.cancel(job["job"], ANN) == {"job": job["job"], "stopping": True}
    assert isinstance(wait(), QueryFailed)
    time.sleep(0.06)
    assert place.asking.jobs(ANN)[0]["state"] == "stopped"
    assert len(place.charges) == 1 and place.desk.project.ledger.state.failures == {}
    with pytest.raises(AnswerLost):
        place.ask()


def test_an_owner_may_cancel_and_a_key_names_ones_own_job(place, begun):
    for cancel in (
        lambda: place.asking.cancel(place.asking.jobs(OLGA)[0]["job"], OLGA),
        lambda: place.asking.cancel_key("k1", ANN),
    ):
        key = f"k{len(place.charges)}"
        wait = background(lambda key=key: place.ask(key=key, fresh=True))
        assert begun()
        place.asking.cancel_key(key, BOB)
        cancel()
        assert isinstance(wait(), QueryFailed)


def test_cancelling_what_waits_is_free(tmp_path, begun):
    clinic(tmp_path / "clinic")
    place = Place(tmp_path / "clinic", at_once=1)
    first = background(lambda: place.ask(key="first"))
    assert begun()
    second = background(lambda: place.ask(f"{COUNT} where age > 3", key="second"))
    until = time.monotonic() + 10
    while len(place.asking.jobs(ANN)) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    place.asking.cancel(place.asking.jobs(ANN)[0]["job"], ANN)
    assert isinstance(second(), Stopped)
    assert len(place.charges) == 1
    place.asking._queue.drain(0)
    assert isinstance(first(), QueryFailed)


def test_a_stop_comes_on_the_grid_of_its_question(place, begun):
    """Between ticks nothing tells whether the question had ended: see `Running.stop`."""
    place.asking._settings = place.asking._queue._settings = Settings(origin=ORIGIN, grid_ms=700)
    wait = background(place.ask)
    assert begun()
    (job,) = place.asking._queue.jobs()
    while not 0.35 < (time.monotonic() - job.began) % 0.7 < 0.45:
        time.sleep(0.005)
    pulled, real = [], job.stop.request
    job.stop.request = lambda: (pulled.append(time.monotonic()), real())
    asked = time.monotonic()
    place.asking.cancel(job.id, ANN)
    while not job.stop.is_requested:
        time.sleep(0.005)
    assert pulled[0] >= due(job.began, asked, grid_ms=700) > asked
    assert isinstance(wait(), QueryFailed)
    assert job.state(job.began + 0.8, grid_ms=700) in ("open", "stopped")
    assert job.state(job._ended, grid_ms=700) == "open", "an end is not known before its tick"
    assert job.state(job._ended + 0.7, grid_ms=700) == "stopped"


def test_draining_takes_nothing_new_and_lets_what_runs_end(place, monkeypatch):
    held, go = threading.Event(), threading.Event()
    real = Curator.draw

    def draw(self, price, tables):
        held.set()
        go.wait(20)
        return real(self, price, tables)

    monkeypatch.setattr(Curator, "draw", draw)
    wait = background(place.ask)
    assert held.wait(20)
    drained = background(place.asking.drain)
    until = time.monotonic() + 10
    while not place.asking._queue._draining and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(RequestDenied, match="shutting down") as told:
        place.ask(key="new")
    assert told.value.status == 429
    go.set()
    assert wait().releases and drained() is None


# -- what is wanted ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        {"text": "x" * 100_001},
        {"text": "a\0b"},
        {"text": "\ud800"},
        {"epsilon": "0." + "1" * 80},
        {"epsilon": None},
        {"epsilon": "0.1", "within": "3"},
        {"epsilon": "nan"},
        {"epsilon": "-1"},
        {"kind": "batch", "fresh": True},
        {"kind": "again", "within": "3"},
        {"kind": "again", "delta": "1e-9"},
        {"confidence": "1.5"},
    ],
)
def test_what_cannot_be_wanted(more):
    with pytest.raises(UsageError):
        QueryRequest(**{"text": COUNT, "epsilon": "0.1", **more})


def test_numbers_that_json_lacks_are_none():
    assert without_infinities({"a": [float("inf"), float("nan"), 1.5, (2, None, "x")]}) == {
        "a": [None, None, 1.5, [2, None, "x"]]
    }


def test_explaining_is_free_and_limited(place):
    wanted = QueryRequest(text=COUNT, epsilon="0.1")
    assert place.asking.explain(wanted)["cost"]["epsilon"] == pytest.approx(0.1)
    assert not place.charges
    with pytest.raises(Refused):
        place.asking.explain(QueryRequest(text="select * from patients", epsilon="0.1"))
    with ExitStack() as stack:
        for each in range(4):  # as many as work at once, each in a thread of its own
            stack.enter_context(held(place.asking.explain_limit, f"person {each // 2}"))
        with pytest.raises(RequestDenied, match="You already have 2") as told:
            place.asking.explain(wanted, Visitor(role="analyst", name="person 0"))
        assert told.value.status == 429
