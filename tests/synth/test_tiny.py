"""Tiny tables, fitted thousands of times: what the ledger stores tells no more of one person than epsilon."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from synth.worlds import SEX, fit, open_project
from tiers import fuzzed

EPSILON = 1.0

#: Standard deviations of each share: with 32 events a correct build is over the bound less than once in a million runs.
WIDTH = 5.5


def lower_bound(some: list[int], others: list[int]) -> float:
    """An epsilon that both samples together surely need, over all events "at least t" and "at most t"."""
    one, two = np.array(some), np.array(others)
    found = [0.0]
    for threshold in range(-3, 5):
        for left, right in ((one, two), (two, one)):
            found.append(_surely((left >= threshold).mean(), (right >= threshold).mean(), len(left)))
            found.append(_surely((left <= threshold).mean(), (right <= threshold).mean(), len(left)))
    return max(found)


def _surely(share: float, other: float, count: int) -> float:
    low = share - WIDTH * math.sqrt(max(share * (1 - share), 1 / count) / count)
    high = other + WIDTH * math.sqrt(max(other * (1 - other), 1 / count) / count)
    return math.log(low / high) if low > high else 0.0


def drawn(folder, lines, count, **more) -> list[int]:
    """What the first step stored for the second value, fit after fit."""
    folder.mkdir()
    columns = {"sex": SEX} | ({"who": None} if more else {})
    project = open_project(folder, columns, lines, budget="{ epsilon = 1000000 }", **more)
    found = []
    for _ in range(count):
        model = fit(project, epsilon="1", fresh=True)
        found.append(json.loads(project.ledger.answer(f"{model.card.release}.1"))[0][1])
    return found


def test_the_bound_sees_half_of_the_noise():
    generator = np.random.default_rng(1)
    for epsilon, seen in ((EPSILON, False), (2 * EPSILON, True)):
        noise = [generator.geometric(1 - math.exp(-epsilon), (2, 10_000)) for _ in range(2)]
        some, others = (each[0] - each[1] for each in noise)
        assert (lower_bound((some + 1).tolist(), others.tolist()) > EPSILON) == seen


@pytest.mark.fuzz
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("unit", ["row", "person"])
def test_ten_thousand_fits_stay_under_epsilon(tmp_path, unit):
    count = fuzzed(10_000)
    if unit == "row":
        some, others = drawn(tmp_path / "a", ["F", "M"], count), drawn(tmp_path / "b", ["F"], count)
    else:
        more = {"table": 'person = "who"\nrows_per_person = 2'}
        with_person = ["F,a", "M,b", "M,b", "M,b"]
        some = [value // 2 for value in drawn(tmp_path / "a", with_person, count, **more)]
        others = [value // 2 for value in drawn(tmp_path / "b", ["F,a"], count, **more)]
    assert lower_bound(some, others) <= EPSILON
