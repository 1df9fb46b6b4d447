"""The network of a model: its arrows and tables, the ± of every share, where it is drawn, and what of it is noise."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from discreet.inference.fit import MeasuredMarginal
from discreet.inference.fit import fit as fit_tables
from discreet.inference.fit_inputs import sum_groups
from discreet.schema.column import CategoryColumn, MomentColumn, NumberColumn
from discreet.synth.inspect import inspect_model, model_network
from discreet.synth.inspect.dependence import noisy_strength, strength
from discreet.synth.inspect.model_evidence import ModelEvidence
from discreet.synth.inspect.model_network import network_of, share_widths
from discreet.synth.inspect.network_layout import BOX, WIDEST, lay_out
from discreet.synth.inspect.network_svg import draw_network
from discreet.synth.inspect.value_groups import gather_values
from synth.inspect_tables import CARD, PURE, category, exact, model_of, table
from synth.worlds import fit, open_project
from tiers import size

SIZES = (4, 3, 2, 2)
NAMES = "abcd"
COLUMNS = [category(name, count) for name, count in zip(NAMES, SIZES, strict=True)]
BAYES = replace(CARD, kind="privbayes")
HOSTILE = "<script>\"'&\u202e\x00 東京 ]]>"


def data_of(seed, rows=8000):
    return table(SIZES, rows, np.random.default_rng(seed), tie=0.5)


def model_by(seed, sets, *, card=BAYES, sd=15.0):
    return model_of(COLUMNS, data_of(seed), sets, sd=sd, generator=np.random.default_rng(seed + 1), card=card)


def test_a_bayesian_network_has_the_parents_that_were_chosen():
    graph = inspect_model(model_by(1, [(0, 1), (1, 2), (0, 2, 3)])).graph
    assert graph.arrows and graph.degree == 2 and graph.columns == ("a", "b", "c", "d")
    assert [(each.column, each.parents) for each in graph.tables] == [
        ("a", ()), ("b", ("a",)), ("c", ("b",)), ("d", ("a", "c")),
    ]  # fmt: skip
    arrows = {(each.parent, each.child) for each in graph.edges}
    assert arrows == {("a", "b"), ("b", "c"), ("a", "d"), ("c", "d")}, "no arrow joins two parents"


def test_a_tree_and_tables_have_lines_between_all_that_were_measured_together():
    graph = inspect_model(model_by(1, [(0, 1), (1, 2), (0, 2, 3)], card=CARD)).graph
    assert not graph.arrows
    lines = {(each.parent, each.child): each.by_itself for each in graph.edges}
    assert lines == {("a", "b"): True, ("b", "c"): True, ("a", "c"): False, ("a", "d"): False, ("c", "d"): False}


def test_columns_measured_by_themselves_stand_alone():
    graph = inspect_model(model_by(1, [])).graph
    assert graph.edges == () and graph.degree == 0
    assert [(each.column, each.parents) for each in graph.tables] == [(name, ()) for name in NAMES]
    assert "The network" not in inspect_model(model_by(1, [])).page()


def test_shares_are_the_models_own():
    model = model_by(2, [(0, 1), (0, 1, 2)])
    told = next(each for each in inspect_model(model).graph.tables if each.column == "c")
    assert told.parents == ("a", "b") and told.values == ("c0", "c1")
    counts = model.project(["a", "b", "c"]).counts
    shares = {(f"a{a}", f"b{b}"): counts[a, b] / counts[a, b].sum() for a in range(SIZES[0]) for b in range(SIZES[1])}
    assert len(told.rows) + told.rows_left_out == 12 and len(told.rows) > 5
    for row in told.rows:
        assert row.shares == pytest.approx(shares[row.given])
        assert sum(row.shares) == pytest.approx(1)


# -- the ± of a share ----------------------------------------------------------------------------------------------


def covered(card, widths=share_widths, seeds=size(12, 200)):
    """How many of the intervals of a network's shares hold the true share."""
    hits = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_network, "share_widths", widths)
        for seed in range(seeds):
            model = model_by(seed, [(0, 1), (1, 2), (0, 2, 3)], card=card, sd=25.0)
            for own in model_network.model_network(ModelEvidence(model), ()).tables:
                places = [NAMES.index(name) for name in (*own.parents, own.column)]
                truth = exact(data_of(seed), SIZES, places)
                for row in own.rows:
                    cell = truth[tuple(int(text[1:]) for text in row.given)]
                    for value, share, width in zip(own.values, row.shares, row.plus_minus, strict=True):
                        if cell.sum() > 0:
                            hits.append(abs(cell[int(value[1:])] / cell.sum() - share) <= width + 1e-4)
    return float(np.mean(hits))


