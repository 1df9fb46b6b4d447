"""The bench: trials that wait, the one that runs, and what was found, in memory. One at a time, each within a limit."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from discreet.console.responses import RequestDenied
from discreet.engines.stop_signal import StopSignal, interrupting, is_stop_requested, stoppable_by

#: All attacks can wait at once, and a few more; results of the last so many are kept.
MOST_WAITING, MOST_KEPT = 24, 200
#: When to try again, where too many wait.
WAIT_S = 10.0

BROKE_DOWN = "The attack ended with an error."

State = Literal["new", "waiting", "running", "done", "failed", "stopped"]
_ENDED = ("done", "failed", "stopped")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialKey:
    """An attack, and what was chosen about it."""

    attack: str
    chosen: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, attack: str, chosen: Mapping[str, str]) -> TrialKey:
        return cls(attack=attack, chosen=tuple(sorted(chosen.items())))

    @property
    def id(self) -> str:
        """A name for addresses."""
        return f"t-{hashlib.sha256(json.dumps([self.attack, *self.chosen]).encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Where one stands: what was found when it is done, and why not where it failed. `person`: who started it, when."""

    state: State = "new"
    person: str = ""
    made: int = 0
    evidence: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""


class TrialFailed(Exception):
    """A trial that found nothing: one sentence for people."""


Run = Callable[[TrialKey, float], Mapping[str, Any]]


class AttackQueue:
    """Trials in the order they came. `run` does one: in a process of its own, unless a test says otherwise."""

    def __init__(self, run: Run | None = None) -> None:
        self._run = run or run_in_process
        self._change = threading.Condition()
        self._waiting: deque[tuple[TrialKey, float]] = deque()
        self._trials: OrderedDict[TrialKey, Trial] = OrderedDict()
        self._worker: threading.Thread | None = None
        self._running: tuple[TrialKey, StopSignal] | None = None

    def trials(self) -> list[tuple[TrialKey, Trial]]:
        """All that wait or run, and the last that ended; the newest first."""
        with self._change:
            return list(reversed(self._trials.items()))

    def current_trial(self, key: TrialKey) -> Trial:
        """Where a trial stands."""
        with self._change:
            return self._trials.get(key, Trial())

    def start(
        self, keys: Sequence[TrialKey], *, limit_s: float, again: bool = False, person: str = "", made: int = 0
    ) -> None:
        """Put trials in line, each once; those that are done only where that is wanted again."""
        with self._change:
            done = () if again else ("done",)
            new = [key for key in keys if self._trials.get(key, Trial()).state not in ("waiting", "running", *done)]
            if len(self._waiting) + len(new) > MOST_WAITING:
                raise RequestDenied("Too many attacks are waiting; try again in a moment.", status=429, wait_s=WAIT_S)
            for key in new:
                self._keep(key, Trial(state="waiting", person=person, made=made))
                self._waiting.append((key, limit_s))
            if self._waiting and self._worker is None:
                self._worker = threading.Thread(target=self._work, name="discreet-lab", daemon=True)
                self._worker.start()

    def stop(self, key: TrialKey) -> None:
        """Take a trial out of the line, or end the one that runs."""
        with self._change:
            self._waiting = deque(each for each in self._waiting if each[0] != key)
            if self._running is not None and self._running[0] == key:
                self._running[1].request()
            elif self._trials.get(key, Trial()).state == "waiting":
                self._keep(key, replace(self._trials[key], state="stopped"))
                self._change.notify_all()

    def wait(self, key: TrialKey, timeout_s: float) -> Trial:
        """A trial when it has ended, or as it is after so long."""
        with self._change:
            self._change.wait_for(
                lambda: self._trials.get(key, Trial()).state not in ("waiting", "running"), timeout=timeout_s
            )
            return self._trials.get(key, Trial())

    def _work(self) -> None:
        """One trial after the other, until none waits."""
        while True:
            with self._change:
                if not self._waiting:
                    self._worker = None
                    return
                key, limit_s = self._waiting.popleft()
                trial, stop = replace(self._trials[key], state="running"), StopSignal()
                self._keep(key, trial)
                self._running = key, stop
            with stoppable_by(stop):
                ended = self._end_of(key, trial, limit_s)
            with self._change:
                self._running = None
                self._keep(key, ended)
                self._change.notify_all()

    def _end_of(self, key: TrialKey, trial: Trial, limit_s: float) -> Trial:
        """What a trial came to; a stop ends its process, whatever that says."""
        try:
            return replace(trial, state="done", evidence=self._run(key, limit_s))
        except TrialFailed as problem:
            ended = replace(trial, state="failed", problem=str(problem))
        except Exception:  # it must not end the bench, and its text may name what is nobody's business
            ended = replace(trial, state="failed", problem=BROKE_DOWN)
        return replace(trial, state="stopped") if is_stop_requested() else ended

    def _keep(self, key: TrialKey, trial: Trial) -> None:
        self._trials[key] = trial
        self._trials.move_to_end(key)
        for old in list(self._trials):
            if len(self._trials) <= MOST_KEPT:
                return
            if self._trials[old].state in _ENDED:
                del self._trials[old]


def run_in_process(key: TrialKey, limit_s: float) -> Mapping[str, Any]:
    """Run a trial in a process of its own, and end it when its time is over."""
    choices_json = json.dumps(dict(key.chosen))
    output = output_of(
        [sys.executable, "-P", "-m", "discreet.console.jobs.attack_trial", key.attack, choices_json], limit_s
    )
    evidence: dict[str, Any] = json.loads(output)
    if "error" in evidence:
        raise TrialFailed(f"{evidence['error']}. {evidence['hint']}".strip())
    return evidence


def output_of(command: Sequence[str], limit_s: float) -> bytes:
    """What a program writes within its time. Its standard input is open for as long as we wait for it."""
    with tempfile.TemporaryFile() as out:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.DEVNULL) as process:
            try:
                with interrupting(process.kill):
                    process.wait(limit_s)
            except subprocess.TimeoutExpired:
                process.kill()
                raise TrialFailed(f"The attack took longer than {limit_s:g} seconds and was stopped.") from None
        out.seek(0)
        written = out.read()
    if process.returncode != 0 or not written:
        raise TrialFailed(BROKE_DOWN)
    return written
