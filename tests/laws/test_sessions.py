"""Whole sessions on neighbouring projects, through the facade: nobody's loss is above what was charged to them.

The oracle adds up how far apart the numbers lie that mechanisms were given on the two projects. It knows nothing of plans,
reaches, sensitivities or prices: see `laws.replayed`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random, SystemRandom
from shutil import rmtree
from unittest import mock

import numpy as np
import pytest

from discreet.accounting import filter
from discreet.accounting.events import Loss
from discreet.accounting.filter import Balance
from discreet.accounting.region import Box, Region, ValueSet
from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.answers.workload import batch_quote
from discreet.errors import DiscreetError, QueryFailed
from discreet.kernel import curator
from discreet.kernel.curator import Curator
from discreet.mechanisms import weighted_threshold
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.refinement import Refinement
from discreet.mechanisms.weighted_threshold import UNIT
from discreet.plan import price as pricing
from discreet.plan.axis import Axis
from discreet.release import Release
from laws.replayed import PaidDraw, Tape
from laws.sessions import BUDGETS, People, Sitting, sit
from tiers import fuzzed, size

#: What is done in a session, and how often.
ACTS = {"query": 12, "batch": 3, "again": 4, "within": 2, "reconcile": 1, "ranges": 2, "marginals": 1, "describe": 1, "publish": 1, "fit": 1,
        "stream": 2, "bias": 1, "bounds": 1, "grow": 1, "forget": 1, "network": 2}  # fmt: skip


@pytest.fixture(autouse=True)
def _short_plans(monkeypatch):
    """How good the plan of a batch is does not matter here."""
    monkeypatch.setattr(batch_quote, "_SECONDS", 0.02)


def play(folder, seed, accounting, acts, seen=None):
    """The same acts on a project and on one without a person; what was seen."""
    seen = Counter() if seen is None else seen
    random, sides = Random(f"{seed} {accounting}"), []
    for name, without in (("whole", None), ("less", "p0")):
        with mock.patch.dict(os.environ, {"DISCREET_STATE": str(folder / f"state {name}")}):
            people = People(random=Random(f"people {seed}"))
            sides.append(sit(people, folder / name, accounting, without=without, random=random))
    whole, total = Tape(), []
    less, streamed = Tape(earlier=whole), []
    for act in acts:
        state, shown = random.getstate(), []
        for side, tape, name in zip(sides, (whole, less), ("whole", "less"), strict=True):
            random.setstate(state)
            with mock.patch.dict(os.environ, {"DISCREET_STATE": str(folder / f"state {name}")}), tape.running():
                shown.append(_outcome(side, act))
        assert shown[0] == shown[1], f"what is shown follows from exact data: {act}: {_first_difference(*shown)}"
        assert len(whole.draws) == len(less.draws), f"one project draws where the other does not: {act}"
        seen["refused" if shown[0].startswith("refused") else act] += 1
        lost, paid = _loss_of_act(sides[0].people, whole, less)
        total.append(lost)
        seen["outside"] += bool(whole.charges) and not paid
        if act == "stream":  # paid by its first step
            streamed.append((lost, paid))
            lost, paid = add_up([each for each, _ in streamed]), [loss for _, losses in streamed for loss in losses]
        _check_act(act, lost, paid, seen)
        for tape in (whole, less):
            tape.charges.clear()
            tape.losses.clear()
    _check_total(sides[0].project, add_up(total), accounting)
    return seen


def _loss_of_act(people: People, whole: Tape, less: Tape) -> tuple[PaidDraw, list[Loss]]:
    """What the draws of an act tell of the person, and what it charged to those among whom the person is."""
    assert whole.charges == less.charges, "a charge follows from exact data"
    paid = [loss for table, region, loss in whole.charges if people.rows[table] and people.record in region]
    return add_up(less.losses), paid


def _outcome(side: Sitting, act: str) -> str:
    try:
        text = side.act(act)
    except QueryFailed:
        raise
    except DiscreetError as refusal:
        text = f"refused: {refusal}"
    names: dict[str, str] = {}
    return re.sub(r"\b[rd]-[a-z0-9]{8,}", lambda match: names.setdefault(match[0], f"release {len(names)}"), text)


def _first_difference(one: str, other: str) -> str:
    pairs = zip(one, other, strict=False)
    place = next((place for place, pair in enumerate(pairs) if pair[0] != pair[1]), min(len(one), len(other)))
    return " / ".join(text[max(0, place - 300) : place + 100] for text in (one, other))


def add_up(losses: list[PaidDraw]) -> PaidDraw:
    epsilon, rho = (sum((getattr(each, name) for each in losses), Fraction(0)) for name in ("epsilon", "rho"))
    return PaidDraw(epsilon=epsilon, rho=rho)


def _check_act(act: str, lost: PaidDraw, paid: list[Loss], seen: Counter) -> None:
    """What the draws tell is no more than was charged."""
    pure, rho = [loss.epsilon for loss in paid], sum(loss.rho for loss in paid)
    assert lost.rho <= rho, f"{act} loses rho {float(lost.rho)}: {paid}"
    assert None in pure or lost.epsilon <= sum(pure), f"{act} loses epsilon {float(lost.epsilon)}: {paid}"
    seen["moved"] += lost.rho > 0
    seen["whole loss"] += lost.rho > 0 and ((None not in pure and lost.epsilon == sum(pure)) or lost.rho == rho)


def _check_total(project, lost: PaidDraw, accounting: str) -> None:
    """All acts together tell no more of anybody than the budget says is spent."""
    spent, epsilon = project.budget("visits").spent.epsilon, lost.epsilon
    if accounting == "zcdp" and lost.rho:
        epsilon = epsilon_from_rho(lost.rho, project.guarantee("visits").delta_rho)
    if accounting != "renyi":  # which knows each step better than this file does
        assert epsilon <= spent, f"{float(epsilon)} is lost and {float(spent)} is spent"


def acts_of(seed, count):
    names, weights = zip(*ACTS.items(), strict=True)
    return Random(f"acts {seed}").choices(names, weights, k=count)


@pytest.mark.parametrize("accounting", ["zcdp", "pure", pytest.param("renyi", marks=pytest.mark.deep)])
def test_nobody_loses_more_than_is_charged(tmp_path, accounting):
    seen = play(tmp_path, 7, accounting, acts_of(7, size(8, 24)))
    assert seen["moved"] > 2 and seen["refused"] < size(4, 10), seen


ROWS = "-- rows per person per group: 1\n"
PERIODS = f"{ROWS}SELECT date_trunc('year', day) AS y, date_trunc('month', day) AS m, count(*) FROM visits GROUP BY ROLLUP (y, m)"
WOMEN, MEN = (f"SELECT sum(cost), count(*) FROM visits WHERE sex = '{sex}'" for sex in "FM")
ROW = np.arange(12)
WORDS = "SELECT note, count(*) FROM visits GROUP BY note"


def caught(folder, acts, words, accounting="pure"):
    """Somebody of a few groups of people finds the planted bug."""

    def play_many():
        for seed in (3, 1, 0, 2, 4, 5, 6, 7):  # the first as a rule
            place = folder / str(seed)
            place.mkdir()
            play(place, seed, accounting, acts)

    with pytest.raises(AssertionError, match=words):
        play_many()


def test_the_limit_of_a_month_taken_for_that_of_a_year(tmp_path, monkeypatch):
    def by_columns(reach, parts):
        keys = {part.of if isinstance(part, Axis) else part for part in parts}
        bound = reach.bound
        return reach if bound is None or bound.keys <= keys else replace(reach, bound=replace(bound, rows=None))

    monkeypatch.setattr(pricing, "reach_by_keys", by_columns)
    caught(tmp_path, [PERIODS], "above", "zcdp")


def test_who_is_counted_is_not_charged(tmp_path, monkeypatch):
    """The charge of women is to men, and the other way round."""
    real, men = curator.priced_charge, Region((Box({"sex": ValueSet.of([1])}),))

    def other(*parts):
        return replace(real(*parts), region=men)

    monkeypatch.setattr(curator, "priced_charge", other)
    caught(tmp_path, [WOMEN], "loses")


def test_charges_that_share_people_counted_apart(tmp_path, monkeypatch):
    """As if nobody were in two charges: the budget then says too little."""
    monkeypatch.setattr(filter, "_inside", lambda *parts, **more: Balance())
    caught(tmp_path, [WOMEN, MEN, "SELECT count(*) FROM visits"], "is spent")


def test_words_beside_a_number_that_follow_from_exact_rows(tmp_path, monkeypatch):
    rows = []
    real = Curator._count
    monkeypatch.setattr(Curator, "_count", lambda self, *parts: rows.append(real(self, *parts)) or rows[-1])
    monkeypatch.setattr(Release, "price", property(lambda self: f"{int(rows[-1][0].sum())} rows"))
    caught(tmp_path, ["SELECT ward, count(*) FROM visits GROUP BY ward"], "what is shown follows")


def refine(tape, released, *refined):
    """An answer to exact numbers, and what is called a refinement of it to others."""
    law, bits = DiscreteLaplace(scale=Fraction(9)), system()
    finer = Refinement(earlier=law, law=DiscreteLaplace(scale=Fraction(2)))
    with tape.running():
        noisy, _ = law.add_noise(released, l1=1, bits=bits)
        for exact in refined:
            finer.add_noise(exact, noisy, l1=1, bits=bits)


def test_an_answer_refined_twice():
    """By hand: the project leads who asks again to the latest refinement, whatever the ledger allows.

    That the first leaves all twelve numbers as they were has a chance of 1e-15.
    """
    refine(Tape(), ROW, ROW)
    with pytest.raises(AssertionError, match="or twice"):
        refine(Tape(), ROW, ROW, ROW)


def test_a_refinement_of_other_numbers():
    with pytest.raises(AssertionError, match="not released"):
        refine(Tape(), ROW, ROW + (ROW == 3))


def test_weights_of_keys_that_are_not_split(tmp_path, monkeypatch):
    monkeypatch.setattr(weighted_threshold, "key_weights", lambda most: tuple((end, UNIT) for end in (1, most)))
    caught(tmp_path, [WORDS], "too long", "zcdp")


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
