"""Through the whole console: a sampler that is slow for large noise shows in when an answer is ready, not in when it leaves."""

import time

import numpy as np
import pytest

from console.asking.test_grid import ranks
from console.house import world
from discreet.console import app
from discreet.console.jobs.time_grid import at_tick
from discreet.kernel.curator import Curator

N = 40
#: Spearman's correlation of 40 independent pairs is beyond this with probability below 1e-6 (t with 38 degrees: 5.8).
ALARM = 0.69
COARSE_MS = 30_000


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("leaving") / "clinic", grid_ms=300)
    yield made
    made.house.close()


def ask(client, token, key):
    headers = {"authorization": f"Bearer {token}", "idempotency-key": key}
    body = {"sql": "select count(*) from patients", "epsilon": "0.05", "fresh": True}
    begun = time.monotonic()
    answer = client.post("/api/v1/query", json=body, headers=headers)
    return answer, time.monotonic() - begun


def correlation(one, other):
    return 0.0 if np.ptp(other) == 0 else abs(float(np.corrcoef(ranks(np.array(one)), ranks(np.array(other)))[0, 1]))


class Clock:
    """The console's clock, which the slow sampler puts forward: nobody has to wait, and a busy machine's own waits, which are
    shorter, do not hide what is looked for.
    """

    ahead_s = 0.0

    def monotonic(self):
        return time.monotonic() + self.ahead_s


@pytest.mark.deep
def test_a_planted_slow_sampler(clinic, monkeypatch):
    noise, ready, real, clock = [], [], Curator.add_noise, Clock()

    def slow(self, law, exact_values, moves):
        noisy, event = real(self, law, exact_values, moves)
        noise.append(abs(int(noisy[0]) - int(exact_values[0])))
        clock.ahead_s = min(8.0, 0.1 * noise[-1])
        return noisy, event

    async def leave(began, *, grid_ms):
        now = clock.monotonic()
        ready.append((now - began, at_tick(began, now, grid_ms=COARSE_MS) - began))
        clock.ahead_s = 0.0

    token, client = clinic.token(), clinic.client()
    ask(client, token, "first")
    monkeypatch.setattr(Curator, "add_noise", slow)
    monkeypatch.setattr(app, "until_tick", leave)
    monkeypatch.setattr(app, "time", clock)
    for number in range(N):
        answer, _ = ask(client, token, f"k{number}")
        assert answer.status_code == 200
    assert len(noise) == len(ready) == N
    assert correlation(noise, [elapsed for elapsed, _ in ready]) > ALARM, "off the grid it is seen"
    assert correlation(noise, [round(left, 9) for _, left in ready]) < ALARM, "on the grid it is not"


def test_answers_and_failures_after_the_charge_leave_on_the_grid(clinic, monkeypatch):
    token, client = clinic.token(), clinic.client()
    _, took = ask(client, token, "real")
    assert took >= 0.3
    again, took = ask(client, token, "real")
    assert again.headers["idempotency-replayed"] == "true" and took >= 0.3, "a stored one leaves no sooner"
    monkeypatch.setattr(Curator, "draw", lambda self, price, tables: 1 / 0)
    failed, took = ask(client, token, "fails")
    assert failed.status_code == 409 and failed.json()["code"] == 6 and took >= 0.3
    log = (clinic.folder.parent / "console.log").read_text()
    assert "ZeroDivision" not in log and '"ticks": 0' not in log.splitlines()[-1]
