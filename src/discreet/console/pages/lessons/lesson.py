"""A lesson: a short text, figures with their numbers, a question at the end, and where the real thing is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: A comma before three digits; any other is a decimal point.
_THOUSANDS = re.compile(r",(?=[0-9]{3}\b)")

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
class LessonQuestion:
    """A question whose answer can be checked: a number within `near` of the answer, or one of `choices`."""

    text: str
    answer: float | str
    solution: str
    near: float = 0.0
    choices: tuple[str, ...] = ()

    def is_right(self, given: str) -> bool:
        """Whether an answer, as it was typed, is right.

        >>> question = LessonQuestion(text="How many percent?", answer=73.1, near=0.6, solution="73.1%")
        >>> [question.is_right(given) for given in ("73 %", "73.1", "73,1", "0.731", "", "nan", "seventy")]
        [True, True, True, False, False, False, False]
        """
        if isinstance(self.answer, str):
            return given == self.answer
        try:
            number = float(_THOUSANDS.sub("", given[:40]).replace(",", ".").replace("%", "").strip())
        except ValueError:
            return False
        return abs(number - self.answer) <= self.near + 1e-9

    def to_data(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "choices": list(self.choices),
            "answer": self.answer,
            "solution": self.solution,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """`lead`: one sentence. `verb`: the command that does it. `to`, `there`: the page that does it, and its words.

    `task`: what to try out. `play`: what the page's script is told.
    """

    name: str
    title: str
    lead: str
    paragraphs: tuple[str, ...]
    figures: tuple[Figure, ...]
    verb: str
    to: str
    there: str
    task: str
    question: LessonQuestion
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
            "task": self.task,
            "play": dict(self.play),
            "question": self.question.to_data(),
        }
