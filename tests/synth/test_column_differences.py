"""Differences of ordered columns: lengths of stay are right in size, orders hold, and NULLs go together."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.kernel.project_session import open_session
from discreet.schema.column import MomentColumn, NumberColumn
from discreet.synth import column_differences, row_sampler, synthesis
from discreet.synth.attribute import attribute_of
from discreet.synth.cell_decoder import NULL
from discreet.synth.code_spans import CodeSpan
from discreet.synth.column_differences import add_differences, apply_differences, difference_codes
from discreet.synth.constraints import PublicConstraints
from discreet.synth.inspect.model_comparison import check_model_of_version
from discreet.synth.inspect.model_report import inspect_model
from discreet.synth.model import Model
from discreet.synth.rules import ColumnOrder, StructuralZero
from synth.worlds import fit, open_project

DATE = 'type = "date"\nlow = 2020-01-01\nhigh = 2022-12-31'
COLUMNS = {"in": DATE, "out": DATE, "ward": 'type = "category"\nvalues = ["a", "b"]\nclosed = true'}
ORDERS = {"orders": [["in", "out"]]}


def stay_lines(count=3000):
    """Stays of about 1 day in ward a and 9 in ward b; 10% are still in, and of 5% nothing is known."""
    generator = np.random.default_rng(2)
    lines = []
    for number in range(count):
        ward = "ab"[number % 2]
        first = np.datetime64("2020-01-01") + generator.integers(0, 1000)
        stay = min(int(generator.geometric(0.5 if ward == "a" else 0.1)) - 1, 90)
        missing = generator.random()
        first, last = ("" if missing < 0.05 else str(first), "" if missing < 0.15 else str(first + stay))
        lines.append(f"{first},{last},{ward}")
    return lines


@pytest.fixture(scope="module")
def stays(tmp_path_factory):
    import os
    from unittest import mock

    folder = tmp_path_factory.mktemp("stays")
    with mock.patch.dict(os.environ, {"DISCREET_STATE": str(folder / "state")}):
        (folder / "project").mkdir()
        project = open_project(folder / "project", COLUMNS, stay_lines())
        yield project, fit(project, kind="mst", epsilon="4", constraints=ORDERS)


def has_right_stays(model):
    rows = model.sample(3000, seed=3).to_pandas()
    for name in ("in", "out"):
        rows[name] = rows[name].astype("datetime64[s]")
    days = (rows["out"] - rows["in"]).dt.days
    assert (days.dropna() >= 0).all()
    stays = days.clip(upper=40)  # now and then noise puts a row in a hundred far out
    assert abs(stays[rows["ward"] == "a"].mean() - 1) < 0.8 and abs(stays[rows["ward"] == "b"].mean() - 9) < 2.5
    assert abs(rows["in"].isna().mean() - 0.05) < 0.03 and abs(rows["out"].isna().mean() - 0.15) < 0.03
    assert rows["out"][rows["in"].isna()].isna().mean() > 0.9


@pytest.mark.noisy
def test_stays_have_the_right_size(stays, monkeypatch):
    _, model = stays
    has_right_stays(model)
    # Planted: without differences rows are only mended, and stays are as long as bins are wide.
    monkeypatch.setattr(row_sampler, "apply_differences", lambda attributes, codes, *rest, **named: codes)
    with pytest.raises(AssertionError):
        has_right_stays(model)


def test_a_model_with_differences_is_saved_and_may_be_compared(stays, tmp_path):
    project, model = stays
    for name in ("model.json", "model.npz"):
        model.save(tmp_path / name)
        again = Model.load(tmp_path / name)
        assert again.attributes[-1].axis() == model.attributes[-1].axis()
        assert again.sample(500, seed=1).equals(model.sample(500, seed=1))
        check_model_of_version(again, open_session(project, "people", project.asker(None)).version)
    assert inspect_model(model).marginals.judged
    assert "out is NULL" in model.project(["out - in"]).labels[0]


@pytest.mark.parametrize("damage", ["names", "cells", "column"])
def test_a_difference_of_something_else_is_not_read(stays, tmp_path, damage):
    _, model = stays
    model.save(tmp_path / "model.json")
    data = json.loads((tmp_path / "model.json").read_text())
    own = data["attributes"][-1]
    if damage == "names":
        own["between"] = ["in", "ward"]
    elif damage == "cells":
        own["edges"][-1] += 1
    else:
        data["attributes"][0]["between"] = ["in", "out"]
    (tmp_path / "bad.json").write_text(json.dumps(data))
    with pytest.raises(Exception, match="model"):
        Model.load(tmp_path / "bad.json")


@pytest.mark.parametrize(
    "given", [{"out": "2021-06-30"}, {"in": "2021-06-30"}, {"in": "2022-12-31"}, {"out": "2020-01-01"}, {"in": None}, {"out": None}]
)  # fmt: skip
def test_what_is_given_stays(stays, given):
    _, model = stays
    rows = model.sample(200, given=given, seed=1).to_pandas()
    for name, value in given.items():
        assert rows[name].isna().all() if value is None else set(rows[name].astype(str)) == {value}
    for name in ("in", "out"):
        rows[name] = rows[name].astype("datetime64[s]")
    assert ((rows["out"] - rows["in"]).dropna().dt.days >= 0).all()


def numbers(name, low=0, high=5000):
    return attribute_of(NumberColumn(name=name, type="integer", low=low, high=high))


def chain():
    return PublicConstraints(orders=(ColumnOrder(low="b", high="c"), ColumnOrder(low="a", high="b")))


def test_along_a_chain_each_link_is_in_order():
    attributes = add_differences([numbers("a"), numbers("b"), numbers("c", high=6000)], chain())
    assert [each.name for each in attributes] == ["a", "b", "c", "c - b", "b - a"]
    generator = np.random.default_rng(0)
    codes = {each.name: generator.integers(each.edges[0], each.edges[-1], 4000) for each in attributes}
    for name in "abc":
        codes[name][generator.random(4000) < 0.2] = NULL
    made = apply_differences({each.name: each for each in attributes}, codes, generator)
    for low, high, end in (("a", "b", 5000), ("b", "c", 6000)):
        both = (made[low] != NULL) & (made[high] != NULL)
        assert both.any() and (made[low][both] <= made[high][both]).all()
        assert made[high][both].max() <= end


@pytest.mark.parametrize("why", ["scales", "two lows", "zero", "kinds", "circle", "far ends"])
def test_an_order_that_no_difference_can_stand_for_is_left_to_mending(why):
    a, b, c = numbers("a"), numbers("b"), numbers("c")
    order, more = ColumnOrder(low="a", high="b"), {}
    if why == "scales":
        order = ColumnOrder(low="a", high="b", low_scale=100)
    elif why == "two lows":
        more = {"orders": (order, ColumnOrder(low="c", high="b"))}
    elif why == "zero":
        more = {"zeros": (StructuralZero(where=(("b", CodeSpan.of([(3, 9)])), ("c", CodeSpan.of([(1, 2)])))),)}
    elif why == "far ends":
        a, b = numbers("a", -(2**59), 9), numbers("b", 0, 2**60 - 2)
    elif why == "kinds":
        b = attribute_of(MomentColumn(name="b", type="date", low=0, high=5000))
    else:
        more = {"orders": (order, ColumnOrder(low="b", high="a"))}
    constraints = PublicConstraints(**({"orders": (order,)} | more))
    assert [each.name for each in add_differences([a, b, c], constraints)] == ["a", "b", "c"]


def test_declared_bins_and_a_column_that_is_never_null_have_a_difference():
    b = attribute_of(NumberColumn(name="b", type="integer", low=0, high=99, edges=(0, 50, 100)))
    never = StructuralZero(where=(("b", CodeSpan(intervals=(), null=True)),))
    constraints = PublicConstraints(orders=(ColumnOrder(low="a", high="b"),), zeros=(never,))
    attributes = add_differences([numbers("a"), b], constraints)
    assert [each.name for each in attributes] == ["a", "b", "b - a"] and attributes[1] is b


def test_codes_of_rows_are_those_of_the_expression():
    from discreet.plan.evaluate import value

    low, high = numbers("low", -50, 900), numbers("high", 0, 700)
    (own,) = [
        each
        for each in add_differences([low, high], PublicConstraints(orders=(ColumnOrder(low="low", high="high"),)))
        if each.between
    ]
    rows = [(None, None), (None, 3), (4, None), (4, 4), (800, 5), (-50, 700), (-50, 0), (900, 700)]
    of = [value(own.of, {"low": one, "high": other}) for one, other in rows]
    codes = [np.array([NULL if code is None else code for code in column]) for column in zip(*rows, strict=True)]
    assert of == difference_codes(*codes, own.edges[-1] - 4).tolist()
    assert value(own.of, {"low": 4000, "high": 3}) == own.edges[-1] - 2  # beyond the cells is as NULL


# ---- fits of before


def test_a_fit_by_an_earlier_method_is_not_charged_again_by_a_slip(tmp_path, monkeypatch):
    """Its steps lie in the ledger, and are not those of now: it is refused, free, unless a new one is asked for."""
    project = open_project(tmp_path, COLUMNS, stay_lines(400))
    with monkeypatch.context() as before:
        real = synthesis._question
        before.setattr(synthesis, "_question", lambda *rest, **named: real(*rest, method=1))
        old = fit(project, constraints=ORDERS)
    spent = project.budget("people").spent
    with pytest.raises(UsageError, match="an earlier version"):
        fit(project, constraints=ORDERS)
    assert project.budget("people").spent == spent
    new = fit(project, constraints=ORDERS, fresh=True)
    assert new.card.release != old.card.release and project.budget("people").spent != spent
    assert [each.name for each in new.attributes] == ["in", "out", "ward", "out - in"]
    assert new.card.epsilon == Fraction(1) and column_differences.difference_name("in", "out") == "out - in"


# ---- what a column cannot be


def closed_numbers(name, low=0, high=5000):
    return attribute_of(NumberColumn(name=name, type="integer", low=low, high=high, closed=True))


@pytest.mark.parametrize(("low", "high"), [(numbers, closed_numbers), (closed_numbers, numbers), (closed_numbers,) * 2])
@pytest.mark.parametrize("fixed", [(), ("a",), ("b",)])
def test_a_closed_column_is_never_null(low, high, fixed):
    """Noise alone makes a difference say that one is NULL; so can a row outside bought bounds."""
    order = PublicConstraints(orders=(ColumnOrder(low="a", high="b"),))
    attributes = add_differences([low("a"), high("b")], order)
    generator = np.random.default_rng(0)
    codes = {each.name: generator.integers(each.edges[0], each.edges[-1], 3000) for each in attributes}
    codes["b - a"][:1500] = attributes[-1].edges[-1] - generator.integers(1, 4, 1500)
    for name, made_by in (("a", low), ("b", high)):
        codes[name][generator.random(3000) < 0.2 * (made_by is numbers)] = NULL
    made = apply_differences({each.name: each for each in attributes}, codes, generator, fixed=frozenset(fixed))
    for name, made_by in (("a", low), ("b", high)):
        assert (made[name] == NULL).any() == (made_by is numbers)
    ((axes, allowed),) = order.allowed(attributes)[1:]
    assert axes == (2,) and allowed[-3:].tolist() == [high is numbers, low is numbers, False] and allowed[:-3].all()


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("fixed", [(), ("b",)])
def test_no_value_is_beyond_what_is_declared(closed, fixed):
    """Where the lower column reaches beyond the higher one, or begins after it."""
    make = closed_numbers if closed else numbers
    attributes = add_differences(
        [make("a", -5, 9000), make("b", -700, 80)], PublicConstraints(orders=(ColumnOrder(low="a", high="b"),))
    )
    generator = np.random.default_rng(0)
    codes = {each.name: generator.integers(each.edges[0], each.edges[-1], 3000) for each in attributes}
    made = apply_differences({each.name: each for each in attributes}, codes, generator, fixed=frozenset(fixed))
    for name, least, most in (("a", -5, 9000), ("b", -700, 80)):
        there = made[name][made[name] != NULL]
        assert len(there) and there.min() >= least and there.max() <= most
        assert not closed or len(there) == 3000


@pytest.mark.parametrize("fixed", [(), ("b",)])
def test_beside_a_value_that_leaves_no_room_the_other_stays_as_drawn(fixed):
    """It became NULL, which a public zero may rule out: then no row of a fit that was paid for could be mended."""
    attributes = add_differences(
        [numbers("a", 0, 9000), numbers("b", -700, 80)], PublicConstraints(orders=(ColumnOrder(low="a", high="b"),))
    )
    low, high = (np.full(50, 8000), np.full(50, 12)) if not fixed else (np.full(50, 5), np.full(50, -300))
    codes = {"a": low, "b": high, "b - a": np.zeros(50, dtype=np.int64)}
    made = apply_differences(
        {each.name: each for each in attributes}, codes, np.random.default_rng(0), fixed=frozenset(fixed)
    )
    assert (made["a"] == low).all() and (made["b"] == high).all()


@pytest.mark.thin(1)
@pytest.mark.parametrize("never", ["closed", "zero"])
def test_rows_of_a_fit_are_what_their_columns_can_be(tmp_path, never):
    """Of one row, at an epsilon that is noise: what comes out is in order, within bounds, and not NULL where it cannot be."""
    number = 'type = "integer"\nlow = 0\nhigh = '
    columns = {"a": number + "1000", "b": number + "99" + ("\nclosed = true" if never == "closed" else "")}
    constraints = {"orders": [["a", "b"]], **({"zeros": [{"b": {"null": True}}]} if never == "zero" else {})}
    model = fit(open_project(tmp_path, columns, ["7,9"]), epsilon="0.1", constraints=constraints)
    rows = model.sample(2000, seed=1).to_pandas()
    assert rows["b"].between(0, 99).all() and not (rows["a"] > rows["b"]).any()
    assert model.project(["b - a"]).counts[[-3, -1]].sum() == 0
