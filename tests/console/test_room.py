"""Free work: a few at once, a few who wait, few of one person; and a server that answers meanwhile."""

import threading
import time
from contextlib import ExitStack

import pytest

from console.house import world
from console.rooms import held
from discreet.console.jobs import concurrency_limit as module
from discreet.console.jobs.concurrency_limit import ConcurrencyLimit
from discreet.console.jobs.job_queue import MOST_PATIENT, JobQueue
from discreet.console.pages import ask
from discreet.console.responses import RequestDenied

SQL = "select disease, count(*) n from patients group by disease"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("room") / "clinic")
    yield made
    made.house.close()


def full(room):
    """A room that can take nobody more: everybody inside has a turn or waits for one."""
    stack = ExitStack()
    for each in range(room._at_once):
        stack.enter_context(held(room, f"works {each}"))
    threads = []
    for each in range(room._most - room._at_once):
        threads.append(threading.Thread(target=lambda each=each: wait(room, f"waits {each}")))
        threads[-1].start()
    until = time.monotonic() + 10
    while room._inside.total() < room._most and time.monotonic() < until:
        time.sleep(0.005)
    assert room._inside.total() == room._most
    return stack, threads


def wait(room, person):
    with room.turn(person, patience_s=20):
        pass


def test_who_comes_to_a_full_room_is_told_at_once():
    room = ConcurrencyLimit("things being made", at_once=2, waiting=3)
    stack, threads = full(room)
    with stack:
        began = time.monotonic()
        with pytest.raises(RequestDenied, match="too many things being made") as told, room.turn("ann", patience_s=60):
            pass
        assert told.value.status == 429 and told.value.wait_s and time.monotonic() - began < 15
    [thread.join(10) for thread in threads]
    assert not room._inside and not room._working


def test_one_person_has_two_places_and_others_still_come():
    room = ConcurrencyLimit("things being made", at_once=4, waiting=4)
    with held(room, "ann"), held(room, "ann"):
        with pytest.raises(RequestDenied, match="You already have 2 things being made"), room.turn("ann"):
            pass
        with room.turn("bob"):
            pass
    with room.turn("ann"):
        pass


def test_a_turn_is_waited_for_and_not_for_ever():
    room = ConcurrencyLimit("things being made", at_once=1, waiting=1)
    with held(room, "ann"):
        began = time.monotonic()
        with pytest.raises(RequestDenied) as told, room.turn("bob", patience_s=0.1):
            pass
        assert told.value.status == 429 and 0.1 <= time.monotonic() - began < 20
        late = threading.Thread(target=wait, args=(room, "bob"))
        late.start()
    late.join(10)
    assert not late.is_alive() and not room._inside and not room._working
    assert module.PATIENCE_S <= 15


def test_work_inside_of_work_is_one_turn_and_what_fails_leaves():
    room = ConcurrencyLimit("things being made", at_once=1, waiting=0, each=1)
    with pytest.raises(ValueError), room.turn("ann"), room.turn("ann"):
        raise ValueError
    with room.turn("ann"):
        pass
    assert not room._inside and not room._working


def rehearse(browser):
    form = {"act": "rehearse", "sql": SQL, "by": "epsilon", "epsilon": "1", "rows": "50"}
    return browser.get(browser.post("/ask", form).headers["location"])


def test_rehearsals_prices_and_plans_are_refused_where_their_rooms_are_full(clinic):
    browser, works = (
        clinic.browser("analyst"),
        clinic.house.handle.singleton(JobQueue, lambda: JobQueue(clinic.house.settings)),
    )
    token = {"authorization": f"Bearer {clinic.token()}"}
    ways = {
        ask._REHEARSAL_LIMIT: lambda: rehearse(browser),
        clinic.house.queries.explain_limit: lambda: browser.post("/ask/price", {"sql": SQL, "epsilon": "1"}),
        works._pricing_limit: lambda: browser.get("/tables/new/ranges?table=patients&column=age&epsilon=1"),
    }
    for room, way in ways.items():
        assert way().status_code == 200
        stack, threads = full(room)
        with stack:
            assert way().status_code == 429
        [thread.join(10) for thread in threads]
        with held(room, "ann"), held(room, "ann"):  # ann is the analyst
            assert way().status_code == 429
        assert way().status_code == 200
    with held(clinic.house.queries.explain_limit, "ann"), held(clinic.house.queries.explain_limit, "ann"):
        told = clinic.client().post("/api/v1/explain", json={"sql": SQL, "epsilon": "1"}, headers=token)
        assert told.status_code == 429 and int(told.headers["retry-after"]) > 0


def test_all_rooms_together_leave_threads_for_others(clinic):
    """Whatever waits holds a thread: all of it must not be all threads."""
    from discreet.console.app import MORE_THREADS
    from discreet.console.people.passwords import AT_ONCE, WAITING

    house = clinic.house
    works = house.handle.singleton(JobQueue, lambda: JobQueue(house.settings))
    rooms = (ask._REHEARSAL_LIMIT, house.queries.explain_limit, works._pricing_limit)
    questions = house.queries._queue._most_waiters - house.settings.at_once - house.settings.waiting
    assert sum(room._most for room in rooms) + questions + AT_ONCE + WAITING + MOST_PATIENT + 16 <= MORE_THREADS


def test_the_server_says_that_it_is_there_whatever_its_threads_do(clinic, monkeypatch):
    monkeypatch.setattr("discreet.console.app.MORE_THREADS", 1 - 2 - 64)  # one thread in all
    began, over = threading.Event(), threading.Event()

    def stuck(*_):
        began.set()
        over.wait(30)
        return "html", {}

    with clinic.client() as client:
        monkeypatch.setattr("discreet.console.routes.Route.resolve_format", stuck)
        busy = threading.Thread(target=client.get, args=("/login",))
        busy.start()
        assert began.wait(10)
        try:
            answers = []
            asking = threading.Thread(target=lambda: answers.append(client.get("/healthz")), daemon=True)
            asking.start()
            asking.join(10)
            assert [each.json() for each in answers] == [{"alive": True}]
        finally:
            over.set()
            busy.join(10)
