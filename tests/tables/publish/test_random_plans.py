"""Plans put together at random: whatever is accepted comes out whole, not negative, and adding up, with finite errors."""

import random
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.guarantee import Guarantee
from discreet.engines.memory import MemoryEngine
from discreet.engines.public_table_loader import load_public_table
from discreet.errors import DiscreetError
from discreet.kernel.curator import Version
from discreet.mechanisms.bits import system
from discreet.tables.publish.layout import lay_out
from discreet.tables.publish.permitted_totals import totals_of
from discreet.tables.publish.plan_file import read_plan
from discreet.tables.publish.publication_offer import make_offer
from discreet.tables.publish.publication_price import possible_prices
from discreet.tables.publish.table_estimates import refine
from tables.publish.census import make

GUARANTEE = Guarantee(epsilon=Fraction(1000), delta=Fraction(1, 10**6))
HIERARCHIES = (
    None,
    {"column": "block", "levels": ["state", "county", "block"], "from": "places"},
    {"column": "block", "levels": ["s", "b"], "prefix": [2]},
    {"column": "block", "levels": ["b"]},
    {"columns": ["sex", "work"]},
    {"columns": ["work", "block"]},
)


def random_plan(generator):
    told = {"table": "people"}
    hierarchy = generator.choice(HIERARCHIES)
    levels = ["total"]
    if hierarchy is not None:
        told["hierarchy"] = dict(hierarchy, elsewhere=generator.random() < 0.7)
        levels += hierarchy.get("levels") or hierarchy["columns"]
    names = [name for name in ("sex", "age", "work") if name not in levels]
    told["attributes"] = generator.sample(names, generator.randint(0, len(names)))
    if generator.random() < 0.4:
        told["invariants"] = [generator.choice(levels)]
    if generator.random() < 0.5:
        told["levels"] = {name: random_level(generator, told["attributes"]) for name in levels[:-1]}
        told["levels"][levels[-1]] = {"share": 1, "queries": ["cells"]}
    if "age" in told["attributes"] and generator.random() < 0.5:
        told["zeros"] = [{"age": generator.choice(["0 to 14", "0 to 40", ["65 to 99", {"null": True}]])}]
    return told


def random_level(generator, attributes):
    queries = [["cells"], ["cells", "total"], ["total"], *(["cells", [name]] for name in attributes)]
    return {"share": generator.choice([0, 1, 2.5]), "queries": generator.choice(queries)}


def measured(offer, counts):
    """What noise makes of counts: exact laws, the system's randomness."""
    layout, sizes = offer.layout, offer.layout.places.tree.sizes
    return [
        [
            (layout.strategy(level, query.groups).apply(counts) + law.draw(sizes[level] * query.kinds, bits=system()))
            .reshape(sizes[level], query.kinds)
            .T
            for query, law in zip(layout.queries[level], offer.laws[level], strict=True)
        ]
        for level in range(len(sizes))
    ]


def check(offer, counts):
    layout, tree = offer.layout, offer.layout.places.tree
    totals = None
    if layout.lowest_exact_level is not None:
        counted, rank = totals_of(layout.places, layout.lowest_exact_level)
        totals = counted.apply(counts.reshape(len(layout.places.leaves), -1).sum(axis=1))[rank]
    found = refine(offer.accuracy, offer.laws, measured(offer, counts), totals)
    for level in range(tree.depth):
        assert found.counts[level].min() >= 0 and found.counts[level].dtype == np.int64
        assert np.isfinite(found.estimates[level]).all() and np.isfinite(offer.accuracy.cell_errors(level)).all()
        if level < tree.depth - 1:
            assert (tree.sums(level, found.counts[level + 1]) == found.counts[level]).all()
            np.testing.assert_allclose(tree.sums(level, found.estimates[level + 1]), found.estimates[level], atol=1e-5)
    if layout.lowest_exact_level is not None:
        assert found.counts[layout.lowest_exact_level].sum(axis=0).tolist() == totals.tolist()
        np.testing.assert_allclose(found.estimates[layout.lowest_exact_level].sum(axis=0), totals, atol=1e-5)


@pytest.mark.thin(1)
@pytest.mark.parametrize("seed", range(8))
def test_what_is_accepted_adds_up(tmp_path, seed):
    project = make(tmp_path, extra='invariants = ["block", "sex", "work"]\n')
    generator = random.Random(seed)
    schema = project.table("people").schema
    version = Version(table="people", number=1, population="people", schema=schema, file="")
    accepted = 0
    for turn in range(40):
        try:
            told = read_plan(random_plan(generator))
            layout = lay_out(
                told,
                version,
                lambda name: load_public_table(project.table(name), folder=project.folder, engine=MemoryEngine()),
            )
        except DiscreetError as problem:
            assert problem.exit_code in (2, 3)
            continue
        accepted += 1
        counts = np.random.default_rng(turn).poisson(
            generator.choice([0.0, 0.3, 50.0]), size=(len(layout.places.leaves), len(layout.possible))
        )
        for price in possible_prices(generator.choice(["0.1", 1, 40]), None, GUARANTEE):
            check(make_offer(layout, price), counts.ravel())
    assert accepted > 15
