"""Faults of the SQL path: what a person reaches, what that costs, and the noise of answers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.kernel.curator import Curator
from discreet.ledger.account import Account
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan import predicate as predicates
from discreet.plan import price as pricing
from discreet.plan import query_sensitivity
from discreet.plan.cell_statistics import DistinctCount, Sum
from tiers import size


def statistics_changed(monkeypatch, change):
    """`change(statistic, reach)` says what the sensitivity is computed of instead."""
    known = pricing.sensitivity

    def sensitivity(statistic, reach, *, touched):
        return known(*change(statistic, reach), touched=touched)

    monkeypatch.setattr(pricing, "sensitivity", sensitivity)


def a_person_brings_one_new_value(monkeypatch):
    statistics_changed(
        monkeypatch,
        lambda statistic, reach: (statistic, replace(reach, rows=1) if isinstance(statistic, DistinctCount) else reach),
    )


def half_of_a_large_sum(monkeypatch):
    """As if grains were twice as large."""
    statistics_changed(
        monkeypatch,
        lambda statistic, reach: (
            replace(statistic, grain=2 * statistic.grain)
            if isinstance(statistic, Sum) and statistic.grain > 1
            else statistic,
            reach,
        ),
    )


def a_public_table_that_multiplies_nothing(monkeypatch):
    known = query_sensitivity._public
    monkeypatch.setattr(query_sensitivity, "_public", lambda plan, inner: known(replace(plan, fan_out=1), inner))


def a_join_on_the_person_that_multiplies_nothing(monkeypatch):
    known = query_sensitivity._person
    monkeypatch.setattr(
        query_sensitivity, "_person", lambda plan, inner, other: known(plan, inner, replace(other, rows=1))
    )


def a_sum_of_a_person_that_is_one_row(monkeypatch):
    """Of what was summed up before, a value is as large as that of one row."""
    statistics_changed(
        monkeypatch,
        lambda statistic, reach: (
            replace(statistic, of=replace(statistic.of, high=statistic.of.high // 2))
            if isinstance(statistic, Sum)
            else statistic,
            reach,
        ),
    )


def an_answer_again_for_nothing(monkeypatch):
    """The ledger counts only the first of the charges for a question."""
    known = Account.status

    def standing(self):
        found = known(self)
        return replace(found, spent=replace(found.spent, epsilon=found.spent.epsilon / 2))

    monkeypatch.setattr(Account, "status", standing)


def all_of_epsilon_for_each_of_a_batch(monkeypatch):
    known = pricing._Parts._law
    monkeypatch.setattr(pricing._Parts, "_law", lambda self, moves, share: known(self, moves, Fraction(1)))


class Everything(frozenset):
    def __contains__(self, name):
        return True


def a_region_by_any_column(monkeypatch):
    """Also by one that has several values of a person."""
    monkeypatch.setattr(
        query_sensitivity,
        "narrowed_region",
        lambda predicate, names: predicates.region(query_sensitivity._widened(predicate, Everything())),
    )


def half_a_sigma_of_an_answer(monkeypatch):
    known = pricing._Parts._law

    def law(self, moves, share):
        found = known(self, moves, share)
        return replace(found, sigma2=found.sigma2 / 4) if isinstance(found, DiscreteGaussian) else found

    monkeypatch.setattr(pricing._Parts, "_law", law)


def changed_step(monkeypatch, name, change):
    known = getattr(pricing._Parts, name)
    monkeypatch.setattr(pricing._Parts, name, lambda self, *words: change(known(self, *words)))


def keys_of_a_person_with_one_key(monkeypatch):
    """The noise on a key's persons is that of one key a person."""

    def change(step):
        noise = DiscreteLaplace(scale=step.mechanism.noise.scale / step.mechanism.keys_per_person)
        return replace(step, mechanism=replace(step.mechanism, noise=noise))

    changed_step(monkeypatch, "discover", change)


def keys_of_many_rows(monkeypatch):
    changed_step(monkeypatch, "discover", lambda step: replace(step, persons=False))


def a_median_of_one_row(monkeypatch):
    changed_step(monkeypatch, "choose", lambda step: replace(step, mechanism=replace(step.mechanism, rows=1)))


def noise_used_for_a_neighbour(monkeypatch):
    known = Curator.add_noise

    def add(self, law, exact, moves):
        noisy, event = known(self, law, exact, moves)
        noise = noisy - exact
        noise[1::2] = noise[0::2][: len(noise[1::2])]
        return exact + noise, event

    monkeypatch.setattr(Curator, "add_noise", add)


def noise_and_its_opposite(monkeypatch):
    """In two halves of one answer: their sum is exact."""
    known = Curator.add_noise

    def add(self, law, exact, moves):
        noisy, event = known(self, law, exact, moves)
        noise, half = noisy - exact, len(exact) // 2
        noise[half : 2 * half] = -noise[:half]
        return exact + np.asarray(noise), event

    monkeypatch.setattr(Curator, "add_noise", add)


#: As surely caught: the p-value is below 1e-27 in the fast tier too, far below the doubt of 5e-8.
FEW = size(2_500, 10_000)

FAULTS = [
    (a_person_brings_one_new_value, "sql distinct: a person with two values", 10_000),
    (half_of_a_large_sum, "sql sum: numbers of many digits", FEW),
    (a_public_table_that_multiplies_nothing, "sql join: a public table", FEW),
    (a_join_on_the_person_that_multiplies_nothing, "sql join: a person's other table", FEW),
    (a_sum_of_a_person_that_is_one_row, "sql groups: persons summed up first", FEW),
    (an_answer_again_for_nothing, "sql again: one question twice", 10_000),
    (all_of_epsilon_for_each_of_a_batch, "sql batch: two questions", FEW),
    (a_region_by_any_column, "sql regions: a person in two of them", 10_000),
    (half_a_sigma_of_an_answer, "sql count: law of gaussian", FEW),
    (keys_of_a_person_with_one_key, "sql keys: law of persons with two rows", 10_000),
    (keys_of_many_rows, "sql keys: law of persons with two rows", 10_000),
    (a_median_of_one_row, "sql median: law of persons with two rows", 10_000),
    (noise_used_for_a_neighbour, "sql count: a cell and its neighbour", FEW),
    (noise_used_for_a_neighbour, "sql count: law of laplace", 10_000),
    (noise_and_its_opposite, "sql count: law of laplace", FEW),
]
