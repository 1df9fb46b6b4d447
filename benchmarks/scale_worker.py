"""One process of `./do bench scale`: it opens a project, does what it is told, and tells what that cost.

An order comes on stdin, a line of JSON for each act goes to stdout. CPU seconds and memory are told for this process
(`driver`, which is where the curator is) and for it with all its children and the server of the engine (`all`).
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

#: The exit code of a process that, with its children, held more memory than it may.
TOO_LARGE = 78
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an act cost: seconds, and the peak of memory in MiB. `server_mib`: the children and the engine's server."""

    act: str
    wall_s: float = 0.0
    driver_cpu_s: float = 0.0
    all_cpu_s: float = 0.0
    driver_mib: float = 0.0
    server_mib: float = 0.0
    refused: str = ""


class Watch(threading.Thread):
    """Sees the memory of the children and of a server, several times a second, and ends what holds too much."""

    def __init__(self, *, server: int | None, most_mib: float) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._most_mib = most_mib
        self.peak_mib = 0.0
        #: CPU seconds of the watching itself, which are nobody's.
        self.own_cpu_s = 0.0

    def run(self) -> None:
        while True:
            held = sum(_resident(pid) for pid in self.pids())
            self.peak_mib = max(self.peak_mib, held)
            if held + _status("VmRSS") > self._most_mib:
                os._exit(TOO_LARGE)
            self.own_cpu_s = time.thread_time()
            time.sleep(0.3)

    def pids(self) -> list[int]:
        """Every process but this one that works for it."""
        roots = [os.getpid(), *([self._server] if self._server else [])]
        return [pid for pid in _descendants(roots) if pid != os.getpid()]

    def cpu_s(self) -> float:
        """CPU seconds of those processes, children that have ended included."""
        return sum(_cpu(pid) for pid in self.pids())


def _descendants(roots: list[int]) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := _stat(int(entry))):
            children.setdefault(int(fields[1]), []).append(int(entry))
    while roots:
        pid, roots = roots[0], roots[1:]
        yield pid
        roots = roots + children.get(pid, [])


def _stat(pid: int) -> list[str]:
    """The fields of a process after its name."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _cpu(pid: int) -> float:
    fields = _stat(pid)
    return sum(map(int, fields[11:15])) / _TICK if fields else 0.0


def _resident(pid: int) -> float:
    """Pages of its own: a server's processes share the rest."""
    with suppress(OSError):
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
        return (resident - shared) * _PAGE_MIB
    return 0.0


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def main() -> None:
    order = json.load(sys.stdin)
    watch = Watch(server=order["server"], most_mib=order["most_mib"])
    watch.start()
    out = sys.stdout
    with redirect_stdout(sys.stderr):
        import discreet

        for act in order["acts"]:
            report = _measure(discreet.open(order["project"]), act, watch)
            print(json.dumps(asdict(report)), file=out, flush=True)


def _measure(project: object, act: str, watch: Watch) -> Report:
    from scale_project import ACTS

    gc.collect()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    watch.peak_mib = 0.0
    wall, cpu, served = time.perf_counter(), time.process_time() - watch.own_cpu_s, watch.cpu_s()
    refused = ""
    try:
        ACTS[act].do(project)  # type: ignore[arg-type]
    except Exception as problem:
        cause = problem.__cause__ or problem.__context__
        refused = f"{type(problem).__name__}: {problem} {type(cause).__name__ if cause else ''}"[:300]
    driver = time.process_time() - watch.own_cpu_s - cpu
    return Report(
        act=act,
        wall_s=time.perf_counter() - wall,
        driver_cpu_s=driver,
        all_cpu_s=driver + watch.cpu_s() - served,
        driver_mib=_status("VmHWM"),
        server_mib=watch.peak_mib,
        refused=refused,
    )


if __name__ == "__main__":
    main()
