"""`./do bench all`: every benchmark in a process of its own, under a time limit, and the summary of what they found.

One that fails is reported, and the rest go on. Exit code 1 where one failed, ran out of time, or where Discreet missed a
limit of its own; 0 otherwise. Progress goes to stderr, a line a benchmark to stdout at the end.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import peer
import plots
import summary
from records import BELOW_LIMITS, HERE, read_all
from results import page, write_summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A file bench_NAME.py, with the wall seconds that it may take; `quick_s` is None where it has no quick form."""

    name: str
    limit_s: float
    quick_s: float | None = None
    words: tuple[str, ...] = ()


#: In order: what peers take part in, then what is about Discreet alone. Together the quick limits are larger than the ten
#: minutes that a quick run takes: each is what a busy machine is allowed.
ALL = (
    Benchmark(name="noise", limit_s=1800, quick_s=600),
    Benchmark(name="sql", limit_s=4 * 3600, quick_s=2400),
    Benchmark(name="tables", limit_s=3600, quick_s=900),
    Benchmark(name="batch", limit_s=1800, quick_s=600),
    Benchmark(name="local", limit_s=3600, quick_s=1200),
    Benchmark(name="synth", limit_s=4 * 3600, quick_s=1200, words=("--peers",)),
    Benchmark(name="dependence", limit_s=4 * 3600, quick_s=600, words=("--peers",)),
    Benchmark(name="shapes", limit_s=3600),
    Benchmark(name="undeclared", limit_s=3600),
    Benchmark(name="hundred", limit_s=4 * 3600, words=("--write",)),
    Benchmark(name="persons", limit_s=3600),
    Benchmark(name="lab", limit_s=3600, quick_s=1200),
    Benchmark(name="suppression", limit_s=1800),
    Benchmark(name="notes", limit_s=1800),
    Benchmark(name="ledger", limit_s=3600, quick_s=600),
    Benchmark(name="scale", limit_s=6 * 3600, quick_s=1200),
    Benchmark(name="accounting", limit_s=1800, quick_s=600),
    Benchmark(name="curves", limit_s=4 * 3600),
    Benchmark(name="bounds", limit_s=3600),
    Benchmark(name="overlap", limit_s=3600),
    Benchmark(name="graph", limit_s=3600),
    Benchmark(name="collect", limit_s=3600),
    Benchmark(name="console", limit_s=3600),
    Benchmark(name="work", limit_s=3600),
    Benchmark(name="startup", limit_s=1800, quick_s=300),
    Benchmark(name="files", limit_s=1800, quick_s=300),
    Benchmark(name="best", limit_s=1800, quick_s=300),
    Benchmark(name="added_files", limit_s=3600, quick_s=300),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a benchmark ended, and the wall and CPU seconds that it took with all that it started."""

    name: str
    told: str
    good: bool
    wall_s: float
    cpu_s: float

    def __str__(self) -> str:
        return f"{self.name:12} {self.told} ({self.wall_s:.0f} s, {self.cpu_s:.0f} CPU s)"


def run_one(command: Sequence[str], name: str, limit_s: float) -> Ending:
    """One benchmark, whatever becomes of it. What it prints goes to stderr: it is in RESULTS.md, too."""
    print(f"bench: {name}", file=sys.stderr, flush=True)
    start, before = time.monotonic(), _children_s()
    try:
        code = _run(command, limit_s)
        told = {0: "done", BELOW_LIMITS: "done; Discreet missed limits of its own"}.get(
            code, f"FAILED, exit code {code}"
        )
    except subprocess.TimeoutExpired:
        code, told = 1, f"FAILED, not finished after {limit_s:g} s"
    except OSError as problem:
        code, told = 1, f"FAILED, {problem.strerror}"
    return Ending(name=name, told=told, good=code == 0, wall_s=time.monotonic() - start, cpu_s=_children_s() - before)


def _run(command: Sequence[str], limit_s: float) -> int:
    """The exit code. Whoever is stopped, by the limit or by Ctrl-C, is stopped with all that it started."""
    with subprocess.Popen(command, stdout=sys.stderr, start_new_session=True) as process:
        try:
            return process.wait(timeout=limit_s)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def _children_s() -> float:
    """CPU seconds of all processes that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_all(benchmarks: Sequence[Benchmark], *, quick: bool, folder: Path = HERE) -> list[Ending]:
    """All of them in order; a failing one does not stop the rest."""
    endings = []
    for each in benchmarks:
        limit_s = each.quick_s if quick else each.limit_s
        if limit_s is None:
            continue
        words = ["--quick"] if quick else list(each.words)
        command = [sys.executable, str(folder / f"bench_{each.name}.py"), *words]
        endings.append(run_one(command, each.name, limit_s))
    return endings


def summarize(*, quick: bool) -> Path:
    """Pictures and summary from all records that are kept."""
    runs = read_all(quick=quick)
    order = {each.name: place for place, each in enumerate(ALL)}
    runs.sort(key=lambda run: (order.get(run.benchmark.partition("-")[0], len(order)), run.benchmark))
    drawn = plots.write_all(runs, quick=quick)
    write_summary(summary.text_of(runs, plots=drawn, absent=peer.OUT_OF_REACH), quick=quick)
    return page(quick=quick)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="smaller sizes, about ten minutes; nothing full is overwritten"
    )
    parser.add_argument("--peers", action="store_true", help="as a full run has anyway: the slow peers, too")
    parser.add_argument("--summary", action="store_true", help="run nothing: only write summary and pictures anew")
    told = parser.parse_args(words)
    start = time.monotonic()
    endings = [] if told.summary else run_all(ALL, quick=told.quick)
    path = summarize(quick=told.quick)
    for ending in endings:
        print(ending)
    if endings:
        spent = sum(ending.cpu_s for ending in endings)
        print(f"all of it: {time.monotonic() - start:.0f} s, {spent:.0f} CPU s")
    print(f"written: benchmarks/{path.relative_to(HERE).as_posix()}")
    return 0 if all(ending.good for ending in endings) else 1


if __name__ == "__main__":
    sys.exit(main())
