"""A statement that ranges, marginals or published tables measured is free, in any spelling, and exactly that number."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from discreet.accounting.region import Box, Region, ValueSet
from discreet.answers.reconcile import agreement as agreement_module
from discreet.answers.reconcile import history as history_module
from discreet.answers.reconcile import released_tables as tables_module
from discreet.answers.reconcile.history import history
from discreet.answers.reconcile.history_estimation import estimate_from_numbers
from discreet.answers.reconcile.released_tables import (
    MarginalSums,
    NodeSums,
    ReleasedTable,
    StrategySums,
    TableAxis,
    column_axis,
)
from discreet.answers.reconcile.table_blocks import table_block
from discreet.errors import UsageError
from discreet.inference.linear.residual_fit import ResidualPrecision
from discreet.inference.linear.residual_part import ResidualPart
from discreet.inference.linear.solvers import solver_for
from discreet.inference.reconcile import ColumnDomains
from discreet.inference.reconcile.block_fit import fit_blocks
from discreet.kernel.curator import Curator
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.node_tables import NodeStrategy
from discreet.mechanisms.strategy.strategy import IdentityStrategy, MatrixStrategy, ProductStrategy
from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from synth.worlds import open_project
from tiers import size

COLUMNS = {
    "age": 'type = "integer"\nlow = 0\nhigh = 11',
    "pay": 'type = "integer"\nlow = 0\nhigh = 50\nedges = [0, 10, 30, 50]',
    "sex": 'type = "category"\nvalues = ["F", "M"]\nclosed = true',
    "ward": 'type = "category"\nvalues = ["x", "y", "z"]',
}
_DRAW = random.Random(24)
RECORDS = [
    (
        _DRAW.choice([*range(12), None]),
        _DRAW.choice([*range(51), None]),
        _DRAW.choice("FM"),
        _DRAW.choice(["x", "y", "z", None]),
    )
    for _ in range(400)
]
LINES = [",".join("" if value is None else str(value) for value in record) for record in RECORDS]
PUBLICATION = {
    "table": "people",
    "attributes": ["sex", "age"],
    "hierarchy": {"columns": ["ward"], "root": "all"},
}
CONDITIONS = {
    "age": ["age < 5", "age between 3 and 9", "age in (1, 2, 7)", "age is null", "age is not null", "age >= 4"],
    "pay": ["pay < 10", "pay >= 10 and pay < 30", "pay between 30 and 50", "pay < 7", "pay is not null"],
    "sex": ["sex = 'F'", "sex in ('F', 'M')", "not sex = 'F'"],
    "ward": ["ward = 'x'", "ward <> 'x'", "ward is null", "ward in ('y', 'z')", "ward is not null"],
}


def holds(condition, record):
    """The condition by Python, record by record: NULL compares to nothing."""
    values = dict(zip(COLUMNS, record, strict=True))
    text = condition.replace("<>", "!=").replace(" = ", " == ").replace("null", "None")
    if "between" in text:
        name, _, low, _, high = text.split()
        return values[name] is not None and int(low) <= values[name] <= int(high)
    name = text.removeprefix("not ").split()[0]
    if "None" not in text and values[name] is None:
        return False
    return bool(eval(text, {}, values))


@cache
def fits(condition):
    """Of every record whether the condition holds."""
    return np.array([holds(condition, record) for record in RECORDS])


@pytest.fixture
def people(tmp_path):
    return open_project(tmp_path, COLUMNS, LINES)


@pytest.fixture
def quiet(monkeypatch):
    """Noise that is always 0, so that what is told must be the exact number."""
    known = Curator.add_noise

    def add(self, law, exact_values, moves):
        return np.asarray(exact_values), known(self, law, exact_values, moves)[1]

    monkeypatch.setattr(Curator, "add_noise", add)


RELEASES = {
    "ranges": lambda project: project.ranges("people", "age", epsilon=1),
    "ranges of bins": lambda project: project.ranges("people", "pay", epsilon=1),
    "pure": lambda project: project.marginals("people", epsilon=1, order=2),
    "gaussian": lambda project: project.marginals("people", epsilon=1, delta="1e-6", order=2),
    "publish": lambda project: project.publish(PUBLICATION, epsilon=1),
}


def statements(count, seed):
    draw = random.Random(seed)
    for _ in range(count):
        columns = draw.sample(list(COLUMNS), draw.choice([0, 1, 1, 1, 2, 2]))
        conditions = [draw.choice(CONDITIONS[name]) for name in columns]
        joined = draw.choice([" and ", " or "])
        each = np.array([np.ones(len(RECORDS), dtype=bool), *map(fits, conditions)])
        exact = int((each[1:].any(axis=0) if joined == " or " and conditions else each.all(axis=0)).sum())
        where = f" where {joined.join(conditions)}" if conditions else ""
        yield f"select count(*) from people{where}", exact


def told(project, seed=1, count=None):
    """How many statements are free, and how many of them are not the exact number."""
    version, free, wrong = project.version("people"), 0, 0
    domain = ColumnDomains.of(version.schema.columns)
    tables = history(version, curator=project.curator, reads=None, with_tables=True).tables
    for text, exact in statements(count or size(40, 200), seed):
        found = estimate_from_numbers([], project.sql(text).query, domain, tables=tables)
        if found is not None:
            free += 1
            wrong += abs(found.cells[0, 0][0].value - exact) > 1e-6
    return free, wrong


@pytest.mark.thin(3)
@pytest.mark.parametrize("kind", RELEASES)
def test_what_is_told_is_the_exact_number_but_for_noise(people, quiet, kind):
    RELEASES[kind](people)
    spent = people.budget("people").spent
    free, wrong = told(people)
    assert free >= size(3, 20) and wrong == 0
    assert people.budget("people").spent == spent


def _without_other_columns(self, piece, domain):
    possible = domain.possible
    parts = [axis.selection(piece.get(axis.column, possible(axis.column)), possible(axis.column)) for axis in self.axes]
    return None if any(part is None for part in parts) else tuple(parts)


def _with_cut_cells(self, allowed, possible):
    return np.asarray(self._codes(allowed & possible)[0] != 0)


@pytest.mark.parametrize(
    ("kind", "owner", "name", "wrong"),
    [
        ("ranges", ReleasedTable, "_selection", _without_other_columns),
        ("gaussian", ReleasedTable, "_selection", _without_other_columns),
        ("publish", ReleasedTable, "_selection", _without_other_columns),
        ("ranges of bins", TableAxis, "selection", _with_cut_cells),
    ],
)
def test_a_region_that_is_taken_for_another_is_caught(people, quiet, monkeypatch, kind, owner, name, wrong):
    """Planted: the columns that a release does not have are not looked at; or a cut cell counts as whole."""
    if kind == "gaussian":
        people.marginals("people", ["sex", "ward"], epsilon=1, delta="1e-6")
    else:
        RELEASES[kind](people)
    monkeypatch.setattr(owner, name, wrong)
    assert told(people, count=40)[1] > 0


def test_any_spelling_of_a_released_table_is_free(people):
    made = people.marginals("people", ["sex", "ward", "pay"], epsilon="0.1", order=2)
    spent = people.budget("people").spent
    released = {row[:-2][0]: row[-2] for row in made.marginal("ward").rows()}
    spellings = (
        "select ward, count(*) from people group by ward",
        "select count(*) as n, ward from people group by 2 order by n desc",
        "select ward, count(*) filter (where true) from people group by ward having count(*) > -1000",
        "select ward, sum(1) from people group by ward",
    )
    for text in spellings:
        release = people.sql(text).ask(epsilon=5)
        assert release.derived and release.sources == (made.release,) and release.cost.epsilon == 0, text
        shown = {
            next(cell for cell in row if cell is None or isinstance(cell, str)): next(
                cell for cell in row if isinstance(cell, float)
            )
            for row in release.rows
        }
        assert shown.keys() == released.keys()
        assert all(abs(shown[key] - released[key]) <= made.marginal("ward").half_width / 50 for key in shown)
    (row,) = people.sql("select count(*) from people where ward = 'x' and sex = 'F'").ask(epsilon=3).rows
    (low, high) = (
        people.sql("select count(*) from people where ward = 'x' and sex = 'F'").ask(epsilon=3).intervals[0][0]
    )
    cell = made.marginal("ward", "sex")
    assert abs(row[0] - cell.values[0, 0]) < 1 and abs((high - low) / 2 - cell.half_width) < 1e-6 * cell.half_width
    assert people.budget("people").spent == spent


def test_ranges_are_free_and_explained_as_such(people):
    made = people.ranges("people", "age", epsilon=1)
    question = people.sql("select count(*) from people where age >= 3 and age <= 7")
    explained = question.explain(epsilon=2)
    assert explained["cost"]["epsilon"] == 0 and explained["told"]["releases"] == [made.release]
    release = question.ask(epsilon=2)
    (low, high) = release.intervals[0][0]
    between = made.between(3, 7)
    assert abs((low + high) / 2 - between.value) < 0.1
    assert abs((high - low) - (between.interval[1] - between.interval[0])) < 0.05 * (high - low)


def test_what_was_not_shown_is_given_only_where_it_is_as_exact(people):
    made = people.ranges("people", "age", epsilon=1)
    apart = "select count(*) from people where age in (0, 2, 4, 6, 8, 10)"
    assert people.sql(apart).ask(epsilon="0.05").sources == (made.release,)
    paid = people.sql(apart).ask(epsilon=2)
    assert not paid.derived and paid.cost.epsilon == 2


def test_who_wants_it_by_itself_pays(people):
    people.marginals("people", ["sex", "ward"], epsilon="0.1")
    text = "select sex, count(*) from people group by sex"
    assert people.sql(text).ask(epsilon=1, fresh=True).cost.epsilon == 1
    exact = people.sql(text.replace("count(*)", "count(*) as rows")).ask(within=2)
    assert exact.cost.epsilon > 0


def test_noise_that_is_too_large_for_the_epsilon_is_said(people):
    people.marginals("people", ["sex", "ward"], epsilon="0.01")
    release = people.sql("select sex, count(*) from people group by sex").ask(epsilon=1)
    assert release.derived and any("less noise" in warning for warning in release.warnings)
    again = people.sql("select sex, count(*) from people group by sex").ask(epsilon="0.001")
    assert not any("less noise" in warning for warning in again.warnings)


def test_two_releases_are_read_together(people):
    one = people.marginals("people", ["sex", "ward"], epsilon=1)
    text = "select sex, count(*) from people group by sex"
    alone = people.sql(text).ask(epsilon=1)
    two = people.marginals("people", ["sex", "pay"], epsilon=1)
    both = people.sql(text).ask(epsilon=1)
    assert set(both.sources) == {one.release, two.release} and alone.sources == (one.release,)
    widths = [[high - low for _, (low, high) in release.intervals] for release in (both, alone)]
    assert max(widths[0]) < min(widths[1])


def test_releases_of_another_version_and_unfinished_ones_tell_nothing(people, monkeypatch):
    def broken(self, law, exact_values, moves):
        raise ValueError("no draw")

    with monkeypatch.context() as planted:
        planted.setattr(Curator, "add_noise", broken)
        with pytest.raises(Exception, match="could not be completed"):
            people.ranges("people", "age", epsilon=1)
    version = people.version("people")
    read = history(version, curator=people.curator, reads=people.sql, with_tables=True)
    assert read.tables == ()
    people.ranges("people", "age", epsilon=1, fresh=True)
    read = history(version, curator=people.curator, reads=people.sql, with_tables=True)
    assert len(read.tables) == 1
    source = people.folder / "people.csv"
    source.write_text(source.read_text() + "1,1,F,x\n")
    people.refresh("people")
    assert people.sql("select count(*) from people where age < 5").explain(epsilon="0.1")["cost"]["epsilon"] > 0


def test_what_is_not_what_was_measured_is_not_read(people, monkeypatch):
    """A stored strategy that is not the one of the step: nothing is told."""
    people.ranges("people", "age", epsilon=1, strategy="identity")
    version = people.version("people")
    monkeypatch.setattr(history_module, "_READ", history_module._ReadCache())
    monkeypatch.setattr(
        "discreet.answers.reconcile.table_readers.strategy_data.strategy_from_data",
        lambda data: LevelStrategy(12, ((1, 1), (4, 1))),
    )
    assert history(version, curator=people.curator, reads=people.sql, with_tables=True).tables == ()


def test_selections_are_exact():
    axis = column_axis("a", [0, 3, 6, 10], null=True)
    possible = ValueSet(((1, 9),), True)
    whole = np.ones(4, dtype=np.bool_)

    def cells(*runs, null=False):
        found = axis.selection(ValueSet(runs, null), possible)
        return None if found is None else found.tolist()

    assert cells((1, 3)) == [True, False, False, False] == cells((0, 3))
    assert cells((1, 2)) is None and cells((2, 6)) is None
    assert cells((3, 6), null=True) == [False, True, False, True]
    assert cells((None, None), null=True) == whole.tolist()
    assert column_axis("a", [0, 3, 6, 10], null=False).selection(ValueSet((), True), possible) is None
    assert column_axis("a", [3, 6], null=True).selection(possible, possible) is None
    # Beyond what a column can hold a cell is nobody's, and is never needed.
    assert axis.selection(ValueSet(((6, 9),)), possible).tolist() == [False, False, True, False]


LAW = DiscreteLaplace(scale=Fraction(3))


def brute(rows, variances, wished):
    """Weights of the least-squares answer, by the pseudo-inverse."""
    scaled = rows / np.sqrt(variances)[:, None]
    return (np.linalg.pinv(scaled, rcond=1e-10).T @ wished) / np.sqrt(variances)


def all_boxes(sizes, draw, count):
    for _ in range(count):
        yield tuple(
            np.ones(each, dtype=np.bool_)
            if draw.random() < 0.3
            else np.array([draw.random() < 0.5 for _ in range(each)]) | (np.arange(each) == draw.randrange(each))
            for each in sizes
        )


def flat(boxes):
    return sum(tables_module._flat(box) for box in boxes)


@pytest.mark.parametrize(
    "strategy",
    [
        IdentityStrategy(12),
        LevelStrategy(12, ((1, 3), (4, 2))),
        MatrixStrategy(np.vstack([np.tri(12, dtype=np.int64), 2 * np.eye(12, dtype=np.int64)])),
        ProductStrategy((IdentityStrategy(3), LevelStrategy(4, ((1, 1), (2, 1))))),
    ],
)
def test_weights_of_a_strategy_are_those_of_least_squares(strategy):
    sums = StrategySums(solver=solver_for(strategy), law=LAW, noisy=np.zeros(strategy.rows))
    draw = random.Random(3)
    for box in all_boxes([3, 4], draw, 8):
        one = StrategySums.weights(sums, [(flat([box]) > 0,)])
        assert np.allclose(one[0].weights, brute(strategy.matrix(), np.ones(strategy.rows), flat([box])))


def test_cells_that_were_merged_tell_whole_groups_only():
    merged = MergeStrategy(np.array([0, 0, 1, 1, -1]), IdentityStrategy(2))
    sums = StrategySums(solver=solver_for(merged), law=LAW, noisy=np.array([5.0, 7.0]))
    whole, cut, outside = ([True, True, False, False, False], [True] + 4 * [False], 5 * [True])
    assert sums.weights([(np.array(whole),)])[0].weights.tolist() == [1, 0]
    assert sums.weights([(np.array(cut),)]) is None and sums.weights([(np.array(outside),)]) is None


PARTS = [
    ResidualPart(axes=(0, 1)),
    ResidualPart(axes=(1, 2), centred=(1,)),
    ResidualPart(axes=(0, 2), centred=(0, 2)),
    ResidualPart(axes=(1, 2)),
    ResidualPart(axes=(), centred=()),
    ResidualPart(axes=(2,), centred=(2,)),
]


def part_rows(part, sizes):
    """A part's numbers as sums of the cells of the whole domain."""
    cells = int(np.prod(sizes))
    table = np.eye(cells).reshape(*sizes, cells)
    gathered = tuple(axis for axis in range(len(sizes)) if axis not in part.axes)
    marginal = table.sum(axis=gathered).reshape(-1, cells)
    return part.strategy(sizes).multiply(marginal)


