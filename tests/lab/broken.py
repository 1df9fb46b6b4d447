"""Discreet with one fault each, planted in the real code. The audit must catch every one of them.

A fault is a function that plants itself by `monkeypatch`; `FAULTS` says which part of the audit sees it, and how
many samples that takes. Those of questions and of programs are in files of their own.
"""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.accounting.sensitivity import Sensitivity
from discreet.engines import declared_table_sql, duckdb_declared_table
from discreet.engines.ownership import Ownership
from discreet.kernel.curator import Curator
from discreet.mechanisms import bernoulli, exponential
from discreet.mechanisms.bits import SystemBits
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.quantile import QuantileChoice
from discreet.mechanisms.rank_choice import RankChoice
from discreet.mechanisms.threshold import KeyThreshold
from discreet.mechanisms.topk import TopKChoice
from discreet.plan import price as pricing
from discreet.plan import query_sensitivity
from discreet.plan.cells import even_edges
from discreet.schema.column import TextColumn
from discreet.surveys.device import respondent_device
from discreet.surveys.protocols.coins import Coin
from discreet.surveys.protocols.several_questions import Split
from discreet.surveys.protocols.sketch import CountMeanSketch
from discreet.surveys.protocols.unary import SymmetricUnary
from discreet.synth import attribute_discovery, first_histograms
from noise.source import FixedBits
from tiers import size

ONE = Sensitivity(l0=1, l1=1, l2_squared=1, linf=1, because=())


def scaled_laplace(monkeypatch, factor):
    known = DiscreteLaplace.draw
    monkeypatch.setattr(
        DiscreteLaplace,
        "draw",
        lambda self, size, *, bits: known(replace(self, scale=self.scale * factor), size, bits=bits),
    )


def half_the_noise(monkeypatch):
    scaled_laplace(monkeypatch, Fraction(1, 2))


def a_tenth_too_little(monkeypatch):
    scaled_laplace(monkeypatch, Fraction(9, 10))


def noise_that_is_not_centred(monkeypatch):
    known = DiscreteLaplace.draw
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda self, size, *, bits: np.abs(known(self, size, bits=bits)))


