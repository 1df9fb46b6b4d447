"""A lesson: a short text, figures with their numbers, and where the real thing is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart as plain data, what it shows, and its numbers."""

    chart: Mapping[str, Any]
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def to_data(self) -> dict[str, Any]:
        table = {"columns": list(self.columns), "rows": [list(row) for row in self.rows]}
        return {"chart": dict(self.chart), "caption": self.caption, "table": table}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """`lead`: one sentence. `verb`: the command that does it. `to`, `there`: the page that does it, and its words.

    `play`: what the page's script is told.
    """

    name: str
    title: str
    lead: str
    paragraphs: tuple[str, ...]
    figures: tuple[Figure, ...]
    verb: str
    to: str
    there: str
    play: Mapping[str, Any] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "name": self.name,
            "title": self.title,
            "lead": self.lead,
            "paragraphs": list(self.paragraphs),
            "figures": [figure.to_data() for figure in self.figures],
            "verb": self.verb,
            "to": self.to,
            "there": self.there,
            "play": dict(self.play),
        }
