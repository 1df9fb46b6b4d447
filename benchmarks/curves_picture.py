"""What `./do bench curves` draws and writes down: pictures of panels of curves, and the same as tables."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from peer import TITLES, Silent, ask

from discreet.present.charts import ChartCurve, CurvePanel, CurvePoint, curves, standalone_svg
from discreet.present.charts.curves import STYLE

#: From almost nothing to almost everything.
EPSILONS = ("0.05", "0.1", "0.2", "0.5", "1", "2", "4", "8")
FEW = ("0.1", "1", "4")
#: For those that take long to fit.
SOME = ("0.1", "0.5", "1", "4")
#: Of guarantees that have one.
DELTA = "1e-6"

GREEN, BROWN, BLUE, PURPLE, OLIVE, RED, TEAL, GREY = range(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A file of panels over the same axes. `told`: what was done, in a sentence or two. `missing`: peers without a line."""

    name: str
    title: str
    up: str
    panels: tuple[CurvePanel, ...]
    told: str
    missing: tuple[str, ...] = ()

    def save(self, folder: Path) -> None:
        """The picture, and the numbers behind it."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        path.write_text(json.dumps(_rounded(asdict(self)), indent=1) + "\n", encoding="utf-8")
        path.with_suffix(".svg").write_text(
            Picture.load(path).drawn(), encoding="utf-8"
        )  # of the numbers as they are kept

    @staticmethod
    def load(path: Path) -> Picture:
        """A picture from its numbers."""
        told = json.loads(path.read_text(encoding="utf-8"))
        panels = tuple(
            CurvePanel(
                title=panel["title"],
                curves=tuple(
                    ChartCurve(**{**curve, "points": tuple(CurvePoint(**spot) for spot in curve["points"])})
                    for curve in panel["curves"]
                ),
            )
            for panel in told.pop("panels")
        )
        return Picture(**{**told, "panels": panels, "missing": tuple(told["missing"])})

    def drawn(self) -> str:
        across = "epsilon, less privacy to the right"
        return standalone_svg(
            curves(self.panels, title=self.title, across=across, up=self.up, name=self.name), style=STYLE
        )

    def table(self) -> str:
        """Every curve at the epsilons that are shown in words, measured ones with their standard error."""
        shown = [float(each) for each in ("0.1", "1", "4")]
        lines = ["| | | " + " | ".join(f"epsilon {each:g}" for each in shown) + " |", "|---|---|" + "---|" * len(shown)]
        for panel in self.panels:
            for curve in panel.curves:
                at = {spot.x: spot for spot in curve.points}
                cells = " | ".join(_cell(at.get(each)) for each in shown)
                lines.append(f"| {panel.title or self.title} | {_said(curve)} | {cells} |")
        dashes = [f"- {each}" for each in self.missing]
        return "\n".join([f"### {self.title}", "", self.told, "", *lines, *([""] if dashes else []), *dashes])


def _rounded(data: Any) -> Any:
    """Numbers with six digits: more are noise."""
    match data:
        case float():
            return float(f"{data:.6g}")
        case dict():
            return {name: _rounded(each) for name, each in data.items()}
        case list() | tuple():
            return [_rounded(each) for each in data]
    return data


def _said(curve: ChartCurve) -> str:
    return (
        f"**{curve.name}**"
        if curve.kind == "measured"
        else f"*{curve.name}*"
        if curve.kind == "computed"
        else curve.name
    )


def _cell(spot: CurvePoint | None) -> str:
    if spot is None:
        return "-"
    return f"{spot.value:.4g}" + (f" ± {100 * spot.error / spot.value:.1f}%" if spot.error else "")


def measured(
    name: str, found: Iterable[tuple[str, Sequence[float]]], *, hue: int, kind: Any = "measured", **more: Any
) -> ChartCurve:
    """A curve of root mean squares of errors, each with its standard error. Epsilons of which there is nothing are left out."""
    return ChartCurve(
        name=name, kind=kind, hue=hue, points=tuple(root_mean_square(*each) for each in found if len(each[1])), **more
    )


def root_mean_square(epsilon: str, squares: Sequence[float]) -> CurvePoint:
    """From independent squared errors (or means of such): the root of their mean, and the standard error of that.

    >>> root_mean_square("1", [4.0, 4.0]).value
    2.0
    """
    every = np.asarray(squares, dtype=float)
    mean = float(every.mean())
    spread = float(every.std(ddof=1)) / math.sqrt(every.size) if every.size > 1 else 0.0
    return CurvePoint(x=float(epsilon), value=math.sqrt(mean), error=spread / (2 * math.sqrt(mean)))


def average(epsilon: str, values: Sequence[float]) -> CurvePoint:
    """The mean, and its standard error."""
    every = np.asarray(values, dtype=float)
    spread = float(every.std(ddof=1)) / math.sqrt(every.size) if every.size > 1 else 0.0
    return CurvePoint(x=float(epsilon), value=float(every.mean()), error=spread)


def averaged(
    name: str, found: Iterable[tuple[str, Sequence[float]]], *, hue: int, kind: Any = "measured", **more: Any
) -> ChartCurve:
    """A curve of means. Where nothing at all was off there is no point: a logarithmic axis has no 0."""
    points = tuple(average(*each) for each in found if any(each[1]))
    return ChartCurve(name=name, kind=kind, hue=hue, points=points, **more)


def computed(name: str, law: Callable[[float], float], *, hue: int, epsilons: Sequence[str], **more: Any) -> ChartCurve:
    """A formula over the same epsilons."""
    points = tuple(CurvePoint(x=float(each), value=law(float(each))) for each in epsilons)
    return ChartCurve(name=name, kind="computed", hue=hue, points=points, **more)


def peer(environment: str, script: str, order: dict[str, Any], *, limit_s: float = 900) -> dict[str, Any] | str:
    """What a peer's script tells, run in the peer's own environment; or, in a sentence, why there is nothing."""
    try:
        told: dict[str, Any] = ask(environment, script, order, limit_s=limit_s)
    except Silent as why:
        return f"{TITLES[environment]}: {why.outcome}, {why.reason}"
    return told