@pytest.mark.parametrize("sizes", [(2, 3, 4), (3, 2, 2), (1, 2, 3)])
def test_weights_of_marginals_are_those_of_least_squares(sizes):
    parts = [part for part in PARTS if all(sizes[axis] > 1 for axis in part.centred)]
    laws = tuple(DiscreteLaplace(scale=Fraction(place + 1)) for place in range(len(parts)))
    precision = ResidualPrecision.from_parts(sizes, parts, [law.variance() for law in laws])
    rows = [part_rows(part, sizes) for part in parts]
    draw = random.Random(8)
    noisy = [np.array([float(draw.randrange(100)) for _ in range(len(own))]) for own in rows]
    sums = MarginalSums(precision=precision, laws=laws, noisy=tuple(noisy))
    variances = np.concatenate([np.full(len(own), law.variance()) for own, law in zip(rows, laws, strict=True)])
    for _ in range(30):
        boxes = list(all_boxes(sizes, draw, draw.choice([1, 1, 2])))
        if len(boxes) == 2 and (flat(boxes) > 1).any():
            continue
        found = sums.weights(boxes)
        three = any(not any(box[axis].all() for axis in range(3) if sizes[axis] > 1) for box in boxes)
        if three and 1 not in sizes:
            assert found is None  # no part holds all three columns
            continue
        best = brute(np.concatenate(rows), variances, flat(boxes))
        value = sum(float(part.weights @ part.noisy) for part in found)
        variance = sum(part.times * float(part.weights @ part.weights) * part.law.variance() for part in found)
        assert value == pytest.approx(float(best @ np.concatenate(noisy)), rel=1e-8, abs=1e-8)
        assert variance == pytest.approx(float(best**2 @ variances), rel=1e-8)


