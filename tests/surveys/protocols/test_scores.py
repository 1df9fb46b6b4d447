"""Intervals by scores, where the law of an estimate is not summed: means of one bit and small trees, exactly."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest

from discreet.surveys.protocols.estimate import Estimate
from discreet.surveys.protocols.grid_numbers import Duchi
from discreet.surveys.protocols.interval_tree import Tree
from discreet.surveys.protocols.several_questions import scale_mean_to_all
from discreet.surveys.protocols.sketch import HadamardSketch
from surveys.protocols.exact_coverage import binomial
from tiers import size


@pytest.mark.parametrize("epsilon", ["0.5", "2", "8"])
@pytest.mark.parametrize("n", [1, 3, 10, 30, 100])
def test_a_mean_of_bits_lies_in_its_interval(epsilon: str, n: int) -> None:
    """From the variance at the estimate: 0.8 with 30 people of whom a tenth are at the upper bound."""
    made = Duchi(low=10, high=20, step=1, epsilon=epsilon)
    sides = 256**made.planes
    rise, fall = 1 - made.first / sides, made.first / sides
    ends = [float(end) for end in made.extent]
    found = [made.from_sum(ends[1] * ones + ends[0] * (n - ones), n) for ones in range(n + 1)]
    shown = np.array([mean.interval(0.95) for mean in found])
    assert all(low <= mean.value <= high for mean, (low, high) in zip(found, shown.tolist(), strict=True))
    for up in sorted({0, 1, n // 10, n // 2, n}):
        law = np.convolve(binomial(up, rise), binomial(n - up, fall))
        truth = 10 + 10 * up / n
        assert law @ ((shown[:, 0] <= truth + 1e-9) & (truth - 1e-9 <= shown[:, 1])) >= 0.94, up


def test_a_mean_about_all_has_the_variance_of_the_draw_at_its_ends() -> None:
    made = Duchi(low=0, high=1, step=1, epsilon=8)
    mean = scale_mean_to_all(made.from_sum(0.0, 30), made, 300)
    low, high = mean.interval(0.95)
    assert low <= mean.value <= high and 0.05 < high < 0.25  # nobody of 30 says 1; a tenth of all may


def _tree_law(tree: Tree, codes: list[int]) -> dict[tuple[int, ...], float]:
    """The law of how many reports say each node, over levels and coins, where people have these codes."""
    law: dict[tuple[int, ...], float] = {(0,) * sum(len(oracle.choices) for oracle in tree.oracles): 1.0}
    for code in codes:
        chances: list[float] = []
        for level, oracle in enumerate(tree.oracles):
            own, other = (float(chance) for chance in oracle.chances)
            node = int(tree.nodes(np.array([code]), level)[0])
            chances += [(own if each == node else other) / len(tree.oracles) for each in range(len(oracle.choices))]
        grown: dict[tuple[int, ...], float] = defaultdict(float)
        for (said, chance), (place, more) in itertools.product(law.items(), enumerate(chances)):
            if chance * more > 1e-9:
                grown[(*said[:place], said[place] + 1, *said[place + 1 :])] += chance * more
        law = grown
    return law


def _tree_estimate(tree: Tree, said: tuple[int, ...], ranges: list[tuple[int, int]]) -> Estimate | None:
    """What the tree makes of these reports; nothing where a level has none."""
    nodes = [(level, node) for level, oracle in enumerate(tree.oracles) for node in range(len(oracle.choices))]
    reports = [bytes(node) for node, many in zip(nodes, said, strict=True) for _ in range(many)]
    if len({report[0] for report in reports}) < len(tree.oracles):
        return None
    return tree.estimate(reports).ranges(ranges)


def _tree_holds(epsilon: str, codes: list[int], ranges: list[tuple[int, int]]) -> np.ndarray:
    """The chance of each range's interval to hold the truth, given that each level has reports."""
    tree = Tree(low=0, high=3, step=1, fanout=2, epsilon=epsilon)
    truth = np.array([np.mean([low <= code <= high for code in codes]) for low, high in ranges])
    held, all_ = np.zeros(len(ranges)), 0.0
    for said, chance in _tree_law(tree, codes).items():
        found = _tree_estimate(tree, said, ranges) if chance > 1e-6 else None
        if found is not None:
            low, high = np.array(list(found.interval(0.95).values())).T
            assert np.all((low <= found.counts / found.n) & (found.counts / found.n <= high))
            held += chance * ((low <= truth + 1e-9) & (truth - 1e-9 <= high))
            all_ += chance
    return held / all_


RANGES = [(0, 0), (1, 1), (0, 1), (1, 2), (1, 3), (0, 3)]


@pytest.mark.thin(1)
@pytest.mark.parametrize("epsilon", ["2", "6"])
def test_ranges_of_a_tree_hold_the_truth_where_few_answered(epsilon: str) -> None:
    """From the variance at the estimate: 0.6 and less at epsilon 6."""
    for codes in size(([0] + [3] * 4,), ([0] + [3] * 4, [0, 1, 2, 3, 3])):
        assert np.all(_tree_holds(epsilon, codes, RANGES) > 0.93), codes


@pytest.mark.fuzz
@pytest.mark.parametrize(("epsilon", "n"), [("1", 8), ("2", 8), ("4", 12), ("6", 12), ("6", 30), ("8", 30)])
def test_ranges_of_a_tree_hold_the_truth_with_more_people(epsilon: str, n: int) -> None:
    for codes in ([0] + [3] * (n - 1), [0] * 3 + [3] * (n - 3), [2] * n):
        assert np.all(_tree_holds(epsilon, codes, RANGES) > 0.93), codes


def test_all_people_are_on_the_grid() -> None:
    """Rounding made the variance of the whole range negative, and its interval not a number."""
    tree = Tree(low=0, high=63, step=1, epsilon=6)
    found = tree.estimate(tree.randomize_all(np.arange(300) % 64)).ranges([(0, 63)])
    assert found.interval(0.95) == {"0..63": (1.0, 1.0)} and found.shares == {"0..63": 1.0}


def test_a_word_that_all_hold_lies_in_its_interval_at_a_large_epsilon() -> None:
    """Each report is a lie or not: the count is n less 2 for each lie, and some."""
    made, n = HadamardSketch(epsilon=8, functions=16, wide=64), 40
    reports = made.randomize_all(["all"] * n)
    held, lie = 0.0, float(made.lie.chance)
    for lies, chance in enumerate(binomial(n, lie)[:4].tolist()):
        true = made.matrix(reports).copy()
        true[:, -1] = [report[-1] for report in _told(made, true, lies)]
        found = made.estimate(true, ["all"])
        low, high = found.interval(0.95)["all"]
        assert low <= found.shares["all"] <= high
        held += chance * (low <= 1 + 1e-9 and high >= 1 - 1e-9)
    assert held > 0.95


def _told(made: HadamardSketch, reports: np.ndarray, lies: int) -> list[bytes]:
    """The same functions and rows, with the true bit in all but so many reports."""
    told = []
    for place, report in enumerate(reports):
        both = [bytes([*report[:-1].tolist(), int(report[-1]) & 254 | bit]) for bit in (0, 1)]
        counts = [float(made.estimate([each], ["all"]).counts[0]) for each in both]
        told.append(both[int(np.argmin(counts)) if place < lies else int(np.argmax(counts))])
    return told
