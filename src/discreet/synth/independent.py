"""Independent: every column by its own noisy histogram. The columns know nothing of each other."""

from __future__ import annotations

from discreet.synth.fit_task import FitTask, ModelFit, final_fit


def independent(task: FitTask) -> ModelFit:
    """Spend all that is left on the histograms; they were split by their sizes, not evenly."""
    histograms = task.measure_histograms(task.program.share_left)
    return final_fit(task, histograms, histograms.measured)