def node_sums(kinds):
    places, cells = np.array([0, 0, 1, 2]), np.array([0, 1, -1, 2])
    draw = random.Random(5)
    parts = []
    for place, (nodes, groups) in enumerate(((places, cells), (places * 0, cells), (places, np.minimum(cells, 0)))):
        strategy = NodeStrategy(places=nodes, nodes=int(nodes.max()) + 1, groups=groups, kinds=int(groups.max()) + 1)
        noisy = np.array([float(draw.randrange(50)) for _ in range(strategy.rows)])
        parts.append((strategy, DiscreteLaplace(scale=Fraction(place + 1)), noisy))
    return NodeSums(parts=tuple(parts[:kinds]), nodes=(places * 0, places), places=1)


def test_weights_of_published_tables_are_those_of_least_squares(monkeypatch):
    sums = node_sums(3)
    rows = np.concatenate([strategy.matrix() for strategy, _, _ in sums.parts])
    noisy = np.concatenate([own for _, _, own in sums.parts])
    variances = np.concatenate([np.full(one.rows, law.variance()) for one, law, _ in sums.parts])
    boxes = [
        (np.array(places), np.array(cells))
        for places in itertools.product([False, True], repeat=4)
        for cells in itertools.product([False, True], repeat=4)
        if any(places) and any(cells)
    ]
    told = 0
    for box in boxes:
        found = sums.weights([box])
        whole_nodes = box[0][0] == box[0][1]
        if box[1][2]:
            assert found is None  # a cell that no table counts
        elif whole_nodes:
            best = brute(rows, variances, flat([box]))
            value = sum(float(part.weights @ part.noisy) for part in found)
            assert value == pytest.approx(float(best @ noisy))
            told += 1
    assert told > 20
    monkeypatch.setattr(tables_module, "MOST_FITTED", 1)
    large = node_sums(3)
    one = large.weights([(np.array([True, True, False, False]), np.array([True, False, False, False]))])
    assert one[0].weights.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0]
    every = large.weights([(np.ones(4, dtype=np.bool_), np.array([True, False, False, False]))])
    assert every[0].weights.sum() in (1, 3)
    assert large.weights([(np.array([True, False, False, False]), np.array([True, False, False, False]))]) is None


