"""Whole fits of neighbouring tables: the second is handed the noisy numbers of the first, and every exact vector compared.

Given the same noisy numbers both must take the same steps, and no vector may move further than its noise was made for.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from random import Random
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

import discreet
from discreet.engines import person_keys
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import EngineFailure
from discreet.kernel import person_table
from discreet.kernel.curator import Curator
from discreet.kernel.program import ReservationSteps, step_digest
from discreet.synth.persons import person_fit
from synth.test_person_tables import DECLARED, TABLES
from synth.worlds import open_project

COLUMNS = {
    "id": None,
    "sex": 'type = "category"\nvalues = ["F", "M"]',
    "day": 'type = "date"\nlow = 2024-01-01\nhigh = 2025-12-31',
    "end": 'type = "date"\nlow = 2024-01-01\nhigh = 2026-01-31',
}
SAME_KEYS = SimpleNamespace(token_hex=lambda size: "ab" * size)  # which rows of too many are kept follows from the keys
UNDECLARED = {"id": None, "sex": 'type = "text"\nconstant = true', "day": 'type = "date"', "word": 'type = "text"'}


@contextmanager
def watched(earlier):
    """The steps of a fit, each with its exact vectors; their noisy numbers are those of `earlier`, if there are any."""
    steps = []
    step, add_noise, choose = ReservationSteps.step, Curator.add_noise, Curator.choose

    def own_step(self, of, event, draw, **more):
        own = {"of": (step_digest(of), event), "kind": type(self).__name__, "exact": []}
        if earlier is not None:
            assert own["of"] == earlier[len(steps)]["of"], "a step follows from exact data"
        steps.append(own)

        def own_draw(curator):
            own["noisy"], happened = draw(curator)
            if earlier is not None:
                own["noisy"] = earlier[len(steps) - 1]["noisy"]
            return own["noisy"], happened

        return step(self, of, event, own_draw, **more)

    def own_noise(self, law, exact_values, moves):
        steps[-1]["exact"].append((np.array(exact_values, dtype=object).ravel(), moves.l1, moves.l2_squared))
        return add_noise(self, law, exact_values, moves)

    def own_choice(self, mechanism, exact_scores):
        if not steps[-1]["exact"]:  # a choice that does not fit is made again among the rest
            steps[-1]["exact"].append((np.array(exact_scores, dtype=object), mechanism.sensitivity, None))
        return choose(self, mechanism, exact_scores)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReservationSteps, "step", own_step)
        patch.setattr(Curator, "add_noise", own_noise)
        patch.setattr(Curator, "choose", own_choice)
        yield steps


def reads_nothing(*_, **__):
    raise EngineFailure("a stored fit was read again")


def moved(folder, make, fit, gone):
    """Of each kind of step how far, of what it may, one person moves its vectors; a fit is repeated without any row."""
    fits = []
    for name, left_out in (("with", None), ("without", gone)):
        place = Path(folder) / f"{name} {gone}"
        place.mkdir()
        with mock.patch.dict(os.environ, {"DISCREET_STATE": str(Path(folder) / f"state {name} {gone}")}):
            with mock.patch.object(person_keys, "secrets", SAME_KEYS):
                project = make(place, left_out)
                with watched(fits[0] if fits else None) as steps:
                    model = fit(project)
            with pytest.MonkeyPatch.context() as patch:
                for read in ("coded", "count", "person_rows", "keys"):
                    patch.setattr(DuckDBEngine, read, reads_nothing)
                assert fit(project).card.steps == model.card.steps == len(steps)
        fits.append(steps)
    far = {}
    assert len(fits[0]) == len(fits[1])
    for one, other in zip(*fits, strict=True):
        for (exact, most, squared), (exact_2, *_) in zip(one["exact"], other["exact"], strict=True):
            difference = np.abs(exact - exact_2)
            parts = [Fraction(int(difference.sum() if squared else difference.max())) / Fraction(most)]
            parts += [Fraction(int((difference**2).sum())) / Fraction(squared)] if squared else []
            far[one["kind"]] = max(far.get(one["kind"], 0), *parts)
    return far


def shuffled(lines, seed, gone):
    """Without a person, and in another order."""
    kept = [text for who, text in lines if gone is None or who != gone]
    Random(f"{seed} {gone}").shuffle(kept)
    return kept


def make_persons(columns):
    """Persons with too many rows, equal days, NULLs, and rows of nobody."""

    def make(folder, gone):
        random, lines = Random(3), []
        for person in range(24):
            sex = random.choice("FM")
            for _ in range([1, 2, 3, 6, 9][person % 5]):
                day = random.choice(["", "2024-01-01", "2024-01-02", "2025-03-04"])
                last = random.choice(["", "2024-01-02", "2025-06-07"]) if "end" in columns else random.choice("ab")
                lines.append((person, f"p{person},{sex},{day},{last}"))
        lines += [(None, f",F,2024-01-01,{'2024-01-02' if 'end' in columns else 'a'}")] * 3
        table = 'person = "id"\nrows_per_person = 5'
        return open_project(
            folder, columns, shuffled(lines, 3, gone), table=table, budget="{ epsilon = 90, delta = 1e-4 }"
        )

    return make


@pytest.mark.thin(2)
@pytest.mark.parametrize(("columns", "gone"), [(COLUMNS, 1), (COLUMNS, 4), (UNDECLARED, 3)])
def test_one_person_moves_no_step_of_a_fit_too_far(tmp_path, columns, gone):
    far = moved(tmp_path, make_persons(columns), lambda project: project.synthesize("people", epsilon=8), gone)
    assert far["RecordProgram"] == far["StepProgram"] == 1 and max(far.values()) <= 1


def make_tables(folder, gone):
    """Persons without a row in the main table or with two, ids that two rows of a person share, NULLs, rows of nobody."""
    random, patients, visits, prescriptions = Random(5), [], [], []
    for person in range(20):
        sex = random.choice("FM")
        patients += [(person, f"p{person},{sex},x")] * (person % 5 > 0) + [(person, f"p{person},M,y")] * (
            person % 7 == 0
        )
        for _ in range([0, 1, 2, 4, 7][person % 5]):
            visit = random.choice([10 * person + random.randrange(4), 10 * person, ""])
            day = random.choice(["", "2024-02-01", "2025-01-01"])
            visits.append((person, f"p{person},{visit},{day},{random.choice('ab')},{sex}"))
            for _ in range(random.choice([0, 1, 4]) if visit != "" else 0):
                prescriptions.append((person, f"{visit},{random.choice('xyz')},{random.choice(['', '2024-02-02'])}"))
    visits += [(None, ",3,2024-02-01,a,F")] * 3
    for name, head, lines in (
        ("patients", "id,sex,note", patients),
        ("visits", "id,visit,day,kind,sex", visits),
        ("prescriptions", "visit,drug,begins", prescriptions),
    ):
        (folder / f"{name}.csv").write_text("\n".join([head, *shuffled(lines, 5, gone)]) + "\n")
    (folder / "rows.csv").write_text("kind\na\n")
    (folder / "discreet.toml").write_text(DECLARED)
    discreet.init(folder)
    return discreet.open(folder)


def test_one_person_moves_no_step_of_a_fit_of_several_tables_too_far(tmp_path):
    far = moved(tmp_path, make_tables, lambda project: project.synthesize(TABLES, epsilon=4), 4)
    assert far["RecordProgram"] == far["StepProgram"] == 1 and 0.99 < far["RowProgram"] <= 1


def without_weights(rows, columns):
    steps = person_table_steps(rows, columns)
    steps.exact_weights[:] = person_table.WEIGHT
    return steps


person_table_steps = person_table.step_rows


def by_exact_rows(program, most_rows, taken):
    """A planted fault: how many rows are told apart follows from the rows themselves."""
    counts = person_table.PersonReader(program, ()).sorted_rows().counts
    return person_fit.rows_attribute(4 + int(counts.sum()) % 7, taken)


@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [(person_table, "step_rows", without_weights), (person_fit, "find_most_rows", by_exact_rows)],
)
def test_planted_faults_are_seen(tmp_path, monkeypatch, module, name, fault):
    monkeypatch.setattr(module, name, fault)
    with pytest.raises((AssertionError, EngineFailure)):
        test_one_person_moves_no_step_of_a_fit_too_far(tmp_path, COLUMNS, 4)
