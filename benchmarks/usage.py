"""What a process has used: the peak of its memory, from now or from its start.

Standard library only: it runs in every peer's environment. Not by getrusage: there a process begins with its parent's
peak. Linux only: elsewhere memory reads 0, which records take for "not measured".
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def start_of_peak() -> float:
    """Let the peak of resident memory start anew; MiB that are resident now."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak_mib() -> float:
    """The peak since the start of the process, or since `start_of_peak`."""
    return _status("VmHWM")


def _status(name: str) -> float:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(name))
