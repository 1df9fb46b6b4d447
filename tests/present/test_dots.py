"""Dots on a logarithmic axis: every figure at its place, a dash for none."""

from xml.etree import ElementTree

import pytest

from discreet.present.charts import standalone_svg
from discreet.present.charts.dot_plot import STYLE, SYSTEMS, DotRow, dot_plot

SVG = "{http://www.w3.org/2000/svg}"


def read(*rows, systems=("ours", "theirs"), **more):
    return ElementTree.fromstring(str(dot_plot(rows, systems=systems, title="seconds", **more)))


def circles(root):
    """By the words for a pointer: where a round mark lies."""
    return {
        group.find(f"{SVG}title").text: float(group.find(f"{SVG}circle").get("cx"))
        for group in root.iter(f"{SVG}g")
        if group.find(f"{SVG}title") is not None and group.find(f"{SVG}circle") is not None
    }


def test_equal_ratios_are_equally_far_apart():
    systems = ("ours", "rect", "ring")
    rows = [DotRow(label=name, figures=(value, None, value)) for name, value in (("a", 0.1), ("b", 1.0), ("c", 10.0))]
    at = circles(read(*rows, systems=systems))
    assert at["ours, b: 1"] - at["ours, a: 0.1"] == pytest.approx(at["ours, c: 10"] - at["ours, b: 1"], abs=0.02)
    assert at["ours, a: 0.1"] < at["ours, b: 1"]
    assert at["ring, c: 10"] == at["ours, c: 10"]


def test_none_is_a_dash_and_no_dot():
    root = read(DotRow(label="a", figures=(2.0, None)), DotRow(label="b", figures=(1.0, 4.0)))
    told = [each.text for each in root.iter(f"{SVG}title")]
    assert "theirs, a: no figure" in told and "theirs, b: 4" in told
    dashes = [line for line in root.iter(f"{SVG}line") if "dots-dash" in line.get("class", "")]
    assert len(dashes) == 1
    assert "a: ours 2, theirs none." in root.find(f"{SVG}desc").text


@pytest.mark.parametrize("figure", [0.0, -1.0, float("inf"), float("nan")])
def test_what_has_no_logarithm_is_refused(figure):
    with pytest.raises(ValueError, match="above 0"):
        DotRow(label="a", figures=(figure,))


def test_systems_and_figures_belong_together():
    with pytest.raises(ValueError, match="each system"):
        read(DotRow(label="a", figures=(1.0,)))
    with pytest.raises(ValueError, match="can distinguish"):
        read(systems=tuple("abcdefghij"[: SYSTEMS + 1]))


def test_nothing_is_said_to_be_nothing():
    assert "nothing to show" in read(DotRow(label="a", figures=(None, None))).find(f"{SVG}desc").text


def test_labels_are_escaped_and_a_file_brings_its_colours():
    hostile = "</title><script>alert(1)</script>"
    row = DotRow(label=hostile, figures=(1.0, 2.0))
    text = standalone_svg(dot_plot([row], systems=(hostile, "b"), title=hostile, across=hostile), style=STYLE)
    root = ElementTree.fromstring(text)
    assert not list(root.iter(f"{SVG}script")) and "<script" not in text
    assert "prefers-color-scheme:dark" in "".join(root.find(f"{SVG}style").itertext())
