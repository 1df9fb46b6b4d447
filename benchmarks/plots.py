"""Pictures of the records: CPU seconds of every system, a line a case, one SVG a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from records import HERE, OURS, QUICK, Run
from summary import cases

from discreet.present.charts import standalone_svg
from discreet.present.charts.dot_plot import STYLE, SYSTEMS, DotRow, dot_plot


def folder(*, quick: bool) -> Path:
    return (QUICK if quick else HERE) / "plots"


def write_all(runs: Sequence[Run], *, quick: bool = False) -> list[str]:
    """Draw every benchmark in which somebody else took part; returns which those are."""
    drawn = []
    for run in runs:
        if picture := of_run(run):
            path = folder(quick=quick) / f"{run.benchmark}.svg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(picture, encoding="utf-8")
            drawn.append(run.benchmark)
    return drawn


def of_run(run: Run) -> str:
    """The picture; nothing where no rival has a figure. Discreet first, those with most figures next."""
    counted: dict[str, int] = {}
    for record in run.records:
        if record.cpu_s:
            counted[record.system] = counted.get(record.system, 0) + 1
    rivals = {record.system for record in run.records if record.cpu_s and not record.yardstick} - {OURS}
    if OURS not in counted or not rivals:
        return ""
    order = sorted(counted, key=lambda system: (system != OURS, system not in rivals, -counted[system], system))
    systems = order[:SYSTEMS]
    rows = []
    for case, records in cases(run).items():
        known = {record.system: record.cpu_s for record in records if record.cpu_s}
        if OURS in known:
            rows.append(DotRow(label=case, figures=tuple(known.get(system) for system in systems)))
    title = f"CPU seconds: {run.benchmark}"
    chart = dot_plot(
        rows,
        systems=systems,
        title=title,
        across="CPU seconds, a logarithmic axis; a dash: no answer",
        name=f"plot-{run.benchmark}",
    )
    return standalone_svg(chart, style=STYLE)
