"""The synthesizers: small fits of two neighbouring tables. What a model shows must not name the table.

A game is one fit, of the table with a person or without. Three readers guess from the same fits: by how many rows the
model says there are, by the cell that the person would be in, and by whether a bound or a word shows that only the
person brought in.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.api import Project
from discreet.lab.audit.projects import project
from discreet.lab.audit.targets import Found, Target, guessed
from discreet.synth.kinds import KINDS
from discreet.synth.model import Model

KIND = "synth"
#: Sixty right guesses in sixty games have a chance of 7e-9 under epsilon 1.
GAMES = 60
#: The others are all F; the person is the only M, and twice as old as anybody.
COLUMNS = {
    "sex": 'type = "category"\nvalues = ["F", "M"]\nclosed = true',
    "age": 'type = "integer"\nlow = 0\nhigh = 99\nedges = [0, 50, 99]',
}
OTHERS, PERSON = ["F,30"] * 12, "M,80"
EPSILON, DELTA = 1, 1e-6
Guess = Callable[[Model], bool]


def targets() -> list[Target]:
    """Every kind of model that is fitted, and every reader. Readers of one kind share its fits."""
    found = []
    for kind in KINDS:
        fits = Fits(kind=kind)
        quick = kind in ("independent", "mst")
        found += [fits.target("rows", _more_rows, quick=quick), fits.target("a cell", _in_cell, quick=quick)]
    bought = Fits(kind="independent", columns={"age": 'type = "integer"', "sex": COLUMNS["sex"]}, swapped=True)
    return [*found, bought.target("a bought bound", _reaches, quick=False)]


@dataclass(slots=True, kw_only=True)
class Fits:
    """Fits of one kind, made when first asked for. The models are noisy: they may be kept."""

    kind: str
    columns: dict[str, str] = field(default_factory=lambda: COLUMNS)
    swapped: bool = False
    made: list[tuple[int, Model]] = field(default_factory=list)

    def models(self) -> list[tuple[int, Model]]:
        """GAMES models, each with the world that it was fitted in."""
        if not self.made:
            worlds = np.random.default_rng().integers(0, 2, GAMES).tolist()  # the auditor's coins
            with ExitStack() as stack:
                opened = [stack.enter_context(project(self.columns, self._lines(world))) for world in (0, 1)]
                self.made = [(world, _fitted(opened[world], self.kind)) for world in worlds]
        return self.made

    def _lines(self, world: int) -> list[str]:
        lines = [*OTHERS, *[PERSON] * world]
        return [",".join(reversed(line.split(","))) for line in lines] if self.swapped else lines

    def target(self, reader: str, guess: Guess, *, quick: bool) -> Target:
        """The claim, held against how often a reader is right."""

        def measure(samples: int) -> Found:
            models = self.models()
            right = sum(guess(model) == bool(world) for world, model in models)
            note = "every fit names its table" if right == len(models) else ""
            return guessed(right, len(models), epsilon=EPSILON, delta=DELTA, note=note)

        return Target(
            name=f"synth {self.kind}: {reader}",
            kind=KIND,
            method="games",
            epsilon=float(EPSILON),
            delta=DELTA,
            quick=quick,
            measure=measure,
        )


def _fitted(opened: Project, kind: str) -> Model:
    return opened.synthesize("people", epsilon=EPSILON, delta=str(DELTA), model=kind, fresh=True)


def _more_rows(model: Model) -> bool:
    return model.total > len(OTHERS) + 0.5


def _in_cell(model: Model) -> bool:
    """Whether men have more than half a row: the table has none but the person."""
    shown: dict[Any, float] = dict(row[:2] for row in model.project(["sex"]).rows())
    return shown.get("M", 0.0) > 0.5


def _reaches(model: Model) -> bool:
    """Whether the model's ages go as far as the person's, and not much farther."""
    edges = model.attributes[model.place("age")].edges
    return bool(50 < edges[-1] <= 82)