@pytest.mark.parametrize("card", [BAYES, replace(PURE, kind="privbayes")], ids=["gaussian", "laplace"])
def test_each_plus_minus_of_a_share_holds_the_truth(card):
    """Fixed generators: the same in every run."""
    assert covered(card) >= 0.94


def test_a_width_of_the_cell_alone_or_of_half_the_noise_is_seen():
    def half(counts, noisy, variances, *, widths, outside=0.0):
        return share_widths(counts, counts, variances, widths=widths / 2, outside=outside)

    def cell_alone(counts, noisy, variances, *, widths, outside=0.0):
        return widths * np.sqrt(variances / variances.shape[1]) / counts.sum(axis=1, keepdims=True) / 2

    assert covered(BAYES, half, 5) < 0.9
    assert covered(BAYES, cell_alone, 5) < 0.9


def test_a_row_below_its_noise_is_left_out_and_a_public_one_is_exact():
    counts = np.array([[400.0, 100.0], [20.0, 10.0]])
    found = share_widths(counts, counts, np.full((2, 2), 400.0), widths=1.96)
    assert np.isfinite(found[0]).all() and np.isnan(found[1]).all()
    assert found[0] == pytest.approx([0.075, 0.075], abs=0.01)  # sd of 80% of 500 with noise of 20 on either part: 3.3%
    assert (share_widths(counts, counts, np.full((2, 2), 1e-12), widths=1.96) < 1e-6).all()


@pytest.mark.noisy  # the shares of a row go together, so that what few of them miss is no law of independent ones
@pytest.mark.parametrize("kind", ["privbayes", "mst"])
def test_the_network_of_a_whole_fit(tmp_path, kind):
    """Every column is in it, no parent comes after its child, and the truth is within most of the intervals."""
    generator = np.random.default_rng(5)
    first = generator.integers(0, 3, 4000)
    second = (first + (generator.random(4000) < 0.3)) % 3
    third = (second == 0) ^ (generator.random(4000) < 0.1)
    rows = np.stack([first, second, third.astype(int)], axis=1)
    names = {"first": 3, "second": 3, "third": 2}
    columns = {
        name: f'type = "category"\nvalues = {[f"v{value}" for value in range(count)]}\nclosed = true'
        for name, count in names.items()
    }
    project = open_project(tmp_path, columns, [",".join(f"v{value}" for value in row) for row in rows])
    graph = inspect_model(fit(project, epsilon="4", kind=kind, degree=2 if kind == "privbayes" else None)).graph
    assert graph.arrows == (kind == "privbayes") and set(graph.columns) == set(names) and 1 <= graph.degree <= 2
    hits = []
    for own in graph.tables:
        assert all(graph.columns.index(parent) < graph.columns.index(own.column) for parent in own.parents)
        places = [list(names).index(name) for name in (*own.parents, own.column)]
        truth = exact(rows, list(names.values()), places)
        for row in own.rows:
            cell = truth[tuple(int(text[1:]) for text in row.given)]
            if cell.sum() == 0:  # values that nobody has, lifted by noise: they have no true share
                continue
            hits += [
                abs(cell[int(value[1:])] / cell.sum() - share) <= width + 1e-4
                for value, share, width in zip(own.values, row.shares, row.plus_minus, strict=True)
            ]
    assert len(hits) > 8 and np.mean(hits) > 0.6


# -- values that people read ---------------------------------------------------------------------------------------


