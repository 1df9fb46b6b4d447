"""Whole fits of rows beside the same table without one of them: constraints, orders, closed columns, nothing declared.

Given the same noisy numbers, the fit without the row takes the same steps, comes to the same model to the last byte and
says the same; no exact vector moves further than its noise was made for; and a repeat reads no row.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np
import pytest

from discreet.engines.duckdb import DuckDBEngine
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.curator import Curator
from discreet.ledger.ledger import Ledger
from discreet.synth import first_histograms
from discreet.synth.archive import DocumentArrays
from discreet.synth.model_document import model_data
from synth.test_neighbour_fits import reads_nothing, watched
from synth.worlds import fit, open_project

FEW, MANY = 'type = "integer"\nlow = 0\nhigh = 99', 'type = "integer"\nlow = -10\nhigh = 1000\nclosed = true'
DATE = 'type = "date"\nlow = 2024-01-01\nhigh = 2025-12-31'
COLUMNS = {
    "few": FEW + "\nedges = [0, 20, 40, 99]",
    "many": MANY,
    "kind": 'type = "category"\nvalues = ["a", "b", "c"]',
    "begin": DATE,
    "end": DATE,
}
RULES = {
    "zeros": [{"kind": "a", "many": "0 to 300"}],
    "orders": [["few", "many"], ["begin", "end"]],
}
UNDECLARED = {"word": 'type = "text"', "open": 'type = "integer"\nlow = 0\nclosed = true', "wide": 'type = "integer"'}


def declared_line(random):
    days = [str(np.datetime64("2024-01-01") + random.randrange(-20, 800)) for _ in range(2)]
    begin, end = (random.choice([day, day, ""]) for day in sorted(days))
    return f"{random.choice([7, 99, 130, -3, ''])},{random.choice([random.randrange(-90, 1200), ''])},{random.choice('abcd')},{begin},{end}"


def undeclared_line(random):
    return f"{random.choice(['u', 'v', ''])},{random.choice([3, 70, 5000, ''])},{random.choice([random.randrange(999), -7, 10**7, ''])}"


WORLDS = {
    "declared": (COLUMNS, declared_line, RULES),
    "undeclared": (UNDECLARED, undeclared_line, {"orders": [["open", "wide"]]}),
}
PURE, DELTA = "{ epsilon = 90 }", "{ epsilon = 90, delta = 1e-5 }"


def document(model):
    """All that a model is, but for its release."""
    data = model_data(model, DocumentArrays(None))
    return json.dumps({**data, "card": {**data["card"], "release": None}})


def moved(folder, world, kind, budget, *, rows=40, gone=3):
    """How far, of what it may, the row moves any vector of the fit."""
    columns, line, constraints = WORLDS[world]
    random = Random(7)
    lines = [line(random) for _ in range(rows)]
    fits, models, words = [], [], []
    for name, own in (("with", lines), ("without", [*lines[gone + 1 :], *lines[:gone]])):
        place = Path(folder) / name
        place.mkdir()
        with mock.patch.dict(os.environ, {"DISCREET_STATE": str(Path(folder) / f"state {name}")}):
            project = open_project(place, columns, own, budget=budget)
            said = []
            with watched(fits[0] if fits else None) as steps:
                made = fit(
                    project, kind=kind, epsilon="2", constraints=constraints, progress=lambda *word: said.append(word)
                )
            with pytest.MonkeyPatch.context() as patch:
                for read in ("coded", "count", "person_rows", "keys"):
                    patch.setattr(DuckDBEngine, read, reads_nothing)
                assert document(fit(project, kind=kind, epsilon="2", constraints=constraints)) == document(made)
        fits.append(steps)
        models.append(document(made))
        words.append(said)
    assert models[0] == models[1] and words[0] == words[1], "a model follows from exact data"
    far = Fraction(0)
    for one, other in zip(*fits, strict=True):
        for (exact, most, squared), (exact_2, *_) in zip(one["exact"], other["exact"], strict=True):
            difference = np.abs(exact - exact_2)
            far = max(far, Fraction(int(difference.sum() if squared else difference.max())) / Fraction(most))
            far = max(far, Fraction(int((difference**2).sum())) / Fraction(squared)) if squared else far
    return far


@pytest.mark.thin(3)
@pytest.mark.parametrize("budget", [PURE, DELTA], ids=["pure", "delta"])
@pytest.mark.parametrize("kind", ["aim", "independent", "privbayes", "mst"])
@pytest.mark.parametrize("world", WORLDS)
def test_one_row_moves_no_step_of_a_fit_too_far(tmp_path, world, kind, budget):
    assert moved(tmp_path, world, kind, budget) == 1


def test_a_row_that_counts_twice_is_seen(tmp_path, monkeypatch):
    real = BinnedTable._count
    monkeypatch.setattr(BinnedTable, "_count", lambda self, own: real(self, own) * 2)
    assert moved(tmp_path, "undeclared", "independent", PURE) > 1


def test_a_model_that_looks_at_exact_rows_is_seen(tmp_path, monkeypatch):
    real, read, exact_rows = first_histograms._total, BinnedTable._rows, []
    monkeypatch.setattr(BinnedTable, "_rows", lambda self: exact_rows.append(read(self).count(())) or read(self))
    monkeypatch.setattr(
        first_histograms, "_total", lambda noisy: (real(noisy)[0] + int(exact_rows[-1][0]), real(noisy)[1])
    )
    with pytest.raises((AssertionError, IndexError)):  # none was read where all is stored
        moved(tmp_path, "undeclared", "independent", PURE)


class Dead(BaseException):
    """A process that ends where it is."""


@pytest.mark.thin(1)
@pytest.mark.parametrize(("kind", "often"), [("mst", 17), ("mst", 5), ("aim", 5), ("privbayes", 5), ("independent", 3)])
def test_a_fit_that_dies_again_and_again_is_the_same_fit(tmp_path, kind, often):
    """It dies before or after a durable act or a draw, each time later, and goes on: one charge, and no step twice."""
    columns, line, constraints = WORLDS["undeclared"]
    random = Random(7)
    project = open_project(tmp_path, columns, [line(random) for _ in range(40)], budget=DELTA)
    acts, stored = [0, 0], {}

    def one_more():
        acts[0] += 1
        if acts[0] == acts[1]:
            raise Dead

    def dying(real):
        def own(self, *given, **named):
            one_more()
            result = real(self, *given, **named)
            one_more()
            return result

        return own

    made = None
    while made is None:
        acts[:] = [0, acts[1] + often]
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in [(Ledger, each) for each in ("charge", "step", "store", "answer")] + [
                (Curator, each) for each in ("add_noise", "choose")
            ]:
                patch.setattr(owner, name, dying(getattr(owner, name)))
            with suppress(Dead):
                made = fit(project, kind=kind, epsilon="2", constraints=constraints)
        state = project.ledger.refresh()
        now = {
            step.id: project.ledger.answer(step.id)
            for reservation in state.reservations.values()
            for step in reservation.steps
            if step.id in state.answers
        }
        assert stored.items() <= now.items()
        stored = now
    assert acts[1] > 20 and len(state.reservations) == 1 and len(stored) == made.card.steps
    assert document(fit(project, kind=kind, epsilon="2", constraints=constraints)) == document(made)
