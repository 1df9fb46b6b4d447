"""The console under load, in five parts, each of which asserts what must hold however fast it was.

    race      analysts who ask as fast as they are answered, until the budget is gone and after
    load      fifty people at twenty requests a second: how long pages and prices take
    pages     CPU of the server for each page, with 2,000 releases in the history
    memory    of the server over 10,000 requests of all kinds
    kills     200 times kill -9 while programs ask: charges are answers, and unfinished ones that finish

Server and clients are processes of one machine. `./do bench console`, or with --only PART ...; see --help.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from console_kills import check_kills, kills_text, run_kills
from console_load import check_load, is_within_limits, load_text, quantile_ms, run_load
from console_pages import LIMIT_MS, addresses, costs_text, first_visit_ms, memory_over, memory_text, page_costs
from console_project import ROWS, History, Session, make_history, make_project, make_sessions
from console_server import Client, ConsoleServer
from records import BELOW_LIMITS

import discreet

PRICE = "0.02"
PARTS = ("race", "load", "pages", "memory", "kills")


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


def analyst(client: Client, number: int, end: float, seen: Seen) -> None:
    """Ask until the time is over: mostly new questions, some repeats, some prices."""
    chance, turn = random.Random(number), 0
    while time.monotonic() < end:
        turn += 1
        what = chance.choices(["query", "repeat", "explain"], [6, 2, 2])[0]
        low = 0 if what == "repeat" else chance.randrange(60)
        sql = f"select disease, count(*) n from patients where age >= {low} group by disease"
        body = {"sql": sql, "epsilon": PRICE, **({"fresh": True} if what == "query" else {})}
        reply = client.call("explain" if what == "explain" else "query", body, key=f"{number}-{turn}")
        seen.note(what, reply.status, reply.seconds, reply.data if reply.status else {})
        if reply.status == 429:
            time.sleep(0.2)
    client.close()


def run(*, seconds: float, analysts: int, epsilon: float, folder: Path) -> tuple[Seen, dict]:
    """The race, and what the ledger says after it."""
    make_project(folder / "clinic", epsilon=epsilon)
    sessions, seen = make_sessions(folder / "clinic", analysts=analysts), Seen()
    with ConsoleServer(folder / "clinic") as server:
        before, end = server.cpu_s(), time.monotonic() + seconds
        threads = [
            threading.Thread(target=analyst, args=(Client(server, session), number, end, seen))
            for number, session in enumerate(sessions[1:])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        used = server.cpu_s() - before
        ended = server.stop()
    project = discreet.open(folder / "clinic")
    state, standing = project.ledger.refresh(), project.budget("patients")
    facts = {
        "charges": len(state.charges),
        "answers": len(state.answers),
        "keys": len(state.charge_of_key),
        "spent": float(standing.spent.epsilon),
        "limit": float(standing.limit.epsilon),
        "stored": set(state.answers),
        "sound": project.verify().sound,
        "cpu": used,
        "ended": ended,
    }
    project.ledger.close()
    return seen, facts


def check(seen: Seen, facts: dict) -> None:
    """What must hold, however fast it was."""
    wrong = {status: times for (_, status), times in seen.statuses.items() if status >= 500 or status == 0}
    assert not wrong, f"5xx or lost: {wrong}"
    odd = {status for _, status in seen.statuses} - {200, 402, 429}
    assert not odd, f"answers that nobody expects: {odd}"
    assert facts["spent"] <= facts["limit"], "overspent"
    paid = Counter(seen.paid)
    assert max(paid.values()) == 1 and set(paid) <= facts["stored"]
    assert facts["charges"] == facts["answers"] == facts["keys"] == len(paid), (facts["charges"], len(paid))
    assert facts["sound"]


def race_text(seen: Seen, facts: dict, *, seconds: float, analysts: int) -> str:
    """The table of the race."""
    text = (
        f"{analysts} analysts for {seconds:.0f} s, each with one request under way all the time and no pause, on a table of "
        f"{ROWS:,} people, grid 250 ms, 2 questions at once;\nserver and analysts on the same {os.cpu_count()} cores. The budget ends in the "
        f"middle, and what comes after is refused.\n\n| | answered | p50 | p99 |\n|---|---:|---:|---:|\n"
    )
    for what, values in seen.latencies.items():
        ends = [quantile_ms(values, share) / 1000 for share in (0.5, 0.99)]
        text += f"| {what} | {len(values):,} | {ends[0]:.2f} s | {ends[1]:.2f} s |\n"
    counts = Counter()
    for (_, status), times in seen.statuses.items():
        counts[status] += times
    return text + (
        f"\nStatuses: {', '.join(f'{status}: {times:,}' for status, times in sorted(counts.items()))}. 5xx: 0. Charges in the ledger: "
        f"{facts['charges']:,}, answers stored: {facts['answers']:,}, answers\nthat were paid for and arrived: {len(seen.paid):,}. "
        f"Spent {facts['spent']:.4f} of {facts['limit']:g}; the chain verifies.\nThe server used {facts['cpu'] / seconds:.0%} of one core."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Long:
    """A project with a long history, which load, pages and memory share: it takes a minute to make."""

    folder: Path
    sessions: list[Session]
    history: History
    releases: int


def make_long(folder: Path, *, releases: int) -> Long:
    """The project, its people and its history."""
    make_project(folder / "long", epsilon=500)
    sessions = make_sessions(folder / "long", analysts=50)
    return Long(
        folder=folder / "long",
        sessions=sessions,
        history=make_history(folder / "long", releases=releases),
        releases=releases,
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts, in the order of the list")
    parser.add_argument("--seconds", type=float, default=120, help="of the race")
    parser.add_argument("--analysts", type=int, default=50, help="in the race")
    parser.add_argument("--epsilon", type=float, default=3, help="the budget of the race")
    parser.add_argument("--load-seconds", type=float, default=60)
    parser.add_argument("--releases", type=int, default=2_000, help="in the history")
    parser.add_argument("--requests", type=int, default=10_000, help="over which memory is watched")
    parser.add_argument("--kills", type=int, default=200)
    flags = parser.parse_args()
    within = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["DISCREET_STATE"] = f"{folder}/state"
        long = make_long(folder, releases=flags.releases) if {"load", "pages", "memory"} & set(flags.only) else None
        for part in PARTS:
            if part in flags.only:
                text, good = _part(part, flags, folder, long)
                _write(part, text)
                within = within and good
    return 0 if within else BELOW_LIMITS


def _part(part: str, flags: argparse.Namespace, folder: Path, long: Long | None) -> tuple[str, bool]:
    """What a part saw, and whether it was within its limits."""
    if part == "race":
        (folder / "race").mkdir()
        seen, facts = run(seconds=flags.seconds, analysts=flags.analysts, epsilon=flags.epsilon, folder=folder / "race")
        check(seen, facts)
        return race_text(seen, facts, seconds=flags.seconds, analysts=flags.analysts), True
    if part == "kills":
        make_project(folder / "killed", epsilon=500)
        killed = run_kills(folder / "killed", make_sessions(folder / "killed", analysts=5), kills=flags.kills)
        check_kills(killed)
        return kills_text(killed), True
    assert long is not None
    pages = addresses(long.history)
    if part == "load":
        with ConsoleServer(long.folder) as server:
            _visit_all(server, long.sessions[0], pages)
            load = run_load(server, long.sessions, pages, seconds=flags.load_seconds)
        check_load(load)
        return load_text(load, releases=long.releases), is_within_limits(load)
    with ConsoleServer(long.folder, grid_ms=1) as server:
        if part == "memory":
            marks = [flags.requests // 5, flags.requests * 3 // 5, flags.requests]
            return memory_text(memory_over(server, long.sessions, pages, marks)), True
        answers = next(page for page in pages if page.name == "answers")
        first_ms = first_visit_ms(server, Client(server, long.sessions[0]), answers)
        costs = page_costs(server, long.sessions, pages)
    return costs_text(costs, releases=long.releases, first_ms=first_ms), max(c.worst_ms for c in costs) <= LIMIT_MS


def _visit_all(server: ConsoleServer, session: Session, pages: list) -> None:
    """Every page once, so that none is loaded for the first time while others are measured."""
    client = Client(server, session)
    for page in pages:
        assert client.get(page.path).status == 200 if not page.form else True, page.path
    client.close()


def _write(part: str, text: str) -> None:
    """Into RESULTS.md, and to who waits."""
    from results import write_section

    print(text, "\n", flush=True)
    write_section("console" if part == "race" else f"console-{part}", text)


if __name__ == "__main__":
    sys.exit(main())