def test_rows_that_a_release_leaves_out_are_not_told():
    """A release of some records: what is asked must be about them alone."""
    domain = ColumnDomains(columns={"a": ValueSet.interval(0, 4), "b": ValueSet.interval(0, 3)})
    sums = StrategySums(solver=solver_for(IdentityStrategy(4)), law=LAW, noisy=np.array([1.0, 2.0, 4.0, 8.0]))
    among = Box({"b": ValueSet.of([1])})
    table = ReleasedTable(
        release="r", family="rows", axes=(column_axis("a", range(5), null=False),), sums=sums, rows=among
    )

    def value(**sides):
        found = table.estimate(Region((Box({name: ValueSet.of(codes) for name, codes in sides.items()}),)), domain)
        return None if found is None else found[0].value

    assert value(a=[0, 1], b=[1]) == 3 and value(b=[1]) == 15
    assert value(a=[0, 1]) is None and value(a=[0], b=[1, 2]) is None and value() is None
    narrow = ReleasedTable(
        release="r", family="rows", axes=table.axes, sums=sums, rows=Box({"a": ValueSet.interval(1, 4)})
    )
    region = Region((Box({"a": ValueSet.interval(1, 4)}),))
    assert narrow.estimate(region, domain)[0].value == 15 or narrow.estimate(region, domain)[0].value == 14
    assert narrow.estimate(Region.whole(), domain) is None


