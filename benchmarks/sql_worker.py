"""One measurement of `./do bench sql`: a process that is told what to ask and tells what it cost.

Standard library only: it runs in every peer's environment. An order comes on stdin, the report goes to stdout.
A process asks one query, so that its memory is its own, after two of the small table that load what is loaded once.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal

from usage import peak_mib, start_of_peak

#: Asked first, of the small table, to load libraries: those of a count, and those of averages by groups.
FIRST = ("Q1", "Q3")

#: The exit code of a process whose CPU time was used up.
TOO_LONG = 77

Ask = Callable[[], Sequence[Sequence[Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to ask of which table (a file, or for Discreet a project), and how often; `small` is asked first."""

    query: str
    unit: str
    place: str
    small: str
    repeats: int
    cpu_limit_s: int
    rows_per_person: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """CPU seconds of each repeat, the peak memory of the first, and what came back; or why nothing did."""

    cpu_s: list[float]
    memory_mib: float
    rows: list[list[Any]]
    refused: str = ""
    outcome: Literal["answered", "cannot", "failed", "timed out"] = "answered"

    @staticmethod
    def dash(reason: str, outcome: Literal["cannot", "failed", "timed out"] = "cannot") -> Report:
        """No answer, and why: `cannot` is what a system says itself."""
        return Report(cpu_s=[], memory_mib=0, rows=[], refused=reason, outcome=outcome)

    @property
    def least(self) -> float:
        return min(self.cpu_s)

    @property
    def median(self) -> float:
        return sorted(self.cpu_s)[len(self.cpu_s) // 2]


def serve(prepare: Callable[[Order, str, str], Ask]) -> None:
    """Carry out the order on stdin. `prepare(order, query, place)` connects and returns the asking, which is timed."""
    order = Order(**json.load(sys.stdin))
    threading.Thread(target=_watch, args=(order.cpu_limit_s,), daemon=True).start()
    one_thread()
    with redirect_stdout(sys.stderr):
        try:
            report = _measure(prepare, order)
        except BaseException as problem:  # a peer's panic is not an Exception
            first = next(iter(str(problem).strip().splitlines()), "")
            report = Report.dash(f"{type(problem).__name__}: {first}"[:200])
    json.dump(asdict(report), sys.stdout, default=float)


def _watch(cpu_limit_s: int) -> None:
    """End the process when its CPU time is used up. Not by a resource limit: with one set, Linux tells a
    process its CPU time in steps of 4 ms."""
    while time.process_time() < cpu_limit_s:
        time.sleep(1)
    os._exit(TOO_LONG)


def one_thread() -> None:
    """Whoever asks how many processors there are, hears one."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _measure(prepare: Callable[[Order, str, str], Ask], order: Order) -> Report:
    for first in FIRST:
        with suppress(Exception):  # what matters is that it loads
            prepare(order, first, order.small)()
    ask = prepare(order, order.query, order.place)
    before = start_of_peak()
    seconds: list[float] = []
    rows: Sequence[Sequence[Any]] = []
    memory = 0.0
    for _ in range(order.repeats):
        start = time.process_time()
        rows = ask()
        seconds.append(time.process_time() - start)
        memory = memory or max(0.0, peak_mib() - before)
    return Report(cpu_s=seconds, memory_mib=memory, rows=[list(row) for row in rows])
