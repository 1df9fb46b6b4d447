"""Whole sessions on neighbouring projects, through the facade: nobody's loss is above what was charged to them.

The oracle adds up how far apart the numbers lie that mechanisms were given on the two projects. It knows nothing of plans,
reaches, sensitivities or prices: see `laws.replayed`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from fractions import Fraction
from random import Random, SystemRandom
from shutil import rmtree
from unittest import mock

import pytest

from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.answers.workload import batch_quote
from discreet.errors import DiscreetError, QueryFailed
from laws.replayed import PaidDraw, Tape
from laws.sessions import BUDGETS, People, Sitting, laid
from tiers import fuzzed, size

#: What is done in a session, and how often.
ACTS = {"query": 12, "batch": 3, "again": 4, "within": 2, "reconcile": 1, "ranges": 2, "marginals": 1, "describe": 1, "publish": 1, "fit": 1}


@pytest.fixture(autouse=True)
def _short_plans(monkeypatch):
    """How good the plan of a batch is does not matter here."""
    monkeypatch.setattr(batch_quote, "_SECONDS", 0.02)


def play(folder, seed, accounting, acts, seen=None):
    """The same acts on a project and on one without a person; what was seen."""
    seen = Counter() if seen is None else seen
    random = Random(f"{seed} {accounting}")
    people = People(random=Random(f"people {seed}"))
    sides = []
    for name, without in (("whole", None), ("less", people.gone)):
        with mock.patch.dict(os.environ, {"DISCREET_STATE": str(folder / f"state {name}")}):
            project = laid(people, folder / name, accounting, without=without, seed=seed)
        sides.append(Sitting(project=project, random=random, accounting=accounting))
    whole, total = Tape(), []
    less = Tape(earlier=whole)
    for act in acts:
        state, shown = random.getstate(), []
        for side, tape, name in zip(sides, (whole, less), ("whole", "less"), strict=True):
            random.setstate(state)
            with mock.patch.dict(os.environ, {"DISCREET_STATE": str(folder / f"state {name}")}), tape.running():
                shown.append(_outcome(side, act))
        assert shown[0] == shown[1], f"what is shown follows from exact data: {act}"
        assert len(whole.draws) == len(less.draws), f"one project draws where the other does not: {act}"
        seen["refused" if shown[0].startswith("refused") else act] += 1
        total.append(_check_act(people, whole, less, act, seen))
    _check_total(sides[0].project, total, accounting)
    return seen


def _outcome(side: Sitting, act: str) -> str:
    try:
        text = side.act(act)
    except QueryFailed:
        raise
    except DiscreetError as refusal:
        text = f"refused: {refusal}"
    names: dict[str, str] = {}
    return re.sub(r"\br-[a-z0-9]{8,}", lambda match: names.setdefault(match[0], f"release {len(names)}"), text)


def _check_act(people: People, whole: Tape, less: Tape, act: str, seen: Counter) -> None:
    """What the draws of an act tell is no more than it charged to those among whom the person is."""
    assert [each[2:] for each in whole.charges] == [each[2:] for each in less.charges], "a charge follows from exact data"
    paid = [loss for table, _, region, loss in whole.charges if people.rows[table] and people.record in region]
    epsilon, rho = sum((each.epsilon for each in less.losses), Fraction(0)), sum((each.rho for each in less.losses), Fraction(0))
    pure = [loss.epsilon for loss in paid]
    assert rho <= sum(loss.rho for loss in paid), f"{act} loses rho {float(rho)}: {paid}"
    assert None in pure or epsilon <= sum(pure), f"{act} loses epsilon {float(epsilon)}: {paid}"
    seen["moved"] += rho > 0
    seen["outside"] += bool(whole.charges) and not paid
    seen["whole loss"] += rho > 0 and (None not in pure and epsilon == sum(pure) or rho == sum(loss.rho for loss in paid))
    for tape in (whole, less):
        tape.charges.clear()
        tape.losses.clear()
    return PaidDraw(epsilon=epsilon, rho=rho)


def _check_total(project, total, accounting) -> None:
    """All acts together tell no more of anybody than the budget says is spent."""
    spent = project.budget("visits").spent.epsilon
    epsilon, rho = sum(each.epsilon for each in total), sum(each.rho for each in total)
    if accounting == "pure":
        assert epsilon <= spent, f"{float(epsilon)} is lost and {float(spent)} is spent"
    elif accounting == "zcdp":
        epsilon = epsilon_from_rho(rho, project.guarantee("visits").delta_rho) if rho else 0
        assert epsilon <= spent, f"{float(epsilon)} is lost and {float(spent)} is spent"


def acts_of(seed, count):
    names, weights = zip(*ACTS.items(), strict=True)
    return Random(f"acts {seed}").choices(names, weights, k=count)


@pytest.mark.parametrize("accounting", BUDGETS)
def test_nobody_loses_more_than_is_charged(tmp_path, accounting):
    seen = play(tmp_path, 7, accounting, acts_of(7, size(8, 24)))
    assert seen["moved"] > 2 and seen["refused"] < size(4, 10), seen


@pytest.mark.fuzz
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("accounting", BUDGETS)
def test_many_sessions(tmp_path, accounting):
    """Five hundred sessions of each accounting, with new people and acts each time."""
    seen: Counter = Counter()
    for turn in range(fuzzed(500)):
        seed, folder = SystemRandom().randrange(10**9), tmp_path / str(turn)
        folder.mkdir()
        try:
            play(folder, seed, accounting, acts_of(seed, 16), seen)
        except Exception as problem:
            raise AssertionError(f"{problem}\nin play(…, {seed}, {accounting!r}, acts_of({seed}, 16))") from problem
        rmtree(folder)
    print(seen)
    assert seen["moved"] and seen["whole loss"] and seen["outside"], seen