# Made to agree with other answers


def dense(numbers, blocks, records):
    """The best linear unbiased estimates of all regions, over every possible record, by the pseudo-inverse."""
    regions = [number.region for number in numbers] + [region for block in blocks for region in block.regions]
    inside = np.array([[record in region for record in records] for region in regions], dtype=np.float64)
    rows, noisy, start = [inside[: len(numbers)]], [[float(number.value) for number in numbers]], len(numbers)
    variances = [[number.variance for number in numbers]]
    for block in blocks:
        rows.append(block.rows @ inside[start : start + len(block.regions)])
        noisy.append(block.noisy)
        variances.append(block.variances)
        start += len(block.regions)
    weights = 1 / np.sqrt(np.concatenate(variances))
    design = weights[:, None] * np.concatenate(rows)
    inverse = np.linalg.pinv(design, rcond=1e-10)
    values = inside @ (inverse @ (weights * np.concatenate(noisy)))
    return values, np.sqrt(((inside @ inverse) ** 2).sum(axis=1))


ATOMS = [
    {"age": age, "pay": pay, "sex": sex, "ward": ward}
    for age in [*range(12), None]
    for pay in [5, 15, 40, None]
    for sex in (0, 1)
    for ward in (0, 1, 2, None)
]


@pytest.mark.thin(3)
@pytest.mark.parametrize("kind", RELEASES)
def test_tables_and_answers_agree_as_least_squares_says(people, kind):
    RELEASES[kind](people)
    people.marginals("people", ["sex", "ward"], epsilon=2, fresh=True)
    for text in (
        "select sex, count(*) from people group by sex",
        "select count(*), sum(age) from people where age > 6",
    ):
        people.sql(text).ask(epsilon=1, fresh=True)
    agreement = people.reconcile("people")
    version = people.version("people")
    read = history(version, curator=people.curator, reads=lambda text: people.sql(text).query, with_tables=True)
    counts = [number.measured() for number in read.numbers if number.family == "rows"]
    blocks = [table_block(table).block for table in read.tables][::-1]
    values, errors = dense(counts, blocks, ATOMS)
    lines = [line for line in agreement.lines if line.number.family == "rows"]
    assert len(lines) == len(values) > len(counts)
    assert np.allclose([line.reconciled for line in lines], values, atol=1e-5)
    assert np.allclose([line.reconciled_error for line in lines], errors, atol=1e-5)
    assert all(line.reconciled_error <= line.standard_error + 1e-9 for line in lines)
    assert not agreement.left_out and len(agreement.lines) == len(lines) + 1
    reconciled = [Fraction(line.reconciled) for line in agreement.lines]
    for identity in agreement.identities:
        assert abs(sum(amount * reconciled[place] for place, amount in identity.terms)) < 1e-4


