"""One fit of `./do bench synth`: a process that fits, samples, writes the rows, and tells what it cost.

CPU seconds are those of the whole process, import and all; so is the peak of its memory. What starting took is told.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before numpy is loaded


def peak_mb() -> float:
    """The peak of this process. Not by getrusage: there a process begins with its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    order = json.load(sys.stdin)
    import discreet
    from discreet.synth.sample_files import write_rows

    project = discreet.open(order["project"])
    started = time.process_time()
    model = project.synthesize(
        "people", model=order["kind"], epsilon=order["epsilon"], delta="1e-9", fresh=True, **order["more"]
    )
    fitted = time.process_time()
    write_rows(model, Path(order["rows"]), n=order["n"], given={}, seed=None)
    report = {
        "cpu_s": time.process_time(),
        "start_s": started,
        "work_s": time.process_time() - started,
        "fit_s": fitted,
        "memory_mb": peak_mb(),
        "cells": model.calibrated.cells,
        "measured": len(model.measured),
    }
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
