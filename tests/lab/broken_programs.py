"""Faults of the steps that synthesizers are made of, and of the coins of devices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.kernel import binned_table, program
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.curator import Curator
from discreet.mechanisms.bits import SystemBits
from discreet.surveys.protocols import coins
from discreet.synth.inspect import model_comparison
from noise.source import FixedBits
from tiers import size


def the_mean_of_two_draws(monkeypatch):
    known = Curator.add_noise

    def add(self, law, exact, moves):
        drawn = [known(self, law, exact, moves) for _ in range(2)]
        return np.rint(np.mean([noisy for noisy, _ in drawn], axis=0)).astype(np.int64), drawn[0][1]

    monkeypatch.setattr(Curator, "add_noise", add)


def pairs_without_noise(monkeypatch):
    known = BinnedTable.measure

    def measure(self, sets, laws):
        noisy = known(self, sets, laws)
        return [values if len(own) == 1 else self._count(own) for own, values in zip(sets, noisy, strict=True)]

    monkeypatch.setattr(BinnedTable, "measure", measure)


def the_best_of_a_choice(monkeypatch):
    monkeypatch.setattr(Curator, "choose", lambda self, mechanism, scores: (int(scores.argmax()), mechanism.event()))


def a_person_of_one_row(monkeypatch):
    """Whatever rows_per_person says."""
    known = program.sensitivity
    monkeypatch.setattr(
        program,
        "sensitivity",
        lambda statistic, reach, *, touched: known(statistic, replace(reach, rows=1), touched=touched),
    )


def distances_that_one_row_moves(monkeypatch):
    known = binned_table.moves_of_distances
    monkeypatch.setattr(binned_table, "moves_of_distances", lambda rows, sizes, parts: known(1, sizes, parts))


def noise_of_an_earlier_step(monkeypatch):
    monkeypatch.setattr(SystemBits, "words", lambda self, count: FixedBits(count).words(count))


def twice_the_rho(monkeypatch):
    known = model_comparison.rho_from_epsilon
    monkeypatch.setattr(model_comparison, "rho_from_epsilon", lambda epsilon, delta: 2 * known(epsilon, delta))


def coins_of_one_byte(monkeypatch):
    """A bias is rounded up to 256ths."""
    known = coins.flips_of
    monkeypatch.setattr(coins, "flips_of", lambda heads, *, bits: known(-(-heads // 256**3) * 256**3, bits=bits))


#: As surely caught: the p-value is below 1e-40 in the fast tier too, far below the doubt of 5e-8.
FEW = size(2_500, 10_000)

FAULTS = [
    (the_mean_of_two_draws, "synth measure: law of laplace", FEW),
    (the_mean_of_two_draws, "synth measure: law of gaussian", 10_000),
    (pairs_without_noise, "synth measure: a pair of columns", FEW),
    (pairs_without_noise, "synth measure: law of gaussian", 10_000),
    (the_best_of_a_choice, "synth choose: law", 100),
    (a_person_of_one_row, "synth measure: a person with too many rows", FEW),
    (a_person_of_one_row, "synth measure: law of gaussian", 10_000),
    (a_person_of_one_row, "synth choose: law", 10_000),
    (distances_that_one_row_moves, "synth distances: law", 10_000),
    (the_mean_of_two_draws, "synth distances: law", 10_000),
    (noise_of_an_earlier_step, "synth measure: law of laplace", FEW),
    (twice_the_rho, "synth reservation: its delta", 1_000),
    (coins_of_one_byte, "local coin: law", 80_000),
]
