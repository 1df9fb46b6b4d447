"""Why auditing bits is hard, as a picture: a formula as counts over people, and one person whose bit is the answer.

A formula is a list of threes; it can be met if its variables can be true or false so that exactly one of each three
is true. No fast way is known to tell (the problem is NP-complete). Each variable becomes a person with a secret bit,
and so does one more, the hub. Each three becomes a count of its people and the hub, and every count is answered: 1.

If the hub's bit is 1, everybody else's is 0, which fits. If it is 0, exactly one of each three is 1, which fits just
if the formula can be met. So the counts tell the hub's bit if, and only if, the formula cannot be met: an auditor who
could always decide whether a bit is told could decide which formulas cannot be met. That makes it coNP-complete.
"""

from __future__ import annotations

import itertools
import math
import re
import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from markupsafe import Markup

from discreet.errors import UsageError
from discreet.lab import pictures
from discreet.lab.evidence import Evidence
from discreet.lab.query_auditing.query_file import AuditedQueries
from discreet.present.charts import svg

HUB = "hub"
MOST_VARIABLES = 15
MOST_THREES = 40
FORM = "a b c; b c d"
_NAME = re.compile(r"\w{1,12}")


@dataclass(frozen=True)
class HardFormula:
    """Threes of variables, of each of which exactly one shall be true."""

    threes: tuple[tuple[str, str, str], ...]

    @staticmethod
    def parse(text: str) -> HardFormula:
        """Threes with a ; between them.

        >>> HardFormula.parse("a b c; b c d").variables
        ('a', 'b', 'c', 'd')
        """
        threes = []
        for part in text.split(";"):
            names = part.replace(",", " ").split()
            if not names:
                continue
            if len(set(names)) != 3 or len(names) != 3 or not all(_NAME.fullmatch(name) for name in names):
                raise UsageError(f"{part.strip()[:40]!r} is not three different names", hint=FORM)
            threes.append((names[0], names[1], names[2]))
        formula = HardFormula(tuple(threes))
        if not threes or len(threes) > MOST_THREES or len(formula.variables) > MOST_VARIABLES:
            raise UsageError(
                f"a formula has 1 to {MOST_THREES} threes of at most {MOST_VARIABLES} variables", hint=FORM
            )
        if HUB in formula.variables:
            raise UsageError(f"{HUB!r} is the person who is added", hint="use another name")
        return formula

    @cached_property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for three in self.threes for name in three))

    @property
    def queries(self) -> AuditedQueries:
        """The counts: each three with the hub, and the answer 1."""
        people = (*self.variables, HUB)
        questions = np.array([[name in three or name == HUB for name in people] for three in self.threes])
        lines = tuple(range(1, len(self.threes) + 1))
        return AuditedQueries(people=people, questions=questions, answers=(1,) * len(lines), lines=lines)

    @cached_property
    def solution(self) -> tuple[str, ...] | None:
        """The variables that are true where exactly one of each three is; None where there is no such way."""
        for bits in itertools.product((False, True), repeat=len(self.variables)):
            true = {name for name, bit in zip(self.variables, bits, strict=True) if bit}
            if all(len(true.intersection(three)) == 1 for three in self.threes):
                return tuple(name for name in self.variables if name in true)
        return None

    def picture(self) -> Markup:
        """People as circles around the hub; each count as a shape over its four people."""
        middle, wide = (pictures.WIDTH / 2, 0.54 * pictures.HEIGHT), 0.34 * pictures.HEIGHT
        at = {HUB: middle}
        for place, name in enumerate(self.variables):
            angle = 2 * math.pi * place / len(self.variables) - math.pi / 2
            at[name] = (middle[0] + 1.6 * wide * math.cos(angle), middle[1] + wide * math.sin(angle))
        parts = []
        for number, three in enumerate(self.threes):
            colour = pictures.COLOURS[number % len(pictures.COLOURS)]
            corners = sorted((at[name] for name in three), key=lambda point: _angle(point, middle))
            parts.append(
                svg.tag(
                    "polygon",
                    svg.title(f"count {number + 1}: {', '.join(three)} and the {HUB} = 1"),
                    points=svg.path([*corners, middle]),
                    fill=colour,
                    fill_opacity=0.12,
                    stroke=colour,
                    stroke_width=2,
                )
            )
        for name, (x, y) in at.items():
            fill = pictures.COLOURS[1] if name == HUB else "#fff"
            parts.append(svg.tag("circle", cx=x, cy=y, r=17, fill=fill, stroke="currentColor", stroke_width=1.5))
            parts.append(
                svg.tag(
                    "text",
                    svg.words(name),
                    x=x,
                    y=y + 4,
                    text_anchor="middle",
                    fill="#fff" if name == HUB else "#1f2d29",
                )
            )
        outcome = "is told: 1" if self.solution is None else "is not told"
        return pictures.drawn(f"{len(self.threes)} counts, each 1: the bit of the {HUB} {outcome}", parts)


def _angle(point: tuple[float, float], middle: tuple[float, float]) -> float:
    return math.atan2(point[1] - middle[1], point[0] - middle[0])


def audit_formula(text: str) -> Evidence:
    """A formula as an audit: whether its counts tell the hub's bit."""
    start = time.process_time()
    formula = HardFormula.parse(text)
    solution = formula.solution
    shown = "; ".join(" ".join(three) for three in formula.threes)
    if solution is None:
        verdict = f"There is no such choice, so the {HUB}'s bit is 1 in every table that fits: the counts tell it."
    else:
        verdict = (
            f"There is such a choice ({', '.join(solution)}), so both bits of the {HUB} fit: the counts do not tell it."
        )
    return Evidence(
        attack="auditing",
        success=float(solution is None),
        chance=0.0,
        n=1,
        seconds=time.process_time() - start,
        interval=(float(solution is None),) * 2,
        story=(
            f"Counts: {len(formula.threes)}, over {len(formula.variables) + 1} people. Each is of the {HUB} and one "
            f"three of {shown}, and each answer is 1.",
            f"The counts tell the {HUB}'s bit if no choice of true variables makes exactly one of each three true.",
            verdict,
        ),
        details={
            "kind": "formula",
            "people": len(formula.variables) + 1,
            "queries": len(formula.threes),
            "met_by": None if solution is None else list(solution),
            "told": {HUB: True} if solution is None else {},
        },
        picture=formula.picture,
    )
