"""Kill a process again and again, at random points or at chosen ones, and look at what it left.

A *script* is a Python file with a function `live(arguments, ready)`. It runs in a process of its own until
it returns or is killed; it calls `ready()` when its loop begins and prints what it gives out, one line each, with
`say`. Importing takes longer than living, so one nursery imports the script once and forks each life from there,
before anything is opened; a life opens everything itself.

    outcome = torture(script, [Life(arguments=[...], delay_s=0.02), ...], environment={...})
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

#: A life that is not killed must end by itself within this time: a hang, not a busy machine.
LONGEST_LIFE_S = 120

TESTS = Path(__file__).resolve().parents[1]
#: What a process that a test starts may import: the tests, and what this one was told.
IMPORTS = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))


@dataclass(frozen=True, kw_only=True)
class Life:
    """One run of the script. Killed `delay_s` after it is ready, or after its birth; None: not at all."""

    arguments: list[str]
    delay_s: float | None = None
    from_birth: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of the lives: exit codes (negative: the signal), whole lines said, faults, CPU time of all."""

    codes: list[int]
    said: list[list[str]]
    faults: list[str]
    cpu_s: float

    @property
    def killed(self) -> int:
        return sum(code == -signal.SIGKILL for code in self.codes)

    @property
    def lines(self) -> list[str]:
        return [line for life in self.said for line in life]


def say(line: str) -> None:
    """Give out one line, at once and whole: what was said before a kill was really said."""
    os.write(1, f"{line}\n".encode())


def torture(script: Path, lives: list[Life], *, environment: dict[str, str], timeout_s: float = 400) -> Outcome:
    """Run the lives one after the other."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), str(script)],
        input=json.dumps([asdict(life) for life in lives]),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env={**os.environ, **environment, "PYTHONPATH": IMPORTS},
    )
    if done.returncode:
        raise AssertionError(f"the nursery failed:\n{done.stderr[-2000:]}")
    return Outcome(**json.loads(done.stdout))


def _import(script: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _nursery(script: Path) -> None:
    lives = [Life(**each) for each in json.load(sys.stdin)]
    live = _import(script).live
    codes, said, faults = [], [], []
    for life in lives:
        code, lines, fault = _one(live, life)
        codes.append(code)
        said.append(lines)
        faults += [fault] if fault else []
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu_s = sum(each.ru_utime + each.ru_stime for each in used)
    json.dump(asdict(Outcome(codes=codes, said=said, faults=faults, cpu_s=cpu_s)), sys.stdout)


def _one(live: Callable[[list[str], Callable[[], None]], None], life: Life) -> tuple[int, list[str], str]:
    """Fork, wait, kill, and collect what was said. A last line without its end was never given out."""
    said, fault = _appended("said"), _appended("fault")
    ready_read, ready_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(said, 1)
        os.dup2(fault, 2)
        os.close(ready_read)
        try:
            live(life.arguments, lambda: os.write(ready_write, b"x") and None)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    os.close(ready_write)
    if life.delay_s is not None:
        if not life.from_birth:
            select.select([ready_read], [], [], LONGEST_LIFE_S)
        time.sleep(life.delay_s)
        os.kill(child, signal.SIGKILL)
    code = _wait(child)
    os.close(ready_read)
    *lines, _ = _text(said).split("\n")
    return code, lines, _text(fault)


def _appended(name: str) -> int:
    """A file in memory whose every write goes to its end: else two processes that write at once lose a line."""
    descriptor = os.memfd_create(name)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)
    return descriptor


def _wait(child: int) -> int:
    deadline = time.monotonic() + LONGEST_LIFE_S
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return 124
        time.sleep(0.0005)


def _text(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    found = os.pread(descriptor, size, 0).decode()
    os.close(descriptor)
    return found


if __name__ == "__main__":
    _nursery(Path(sys.argv[1]))
