"""Clients of one machine: threads that charge, store an answer, and ask again, for some seconds.

Arguments: the ledger, threads, populations, seconds. Says "ready", waits for a line, and prints one JSON object: the
seconds that each question took, and the CPU seconds of this process.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from fractions import Fraction

from discreet.accounting.events import LaplaceEvent
from discreet.accounting.region import Region
from discreet.ledger.charge_request import ChargeRequest
from discreet.ledger.ledger import Ledger

PAYLOAD = "x" * 300


def ask(ledger: Ledger, who: str, number: int) -> None:
    charge = ledger.charge(
        ChargeRequest(
            population=who,
            table=who,
            version=1,
            region=Region.whole(),
            event=LaplaceEvent(scale=Fraction(100_000 + number % 50), l1=1),
            question=f"{threading.get_ident()}-{number}",
            price="0.001",
        )
    )
    ledger.store(charge.id, PAYLOAD)


def client(ledger: Ledger, who: str, until: float, took: list[float]) -> None:
    number = 0
    while (start := time.perf_counter()) < until:
        ask(ledger, who, number)
        took.append(time.perf_counter() - start)
        number += 1


def main() -> None:
    where, threads, populations, seconds = sys.argv[1], *map(int, sys.argv[2:])
    took: list[float] = []
    with Ledger.open(where) as ledger:
        for number in range(populations):
            ask(ledger, f"people {number}", 0)  # what was asked before is read once
        print("ready", flush=True)
        sys.stdin.readline()
        cpu, until = time.process_time(), time.perf_counter() + seconds
        clients = [
            threading.Thread(target=client, args=(ledger, f"people {number % populations}", until, took))
            for number in range(threads)
        ]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        print(json.dumps({"took": took, "cpu_s": time.process_time() - cpu}))


if __name__ == "__main__":
    main()
