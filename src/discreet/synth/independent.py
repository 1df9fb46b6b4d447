"""Independent: every column by its own noisy histogram. The columns know nothing of each other."""

from __future__ import annotations

from discreet.synth.fitting import Fit, Task, fitted


def independent(task: Task) -> Fit:
    """Spend all that is left on the histograms; they were split by their sizes, not evenly."""
    told = task.first(task.program.left)
    return fitted(task, told, told.measured)
