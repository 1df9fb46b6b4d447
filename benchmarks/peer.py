"""Peers: the systems that Discreet is measured beside, each in an environment of its own.

`./do bench` makes benchmarks/.peers/NAME from benchmarks/peers/NAME.txt. Where that does not work it leaves the reason
in benchmarks/.peers/NAME.reason, and the peer is a dash with that reason.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from records import Outcome, Record

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE / ".peers"
LOCKS = HERE / "peers"

#: By the name of its lock: what people call it.
TITLES = {
    "anonymeter": "Anonymeter",
    "datasynthesizer": "DataSynthesizer",
    "diffprivlib": "diffprivlib",
    "dp_accounting": "dp_accounting",
    "dpmm": "dpmm",
    "multi_freq_ldpy": "multi-freq-ldpy",
    "opendp": "OpenDP",
    "private_pgm": "private-pgm",
    "pure_ldp": "pure-ldp",
    "pycanon": "pycanon",
    "smartnoise": "SmartNoise",
}

#: Those that the comparison names and that no environment of ours can hold.
#: Elsewhere PipelineDP and Tumult could perhaps be installed; these benchmarks do not call them yet.
OUT_OF_REACH = {
    "ARX": "a Java program with no package in a registry that pip reads: not installed here",
    "PipelineDP": "0.3.1 needs python-dp, which has no wheel for Linux on 64-bit ARM and no source: not installed here",
    "Tumult": "0.21 needs tmlt.core, which has no wheel for Linux on 64-bit ARM, and its source refuses to build there",
}


class Silent(Exception):
    """A peer that did not answer: how, and why."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome: Outcome = outcome
        self.reason = reason


def python(name: str) -> Path:
    return ENVIRONMENTS / name / "bin" / "python"


def version(name: str) -> str:
    """The version that the peer's wish names in its first line."""
    return (LOCKS / f"{name}.in").read_text().splitlines()[0].partition("==")[2].strip()


def missing(name: str) -> str:
    """Why there is no such peer here; nothing where there is one."""
    if python(name).exists() and (ENVIRONMENTS / name / "lock.stamp").exists():
        return ""
    told = ENVIRONMENTS / f"{name}.reason"
    return told.read_text().strip() if told.exists() else "its environment was not made: ./do bench makes it"


def ask(name: str, script: str, order: object, *, limit_s: float = 900) -> Any:
    """What benchmarks/peers/SCRIPT answers in the peer's environment: JSON in, JSON out."""
    if reason := missing(name):
        raise Silent("cannot", reason)
    return told([str(python(name)), "-W", "ignore", str(LOCKS / script)], order, limit_s=limit_s)


def told(command: Sequence[str], order: object, *, limit_s: float) -> Any:
    """JSON from a process; what it wrote to stderr last is the reason where it fails."""
    try:
        done = subprocess.run(command, input=json.dumps(order), capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise Silent("timed out", f"not finished after {limit_s:.0f} s") from None
    if done.returncode:
        raise Silent("failed", last_words(done.stderr) or f"exit code {done.returncode}")
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise Silent("failed", "what it answered is no JSON") from None


def last_words(stderr: str) -> str:
    """The last line that says something: of a traceback it is the error."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def record(name: str, benchmark: str, case: str, **figures: Any) -> Record:
    """A record of a peer."""
    return Record(benchmark=benchmark, case=case, system=TITLES[name], version=version(name), **figures)


def silent(name: str, benchmark: str, case: str, why: Silent) -> Record:
    """A dash, with how and why."""
    return record(name, benchmark, case, outcome=why.outcome, reason=why.reason)
