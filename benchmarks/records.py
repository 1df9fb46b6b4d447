"""Figures of the benchmarks as data: who took what for which case, and with what error; or why there is no figure.

A benchmark writes benchmarks/records/NAME.json beside its section of RESULTS.md; `summary.py` compares them. Quick runs
go to benchmarks/.quick, which git ignores, so that they never stand over the full ones.
"""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

HERE = Path(__file__).resolve().parent
QUICK = HERE / ".quick"

OURS = "Discreet"

#: The exit code of a benchmark that ran to its end, and in which Discreet missed a limit of its own.
BELOW_LIMITS = 3

Outcome = Literal["answered", "cannot", "failed", "timed out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What one system did in one case.

    `cannot`: the system says itself that it does not do this, or is not to be had here; `failed`: it broke. Both need a
    `reason`, and have no figures. `error_name` says what the error is of; `uncertainty` is the error's own relative
    standard error, where draws make it up. A `yardstick` stands beside the others and wins and loses nothing: a system
    that protects nobody, or a slow way of our own.
    """

    benchmark: str
    case: str
    system: str
    version: str = ""
    cpu_s: float | None = None
    peak_mib: float | None = None
    error: float | None = None
    error_name: str = ""
    uncertainty: float = 0.0
    outcome: Outcome = "answered"
    reason: str = ""
    yardstick: bool = False

    def __post_init__(self) -> None:
        figures = [figure for figure in (self.cpu_s, self.peak_mib, self.error) if figure is not None]
        if not (self.benchmark and self.case and self.system):
            raise ValueError("a record names its benchmark, its case and its system")
        if self.outcome not in get_args(Outcome):
            raise ValueError(f"no outcome: {self.outcome!r}")
        if any(not math.isfinite(figure) or figure < 0 for figure in [*figures, self.uncertainty]):
            raise ValueError("figures are finite and not below 0")
        if self.error is not None and not self.error_name:
            raise ValueError("an error says what it is of")
        if self.outcome == "answered" and (not figures or self.reason):
            raise ValueError("who answered has a figure, and needs no reason")
        if self.outcome != "answered" and (figures or not self.reason):
            raise ValueError("who did not answer has a reason, and no figure")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a run was made on: enough to judge the figures, nothing that names a particular machine.

    `memory_gib` is 0 where it is not known.
    """

    processor: str
    cores: int
    memory_gib: float
    python: str

    def __str__(self) -> str:
        memory = f"{self.memory_gib:.0f} GiB, " if self.memory_gib else ""
        return f"{self.processor}, {self.cores} cores, {memory}Python {self.python}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The records of one benchmark, when and on what they were made, and where Discreet missed its own limits."""

    benchmark: str
    day: str
    machine: Machine
    records: tuple[Record, ...]
    missed: tuple[str, ...] = field(default=())


def this_machine() -> Machine:
    """The machine as Linux tells it; elsewhere less is known."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError, AttributeError):
        memory = 0.0
    return Machine(
        processor=_processor(), cores=os.cpu_count() or 1, memory_gib=memory, python=platform.python_version()
    )


def _processor() -> str:
    """Architecture and model; ARM tells its model by number only."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    told = dict(line.split(":", 1) for line in lines if ":" in line)
    told = {name.strip(): value.strip() for name, value in told.items()}
    model = told.get("model name") or _ARM.get((told.get("CPU implementer", ""), told.get("CPU part", "")), "")
    return " ".join(part for part in (platform.machine(), model) if part)


#: Implementer and part, as ARM numbers the cores that servers have.
_ARM = {
    ("0x41", "0xd0c"): "Neoverse N1",
    ("0x41", "0xd40"): "Neoverse V1",
    ("0x41", "0xd49"): "Neoverse N2",
    ("0x41", "0xd4f"): "Neoverse V2",
}


def ours(benchmark: str, case: str, **figures: Any) -> Record:
    """A record of Discreet itself."""
    return Record(benchmark=benchmark, case=case, system=OURS, version=version("discreet"), **figures)


def write(benchmark: str, records: Sequence[Record], *, missed: Sequence[str] = (), quick: bool = False) -> Path:
    """Keep the records of a run in place of those of the last one; a quick run's elsewhere."""
    if any(record.benchmark != benchmark for record in records):
        raise ValueError(f"not all records are of {benchmark!r}")
    run = Run(
        benchmark=benchmark,
        day=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=this_machine(),
        records=tuple(records),
        missed=tuple(missed),
    )
    path = folder(quick=quick) / f"{benchmark}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_text(run), encoding="utf-8")
    return path


def folder(*, quick: bool) -> Path:
    return (QUICK if quick else HERE) / "records"


def to_text(run: Run) -> str:
    """JSON, a record a line, so that a change of one figure is a change of one line; what says nothing is left out."""
    head = {"benchmark": run.benchmark, "day": run.day, "machine": asdict(run.machine), "missed": list(run.missed)}
    lines = ",\n".join(f"  {json.dumps(_small(record), ensure_ascii=False)}" for record in run.records)
    return f'{json.dumps(head, ensure_ascii=False)[:-1]},\n "records": [\n{lines}\n]}}\n'


def _small(record: Record) -> dict[str, Any]:
    told = {name: value for name, value in asdict(record).items() if value not in (None, "", 0.0, False)}
    told |= {name: 0.0 for name in ("cpu_s", "peak_mib", "error") if getattr(record, name) == 0.0}
    told = {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in told.items()}
    del told["benchmark"]
    if record.outcome == "answered":
        del told["outcome"]
    return told


def of_text(text: str) -> Run:
    told = json.loads(text)
    records = tuple(Record(benchmark=told["benchmark"], **each) for each in told["records"])
    return Run(
        benchmark=told["benchmark"],
        day=told["day"],
        machine=Machine(**told["machine"]),
        records=records,
        missed=tuple(told["missed"]),
    )


def read_all(*, quick: bool = False) -> list[Run]:
    """All runs that are kept, by name."""
    return [of_text(path.read_text(encoding="utf-8")) for path in sorted(folder(quick=quick).glob("*.json"))]
