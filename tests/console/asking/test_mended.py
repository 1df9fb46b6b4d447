"""What went wrong once: a retry that brought less than was paid for, a stop that said nothing was charged, a told end."""

import threading
import time

import pytest

from console.asking.test_asking import ANN, COUNT, Place, background
from console.house import ORIGIN, clinic
from discreet.console.jobs.job_queue import JobQueue
from discreet.console.people.idempotency_keys import IdempotencyKeys
from discreet.console.settings import Settings
from discreet.engines.stop_signal import StoppedHalfway
from discreet.kernel.curator import Curator


@pytest.fixture
def place(tmp_path):
    clinic(tmp_path / "clinic", epsilon="10")
    made = Place(tmp_path / "clinic")
    made.desk.project.version("patients")
    return made


def half(release):
    low, high = release["intervals"][0][0]
    return (high - low) / 2


def test_a_retry_after_a_crash_brings_the_width_that_was_paid_for(place, monkeypatch):
    """Within a width only the rest is bought: by itself the new measurement is wider."""
    width = {"epsilon": None, "within": "20"}
    place.ask(f"{COUNT} where sex = 'F'", key="f", **width)
    place.ask(f"{COUNT} where sex = 'M'", key="m", **width)
    wanted = {"epsilon": None, "within": "14"}

    with monkeypatch.context() as patch:
        patch.setattr(IdempotencyKeys, "finish", lambda self, *told, **more: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            place.ask(key="both", **wanted)
    assert len(place.charges) == 3
    (again,) = place.again().ask(key="both", **wanted).releases
    assert len(place.charges) == 3, "it is not paid again"
    assert half(again) <= 14 and len(again["from"]) == 3 and not again["derived"]
    alone = place.desk.project.release(again["release"])
    assert max(high - low for row in alone.interval() for low, high in [row[0]]) / 2 > 14


def test_a_fresh_draw_that_is_retried_is_that_draw_alone(place, monkeypatch):
    place.ask(key="first", epsilon=None, within="20")
    with monkeypatch.context() as patch:
        patch.setattr(IdempotencyKeys, "finish", lambda self, *told, **more: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            place.ask(key="fresh", epsilon=None, within="20", fresh=True)
    (again,) = place.again().ask(key="fresh", epsilon=None, within="20", fresh=True).releases
    assert not again.get("from") and len(place.charges) == 2


def test_a_batch_that_is_stopped_halfway_says_what_was_charged(place, monkeypatch):
    place.desk.project.version("visits")
    begun, go, real = threading.Event(), threading.Event(), Curator.add_noise

    def add(self, law, exact_values, moves):
        begun.set()
        assert go.wait(30)
        return real(self, law, exact_values, moves)

    monkeypatch.setattr(Curator, "add_noise", add)
    batch = {"text": f"{COUNT} where age < 30; select sum(cost) from visits", "kind": "batch", "epsilon": "1"}
    wait = background(lambda: place.ask(key="b", **batch))
    assert begun.wait(30)
    (job,) = place.asking._queue.jobs()
    place.asking.cancel_key("b", ANN)
    until = time.monotonic() + 10
    while not job.stop.is_requested and time.monotonic() < until:
        time.sleep(0.01)
    go.set()
    told = wait()
    assert isinstance(told, StoppedHalfway) and told.exit_code == 6
    assert "what was charged stays charged" in told.reason
    assert len(place.charges) == 1
    assert len(place.ask(key="b", **batch).releases) == 2, "the same again goes on"
    assert len(place.charges) == 2, "and pays for the rest alone"


def test_that_a_stop_is_wanted_says_nothing_of_an_end_that_is_not_told_yet(place):
    """A job and a work that have ended, and whose tick has not come, look like those that run."""
    place.ask()
    (job,) = place.asking._queue.jobs()
    place.asking._settings = Settings(origin=ORIGIN, grid_ms=60_000)
    assert job.is_over and place.asking.jobs(ANN)[0]["state"] == "open"
    place.asking.cancel(job.id, ANN)
    assert place.asking.jobs(ANN)[0]["stopping"] is True
    works = JobQueue(Settings(origin=ORIGIN, grid_ms=60_000))
    work = works.start(ANN, lambda tell: "/there", area="synth", words="a model", key="k")
    assert work.wait(20) and works.job_json(work)["state"] == "open"
    works.stop(work)
    assert works.job_json(work)["stopping"] is True
    works.close()
