"""What released answers tell is the exact number plus noise of the stated law; questions that they leave open stay so."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from answers.reconcile.worlds import DOMAIN, NOT_BOXES, SCHEMA, World, asked, exact_cells, measurement
from discreet.answers.reconcile import exact_region as exactly_module
from discreet.answers.reconcile import history_estimation as module
from discreet.answers.reconcile import released_numbers as numbers_module
from discreet.answers.reconcile.history_estimation import estimate_from_numbers
from discreet.answers.reconcile.released_numbers import ExclusionReason, NumberLabels, family_of, numbers_of
from discreet.inference.reconcile import ColumnDomains, Reconciliation
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.weighted_sum import half_width
from discreet.plan import predicate as predicates
from noise.source import FixedBits
from tiers import size

NAMES = NumberLabels(statistics={})


def numbers(questions, records, *, noise=lambda: 0, domain=DOMAIN, scale=Fraction(1)):
    found = []
    for place, question in enumerate(questions):
        stored = measurement(question, records, name=f"r-{place}", noise=noise, scale=scale)
        found += numbers_of(stored, question.inquiry, NAMES, domain)[0]
    return found


def told_wrong(seeds, domain=DOMAIN):
    """Without noise: how many cells are told, and how many of them are not the exact number."""
    told, wrong = 0, 0
    for seed in seeds:
        world = World(seed)
        fine = [asked(by=world.random.choice(["a, b", "b, sex, ok", "a, ok"]))]
        known = numbers([*fine, *(world.question() for _ in range(6))], world.records, domain=domain)
        for _ in range(8):
            question = world.question()
            found = estimate_from_numbers(known, question, domain)
            for (place, index), cells in ({} if found is None else found.cells).items():
                exact = exact_cells(question.inquiry, place, index, world.records)
                told += len(cells)
                wrong += sum(abs(cell.value - number) > 1e-6 for cell, number in zip(cells, exact, strict=True))
    return told, wrong


def test_what_is_told_is_exact_without_noise():
    worlds = size(5, 24)
    told, wrong = told_wrong(range(worlds))
    assert told > 6 * worlds and wrong == 0


def test_a_widened_region_is_caught(monkeypatch):
    """The region that prices a question, instead of the exact one."""
    monkeypatch.setattr(numbers_module, "exact_region", predicates.region)
    everybody = [{"a": 1, "b": 0, "sex": 0, "ok": 1, "t": "k"}] * 9 + [{"a": 2, "b": 0, "sex": 0, "ok": 0, "t": "kk"}]
    monkeypatch.setattr(exactly_module, "exact_region", predicates.region)
    wrong = []
    for where in NOT_BOXES:
        known = numbers([asked(where)], everybody)
        found = estimate_from_numbers(known, asked(), DOMAIN)
        wrong += [] if found is None else [found.cells[0, 0][0].value != len(everybody)]
    assert any(wrong)


def test_a_forgotten_null_group_is_caught(monkeypatch):
    whole = numbers_module.cells_of
    monkeypatch.setattr(
        numbers_module,
        "cells_of",
        lambda axis, domains: tuple(
            exactly_module.intersect_regions(
                [region, exactly_module.exact_region(predicates.Member("a", predicates.ValueSet.interval(0, 4)))]
            )
            for region in whole(axis, domains)
        ),
    )
    assert told_wrong(range(5))[1] > 0


def test_an_open_column_taken_for_closed_is_caught():
    closed = ColumnDomains(
        columns={
            name: type(side)(side.runs) if name in ("b", "ok", "a") else side for name, side in DOMAIN.columns.items()
        }
    )
    assert told_wrong(range(5), closed)[1] > 0


def test_parts_of_an_open_column_do_not_make_a_whole():
    world = World(1)
    parts = numbers([asked(f"b = '{value}'") for value in "xyz"], world.records)
    assert estimate_from_numbers(parts, asked(), DOMAIN) is None
    assert estimate_from_numbers(parts, asked("b is not null"), DOMAIN).cells[0, 0][0].value == sum(
        record["b"] is not None for record in world.records
    )
    closed = numbers([asked(f"sex = '{value}'") for value in "FM"], world.records)
    assert estimate_from_numbers(closed, asked(), DOMAIN).cells[0, 0][0].value == len(world.records)


def test_what_is_kept_is_of_the_same_numbers(monkeypatch):
    """The least squares of a history are kept for the next price, and made anew for any other history."""
    made = []
    monkeypatch.setattr(module, "Reconciliation", lambda *given: made.append(given) or Reconciliation(*given))
    monkeypatch.setattr(module, "_LAST", [])
    world = World(3)
    old = numbers([asked(by="sex")], world.records)

    def told(known, domain=DOMAIN):
        cell = estimate_from_numbers(known, asked("sex = 'F'"), domain).cells[0, 0][0]
        return cell.value, cell.releases

    first = told(old)
    assert told(old) == first and len(made) == 1
    new = [*old, replace(old[0], value=old[0].value + 10, release="r-new")]
    assert told(new) != first and len(made) == 2
    other = [replace(number, value=number.value + 1) for number in old]  # as many, of the same names
    assert told(other) == (first[0] + 1, first[1]) and len(made) == 3
    told(other, ColumnDomains.of([]))
    assert len(made) == 4 and len(module._LAST) == 2


@pytest.mark.parametrize("planted", [lambda *_: True, lambda self, numbers, domain: len(numbers) == len(self._numbers)])
def test_estimates_that_are_out_of_date_are_caught(monkeypatch, planted):
    monkeypatch.setattr(module._NumberEstimates, "are_of", planted)
    with pytest.raises(AssertionError):
        test_what_is_kept_is_of_the_same_numbers(monkeypatch)


def test_a_sum_passes_over_null():
    world = World(2)
    known = numbers([asked(what="sum(a)")], world.records)
    assert estimate_from_numbers(known, asked("a is not null", what="sum(a)"), DOMAIN) is not None
    assert estimate_from_numbers(known, asked("a > 0", what="sum(a)"), DOMAIN) is None  # as much, but nobody told us so
    assert estimate_from_numbers(known, asked(), DOMAIN) is None


@pytest.mark.thin(6)
@pytest.mark.parametrize(
    "question",
    [
        asked(what="avg(a)"),
        asked(what="count(*), avg(a)"),
        asked(what="count(distinct a)"),
        asked(what="median(a)"),
        asked(what="sum(a) / count(*)"),
        asked(what="count(*)", by="t"),
        *(asked(where) for where in NOT_BOXES),
    ],
    ids=lambda question: question.text,
)
def test_never_told(question):
    """Whatever is known: even the whole table, cell by cell."""
    from discreet.answers.reconcile import history_estimation

    world = World(3)
    known = numbers([asked(by="a, b, sex, ok"), asked(by="a, b, sex, ok", what="sum(a)")], world.records)
    assert not history_estimation._plain(question) or estimate_from_numbers(known, question, DOMAIN) is None


LAW = DiscreteLaplace(scale=Fraction(4))
HISTORY = [asked(by="sex"), asked(), asked(by="sex, ok"), asked("sex = 'M'"), asked(by="b")]
DRAWS = 20_000


def errors(question):
    """What is told of a question's cells, beside many draws of the error that its weights make of the noise."""
    world = World(4)
    known = numbers(HISTORY, world.records, scale=LAW.scale)
    told = estimate_from_numbers(known, question, DOMAIN)
    noise = LAW.draw(DRAWS * len(known), bits=FixedBits(9)).reshape(len(known), DRAWS)
    centre = np.array([cell.value for cell in told.cells[0, 0]])
    exact = np.array(exact_cells(question.inquiry, 0, 0, world.records))
    drawn = []
    for place in range(len(known)):  # the estimate is linear: one noisy number at a time tells its weight
        one = [*known]
        one[place] = _moved(known[place])
        drawn.append([cell.value for cell in estimate_from_numbers(one, question, DOMAIN).cells[0, 0]] - centre)
    return told, exact, centre[:, None] + np.array(drawn).T @ noise - exact[:, None]


