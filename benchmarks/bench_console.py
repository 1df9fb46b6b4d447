"""The console under load: analysts who ask as fast as they are answered, over HTTP, until the budget is gone and after.

Server and analysts are two processes on the same machine. Every answer that was paid for must be in the ledger once, the
budget must hold, and no answer may be a 5xx. `./do bench console`, or with --seconds S --analysts N.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import discreet

ROWS = 10_000
PRICE = "0.02"
TOML = """
[project]
ledger = "sqlite:///.discreet/ledger.db"

[tables.patients]
source = "patients.csv"
budget = {{ epsilon = {epsilon}, delta = 1e-6 }}
person = "id"
rows_per_person = 1
[tables.patients.columns.age]
type = "integer"
low = 0
high = 100
[tables.patients.columns.disease]
type = "category"
values = ["flu", "mumps", "gout"]
"""


@dataclass
class Seen:
    """What the analysts saw, all together."""

    statuses: Counter = field(default_factory=Counter)
    paid: list = field(default_factory=list)
    latencies: dict = field(default_factory=lambda: {"query": [], "repeat": [], "explain": []})
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what, status, seconds, data):
        with self.lock:
            self.statuses[what, status] += 1
            if status == 200:
                self.latencies[what].append(seconds)
            if status == 200 and what != "explain" and not data["cached"] and not data["derived"]:
                self.paid.append(data["release"])


def make(folder: Path, *, analysts: int, epsilon: float) -> list[str]:
    """A project and its analysts; their tokens."""
    from discreet.console.people.passwords import Passwords
    from discreet.console.people.people import People

    folder.mkdir()
    rows = [f"{n},{20 + n % 60},{('flu', 'mumps', 'gout')[n % 3]}" for n in range(ROWS)]
    (folder / "patients.csv").write_text("\n".join(["id,age,disease", *rows]) + "\n")
    discreet.init(folder)
    (folder / "discreet.toml").write_text(TOML.format(epsilon=epsilon))
    project = discreet.open(folder)
    project.version("patients")
    project.ledger.close()
    people = People.of(folder, passwords=Passwords(memory_kib=64, passes=1))
    made = [people.add(f"analyst {n}", role="analyst", password="not used in here") for n in range(analysts)]
    tokens = [people.tokens.make(person, label="load")[0] for person in made]
    people.close()
    return tokens


def serve(folder: Path, handle: int) -> None:
    """This file again, as the server."""
    import uvicorn

    from discreet.console.app import make_app as app
    from discreet.console.app_state import open_state
    from discreet.console.settings import Settings

    listening = socket.socket(fileno=handle)
    origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
    house, _ = open_state(folder, Settings(origin=origin), log=folder.parent / "console.log")
    config = uvicorn.Config(app(house), log_config=None, log_level="error", access_log=False, ws="none")
    uvicorn.Server(config).run(sockets=[listening])


def analyst(port: int, token: str, number: int, end: float, seen: Seen) -> None:
    """Ask until the time is over: mostly new questions, some repeats, some prices."""
    chance, connection, turn = random.Random(number), None, 0
    while time.monotonic() < end:
        turn += 1
        what = chance.choices(["query", "repeat", "explain"], [6, 2, 2])[0]
        low = 0 if what == "repeat" else chance.randrange(60)
        sql = f"select disease, count(*) n from patients where age >= {low} group by disease"
        body = {"sql": sql, "epsilon": PRICE, **({"fresh": True} if what == "query" else {})}
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": f"{number}-{turn}"}
        path = "/api/v1/explain" if what == "explain" else "/api/v1/query"
        begun = time.monotonic()
        try:
            if connection is None:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            data = json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            connection = None
            seen.note(what, 0, 0, {})
            continue
        seen.note(what, answer.status, time.monotonic() - begun, data)
        if answer.status == 429:
            time.sleep(0.2)
    if connection is not None:
        connection.close()


def run(*, seconds: float, analysts: int, epsilon: float, folder: Path) -> tuple[Seen, dict]:
    """The load, and what the ledger says after it."""
    tokens = make(folder / "clinic", analysts=analysts, epsilon=epsilon)
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    listening.set_inheritable(True)
    command = [sys.executable, __file__, "--serve", str(folder / "clinic"), str(listening.fileno())]
    server = subprocess.Popen(command, pass_fds=[listening.fileno()])
    port, seen = listening.getsockname()[1], Seen()
    try:
        _await(port)
        before, end = _cpu_s(server.pid), time.monotonic() + seconds
        threads = [threading.Thread(target=analyst, args=(port, t, n, end, seen)) for n, t in enumerate(tokens)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        used = _cpu_s(server.pid) - before
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        listening.close()
    project = discreet.open(folder / "clinic")
    state, standing = project.ledger.refresh(), project.budget("patients")
    told = {
        "charges": len(state.charges),
        "answers": len(state.answers),
        "keys": len(state.charge_of_key),
        "spent": float(standing.spent.epsilon),
        "limit": float(standing.limit.epsilon),
        "stored": set(state.answers),
        "sound": project.verify().sound,
        "cpu": used,
        "ended": server.returncode,
    }
    project.ledger.close()
    return seen, told


def check(seen: Seen, told: dict) -> None:
    """What must hold, however fast it was."""
    wrong = {status: times for (_, status), times in seen.statuses.items() if status >= 500 or status == 0}
    assert not wrong, f"5xx or lost: {wrong}"
    odd = {status for _, status in seen.statuses} - {200, 402, 429}
    assert not odd, f"answers that nobody expects: {odd}"
    assert told["spent"] <= told["limit"], "overspent"
    paid = Counter(seen.paid)
    assert max(paid.values()) == 1 and set(paid) <= told["stored"]
    assert told["charges"] == told["answers"] == told["keys"] == len(paid), (told["charges"], len(paid))
    assert told["sound"]


def _await(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/api/v1/openapi.json")
            assert connection.getresponse().status == 200
            connection.close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server does not come up")


def _cpu_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def quantile(values: list, share: float) -> float:
    """By rank."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--analysts", type=int, default=50)
    parser.add_argument("--epsilon", type=float, default=3)
    told_flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DISCREET_STATE"] = f"{folder}/state"
        seen, told = run(
            seconds=told_flags.seconds, analysts=told_flags.analysts, epsilon=told_flags.epsilon, folder=Path(folder)
        )
    check(seen, told)
    text = (
        f"{told_flags.analysts} analysts for {told_flags.seconds:.0f} s, each with one request under way all the time and no pause, on a table of "
        f"{ROWS:,} people, grid 250 ms, 2 questions at once;\nserver and analysts on the same 2 cores. The budget ends in the middle, and "
        f"what comes after is refused.\n\n| | answered | p50 | p99 |\n|---|---:|---:|---:|\n"
    )
    for what, values in seen.latencies.items():
        text += f"| {what} | {len(values):,} | {quantile(values, 0.5):.2f} s | {quantile(values, 0.99):.2f} s |\n"
    counts = Counter()
    for (_, status), times in seen.statuses.items():
        counts[status] += times
    text += (
        f"\nStatuses: {', '.join(f'{status}: {times:,}' for status, times in sorted(counts.items()))}. 5xx: 0. Charges in the ledger: {told['charges']:,}, "
        f"answers stored: {told['answers']:,}, answers\nthat were paid for and arrived: {len(seen.paid):,}. "
        f"Spent {told['spent']:.4f} of {told['limit']:g}; the chain verifies.\nThe server used {told['cpu'] / told_flags.seconds:.0%} of one core.\n"
    )
    print(text)
    from results import write_section

    write_section("console", text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
