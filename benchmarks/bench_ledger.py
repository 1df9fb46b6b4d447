"""The ledger: charges for each CPU second, by how many clients, and what opening and verifying a long one costs.

Charging is measured through the public path, fsync and anchor included. The long ledger is written
in one transaction, for its length is what matters; it is opened and verified in processes of their own. `--quick`:
fewer charges, a shorter ledger, and no clients.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import ledger_clients
from records import Record, ours, write
from results import write_section

from discreet.accounting import events
from discreet.accounting.events import LaplaceEvent
from discreet.accounting.filter import Balance, Cost, book_balance
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Box, Region, ValueSet
from discreet.ledger.chain import new_id
from discreet.ledger.chain_reader import sha256_of
from discreet.ledger.charge_data import balance_data, cost_data
from discreet.ledger.charge_request import ChargeRequest
from discreet.ledger.ledger import Ledger

ROWS, QUICK_ROWS = 100_000, 10_000
CHARGES, QUICK_CHARGES = 500, 100
#: Why no peer is measured here.
WITHOUT = {
    "OpenDP": "its budget is an object in memory: nothing outlives the process",
    "SmartNoise": "adds up what was spent in memory, and refuses nothing",
    "Tumult": "its budget is an object in memory: nothing outlives the session",
    "PipelineDP": "its budget is an object in memory: nothing outlives the run",
}
PAYLOAD = "x" * 300

OPEN = """
import resource, sys, time
from pathlib import Path
from discreet.ledger.ledger import Ledger
start = time.process_time()
ledger = Ledger.open(Path(sys.argv[1]))
opened = time.process_time()
report = ledger.verify()
assert report.sound, report
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(opened - start, time.process_time() - opened, memory)
"""


def make(path: Path, accounting: str = "pure") -> Ledger:
    ledger = Ledger.create(path)
    ledger.declare("people 0", Guarantee(epsilon=Fraction(10**6), accounting=accounting))
    ledger.add_version("people 0", population="people 0", schema={}, source={})
    return ledger


def region(number: int) -> Region:
    """Overlapping intervals of one column and halves of another."""
    return Region.of([Box({"age": ValueSet.interval(number % 60, number % 60 + 20), "sex": ValueSet.of([number % 2])})])


def charging(folder: Path, charges: int, *, narrow: bool) -> tuple[float, float]:
    """Charges for each CPU second and for each second, with a stored answer each."""
    with make(folder / f"charging-{narrow}" / "ledger.db") as ledger:
        cpu, wall = time.process_time(), time.perf_counter()
        for number in range(charges):
            charge = ledger.charge(
                ChargeRequest(
                    population="people 0",
                    table="people 0",
                    version=1,
                    region=region(number) if narrow else Region.whole(),
                    event=LaplaceEvent(scale=Fraction(1000 + number % 50), l1=1),
                    question=f"q{number}",
                    price="0.001",
                )
            )
            ledger.store(charge.id, PAYLOAD)
        return charges / (time.process_time() - cpu), charges / (time.perf_counter() - wall)


def long_ledger(path: Path, rows: int) -> None:
    """Charges and their answers, so many rows in all, booked by plain addition."""
    sha256 = sha256_of(PAYLOAD)
    with make(path) as ledger:
        journal = ledger._journal
        balance = Balance()
        with journal.section():
            for number in range(rows // 2):
                event = LaplaceEvent(scale=Fraction(10**5 + number % 1000), l1=1)
                cost = Cost.of(events.loss(event))
                inside = list(balance.arms)
                balance = book_balance(balance, cost, balance)
                id_ = f"r-{new_id()}"
                charge = {
                    "id": id_,
                    "population": "people 0",
                    "table": "people 0",
                    "version": 1,
                    "region": region(number).to_data(),
                    "event": events.to_data(event),
                    "cost": cost_data(cost),
                    "analyst": f"analyst {number % 7}",
                    "question": sha256,
                    "price": "1/1000",
                    "decision": {
                        "arm": "pure",
                        "used": 1,
                        "nodes": 0,
                        "inside": inside,
                        "balance": balance_data(balance),
                    },
                }
                journal.append("charge", charge)
                journal._pending = False
                journal.append("answer", {"id": id_, "sha256": sha256}, payload=(id_, sha256, PAYLOAD))
                journal._pending = number == rows // 2 - 1  # the last one writes the anchor


def yardstick() -> float:
    start, total = time.process_time(), 0
    for number in range(10**7):
        total += number
    return time.process_time() - start


def clients_text(folder: Path, path: Path) -> str:
    """By how many clients, and with a long ledger; and what this disk and this machine were like meanwhile."""
    with ledger_clients.server(folder) as url:
        long, moved_s = ledger_clients.long(path, url)
        short = ledger_clients.short(folder, url)
    heading = (
        "| ledger | machines | clients each | populations | questions/s | median ms | 95% ms | CPU ms of a curator |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|"
    )
    return "\n".join(
        [
            "A question is a charge and a stored answer. Clients are threads of one curator, asking without a pause; a machine is a",
            f"process with a state folder of its own. Server, curators and clients share {os.cpu_count()} cores with whatever else ran",
            f"(load {os.getloadavg()[0]:.0f}), and a disk whose fsync took {ledger_clients.fsync_ms(folder):.1f} ms.",
            "",
            heading,
            *short,
            "",
            f"The same with {ROWS:,} rows in the ledger; moving it to PostgreSQL took {moved_s:.0f} s:",
            "",
            heading,
            *long,
        ]
    )


def records_of(whole: float, opened: float, memory: float, rows: int) -> list[Record]:
    """Ours, and a dash for every peer: none keeps a budget."""
    cases = {
        "charge and store an answer": {"cpu_s": 1 / whole},
        f"open a ledger of {rows:,} rows, every row checked": {"cpu_s": opened, "peak_mib": memory},
    }
    found = [ours("ledger", case, **figures) for case, figures in cases.items()]
    return found + [
        Record(benchmark="ledger", case=case, system=name, outcome="cannot", reason=reason)
        for case in cases
        for name, reason in WITHOUT.items()
    ]


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    rows, charges = (QUICK_ROWS, QUICK_CHARGES) if quick else (ROWS, CHARGES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["DISCREET_STATE"] = str(folder / "state")
        whole, narrow = charging(folder, charges, narrow=False), charging(folder, charges, narrow=True)
        path = folder / "long" / "ledger.db"
        long_ledger(path, rows)
        size = path.stat().st_size / 2**20
        runs = [
            [float(word) for word in subprocess.check_output([sys.executable, "-c", OPEN, str(path)]).split()]
            for _ in range(1 if quick else 3)
        ]
        clients = "" if quick else clients_text(folder, path)
    opened, verified, memory = (min(run[place] for run in runs) for place in range(3))
    text = f"""
| | per CPU second | per second |
|---|---:|---:|
| charge and store an answer, whole table, {charges} charges | {whole[0]:.0f} | {whole[1]:.0f} |
| the same, overlapping regions on two columns | {narrow[0]:.0f} | {narrow[1]:.0f} |

A charge is four fsyncs (the database's log, the anchor's digests, its head, its folder) under a lock; so is an answer.

{clients}

| a ledger of {rows:,} rows ({size:.0f} MiB) | CPU s |
|---|---:|
| open: every row's digest and MAC, fold, tables, answers, anchor | {opened:.1f} |
| verify: the same from the disk again, and SQLite's own check | {verified:.1f} |

Peak memory {memory:.0f} MiB, with both in one process. The best of {len(runs)}. How
fast this machine was meanwhile: ten million additions in a loop took {yardstick():.2f} CPU s.
"""
    print(text)
    write_section("ledger", text.replace("\n\n\n\n", "\n\n"), quick=quick)
    write("ledger", records_of(whole[0], opened, memory, rows), quick=quick)


if __name__ == "__main__":
    main()