def _moved(number):
    return replace(number, value=number.value + 1)


@pytest.mark.parametrize(
    "question", [asked(), asked(by="sex"), asked("sex = 'F'"), asked("sex = 'F'", by="ok"), asked("ok is null")]
)
def test_errors_are_as_stated(question):
    told, _, drawn = errors(question)
    for cell, error in zip(told.cells[0, 0], drawn, strict=True):
        assert abs(error.mean()) < 6 * np.sqrt(cell.variance / DRAWS)
        assert np.mean(error**2) == pytest.approx(cell.variance, rel=0.09)
        covered = np.mean(np.abs(error) <= half_width(cell.parts, Fraction(95, 100)))
        assert 0.941 < covered < 0.964
        assert np.mean(error**2) > 1.2 * 0.7 * cell.variance  # a variance stated too small would not pass


def test_a_variance_that_is_too_small_is_caught():
    """As if the noise of the whole were that of one of its parts."""
    told, _, drawn = errors(asked("sex = 'F'", by="ok"))
    (cell, *_), (error, *_) = told.cells[0, 0], drawn
    small = half_width(cell.parts[:1], Fraction(95, 100))
    assert np.mean(np.abs(error) <= small) < 0.941


def test_more_answers_never_tell_less():
    world = World(5)
    for question in (asked(), asked(by="sex"), asked(by="ok")):
        before = None
        for count in range(1, len(HISTORY) + 1):
            found = estimate_from_numbers(numbers(HISTORY[:count], world.records), question, DOMAIN)
            if before is not None:
                pairs = zip(found.cells[0, 0], before.cells[0, 0], strict=True)
                assert all(new.variance <= old.variance * (1 + 1e-9) for new, old in pairs)
            before = found
        assert before is not None


def test_a_sum_in_grains_is_rounded_after_it_is_added():
    (statistic,) = asked(what="sum(a)").inquiry.statistics
    assert isinstance(family_of(statistic), str)
    assert isinstance(family_of(replace(statistic, grain=2)), ExclusionReason)
    assert family_of(replace(statistic, centre=1)) != family_of(statistic)


def test_schema_and_domain_are_of_one_table():
    assert {column.name for column in SCHEMA.columns} == set(DOMAIN.columns)
