"""Rounds of one survey: RAPPOR's kept bits on a device, and what all rounds cost together."""

from __future__ import annotations

import sqlite3
from datetime import date
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, UsageError
from discreet.surveys.device import device_store
from discreet.surveys.device.respondent_device import Device
from discreet.surveys.protocols.rappor import BasicRappor, Rappor
from surveys.protocols.test_device import MANY
from tiers import size


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path / "phone")


@pytest.mark.deep
def test_a_thousand_rounds_of_one_person_tell_no_more_than_the_permanent_answer(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is sent is made of the kept bits and fresh coins; the charge stops at what the kept bits cost."""
    # Without a thousand waits for the disk; that there is one is tested elsewhere.
    monkeypatch.setattr(device_store, "connect_durably", _hasty)
    made = BasicRappor(["yes", "no"], epsilon=2, once="0.7")
    rounds = size(200, 1000)
    said = [device.answer("mood", made, "yes", round=day) for day in range(rounds)]
    assert [each.lifetime for each in said[:4]] == [made.once, 2 * made.once, made.epsilon, made.epsilon]
    assert {each.lifetime for each in said[2:]} == {made.epsilon}
    assert {each.epsilon for each in said} == {made.once} and len({each.id for each in said}) == rounds
    bits = {each.report[0] >> 6 for each in said}
    assert len(bits) == 4  # fresh coins each round
    with sqlite3.connect(device.folder / "device.sqlite") as store:
        (kept,) = store.execute("SELECT kept FROM permanents").fetchall()
    store.close()
    # Reports average to the kept bits, not to the answer: each bit's share is that of its kept value.
    one, zero = float(made.layers.one.chance), float(made.layers.zero.chance)
    for place in (0, 1):
        share = sum(each.report[0] >> (7 - place) & 1 for each in said) / rounds
        expected = one if kept[0][0] >> (7 - place) & 1 else zero
        assert abs(share - expected) < 2.9 / rounds**0.5  # about six standard deviations


def _hasty(path: Path) -> sqlite3.Connection:
    store = sqlite3.connect(path, isolation_level=None)
    store.execute("PRAGMA synchronous = 0")
    return store


def test_a_round_is_drawn_once_and_other_answers_and_rounds_anew(device: Device) -> None:
    made = Rappor(epsilon=2)
    first = device.answer("word", made, "cat", round=date(2026, 1, 1))
    again = device.answer("word", made, "cat", round="2026-01-01")
    assert again.repeated and (again.report, again.id, again.lifetime) == (first.report, first.id, first.lifetime)
    later = device.answer("word", made, "cat", round=date(2026, 1, 2))
    assert not later.repeated and later.report != first.report and later.id != first.id
    assert later.report[0] == first.report[0]  # the cohort is kept
    other = device.answer("word", made, "dog", round=date(2026, 1, 2))
    assert other.lifetime == later.lifetime + made.once and other.id == later.id
    for wrong in (True, 1.5, None, "x" * 201):
        with pytest.raises(UsageError, match="round"):
            device.answer("word", made, "cat", round=wrong)  # type: ignore[arg-type]


def test_rounds_are_new_donations_and_other_randomizers_send_the_same_again(device: Device) -> None:
    made = BasicRappor(["yes", "no"], epsilon=2)
    device.answer("mood", made, "yes", round=1, limit=1)
    with pytest.raises(BudgetExceeded):
        device.answer("mood", made, "yes", round=2, limit=1)
    plain = [device.answer("drinks", MANY, "7", round=each) for each in (1, 2)]
    assert plain[0].report == plain[1].report and plain[1].repeated and plain[0].id != plain[1].id