def test_cells_taken_for_independent_are_caught(people, monkeypatch):
    """Planted: the covariance of a table's cells is left out."""
    people.marginals("people", ["sex", "ward"], epsilon=1, delta="1e-6")
    people.sql("select count(*) from people").ask(epsilon=1, fresh=True)
    right = [line.reconciled_error for line in people.reconcile("people").lines]

    def apart(table):
        found = table_block(table)
        alone = fit_blocks([], [found.block], ColumnDomains.of(people.version("people").schema.columns))
        cells = np.eye(len(found.keys))
        block = replace(found.block, rows=cells, noisy=alone.values, variances=alone.standard_errors**2)
        return replace(found, block=block)

    monkeypatch.setattr(agreement_module, "table_block", apart)
    wrong = [line.reconciled_error for line in people.reconcile("people").lines]
    assert not np.allclose(right, wrong, rtol=0.01)


def test_large_tables_stay_out_with_the_reason(people, monkeypatch):
    made = people.marginals("people", epsilon=1, order=2)
    people.sql("select count(*) from people").ask(epsilon=1, fresh=True)
    monkeypatch.setattr("discreet.answers.reconcile.table_blocks.MOST_CELLS", 10)
    agreement = people.reconcile("people")
    assert [each.release for each in agreement.left_out] == [made.release]
    assert "cells" in agreement.left_out[0].reason
    with pytest.raises(UsageError, match="can be reconciled"):
        people.reconcile("people", [made.release])


def test_whole_numbers_of_tables_agree(people):
    people.marginals("people", ["sex", "ward"], epsilon="0.2")
    people.ranges("people", "pay", epsilon=1, by="sex", only=True, ranges=[(0, 9), (10, 29)])
    agreement = people.reconcile("people", whole=True)
    assert all(line.whole is not None and line.whole >= 0 for line in agreement.lines)
    assert agreement.rounded is True and all(line.whole == round(line.whole) for line in agreement.lines)
