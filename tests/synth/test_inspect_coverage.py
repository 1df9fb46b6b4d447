"""Every ± of the report, against the truth: histograms by noise that is drawn here, and whole fits in the long run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import bdtr

from discreet.inference.fit import FitSearch
from discreet.inference.fit import fit as fit_of
from discreet.schema.column import NumberColumn
from discreet.synth.attribute import attribute_of
from discreet.synth.first_histograms import DECIDING, group_cells
from discreet.synth.inspect.model_evidence import ModelEvidence
from discreet.synth.inspect.model_histograms import histograms
from discreet.synth.inspect.simple_questions import _conditions, simple_questions
from discreet.synth.model import Model
from discreet.synth.noisy_histogram import HistogramPair, NoisyHistogram
from synth.inspect_tables import CARD, PURE, category
from synth.worlds import fit, open_project
from tiers import fuzzed, size

CUT = SimpleNamespace(merged=lambda groups: None)
ROWS, SD = 6000, 20.0
#: The generators of the tables that are drawn.
TABLES = range(size(10, 20))

#: How often each value occurs, up to a factor: many near where values become rare, which is where one goes wrong.
COLUMNS = {
    "flat": (category("flat", 80), np.ones(80)),
    "falling": (category("falling", 60), 1 / np.arange(1, 61)),
    "two": (category("two", 2), np.array([3.0, 2.0])),
    "whole": (NumberColumn(name="whole", type="integer", low=0, high=9), np.array([60.0, 30, 9, 6, 4, 3, 2, 1, 0, 0])),
    "wide": (NumberColumn(name="wide", type="integer", low=0, high=255), 0.97 ** np.arange(256)),
}


def drawn(column, chances, generator, *, pure, same):
    """Exact counts of a column, a twentieth NULL where it may be, and a pair of histograms by noise of `SD` in all."""
    attribute = attribute_of(column)
    chances = np.append(chances, chances.sum() / 19) if attribute.null else chances
    counts = generator.multinomial(ROWS, chances / chances.sum())
    found = []
    for part in (DECIDING, 1 - DECIDING):
        sd = SD if same else SD / float(part) if pure else SD / float(part) ** 0.5
        noise = generator.laplace(0, sd / 2**0.5, len(counts)) if pure else generator.normal(0, sd, len(counts))
        found.append(NoisyHistogram(values=np.rint(counts + noise), variance=sd**2))
    return attribute, counts, HistogramPair(deciding=found[1] if same else found[0], counting=found[1])


def model_by(generator, *, card=CARD, same=False):
    """A model of the columns above, each by itself, and the exact counts of its cells. `same`: one noise for both."""
    parts = [drawn(*own, generator, pure=card.rho is None, same=same) for own in COLUMNS.values()]
    told = group_cells([attribute for attribute, _, _ in parts], CUT, [pair for _, _, pair in parts])
    model = Model(
        card=card,
        columns=tuple(column for column, _ in COLUMNS.values()),
        attributes=told.attributes,
        fitted=fit_of(told.sizes, told.measured, told.total, search=FitSearch(iterations=300)),
        measured=told.measured,
        total_sd=told.total_sd,
    )
    truths = [np.bincount(each.groups, weights=part[1]) for each, part in zip(told.attributes, parts, strict=True)]
    return model, truths, ROWS


def check(model, truths, rows, hits):
    """For every ± of the report whether the truth is within it, half a row for what is rounded."""
    evidence = ModelEvidence(model)
    hits["rows"].append(abs(model.total - rows) <= evidence.widths * evidence.total_sd + 0.5)
    told = zip(histograms(evidence), simple_questions(evidence), truths, strict=True)
    for place, (histogram, simple, truth) in enumerate(told):
        bounds = evidence.bounds((place,))
        for cell, label in enumerate(histogram.labels):
            what = "rare values" if "rare values" in str(label) else "values"
            off = abs(histogram.noisy_counts[cell] - truth[cell])
            hits[f"measured {what}"].append(off <= histogram.plus_minus[cell] + 0.5)
            hits[f"model's {what}"].append(bounds.low[cell] - 0.5 <= truth[cell] <= bounds.high[cell] + 0.5)
        conditions = [chosen for _, chosen in _conditions(model.attributes[place])]
        for each, chosen in zip(simple.predicates, conditions, strict=True):
            what = "ranges" if each.condition.startswith("at ") else "conditions"
            hits[what].append(abs(each.count - truth[chosen].sum()) <= each.plus_minus + 0.5)


def coverage(seeds, change=lambda model: model, **more):
    hits = defaultdict(list)
    for seed in seeds:
        model, *truth = model_by(np.random.default_rng(seed), **more)
        check(change(model), *truth, hits)
    return {name: float(np.mean(each)) for name, each in hits.items()}


@pytest.mark.thin(1)
@pytest.mark.parametrize("card", [CARD, PURE], ids=["gaussian", "laplace"])
def test_each_plus_minus_holds_the_truth(card):
    """Fixed generators: the same in every run. Rare values were 33 to 60%."""
    found = coverage(TABLES, card=card)
    assert set(found) == {
        "rows",
        "measured values",
        "measured rare values",
        "model's values",
        "model's rare values",
        "conditions",
        "ranges",
    }
    assert min(share for name, share in found.items() if name != "rows") >= 0.9, found
    assert found["rows"] >= 0.7  # as many numbers as tables


def test_rare_values_merged_by_the_noise_that_is_summed_are_seen():
    assert coverage(TABLES, same=True)["measured rare values"] < 0.75


def test_one_variance_for_all_cells_is_seen():
    def alike(model):
        return replace(model, measured=tuple(replace(each, variances=None) for each in model.measured))

    assert coverage(TABLES, alike)["measured rare values"] < 0.75


def fewest_hits(count: int, share: float) -> int:
    """Of so many numbers, each within its ± with this chance, fewer are so less than once in a hundred million runs."""
    return next(hits for hits in range(count + 1) if bdtr(hits, count, share) > 1e-8)


@pytest.mark.fuzz
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("card", [CARD, PURE], ids=["gaussian", "laplace"])
def test_each_plus_minus_holds_the_truth_many_times(card):
    """95%, less 2%: what a choice that was almost not clear leaves. Of the rows there is one number in each table."""
    tables = fuzzed(600)
    found = coverage(range(1000, 1000 + tables), card=card)
    assert min(share for name, share in found.items() if name != "rows") >= 0.93, found
    assert round(found["rows"] * tables) >= fewest_hits(tables, 0.93), found


@pytest.mark.fuzz
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("rows", "epsilon", "kind"), [(3000, "1", "independent"), (3000, "2", "mst"), (30_000, "1", "aim")]
)
def test_each_plus_minus_of_a_whole_fit_holds_the_truth(tmp_path, rows, epsilon, kind):
    """With real noise. Rare values are 12 to 70 numbers in all fits, of the rows there are 30: by the binomial law.

    The others are two thousand and more: their shares in one fit have a standard deviation of 0.024 at most and a mean
    above 0.955, so that 0.93 is 6 standard deviations away for 30 fits.
    """
    generator, columns, data = np.random.default_rng(rows), {}, {}
    for name, (column, chances) in COLUMNS.items():
        data[name] = generator.choice(len(chances), rows, p=chances / chances.sum())
        numeric = f'type = "integer"\nlow = 0\nhigh = {len(chances) - 1}'
        columns[name] = (
            numeric if isinstance(column, NumberColumn) else f'type = "category"\nvalues = {list(column.values)}'
        )
    values = {
        name: data[name].astype(str) if isinstance(column, NumberColumn) else np.array(column.values)[data[name]]
        for name, (column, _) in COLUMNS.items()
    }
    lines = [",".join(row) for row in zip(*values.values(), strict=True)]
    project = open_project(tmp_path, columns, lines, budget="{ epsilon = 100000, delta = 1e-4 }")
    hits = defaultdict(list)
    for _ in range(30):
        model = fit(project, epsilon=epsilon, kind=kind, fresh=True)
        truths = []
        for attribute in model.attributes:
            fine = np.searchsorted(attribute.edges, data[attribute.name], side="right") - 1
            truths.append(np.bincount(attribute.groups[fine], minlength=attribute.size))
        check(model, truths, rows, hits)
    found = {name: float(np.mean(each)) for name, each in hits.items()}
    for name in ("rows", "measured rare values", "model's rare values"):
        few = hits.pop(name)
        assert sum(few) >= fewest_hits(len(few), 0.93 if name == "rows" else 0.9), (name, found)
    assert min(found[name] for name in hits) >= 0.8, found
    assert found["measured values"] >= 0.93 and found["conditions"] >= 0.93, found
