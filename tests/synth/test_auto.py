"""Which model `auto` takes, and how long a fit takes that was given seconds."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from discreet.accounting.events import ReservationEvent
from discreet.schema.column import CategoryColumn
from discreet.synth import model_choice
from discreet.synth.fit_request import FitRequest
from discreet.synth.model_choice import FIT_SETTINGS, FitSettings, choose_model, seconds_of
from synth.model_tables import letters, planted, spent
from synth.worlds import fit, open_project

EVENT = ReservationEvent(epsilon=None, rho=Fraction(1, 50), delta=Fraction(0))


def columns(*sizes):
    return [CategoryColumn(name=f"c{place}", values=tuple(map(str, range(size)))) for place, size in enumerate(sizes)]


def choice(*sizes, **more):
    return choose_model(FitRequest(epsilon=Fraction(1), **more), columns(*sizes), EVENT, most_rows=1)


def test_every_choice_says_why():
    assert choice(5).kind == "independent"
    assert "only one column" in choice(5).because
    assert choice(*[10] * 15).kind == "aim"
    assert choice(*[3] * 90).kind == "mst"
    assert "only a tree of pairs" in choice(*[3] * 90).because
    assert choice(*[10] * 8, rows=100).kind == "independent"
    assert "too few rows" in choice(*[10] * 8, rows=100).because
    assert choice(*[10] * 15, public="known").kind == "mst"
    for kind in ("independent", "privbayes", "mst", "aim"):
        assert (choice(*[10] * 9, kind=kind).kind, choice(*[10] * 9, kind=kind).because) == (kind, "you chose it")


def test_less_time_is_a_smaller_model():
    """Rounds, room and workload never grow when there is less time; and what is chosen fits, but for the quickest."""
    sizes, before = [16] * 15, float("inf")
    for seconds in (200, 30, 8, 4, 1):
        found = choice(*sizes, seconds=Fraction(seconds))
        order = 2 if found.kind == "mst" else found.workload or 3
        pace = FitSettings(kind=found.kind, order=order, model_mb=found.model_mb, rounds=(found.rounds or 0) // 15)
        assert pace in FIT_SETTINGS
        assert seconds_of(pace, sizes, rows=model_choice.USUAL_ROWS) <= before
        before = seconds_of(pace, sizes, rows=model_choice.USUAL_ROWS)
    assert choice(*sizes, seconds=Fraction(200)).model_mb == 40
    assert choice(*sizes, seconds=Fraction(1)).kind in ("aim", "mst")
    assert choice(*sizes).model_mb == 10


def test_what_was_said_is_kept():
    found = choice(*[16] * 15, kind="aim", model_mb=Fraction(3), workload=2, seconds=Fraction(1))
    assert (found.kind, found.model_mb, found.workload) == ("aim", 3.0, 2)


def test_a_warning_comes_before_anything_is_spent():
    assert choice(*[500] * 4, rows=1000).warnings
    assert not choice(*[4] * 4, rows=1_000_000).warnings
    assert not choice(*[500] * 4).warnings  # nobody said how many rows


@pytest.mark.deep  # it measures seconds of a processor
@pytest.mark.parametrize("width", [4, 12, 30])
def test_a_fit_takes_at_most_twice_the_seconds_it_was_given(tmp_path, width):
    """CPU seconds, after what is loaded once. Most of the time is left over: at this epsilon models stay small."""
    project = planted(tmp_path, sizes=tuple(2 + place % 5 for place in range(width)), rows=3000)
    start = time.process_time()
    model = fit(project, kind="auto", epsilon="3", seconds=Fraction(3))
    assert time.process_time() - start <= 2 * 3
    assert model.card.because
    assert spent(project, model) == 1


def test_no_rows_and_two_rows_can_be_fitted(tmp_path):
    for count in (0, 2):
        folder = tmp_path / str(count)
        folder.mkdir()
        project = open_project(folder, {"one": letters(3), "two": letters(2)}, ["v0,v1"] * count)
        for kind in ("privbayes", "mst", "aim"):
            model = fit(project, kind=kind, epsilon="0.5")
            assert spent(project, model) == 1
            assert model.sample(5).num_rows == 5
