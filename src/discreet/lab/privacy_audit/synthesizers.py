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

from discreet.lab.privacy_audit.targets import AuditOutcome, AuditTarget, games_outcome
from discreet.lab.privacy_audit.temporary_project import temporary_project
from discreet.project.project import Project
from discreet.synth.model import Model
from discreet.synth.model_kinds import KINDS

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
ModelGuess = Callable[[Model], bool]


def targets() -> list[AuditTarget]:
    """Every kind of model that is fitted, and every reader. Readers of one kind share its fits."""
    fit_targets = []
    for kind in KINDS:
        fits = SynthesizerFits(kind=kind)
        quick = kind in ("independent", "mst")
        fit_targets += [
            fits.target("rows", _has_more_rows, quick=quick),
            fits.target("a cell", _has_person_cell, quick=quick),
        ]
    bound_fits = SynthesizerFits(
        kind="independent", columns={"age": 'type = "integer"', "sex": COLUMNS["sex"]}, swapped=True
    )
    return [*fit_targets, bound_fits.target("a bought bound", _shows_person_bound, quick=False)]


@dataclass(slots=True, kw_only=True)
class SynthesizerFits:
    """Fits of one kind, made when first asked for. The models are noisy: they may be kept."""

    kind: str
    columns: dict[str, str] = field(default_factory=lambda: COLUMNS)
    swapped: bool = False
    fitted_models: list[tuple[int, Model]] = field(default_factory=list)

    def models(self) -> list[tuple[int, Model]]:
        """GAMES models, each with the world that it was fitted in."""
        if not self.fitted_models:
            worlds = np.random.default_rng().integers(0, 2, GAMES).tolist()  # the auditor's coins
            with ExitStack() as stack:
                opened = [stack.enter_context(temporary_project(self.columns, self._lines(world))) for world in (0, 1)]
                self.fitted_models = [(world, _fit_model(opened[world], self.kind)) for world in worlds]
        return self.fitted_models

    def _lines(self, world: int) -> list[str]:
        lines = [*OTHERS, *[PERSON] * world]
        return [",".join(reversed(line.split(","))) for line in lines] if self.swapped else lines

    def target(self, reader: str, guess: ModelGuess, *, quick: bool) -> AuditTarget:
        """The claim, held against how often a reader is right."""

        def measure(samples: int) -> AuditOutcome:
            models = self.models()
            right = sum(guess(model) == bool(world) for world, model in models)
            note = "every fit reveals its table" if right == len(models) else ""
            return games_outcome(right, len(models), epsilon=EPSILON, delta=DELTA, note=note)

        return AuditTarget(
            name=f"synth {self.kind}: {reader}",
            kind=KIND,
            method="games",
            epsilon=float(EPSILON),
            delta=DELTA,
            quick=quick,
            measure=measure,
        )


def _fit_model(opened: Project, kind: str) -> Model:
    made = opened.synthesize("people", epsilon=EPSILON, delta=str(DELTA), model=kind, fresh=True)
    assert isinstance(made, Model)
    return made


def _has_more_rows(model: Model) -> bool:
    return model.total > len(OTHERS) + 0.5


def _has_person_cell(model: Model) -> bool:
    """Whether men have more than half a row: the table has none but the person."""
    shown: dict[Any, float] = dict(row[:2] for row in model.project(["sex"]).rows())
    return shown.get("M", 0.0) > 0.5


def _shows_person_bound(model: Model) -> bool:
    """Whether the model's ages go as far as the person's, and not much farther."""
    edges = model.attributes[model.place("age")].edges
    return bool(50 < edges[-1] <= 82)
