"""kill -9 anywhere between a question and its answer, through every layer: a dozen times, ninety in the deep tier."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

import discreet
from clinic import make
from crash.harness import Life, torture
from discreet.kernel.measurement import Measurement
from tiers import size

ANALYST = Path(__file__).with_name("analyst.py")

#: One that runs out, one that does not, and one that has both filters and does not run out.
RUNS_OUT = size("{ epsilon = 0.1 }", "{ epsilon = 1.0 }")
BUDGETS = [
    RUNS_OUT,
    pytest.param("{ epsilon = 50 }", marks=pytest.mark.deep),
    "{ epsilon = 9, delta = 1e-6 }",
]

#: Answers show no digit that the noise makes meaningless: of these, to tens at most.
ROUNDING = 5


@pytest.mark.thin(1)
@pytest.mark.parametrize("budget", BUDGETS)
def test_kills_on_the_whole_path(tmp_path: Path, budget: str):
    kill(tmp_path, budget, lives=size(6, 30))


@pytest.mark.fuzz
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_hundred_kills_on_the_whole_path(tmp_path: Path, budget: str):
    lost = kill(tmp_path, budget, lives=100)
    assert lost > 0 or budget == RUNS_OUT  # by the last life; charges of others that died so are answered by later ones


def kill(tmp_path: Path, budget: str, *, lives: int, script: Path = ANALYST) -> int:
    """How many charges there are without an answer."""
    make(tmp_path, budget=budget).version("patients")
    born = [
        Life(arguments=[str(tmp_path)], delay_s=random.uniform(0, 0.2), from_birth=life % 6 == 0)
        for life in range(lives)
    ]
    if budget != RUNS_OUT:
        born.append(Life(arguments=[str(tmp_path), "die"]))
    outcome = torture(script, born, environment={}, timeout_s=400)
    assert outcome.faults == []
    assert outcome.killed == len(born)
    assert len(outcome.lines) > lives // 2
    return check(tmp_path, outcome.lines)


def check(folder: Path, lines: list[str]) -> int:
    """No answer without its charge and its stored form, nothing overspent, a chain that verifies."""
    project = discreet.open(folder)
    assert project.verify().sound
    state = project.ledger.state
    for line in lines:
        id_, _, shown = line.partition(" ")
        assert id_ in state.charges
        (part,) = Measurement.from_text(project.ledger.answer(id_)).parts
        kept, told = sorted(part.noisy_values[0]), sorted(json.loads(shown))
        assert len(kept) == len(told)
        assert all(abs(one - other) <= ROUNDING for one, other in zip(kept, told, strict=True))
    standing = project.budget("patients")
    plain = sum((Fraction(charge.cost.pure, 10**9) for charge in state.charges.values()), Fraction(0))
    assert standing.spent.epsilon <= standing.limit.epsilon
    assert standing.spent.epsilon <= plain
    return len(state.charges) - len(state.answers)