def test_numbers_are_cut_into_runs_of_equally_many_rows():
    column = NumberColumn(name="age", type="integer", low=0, high=99, edges=tuple(range(0, 101, 10)))
    data = np.random.default_rng(1).integers(0, 10, (9000, 1))
    model = model_of([column], data, [], sd=5, generator=np.random.default_rng(2))
    (attribute,), counts = model.attributes, model.calibrated.project((0,))
    groups = gather_values(attribute, counts, 5)
    assert groups.names == ("0 to 19", "20 to 39", "40 to 59", "60 to 79", "80 to 99", "NULL")
    assert groups.gather(counts).sum() == pytest.approx(counts.sum()) and len(groups.gather(counts)) == 6
    assert gather_values(attribute, counts, 10).names[0] == "0 to 9"


def test_common_words_stand_alone_and_others_together():
    column = CategoryColumn(name="word", values=tuple("abcdefgh"), closed=True)
    data = np.random.default_rng(1).choice(8, (9000, 1), p=[0.02, 0.3, 0.02, 0.3, 0.02, 0.3, 0.02, 0.02])
    model = model_of([column], data, [], sd=5, generator=np.random.default_rng(2))
    groups = gather_values(model.attributes[0], model.calibrated.project((0,)), 4)
    assert groups.names == ("b", "d", "f", "others") and groups.places.tolist() == [3, 0, 3, 1, 3, 2, 3, 3]


# -- drawings ------------------------------------------------------------------------------------------------------


def boxes_apart(layout, widths):
    """Whether no two boxes meet and all are inside."""
    spans = {name: (x - widths[name] / 2, x + widths[name] / 2, y) for name, (x, y) in layout.boxes.items()}
    for one, other in combinations(spans.values(), 2):
        assert abs(one[2] - other[2]) >= BOX or one[1] <= other[0] or other[1] <= one[0], (one, other)
    for left, right, y in spans.values():
        assert left >= -0.01 and right <= layout.width + 0.01 and BOX / 2 - 0.01 <= y <= layout.height - BOX / 2 + 0.01


@pytest.mark.parametrize("seed", range(6))
def test_no_two_boxes_meet_and_children_come_after_parents(seed):
    generator = np.random.default_rng(seed)
    names = [f"column {place}" for place in range(4 + 4 * seed)]
    edges = [
        (names[int(parent)], names[child])
        for child in range(1, len(names) - 1)
        for parent in generator.choice(child, size=min(child, int(generator.integers(1, 4))), replace=False)
    ]
    widths = {name: float(generator.integers(40, 160)) for name in names}
    layout = lay_out(widths, edges)
    boxes_apart(layout, widths)
    assert layout.width <= WIDEST or not layout.downwards
    side = 1 if layout.downwards else 0
    for parent, child in edges:
        assert layout.boxes[parent][side] < layout.boxes[child][side]
        assert len(layout.lines[parent, child]) >= 2


def test_a_wide_layer_turns_the_drawing():
    names = [f"column {place}" for place in range(30)]
    layout = lay_out(dict.fromkeys(names, 100.0), [(names[0], name) for name in names[1:]])
    assert not layout.downwards and layout.width < 400
    assert lay_out({"a": 50.0}, []).boxes == {"a": (25.0, BOX / 2)}


def test_the_file_is_xml_with_its_tables_and_escapes_names():
    columns = [replace(COLUMNS[0], name=HOSTILE), *COLUMNS[1:]]
    model = model_of(columns, data_of(3), [(0, 1), (1, 2), (0, 2, 3)], sd=10, generator=np.random.default_rng(4))
    report = inspect_model(replace(model, card=replace(BAYES, table=HOSTILE)))
    text = report.graph_file()
    root = ElementTree.fromstring(text)
    assert "<script" not in text and "href" not in text and "url(" not in text
    words = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "±" in "".join(filter(None, words)) and "c given b" in words
    assert sum(each.get("class") == "head" for each in root.iter()) == 4


def test_two_dates_are_not_cut_and_the_k_that_was_asked_for_is_said():
    """A network that uses fewer parents than it may says both numbers; the words are told by the file and the page."""
    days = MomentColumn(name="day", type="date", low=0, high=3999, edges=(0, 1000, 2000, 3000, 4000))
    columns = [days, *COLUMNS[1:]]
    card = replace(BAYES, degree=2)
    generator = np.random.default_rng(2)
    model = model_of(columns, data_of(1), [(0, 1), (1, 2), (2, 3)], sd=15.0, generator=generator, card=card)
    report = inspect_model(model)
    drawn = report.graph_file()
    assert "K = 2, at most 1 parent used" in drawn and "K = 2, at most 1 parent used" in report.page()
    assert "1970-01-01 to 1972-09-26" in drawn
    assert "K = " not in inspect_model(replace(model, card=BAYES)).graph_file()


