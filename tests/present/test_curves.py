"""Curves over logarithmic axes."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as some

from discreet.present.charts import ChartCurve, CurvePanel, CurvePoint, curves, standalone_svg
from discreet.present.charts.curves import STYLE, spread_apart
from discreet.present.charts.logarithmic_scale import LogarithmicScale, enclosing_ends

positive = some.floats(1e-30, 1e30)


def falling(name="ours", kind="measured", scale=1.0, **more):
    points = tuple(CurvePoint(x=x, value=scale / x, error=more.pop("error", 0.0)) for x in (0.1, 1, 10))
    return ChartCurve(name=name, kind=kind, points=points, **more)


def drawn(*panels):
    return ElementTree.fromstring(curves(panels, title="a < b", across="epsilon", up="error", name="test"))


def having(root, word):
    return [element for element in root.iter() if word in element.get("class", "").split()]


def test_equal_ratios_are_equally_far():
    axis = LogarithmicScale(low=0.1, high=1000, start=300, end=100)
    assert [round(axis.at(value)) for value in (0.1, 1, 10, 100, 1000)] == [300, 250, 200, 150, 100]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (2, 1), (math.nan, 1), (1, math.inf)])
def test_no_logarithm_of_what_is_not_above_zero(low, high):
    with pytest.raises(ValueError, match="a logarithmic axis cannot go"):
        LogarithmicScale(low=low, high=high, start=0, end=1)


@given(positive, positive)
def test_round_ends_hold_the_values_and_ticks_lie_between_them(one, other):
    low, high = enclosing_ends([one, other])
    assert low <= min(one, other) and max(one, other) <= high and low < high
    ticks = LogarithmicScale(low=low, high=high, start=0, end=1).ticks()
    assert all(low * 0.999 <= value <= high * 1.001 for value, _ in ticks)
    assert [value for value, _ in ticks] == sorted({value for value, _ in ticks})


@given(some.lists(some.floats(0, 300), max_size=12))
def test_names_never_touch_and_stay_in_order(wanted):
    found = spread_apart(sorted(wanted), least=10, low=0, high=300)
    assert len(found) == len(wanted)
    assert all(second - first >= 10 - 1e-6 for first, second in pairwise(found))
    assert all(-1e-6 <= place <= 300 + 1e-6 for place in found)


def test_names_that_have_room_stay_where_they_are():
    assert spread_apart([10, 50, 90], least=10, low=0, high=100) == [10, 50, 90]


def test_a_line_of_slope_minus_one_is_straight_on_these_axes():
    root = drawn(CurvePanel(title="", curves=(falling(),)))
    (line,) = having(root, "curve-line")[1:]  # the first is the legend's
    places = [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(places)]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-3) and slopes[0] > 0  # downwards in a drawing


def test_measured_has_dots_a_peer_rings_and_theory_neither():
    three = (falling(), falling("peer", "peer", 2.0, hue=1), falling("law", "computed", 3.0, hue=2))
    root = drawn(CurvePanel(title="", curves=three))
    assert len(having(root, "curve-dot")) == len(having(root, "curve-ring")) == 3 + 1  # one in the legend
    names = {text.text for text in having(root, "curve-name")}
    assert names == {"ours", "peer", "law"}


def test_a_standard_error_that_is_seen_is_drawn():
    wide = ChartCurve(name="w", kind="measured", points=(CurvePoint(x=1, value=1, error=0.4), CurvePoint(x=2, value=1)))
    assert len(having(drawn(CurvePanel(title="", curves=(wide, falling()))), "curve-whisker")) == 1


def test_one_that_is_not_told_has_no_name():
    root = drawn(CurvePanel(title="", curves=(falling(), falling("quiet", is_named=False))))
    assert [text.text for text in having(root, "curve-name")] == ["ours"]


def test_panels_share_their_axes_and_their_legend():
    small, large = CurvePanel(title="one", curves=(falling(),)), CurvePanel(title="two", curves=(falling(scale=100.0),))
    root = drawn(small, large)
    assert [text.text for text in having(root, "curve-head")] == ["one", "two"]
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("ours") == 1
    dots = [float(dot.get("cy")) for dot in having(root, "curve-dot")[1:]]
    assert max(dots[3:]) < max(dots[:3])  # a hundred times the error is drawn higher


def test_text_is_escaped_and_nothing_is_drawn_of_nothing():
    assert "a &lt; b" in curves([CurvePanel(title="", curves=(falling("x<y"),))], title="a < b", name="t")
    assert "nothing to show" in curves([], title="none", name="t")


@pytest.mark.parametrize("bad", [{"x": 0, "value": 1}, {"x": 1, "value": 0}, {"x": 1, "value": 1, "error": -1}])
def test_what_has_no_logarithm_is_refused(bad):
    with pytest.raises(ValueError, match="above 0"):
        CurvePoint(**bad)


def test_a_curve_has_points_in_order():
    with pytest.raises(ValueError, match="order"):
        ChartCurve(name="", kind="peer", points=(CurvePoint(x=2, value=1), CurvePoint(x=1, value=1)))
    with pytest.raises(ValueError, match="points"):
        ChartCurve(name="", kind="peer", points=())


def test_a_file_has_colours_for_light_and_dark_paper():
    text = standalone_svg(curves([CurvePanel(title="", curves=(falling(),))], title="t", name="t"), style=STYLE)
    ElementTree.fromstring(text)
    used = set(re.findall(r'class="([^"]+)"', text))
    classes = {word for each in used for word in each.split() if word.startswith("curve-") and not word[6:].isdigit()}
    assert all(f".{word}" in STYLE for word in classes)
    assert "prefers-color-scheme:dark" in STYLE and "--hue" in STYLE
