"""`./do bench all`: every benchmark in a process of its own, under a time limit, and the summary of what they found.

One that fails is reported, and the rest go on. Exit code 1 where one failed, ran out of time, or where Discreet missed a
limit of its own; 0 otherwise. Progress goes to stderr, a line a benchmark to stdout at the end.

A full run begins with an empty RESULTS.md, so that what stands there at the end comes from one run on one machine; its
section "run" names what ran, for how long, and how busy other work kept the cores. `--continue` goes on with a run that
was stopped.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import peer
import plots
import summary
from records import BELOW_LIMITS, HERE, QUICK, read_all
from results import begin, page, write_section, write_summary

#: Which benchmarks of a full run have ended, for `--continue`. Git ignores the folder.
STATE = QUICK / "run.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A file bench_NAME.py, with the wall seconds that it may take; `quick_s` is None where it has no quick form."""

    name: str
    limit_s: float
    quick_s: float | None = None
    words: tuple[str, ...] = ()
    #: What measures time runs alone; what counts errors runs after it, as many at a time as there are cores.
    alone: bool = True
    #: What it is called where one file runs several times, as its section of RESULTS.md is.
    section: str = ""

    @property
    def called(self) -> str:
        return self.section or self.name


#: What is not here, since it alone would take an hour: 100 million rows on Spark.
#: In order: what peers take part in, what is about Discreet alone, and what counts errors, the shortest first. Together
#: the quick limits are larger than the ten minutes that a quick run takes: each is what a busy machine is allowed.
ALL = (
    Benchmark(name="noise", limit_s=1800, quick_s=600),
    Benchmark(name="sql", limit_s=4 * 3600, quick_s=2400),
    Benchmark(name="tables", limit_s=3600, quick_s=900),
    Benchmark(name="batch", limit_s=1800, quick_s=600),
    Benchmark(name="local", limit_s=3600, quick_s=1200),
    Benchmark(name="synth", limit_s=4 * 3600, quick_s=1200, words=("--peers",)),
    Benchmark(name="persons", limit_s=3600),
    Benchmark(name="lab", limit_s=3600, quick_s=1200),
    Benchmark(name="ledger", limit_s=3600, quick_s=600),
    Benchmark(name="scale", limit_s=6 * 3600, quick_s=1200),
    Benchmark(
        name="scale",
        section="scale-spark",
        limit_s=6 * 3600,
        words=("--engine=spark://local", "--rows=1000000,10000000"),
    ),
    Benchmark(name="scale", section="scale-postgresql", limit_s=2 * 3600, words=("--engine=postgresql",)),
    Benchmark(name="accounting", limit_s=1800, quick_s=600),
    Benchmark(name="graph", limit_s=3600),
    Benchmark(name="collect", limit_s=3600),
    Benchmark(name="console", limit_s=3600, words=("--only", "race", "load", "pages", "memory")),
    Benchmark(name="work", limit_s=3600),
    Benchmark(name="startup", limit_s=1800, quick_s=300),
    Benchmark(name="files", limit_s=1800, quick_s=300),
    Benchmark(name="added_files", limit_s=3600, quick_s=300),
    Benchmark(name="notes", limit_s=1800, alone=False),
    Benchmark(name="suppression", limit_s=1800, alone=False),
    Benchmark(name="best", limit_s=1800, quick_s=300, alone=False),
    Benchmark(name="overlap", limit_s=3600, alone=False),
    Benchmark(name="bounds", limit_s=3600, alone=False),
    Benchmark(name="shapes", limit_s=3600, alone=False),
    Benchmark(name="undeclared", limit_s=3600, words=("--fits=6",), alone=False),
    Benchmark(
        name="console", section="console-kills", limit_s=3600, words=("--only", "kills", "--kills=60"), alone=False
    ),
    Benchmark(name="curves", limit_s=4 * 3600, alone=False),
    Benchmark(name="dependence", limit_s=4 * 3600, quick_s=600, words=("--peers", "--fits=5"), alone=False),
    # Ten fits of each table, not a hundred, which take hours.
    Benchmark(name="hundred", limit_s=4 * 3600, words=("--write", "--fits=10", "--jobs=1"), alone=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a benchmark ended, and the wall and CPU seconds that it took with all that it started.

    `others`: the part of the machine's cores that other work used meanwhile; none where that is not known.
    """

    name: str
    told: str
    good: bool
    wall_s: float
    cpu_s: float
    others: float | None = None

    def __str__(self) -> str:
        return f"{self.name:16} {self.told} ({self.wall_s:.0f} s, {self.cpu_s:.0f} CPU s)"


class Started:
    """A benchmark in a process of its own, under its limit. What it prints goes to stderr: it is in RESULTS.md, too.

    Who is stopped, by the limit or by Ctrl-C, is stopped with all that it started.
    """

    adopts = False

    def __init__(self, command: Sequence[str], name: str, limit_s: float, *, alone: bool) -> None:
        print(f"bench: {name}", file=sys.stderr, flush=True)
        self.name, self._limit_s, self.alone = name, limit_s, alone
        self._start, self._busy = time.monotonic(), busy_s() if alone else None
        self._process = subprocess.Popen(command, stdout=sys.stderr, start_new_session=True)

    def ending(self) -> Ending | None:
        """How it ended, if it has. Of its CPU seconds the system tells when it is waited for, and not before."""
        wall_s, used = time.monotonic() - self._start, _children_s()
        code, late = self._process.poll(), False
        if code is None and wall_s > self._limit_s:
            self.stop()
            code, late = 1, True
        if code is None:
            return None
        if self.alone and self.adopts:
            _wait_for_orphans()
        cpu_s, busy = _children_s() - used, busy_s()
        others = None
        if self._busy is not None and busy is not None:
            wall_s = time.monotonic() - self._start
            others = max(0.0, busy - self._busy - cpu_s) / (max(wall_s, 1.0) * (os.cpu_count() or 1))
        text = {0: "done", BELOW_LIMITS: "done; Discreet missed limits of its own"}.get(
            code, f"FAILED, exit code {code}"
        )
        if late:
            text = f"FAILED, not finished after {self._limit_s:g} s"
        return Ending(name=self.name, told=text, good=code == 0, wall_s=wall_s, cpu_s=cpu_s, others=others)

    def stop(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def adopt_orphans() -> None:
    """Servers that a benchmark started become this process's own when it ends, on Linux: their CPU seconds count."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None and prctl(36, 1, 0, 0, 0) == 0:  # PR_SET_CHILD_SUBREAPER
        Started.adopts = True


def _wait_for_orphans() -> None:
    """A Java or a database takes a moment to end. Only where no benchmark runs: its end is for Popen to see."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)
        except ChildProcessError:
            return


def busy_s() -> float | None:
    """Seconds that all cores together have worked, for whomever, since the machine started; none where no one counts."""
    try:
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return None
    user, nice, system, _idle, _waiting, irq, softirq = (int(word) for word in words[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _children_s() -> float:
    """CPU seconds of all processes that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_all(
    benchmarks: Sequence[Benchmark], *, quick: bool, folder: Path = HERE, ended: Sequence[Ending] = ()
) -> list[Ending]:
    """All but those that have ended before; a failing one does not stop the rest."""
    endings = list(ended)
    named = {ending.name for ending in ended}
    open_ones = [each for each in benchmarks if each.called not in named and _limit_s(each, quick) is not None]
    for ending in one_by_one_or_together(
        sorted(open_ones, key=lambda each: not each.alone), quick=quick, folder=folder
    ):
        endings.append(ending)
        if not quick:
            keep(endings)
    return endings


def one_by_one_or_together(benchmarks: Sequence[Benchmark], *, quick: bool, folder: Path) -> Iterator[Ending]:
    """Endings as they come, of those that run alone and then of the others, as many at a time as there are cores."""
    waiting, running = list(benchmarks), list[Started]()
    try:
        while waiting or running:
            while waiting and len(running) < (1 if _is_alone(waiting[0], running) else os.cpu_count() or 1):
                each = waiting.pop(0)
                words = ["--quick"] if quick else list(each.words)
                command = [sys.executable, str(folder / f"bench_{each.name}.py"), *words]
                running.append(Started(command, each.called, _limit_s(each, quick) or 0.0, alone=each.alone))
            for one in list(running):
                if ending := one.ending():
                    running.remove(one)
                    yield ending
            time.sleep(0.05)
    finally:
        for one in running:
            one.stop()


def _is_alone(following: Benchmark, running: Sequence[Started]) -> bool:
    """Whether nothing may run beside what follows, or beside what runs."""
    return following.alone or any(one.alone for one in running)


def _limit_s(each: Benchmark, quick: bool) -> float | None:
    return each.quick_s if quick else each.limit_s


def keep(endings: Sequence[Ending]) -> None:
    """The section "run", and what a run that was stopped goes on from."""
    STATE.parent.mkdir(parents=True, exist_ok=True)
    STATE.write_text(json.dumps([asdict(ending) for ending in endings], indent=1), encoding="utf-8")
    write_section("run", run_text(endings))


def ended_before() -> list[Ending]:
    """What the run that was stopped had come to; one that failed is run again."""
    if not STATE.exists():
        return []
    kept = [Ending(**each) for each in json.loads(STATE.read_text(encoding="utf-8"))]
    return [ending for ending in kept if not ending.told.startswith("FAILED")]


def run_text(endings: Sequence[Ending]) -> str:
    """What ran, in a table, and what did not."""
    named = {each.name for each in endings}
    missing = ", ".join(each.called for each in ALL if each.called not in named)
    whole = f"not yet {missing}: a section of these is of an earlier run" if missing else "all that it names"
    lines = [
        f"What `./do bench all` ran, {whole}. What measures time ran alone, and the last column is the part of the cores that "
        "other work used meanwhile; what counts errors ran after it, as many at a time as there are cores. CPU seconds "
        "are those of all processes of a benchmark.",
        "",
        "| benchmark | ended | wall s | CPU s | other work |",
        "|---|---|---:|---:|---:|",
    ]
    for each in endings:
        others = "" if each.others is None else f"{each.others:.0%}"
        lines.append(f"| {each.name} | {each.told} | {each.wall_s:,.0f} | {each.cpu_s:,.0f} | {others} |")
    wall_s, cpu_s = sum(each.wall_s for each in endings), sum(each.cpu_s for each in endings)
    return "\n".join([*lines, f"| all | | {wall_s:,.0f} | {cpu_s:,.0f} | |"])


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
    parser.add_argument("--continue", action="store_true", dest="on", help="go on with a full run that was stopped")
    told = parser.parse_args(words)
    start = time.monotonic()
    adopt_orphans()
    ended = ended_before() if told.on else []
    if not (told.quick or told.summary or ended):
        begin()
    endings = [] if told.summary else run_all(ALL, quick=told.quick, ended=ended)
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
