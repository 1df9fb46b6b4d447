"""Subset selection: every set as likely as the next, in both ways of writing it down."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.mechanisms import uniform
from discreet.surveys.protocols import coins, subset_selection
from discreet.surveys.protocols.coins import Coin
from discreet.surveys.protocols.subset_selection import SubsetSelection, best_size
from surveys.protocols.every import largest_ratio, law
from surveys.protocols.test_coins import Tape

NAMES = [str(code) for code in range(2000)]


def _set(made: SubsetSelection, report: bytes) -> tuple[int, ...]:
    return tuple(np.flatnonzero(made.supports(made.matrix([report]))).tolist())


@pytest.mark.thin(2)
@pytest.mark.parametrize(("many", "epsilon", "size"), [(7, "0.1", 3), (7, "0.6", 2), (6, "0.2", 3), (26, "2.5", 2)])
def test_the_law_is_two_levels_over_all_sets(many: int, epsilon: str, size: int) -> None:
    made = SubsetSelection(NAMES[:many], epsilon=epsilon)
    assert made.size == size and made.listed == (many == 26)
    with_it = (1 - made.without.chance) / comb(many - 1, size - 1)
    without_it = made.without.chance / comb(many - 1, size)
    for code in (0, 1, many - 1):
        found = {_set(made, report): chance for report, chance in law(made, NAMES[code]).items()}
        wanted = {each: with_it if code in each else without_it for each in combinations(range(many), size)}
        assert found == wanted
    assert coins.epsilon_of(with_it / without_it) == made.epsilon <= Fraction(epsilon)


def test_too_little_noise_is_caught() -> None:
    made = SubsetSelection(NAMES[:6], epsilon="0.2")
    made.without = Coin(heads=made.without.heads * 99 // 100)
    assert coins.epsilon_of(largest_ratio([law(made, choice) for choice in made.choices])) > made.epsilon


def test_a_sampler_that_may_take_a_choice_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(flat: Any, begins: Any, place: int, bits: Any) -> None:
        flat[begins + uniform.whole_below(place + 1, begins.size, bits=bits)] = True

    made = SubsetSelection(NAMES[:7], epsilon="0.1")
    monkeypatch.setattr(subset_selection, "_floyd_step", careless)
    with pytest.raises(UsageError, match="cannot have made"):
        made.matrix(list(law(made, "3")))


@pytest.mark.parametrize("epsilon", ["0.05", "0.7", "1.5", "3", "6"])
@pytest.mark.parametrize("many", [2, 3, 10, 57])
def test_no_other_size_varies_less(many: int, epsilon: str) -> None:
    growth = coins.likelihood_bound(Fraction(epsilon))

    def theory(size: int) -> Fraction:
        truth = size * growth / (size * growth + many - size)
        other = ((size - 1) * truth + size * (1 - truth)) / (many - 1)
        return other * (1 - other) / (truth - other) ** 2

    assert theory(best_size(growth, many)) == min(theory(size) for size in range(1, many))


def test_one_report_reads_its_tape_in_order() -> None:
    made = SubsetSelection(NAMES[:7], epsilon="0.1")  # sets of three
    inside = Tape(b"\xff", b"\x01", b"\x01")  # the truth and two others: of 0..4, then of 0..5
    assert _set(made, made.randomize("3", bits=inside)) == (1, 3, 5) and inside.all_read()
    outside = Tape(b"\x00", b"\x03", b"\x00", b"\x02")  # three others; the own number stands for the last choice
    assert _set(made, made.randomize("3", bits=outside)) == (0, 2, 6) and outside.all_read()
    last = Tape(b"\xff", b"\x01", b"\x02")
    assert _set(made, made.randomize("6", bits=last)) == (1, 2, 6)


@pytest.mark.parametrize(("many", "epsilon"), [(300, "1"), (300, "5"), (2000, "7")])
def test_reports_in_pieces_are_valid_and_counted(many: int, epsilon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subset_selection, "_PIECE", 7 * many)
    made = SubsetSelection(NAMES[:many], epsilon=epsilon)
    reports = made.randomize_all(np.arange(200) % many)
    slow = np.zeros(many, dtype=np.int64)
    for row in reports:
        found = _set(made, row.tobytes())
        assert len(found) == made.size
        slow[list(found)] += 1
    assert made.supports(reports).tolist() == slow.tolist()


def test_what_is_no_set_is_refused() -> None:
    bitmap = SubsetSelection(NAMES[:12], epsilon="0.2")
    assert bitmap.size == 5 and not bitmap.listed
    assert bitmap.valid(np.array([[0b11111000, 0]], dtype=np.uint8)).all()
    for report in (b"\xfc\x00", b"\xf0\x00", b"\xf0\x01"):  # six, four, and a bit beyond the last choice
        with pytest.raises(UsageError, match="cannot have made"):
            bitmap.estimate([report])
    listed = SubsetSelection(NAMES[:26], epsilon="2.5")
    for report in (b"\x03\x03", b"\x04\x03", b"\x00\x1a"):  # twice, falling, beyond the last choice
        with pytest.raises(UsageError, match="cannot have made"):
            listed.estimate([report])


def test_too_many_choices_for_one_report_are_refused() -> None:
    with pytest.raises(UsageError, match="bytes"):
        SubsetSelection([str(code) for code in range(200_000)], epsilon="1")
