"""A steady load on the console: fifty people who look at pages, price queries as they type, and ask now and then."""

from __future__ import annotations

import os
import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from console_pages import QUERY, Address, visit
from console_project import Session
from console_server import Client, ConsoleServer

CLIENTS, PER_S = 50, 20
#: The limits, for pages and prices.
P50_MS, P99_MS = 300, 1_500
#: Of a hundred requests so many are pages, prices of the editor, prices of the API, and queries.
SHARES = {"page": 64, "price": 20, "price by API": 12, "query": 4}


@dataclass(slots=True, kw_only=True)
class Load:
    """What the clients saw, and the CPU seconds of the server."""

    seconds: float
    statuses: Counter[int] = field(default_factory=Counter)
    latencies: dict[str, list[float]] = field(default_factory=lambda: {what: [] for what in SHARES})
    server_cpu_s: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, status: int, seconds: float) -> None:
        with self.lock:
            self.statuses[status] += 1
            self.latencies[what].append(seconds)


def run_load(server: ConsoleServer, sessions: Sequence[Session], pages: Sequence[Address], *, seconds: float) -> Load:
    """So many requests a second, whether earlier ones were answered or not; each is late from the moment that it was due."""
    load = Load(seconds=seconds)
    seen = [page for page in pages if page.role == "analyst" and not page.form]
    before, start = server.cpu_s(), time.monotonic() + 0.5
    threads = [
        threading.Thread(
            target=_look, args=(Client(server, session), seen, start + number / PER_S, start + seconds, load)
        )
        for number, session in enumerate(sessions[1 : CLIENTS + 1])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    load.server_cpu_s = server.cpu_s() - before
    return load


def _look(client: Client, pages: Sequence[Address], due: float, end: float, load: Load) -> None:
    """One person: a request every CLIENTS / PER_S seconds."""
    chance = random.Random()
    while due < end:
        time.sleep(max(0.0, due - time.monotonic()))
        (what,) = chance.choices(list(SHARES), list(SHARES.values()))
        status = _request(client, what, chance.choice(pages), QUERY.format(low=chance.randrange(60)))
        load.note(what, status, time.monotonic() - due)
        due += CLIENTS / PER_S
    client.close()


def _request(client: Client, what: str, page: Address, sql: str) -> int:
    match what:
        case "page":
            return visit(client, page)
        case "price":
            return client.post("/ask/price", {"sql": sql, "by": "epsilon", "epsilon": "0.1"}).status
        case "price by API":
            return client.call("explain", {"sql": sql, "epsilon": "0.1"}, key=secrets.token_hex(8)).status
        case _:
            body = {"sql": sql, "epsilon": "0.001", "fresh": True}
            return client.call("query", body, key=secrets.token_hex(8)).status


def quantile_ms(values: Sequence[float], share: float) -> float:
    """By rank."""
    return 1000 * sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def check_load(load: Load) -> None:
    """What must hold on any machine: nothing is lost, and nothing breaks."""
    wrong = {status: times for status, times in load.statuses.items() if status not in (200, 429)}
    assert not wrong, f"answers that nobody expects: {wrong}"


def is_within_limits(load: Load) -> bool:
    """Whether pages and prices came in time."""
    served = [seconds for what, values in load.latencies.items() if what != "query" for seconds in values]
    return quantile_ms(served, 0.5) < P50_MS and quantile_ms(served, 0.99) < P99_MS and not load.statuses[429]


def load_text(load: Load, *, releases: int) -> str:
    """The table of latencies."""
    served = [seconds for what, values in load.latencies.items() if what != "query" for seconds in values]
    lines = [
        f"{CLIENTS} clients for {load.seconds:.0f} s, {PER_S} requests a second in all, each due at its time whether the one before was answered or not; "
        f"grid 250 ms,\n{releases:,} releases in the history. Server and clients on the same {os.cpu_count()} cores. "
        f"The limits, for pages\nand prices: p50 below {P50_MS} ms, p99 below {P99_MS:,} ms.\n",
        "| | requests | p50 | p99 |",
        "|---|---:|---:|---:|",
    ]
    for what, values in [("pages and prices", served), *load.latencies.items()]:
        lines.append(
            f"| {what} | {len(values):,} | {quantile_ms(values, 0.5):,.0f} ms | {quantile_ms(values, 0.99):,.0f} ms |"
        )
    counts = ", ".join(f"{status}: {times:,}" for status, times in sorted(load.statuses.items()))
    lines.append(
        f"\nStatuses: {counts}. 5xx: 0. The server used {load.server_cpu_s / load.seconds:.0%} of one core. "
        f"Within the limits: {'yes' if is_within_limits(load) else 'no'}."
    )
    return "\n".join(lines)
