"""The ledger: charges for each CPU second, by how many clients, and what opening and verifying a long one costs.

Charging is measured through the public path, fsync and anchor included. The long ledger, of a million rows, is written
directly (`ledger_rows`), for its length is what matters; it is opened and verified in processes of their own. `--quick`:
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
from ledger_rows import PAYLOAD, long_ledger, make, region
from records import Record, ours, write
from results import write_section

from discreet.accounting.events import LaplaceEvent
from discreet.accounting.region import Region
from discreet.ledger.charge_request import ChargeRequest
from discreet.ledger.ledger_location import DatabaseAddress, LedgerLocation

#: The long ledger; and what is moved to PostgreSQL, which writes slowly.
ROWS, SERVER_ROWS, QUICK_ROWS = 1_000_000, 100_000, 10_000
CHARGES, QUICK_CHARGES = 500, 100
#: Why no peer is measured here.
WITHOUT = {
    "OpenDP": "its budget is an object in memory: nothing outlives the process",
    "SmartNoise": "adds up what was spent in memory, and refuses nothing",
    "Tumult": "its budget is an object in memory: nothing outlives the session",
    "PipelineDP": "its budget is an object in memory: nothing outlives the run",
}
#: What is done with a long ledger.
LONG = {
    "first": "open for the first time: every row's digest and MAC, fold, tables, answers, anchor",
    "again": "open again: the checkpoint, and what came after it",
    "verify": "verify: all of it from the disk, the checkpoint made anew, and the database's own check",
}

#: What is done with a ledger, in a process of its own: CPU seconds, seconds, MiB.
DO = """
import sys, time
from discreet.ledger import repair
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import parse_location
where, what = parse_location(sys.argv[1]), sys.argv[2]
cpu, wall = time.process_time(), time.perf_counter()
if what == "verify":
    report = repair.verify(where)
    assert report.sound, report
else:
    Ledger.open(where)
# Not ru_maxrss, which begins with that of the process before.
memory = next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.process_time() - cpu, time.perf_counter() - wall, memory)
"""


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


def yardstick() -> float:
    start, total = time.process_time(), 0
    for number in range(10**7):
        total += number
    return time.process_time() - start


def clients_text(folder: Path, path: Path, rows: int) -> str:
    """By how many clients, and with a long ledger; and what this disk and this machine were like meanwhile."""
    moved = folder / "moved" / "ledger.db"
    long_ledger(moved, SERVER_ROWS)
    with ledger_clients.server(folder) as url:
        short = ledger_clients.short(folder, url)
        file = ledger_clients.long(path)
        address, moved_s = ledger_clients.move(moved, url)
        server = ledger_clients.long(address)
        opened = long_lines(long_acts(address), SERVER_ROWS, "PostgreSQL")
    heading = (
        "| ledger | machines | processes | threads each | populations | questions/s | median ms | 95% ms | CPU ms |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    )
    return "\n".join(
        [
            "A question is a charge and a stored answer, two commits; a repeat would be free. Threads ask without a pause; processes of a",
            "machine share its state folder, machines have one each. Server, processes and threads share",
            f"{os.cpu_count()} cores with whatever else ran, and a disk whose fsync took",
            f"{ledger_clients.fsync_ms(folder):.1f} ms. CPU is that of the asking process for each question.",
            "",
            heading,
            *short,
            "",
            f"The same with {rows:,} rows in the file, and {SERVER_ROWS:,} in PostgreSQL (moving those there took {moved_s:.0f} s).",
            "A charge is compared with 120 regions that were charged before, in new ledgers with none: that is the difference.",
            "",
            heading,
            *file,
            *server,
            "",
            f"{opened}",
        ]
    )


def act(where: LedgerLocation, what: str) -> list[float]:
    """CPU seconds, seconds and MiB of a process that opens or verifies a ledger."""
    place = where.url if isinstance(where, DatabaseAddress) else str(where)
    return [float(word) for word in subprocess.check_output([sys.executable, "-c", DO, place, what]).split()]


def forget_checkpoints() -> None:
    for each in Path(os.environ["DISCREET_STATE"]).glob("*/checkpoint"):
        each.unlink()


def long_acts(where: LedgerLocation) -> dict[str, list[float]]:
    """Opening for the first time, again, and verifying."""
    forget_checkpoints()
    return {what: act(where, what) for what in LONG}


def long_lines(acts: dict[str, list[float]], rows: int, kind: str) -> str:
    """These as a table."""
    lines = [f"| {LONG[what]} | {cpu:.2f} | {wall:.2f} | {memory:.0f} |" for what, (cpu, wall, memory) in acts.items()]
    heading = [f"| a ledger of {rows:,} rows in {kind} | CPU s | s | peak MiB |", "|---|---:|---:|---:|"]
    return "\n".join([*heading, *lines])


def records_of(whole: float, first: list[float], again: list[float], rows: int) -> list[Record]:
    """Ours, and a dash for every peer: none keeps a budget."""
    cases = {
        "charge and store an answer": {"cpu_s": 1 / whole},
        f"open a ledger of {rows:,} rows for the first time, every row checked": {
            "cpu_s": first[0],
            "peak_mib": first[2],
        },
        f"open a ledger of {rows:,} rows again": {"cpu_s": again[0], "peak_mib": again[2]},
    }
    records = [ours("ledger", case, **figures) for case, figures in cases.items()]
    return records + [
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
        acts = long_acts(path)
        clients = "" if quick else clients_text(folder, path, rows)
    text = f"""
| | per CPU second | per second |
|---|---:|---:|
| charge and store an answer, whole table, {charges} charges | {whole[0]:.0f} | {whole[1]:.0f} |
| the same, overlapping regions on two columns | {narrow[0]:.0f} | {narrow[1]:.0f} |

One thread. A charge is four fsyncs (the database's log, the anchor's digests, its head, its folder) under a lock; so is an
answer. Threads that wait share them.

{clients}

{long_lines(acts, rows, "a file")}

{size:.0f} MiB. Charges of 120 regions, 1,000 prices and 100,000 queries, each with its answer. How fast this machine was
meanwhile: ten million additions in a loop took {yardstick():.2f} CPU s.
"""
    print(text)
    write_section("ledger", text.replace("\n\n\n\n", "\n\n"), quick=quick)
    write("ledger", records_of(whole[0], acts["first"], acts["again"], rows), quick=quick)


if __name__ == "__main__":
    main()