def noise_used_for_two_cells(monkeypatch):
    known = DiscreteLaplace.draw

    def draw(self, size, *, bits):
        return np.repeat(known(self, -(-size // 2), bits=bits), 2)[:size]

    monkeypatch.setattr(DiscreteLaplace, "draw", draw)


def bits_drawn_again(monkeypatch):
    monkeypatch.setattr(SystemBits, "words", lambda self, count: FixedBits(count).words(count))


def noise_of_floats(monkeypatch):
    """Rounded to no grid: the law is right and every output names its input."""

    def release(self, exact, *, l1, bits):
        noise = np.random.default_rng().laplace(0, float(self.scale), np.shape(exact))
        return exact.astype(float) + noise, self.event(l1=l1)

    monkeypatch.setattr(DiscreteLaplace, "add_noise", release)


def half_a_sigma(monkeypatch):
    known = DiscreteGaussian.draw
    monkeypatch.setattr(
        DiscreteGaussian,
        "draw",
        lambda self, size, *, bits: known(replace(self, sigma2=self.sigma2 / 4), size, bits=bits),
    )


def a_choice_of_double_epsilon(monkeypatch):
    """As if one person moved a score by the sensitivity in one direction only."""
    known = exponential._gaps
    monkeypatch.setattr(exponential, "_gaps", lambda scores: 2 * known(scores))


def a_biased_coin_of_a_choice(monkeypatch):
    known = bernoulli.exp_minus
    monkeypatch.setattr(bernoulli, "exp_minus", lambda gaps, rate, *, bits: known(gaps, rate * 3 / 2, bits=bits))


def a_quantile_of_one_row(monkeypatch):
    def one(self, epsilon):
        return ExponentialMechanism(epsilon=epsilon, sensitivity=self.step)

    monkeypatch.setattr(QuantileChoice, "estimate", property(lambda self: one(self, self.epsilon * self.share)))
    monkeypatch.setattr(QuantileChoice, "end", property(lambda self: one(self, self.epsilon * (1 - self.share) / 2)))


def a_limit_of_one_row(monkeypatch):
    known = RankChoice.mechanism.fget
    monkeypatch.setattr(
        RankChoice,
        "mechanism",
        property(lambda self: replace(known(self), sensitivity=known(self).sensitivity // self.rows)),
    )


def a_threshold_too_low(monkeypatch):
    known = KeyThreshold.discover

    def release(self, *words, **more):
        places, noisy, _ = known(replace(self, threshold=self.threshold - 2), *words, **more)
        return places, noisy, self.event()

    monkeypatch.setattr(KeyThreshold, "discover", release)


def a_margin_too_small(monkeypatch):
    known = TopKChoice._candidates
    monkeypatch.setattr(
        TopKChoice, "_candidates", lambda self, *words: known(replace(self, margin=max(1, self.margin - 4)), *words)
    )


def a_count_that_moves_by_one(monkeypatch):
    """However many rows a person has."""
    monkeypatch.setattr(pricing, "sensitivity", lambda statistic, reach, *, touched: ONE)


def half_the_range_of_a_sum(monkeypatch):
    """As if it were centred."""
    monkeypatch.setattr(
        query_sensitivity, "term_of", lambda statistic: max(1, (statistic.of.high - statistic.of.low) // 2)
    )


def truncation_left_out(monkeypatch):
    monkeypatch.setattr(Ownership, "unit", property(lambda self: replace(self.table.schema.unit, rows=1000)))


def a_clamp_left_out(monkeypatch):
    def wide(schema):
        return pa.schema(
            [(each.name, pa.string() if isinstance(each, TextColumn) else pa.int64()) for each in schema.columns]
        )

    monkeypatch.setattr(declared_table_sql, "_filled", lambda column, place: f"raw_{place}")
    forms = replace(
        duckdb_declared_table.FORMS, storage=lambda column: "VARCHAR" if isinstance(column, TextColumn) else "BIGINT"
    )
    monkeypatch.setattr(duckdb_declared_table, "FORMS", forms)
    monkeypatch.setattr(duckdb_declared_table, "arrow_schema", wide)


def exact_cells(monkeypatch):
    """The event is charged, and no noise added."""
    known = Curator.add_noise
    monkeypatch.setattr(
        Curator, "add_noise", lambda self, law, exact, moves: (exact, known(self, law, exact, moves)[1])
    )


def a_coin_that_lies_too_rarely(monkeypatch):
    known = Coin.flips
    monkeypatch.setattr(
        Coin, "flips", lambda self, size, *, bits: known(replace(self, heads=self.heads // 2), size, bits=bits)
    )


def doubled(monkeypatch, kind):
    """A protocol of twice the epsilon that it claims."""
    known = kind.__init__

    def init(self, *words, epsilon, **more):
        known(self, *words, epsilon=2 * epsilon, **more)
        self.requested_epsilon = self.epsilon = Fraction(epsilon)

    monkeypatch.setattr(kind, "__init__", init)


def all_of_epsilon_for_each_of_two_bits(monkeypatch):
    """Two answers differ in two places, so that a bit may have half of epsilon only."""
    doubled(monkeypatch, SymmetricUnary)


def all_of_epsilon_for_each_bit_of_a_sketch(monkeypatch):
    doubled(monkeypatch, CountMeanSketch)


def all_of_epsilon_for_each_question(monkeypatch):
    doubled(monkeypatch, Split)


def a_report_drawn_again(monkeypatch):
    """The memo never finds what it kept."""
    monkeypatch.setattr(respondent_device, "_randomizer_digest", lambda randomizer: os.urandom(8).hex())


def grouped(monkeypatch, change):
    known = first_histograms.group_cells
    monkeypatch.setattr(
        first_histograms, "group_cells", lambda attributes, cut, *rest: change(known(attributes, cut, *rest), cut)
    )


def rows_counted_for_free(monkeypatch):
    """A synthesizer that reads n."""
    grouped(monkeypatch, lambda found, cut: replace(found, total=float(cut._count(())[0])))


def bounds_read_from_the_data(monkeypatch):
    known = attribute_discovery._find_bounds

    def bounded(program, needs):
        found = known(program, needs)
        table = pq.read_table(program._curator.folder / program.version.file)
        for name, attribute in found.items():
            codes = [each for each in table[name].to_pylist() if each is not None]
            edges = even_edges(min(codes), max(codes) + 1, 256)
            none = np.zeros(0)
            found[name] = replace(attribute, edges=edges, outer=(0, 0), apart=none, groups=none, weights=none)
        return found

    monkeypatch.setattr(attribute_discovery, "_find_bounds", bounded)


FAULTS = [
    (half_the_noise, "laplace: one cell", 10_000),
    (half_the_noise, "sql count: rows", 10_000),
    (a_tenth_too_little, "laplace: law at scale 20", 100_000),
    (noise_that_is_not_centred, "laplace: law at scale 1/2", 10_000),
    (noise_used_for_two_cells, "laplace: two cells", 10_000),
    (bits_drawn_again, "laplace: two calls", 10_000),
    (noise_of_floats, "laplace: the support of floats", 10_000),
    (half_a_sigma, "gaussian: one cell", 60_000),
    (half_a_sigma, "gaussian: law at sigma 20", 10_000),
    (a_choice_of_double_epsilon, "exponential: its law", 1_000),
    (a_choice_of_double_epsilon, "exponential: law", 40_000),
    (a_biased_coin_of_a_choice, "permute-and-flip: law", 40_000),
    (a_quantile_of_one_row, "median: its law", 1_000),
    (a_limit_of_one_row, "limit: its law", 1_000),
    (a_threshold_too_low, "threshold: a key of one person", 10_000),
    (a_threshold_too_low, "sql keys: keys of one person", 10_000),
    (a_margin_too_small, "topk: keys of one person", size(12_000, 25_000)),
    (a_count_that_moves_by_one, "sql count: a person with too many rows", size(2_500, 10_000)),
    (a_count_that_moves_by_one, "sql count: a person in several cells", 10_000),
    (half_the_range_of_a_sum, "sql sum: rows", 10_000),
    (truncation_left_out, "sql sum: a person with too many rows", 10_000),
    (a_clamp_left_out, "sql sum: a value far beyond its bound", 10_000),
    (exact_cells, "sql count: neighbouring tables", size(1_000, 10_000)),
    (a_coin_that_lies_too_rarely, "local response: two answers", 10_000),
    (a_coin_that_lies_too_rarely, "local hashing: two answers", 10_000),
    (all_of_epsilon_for_each_of_two_bits, "local symmetric-unary: two answers", 10_000),
    (all_of_epsilon_for_each_bit_of_a_sketch, "local sketch: two answers", 10_000),
    (all_of_epsilon_for_each_question, "local split: two answers", 10_000),
    (a_report_drawn_again, "local device: an answer given again", 1_000),
    (rows_counted_for_free, "synth independent: rows", 1_000),
    (bounds_read_from_the_data, "synth independent: a bought bound", size(200, 1_000)),
]