def test_json_data_draw_the_same_network():
    report = inspect_model(model_by(3, [(0, 1), (1, 2), (0, 2, 3)]))
    told = report.to_data()["graph"]
    assert set(told) == {"arrows", "degree", "columns", "edges", "tables"}
    assert set(told["tables"][1]["rows"][0]) == {"given", "count", "shares", "plus_minus"}
    assert draw_network(network_of(told)) == draw_network(report.graph)


# -- what noise alone shows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("card", [CARD, PURE], ids=["gaussian", "laplace"])
def test_the_dependence_of_independent_columns_is_not_above_the_noise(card):
    """Noise shows some in every table; one in twenty is above the largest of nineteen. Fixed generators."""
    columns, seen, plain = [category("a", 8), category("b", 6)], [], []
    for seed in range(size(30, 200)):
        generator = np.random.default_rng(seed)
        data = np.tile([(one, other) for one in range(8) for other in range(6)], (84, 1))  # exactly independent
        report = inspect_model(model_of(columns, data, [(0, 1)], sd=20, generator=generator, card=card))
        (pair,) = report.dependences
        assert pair.below_noise == (pair.noisy_strength is None)
        seen.append(not pair.below_noise)
        plain.append((pair.strength or 0) > 0.005)
    assert np.mean(seen) <= 0.2
    assert np.mean(plain) > 0.3, "without the comparison with noise these would be shown as dependences"


def test_a_true_dependence_is_shown_near_its_size():
    for seed in range(8):
        generator = np.random.default_rng(seed)
        first = generator.integers(0, 4, 6000)
        data = np.stack([first, np.where(generator.random(6000) < 0.6, first, generator.integers(0, 4, 6000))], axis=1)
        columns = [category("a", 4), category("b", 4)]
        model = model_of(columns, data, [(0, 1)], sd=20, generator=generator)
        noiseless = model_of(columns, data, [(0, 1)], sd=1e-3, generator=generator)
        true = noisy_strength(ModelEvidence(noiseless), (0, 1))
        (pair,) = inspect_model(model).dependences
        assert not pair.below_noise and pair.noisy_strength == pytest.approx(true, abs=0.03)
        assert "a × b" in inspect_model(model).page().split("<h3>Strongest</h3>")[1].split("</ul>")[0]


@pytest.mark.parametrize("tie", [0.0, 0.6])
def test_a_dependence_that_was_measured_over_groups_is_shown(tie):
    """The page said "Strongest: none" of every pair that was measured over groups of values."""
    shown, groups = [], np.arange(12) // 3
    for seed in range(12):
        generator = np.random.default_rng(seed)
        data = np.tile([(one, other) for one in range(12) for other in range(12)], (42, 1))  # exactly independent
        data[:, 1] = np.where(generator.random(len(data)) < tie, data[:, 0], data[:, 1])
        model = model_of([category("a", 12), category("b", 12)], data, [], sd=15, generator=generator)
        counts = sum_groups(exact(data, (12, 12), (0, 1)), [groups, groups])
        pairs = [
            MeasuredMarginal(
                attributes=(0, 1),
                values=counts + generator.normal(0, sd, counts.shape),
                variance=sd**2,
                groups=(groups, groups),
            )
            for sd in (200.0, 15.0)  # of two such tables the one of less noise counts
        ]
        measured = (*model.measured, *pairs)
        model = replace(model, measured=measured, fitted=fit_tables((12, 12), measured, model.total))
        (pair,) = inspect_model(model).dependences
        assert pair.below_noise == (pair.noisy_strength is None)
        shown.append(not pair.below_noise)
        if tie:
            true = strength(counts, math.log(12))
            assert pair.noisy_strength == pytest.approx(true, abs=0.02) and true > 0.1
            assert "a × b" in inspect_model(model).page().split("<h3>Strongest</h3>")[1].split("</ul>")[0]
    assert all(shown) if tie else sum(shown) <= 4
