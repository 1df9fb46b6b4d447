"""Charts: well-formed, true to their numbers, safe whatever their labels are."""

import itertools
import math
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from discreet.present import charts
from discreet.present.charts import (
    Bar,
    BarPair,
    BeforeAfter,
    BudgetForecast,
    BudgetStep,
    Density,
    HeatCell,
    LinePoint,
    LineSeries,
    Mark,
    heat_map,
    svg,
    time_ticks,
)
from discreet.present.charts.key_order import ordered_places
from discreet.present.charts.scale import Scale, span, widen_to_round

NAME = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "<script>alert(1)</script>",
    "\"' onload='alert(1)",
    "]]>&amp;<!--",
    "a\x00b\x0b\ud800c\uffff",
    "</title></svg><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}",
    "right\u202eot tfel",
    "",
    " \n\t ",
    "url(#x)",
    "長" * 300,
)


def read(markup):
    """The chart as an XML parser sees it."""
    return ElementTree.fromstring(str(markup))


def found(root, kind, word=""):
    return [each for each in root.iter(f"{NAME}{kind}") if word in each.get("class", "").split() or not word]


def texts(root):
    return ["".join(each.itertext()) for each in root.iter(f"{NAME}text")]


def bar(label, value, noise=10, **more):
    return Bar(label=label, value=value, low=value - noise, high=value + noise, **more)


def every(label="a", name=""):
    """One of each chart, with a label everywhere that a label can be."""
    when = datetime(2026, 1, 1)
    return [
        charts.bars([bar(label, 50), bar("b" * 90, 20)], title=label, name=name and f"{name}-a"),
        charts.bars([bar(label, 50), bar("b", -20)], title=label, name=name and f"{name}-b"),
        charts.lines(
            [
                LineSeries(
                    name=label, points=(LinePoint(x=1, value=2, low=1, high=3), LinePoint(x=2, value=4, low=3, high=5))
                ),
                LineSeries(
                    name="other", points=(LinePoint(x=1, value=2), LinePoint(x=2, value=None), LinePoint(x=3, value=1))
                ),
            ],
            title=label,
            across=label,
            up=label,
            name=name and f"{name}-c",
        ),
        charts.heatmap(
            [HeatCell(row=label, column="x", value=3), HeatCell(row="other", column=label, value=-3, drowned=True)],
            title=label,
            rows=label,
            columns=label,
            name=name and f"{name}-d",
        ),
        charts.burn_down(
            [
                BudgetStep(when=when, remaining=2, limit=3, who=label),
                BudgetStep(when=when + timedelta(days=9), remaining=1, limit=3, who="other"),
            ],
            title=label,
            unit=label,
            name=name and f"{name}-e",
            forecast=BudgetForecast(begin=when + timedelta(days=9), end=when + timedelta(days=20), remaining=0),
        ),
        charts.before_after(
            [BeforeAfter(label=label, before=(-2, 0, 2), after=(0, 1, 2), text=label)],
            title=label,
            across=label,
            name=name and f"{name}-g",
        ),
        charts.paired_bars(
            [BarPair(label=label, first=90, second=50, chance=50, bound=60)],
            title=label,
            names=(label, "b", "c", "d"),
            name=name and f"{name}-h",
        ),
        charts.distribution(
            title=label,
            draws=[1, 2, 3],
            densities=[Density(kind="gaussian", centre=0, scale=1, name=label)],
            marks=[Mark(at=1, name=label)],
            across=label,
            name=name and f"{name}-f",
        ),
    ]


@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_labels_are_text(label):
    for chart in every(label):
        root = read(chart)
        kinds = {each.tag.removeprefix(NAME) for each in root.iter()}
        assert kinds <= {
            "svg", "title", "desc", "g", "rect", "line", "text", "polyline", "polygon", "circle", "defs", "pattern", "path",
        }  # fmt: skip
        for each in root.iter():
            assert not {name for name in each.attrib if name.startswith("on") or name in ("style", "href")}
        assert "\u202e" not in str(chart) and "\x00" not in str(chart)


def test_a_label_is_found_again():
    root = read(charts.bars([bar("<b>&\"'", 50), bar("other", 20)], title="Titles & <all>"))
    assert "<b>&\"'" in texts(root)
    assert root.find(f"{NAME}title").text == "Titles & <all>"


def test_a_chart_is_a_picture_with_a_title_and_a_description():
    for chart in every():
        root = read(chart)
        told = root.get("aria-labelledby").split()
        ids = {each.get("id"): each for each in root.iter() if each.get("id")}
        assert root.get("role") == "img" and [ids[one].tag for one in told] == [f"{NAME}title", f"{NAME}desc"]
        assert all(ids[one].text for one in told)
        assert root.get("width") is None and root.get("viewBox").startswith("0 0 400 ")


def test_ids_are_each_charts_own():
    page = "".join(map(str, every() + every()))
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids)) > 20
    for wanted in re.findall(r"url\(#([^)]+)\)", page) + " ".join(re.findall(r'labelledby="([^"]+)"', page)).split():
        assert wanted in ids


def test_a_named_chart_is_the_same_each_time():
    assert every(name="one") == every(name="one")
    with pytest.raises(ValueError, match="not a name"):
        charts.bars([], title="", name='x" onload="')


def test_classes_have_rules_and_nothing_else_says_how_it_looks():
    sheet = (Path(charts.__file__).parents[2] / "console" / "static" / "charts.css").read_text()
    known = set(re.findall(r"\.(chart[a-z0-9-]*)", sheet))
    starts = tuple(re.findall(r'\[class\^="([^"]+)"\]', sheet))
    plain = {"chart-label", "chart-number", "chart-less-4", "chart-more-4"}
    people = [
        BudgetStep(when=datetime(2026, 1, 1 + place), remaining=9 - place, limit=10, who=str(place))
        for place in range(9)
    ]
    many = [*every(), charts.burn_down(people, title="many"), charts.bars([Bar(label=None, value=None)], title="none")]
    many.append(charts.bars(ages(112, bar(None, 12, 5000, drowned=True)), title="ages", ordered=True))
    for chart in many:
        for each in read(chart).iter():
            for word in each.get("class", "").split():
                assert word in known | plain or word.startswith(starts), word
            assert each.get("fill", "none") in ("none",) or each.get("fill").startswith("url(#chart-")


def test_bars_lie_where_labels_are_long_and_are_true_to_their_numbers():
    given = [bar("a department with a long name", 100, 20), bar("other", -30, 20), bar("third", 60.5, 7.25)]
    root = read(charts.bars(given, title="departments"))
    rects, rules = found(root, "rect", "chart-bar"), found(root, "line", "chart-whisker")
    ends = widen_to_round(span([120, -50], zero=True), about=4)
    zero = float(rects[0].get("x"))
    scale_of = (float(rects[0].get("width"))) / 100
    assert float(rects[1].get("x")) + float(rects[1].get("width")) == pytest.approx(zero, abs=0.02)
    assert float(rects[1].get("width")) == pytest.approx(30 * scale_of, abs=0.02)
    assert float(rects[2].get("width")) == pytest.approx(60.5 * scale_of, abs=0.02)
    for place, each in enumerate(given):
        low, high = (float(rules[3 * place].get(end)) for end in ("x1", "x2"))
        assert (low - zero, high - zero) == pytest.approx((each.low * scale_of, each.high * scale_of), abs=0.02)
    assert ends[0] <= -50 and ends[1] >= 120
    assert "100 ± 20" in texts(root) and "-30 ± 20" in texts(root)


def test_upright_bars_are_true_to_their_numbers():
    given = [bar("a", 100, 20), bar("b", -30, 20)]
    root = read(charts.bars(given, title="letters"))
    rects, rules = found(root, "rect", "chart-bar"), found(root, "line", "chart-whisker")
    scale = Scale(low=-50, high=150, start=178, end=10)
    assert float(rects[0].get("y")) == pytest.approx(scale.at(100), abs=0.01)
    assert float(rects[0].get("height")) == pytest.approx(scale.at(0) - scale.at(100), abs=0.01)
    assert float(rects[1].get("y")) == pytest.approx(scale.at(0), abs=0.01)
    assert [float(rules[0].get(end)) for end in ("y1", "y2")] == pytest.approx([scale.at(80), scale.at(120)], abs=0.01)


def test_a_whisker_below_zero_takes_little_of_the_chart():
    """Noise around 0 reaches below it nearly always; a whole step of the axis for that would be a chart of nothing."""
    root = read(charts.bars([bar("a", 80), bar("b", 2, noise=5)], title="t"))
    assert texts(root)[:3] == ["0", "50", "100"]
    heights = sorted(
        float(line.get("y1")) for line in found(root, "line", "chart-rule") + found(root, "line", "chart-zero-line")
    )
    whisker = max(float(line.get("y2")) for line in found(root, "line", "chart-whisker"))
    assert whisker > heights[-1] > 0.85 * (heights[-1] - heights[0]) + heights[0]
    assert whisker - heights[-1] < 0.1 * (heights[-1] - heights[0])
    both = read(charts.bars([bar("a", 80), bar("b", -60)], title="t"))
    assert "-100" in texts(both) or "-50" in texts(both)  # what is drawn below has its numbers


def test_of_many_bars_the_largest_are_drawn_and_the_rest_counted():
    given = [bar(f"group {place}", (place * 37) % 101) for place in range(100)]
    root = read(charts.bars(given, title="many"))
    drawn = [each for each in texts(root) if each.startswith("group")]
    best = sorted(given, key=lambda each: -each.value)[:40]
    assert sorted(drawn) == sorted(each.label for each in best)
    assert drawn == [each.label for each in given if each in best], "in their own order"
    assert "… 60 more" in texts(root)
    assert "60 more are not drawn" in root.find(f"{NAME}desc").text
    assert "more" not in " ".join(texts(read(charts.bars(given[:40], title="forty"))))


def test_drowned_bars_and_keys_that_are_no_text_are_marked():
    given = [bar(None, 5, drowned=True), bar(True, 50), bar(date(2026, 2, 1), 40), bar("NULL", 30)]
    root = read(charts.bars(given, title="keys"))
    assert [("chart-drowned" in each.get("class")) for each in found(root, "rect", "chart-bar")] == [True, *[False] * 3]
    assert [each.text for each in found(root, "text", "chart-null")] == ["NULL", "true"]
    assert "2026-02-01" in texts(root)
    assert "(below the noise)" in str(charts.bars(given, title="keys"))


def test_no_more_digits_than_the_noise_leaves():
    root = read(charts.bars([bar("x" * 80, 1234.5678, 12.3456)], title="digits"))
    assert any(each.endswith("± 13") for each in texts(root))
    root = read(charts.bars([Bar(label="x" * 80, value=7, text="7 ± ?")], title="digits"))
    assert "7 ± ?" in texts(root)


@pytest.mark.parametrize(
    "given",
    [
        [],
        [Bar(label="one", value=5)],
        [Bar(label="none", value=None)],
        [bar(place, 0, 0) for place in range(5)],
        [bar("huge", 1e300, 1e299), bar("small", 1)],
        [bar("huge", 10**300, 10**299), bar("least", -(10**300), 10**299)],
        [bar("tiny", 5e-324, 0)],
        [bar("x", 1.7e308, 0), bar("y", -1.7e308, 0)],
    ],
)
def test_extremes_of_bars(given):
    root = read(charts.bars(given, title="extremes"))
    for each in root.iter():
        for name in ("x", "y", "width", "height", "x1", "x2", "y1", "y2"):
            value = float(each.get(name, 0))
            assert math.isfinite(value) and -1 <= value <= 2000
    assert given or "There is nothing to show." in texts(root)


@pytest.mark.parametrize(
    "make",
    [
        lambda: bar("a", math.nan),
        lambda: Bar(label="a", value=1, low=2, high=1),
        lambda: Bar(label="a", value=1, low=2),
        lambda: Bar(label="a", value=None, low=1, high=2),
        lambda: Bar(label="a", value=10**400),
        lambda: LinePoint(x=math.inf, value=1),
        lambda: LinePoint(x=1, value=math.nan),
        lambda: LinePoint(x=1, value=1, low=1),
        lambda: LineSeries(name="", points=(LinePoint(x=2, value=1), LinePoint(x=1, value=1))),
        lambda: LineSeries(name="", points=(LinePoint(x=2, value=1), LinePoint(x=date(2026, 1, 1), value=1))),
        lambda: HeatCell(row=1, column=1, value=math.inf),
        lambda: charts.heatmap([HeatCell(row=1, column=1, value=1)] * 2, title="twice"),
        lambda: BudgetStep(when=datetime(2026, 1, 1), remaining=4, limit=3),
        lambda: BudgetStep(when=datetime(2026, 1, 1), remaining=math.nan, limit=3),
        lambda: Density(kind="laplace", centre=0, scale=0),
        lambda: charts.distribution(title="", draws=[math.nan]),
        lambda: Mark(at=math.nan, name=""),
    ],
)
def test_what_cannot_be_drawn_is_refused(make):
    with pytest.raises(ValueError):
        make()


def test_lines_are_true_to_their_numbers():
    points = tuple(
        LinePoint(x=place, value=value, low=value - 5, high=value + 5) for place, value in enumerate((10, 30, 20))
    )
    root = read(charts.lines([LineSeries(name="n", points=points)], title="line"))
    places = [tuple(map(float, pair.split(","))) for pair in found(root, "polyline")[0].get("points").split()]
    steps = [places[place + 1][0] - places[place][0] for place in range(2)]
    assert steps[0] == pytest.approx(steps[1], abs=0.02)
    unit = (places[0][1] - places[1][1]) / 20
    assert unit > 0 and places[2][1] - places[1][1] == pytest.approx(10 * unit, abs=0.02)
    band = [tuple(map(float, pair.split(","))) for pair in found(root, "polygon")[0].get("points").split()]
    assert [y for _, y in band[:3]] == pytest.approx([y - 5 * unit for _, y in places], abs=0.03)
    assert [y for _, y in band[:2:-1]] == pytest.approx([y + 5 * unit for _, y in places], abs=0.03)


def test_a_gap_breaks_a_line():
    points = tuple(LinePoint(x=place, value=None if place == 2 else place) for place in range(5))
    assert len(found(read(charts.lines([LineSeries(name="", points=points)], title="gap")), "polyline")) == 2


def test_dates_and_times_are_round():
    days = tuple(LinePoint(x=date(2026, 1, 1) + timedelta(days=place), value=place) for place in range(120))
    assert {"2026-01", "2026-02", "2026-03", "2026-04"} & set(
        texts(read(charts.lines([LineSeries(name="", points=days)], title="days")))
    )
    zone = timezone(timedelta(hours=2))
    assert time_ticks.seconds(datetime(1970, 1, 1, 2, tzinfo=zone)) == 0
    hours = tuple(LinePoint(x=datetime(2026, 1, 1, hour, tzinfo=zone), value=1) for hour in range(2, 20))
    assert "01-01 12:00" in texts(read(charts.lines([LineSeries(name="", points=hours)], title="hours")))
    ages = tuple(LinePoint(x=date(year, 1, 1), value=1) for year in (1, 9999))
    assert "4000" in " ".join(texts(read(charts.lines([LineSeries(name="", points=ages)], title="ages"))))
    read(charts.lines([LineSeries(name="", points=days[:1])], title="one day"))


def test_lines_over_different_axes_are_refused():
    with pytest.raises(ValueError, match="all use"):
        charts.lines(
            [
                LineSeries(name="a", points=(LinePoint(x=1, value=1),)),
                LineSeries(name="b", points=(LinePoint(x=date(2026, 1, 1), value=1),)),
            ],
            title="both",
        )


@pytest.mark.parametrize("value", [0, 5, -1e300, 1e300, 5e-324])
def test_extremes_of_lines(value):
    read(charts.lines([LineSeries(name="", points=(LinePoint(x=value, value=value),))], title="one", zero=False))
    read(charts.lines([LineSeries(name="", points=())], title="none"))


def test_heat_goes_by_steps_from_the_middle():
    shades = [heat_map.depth(value, 100, diverging=True) for value in range(-100, 101, 25)]
    assert tuple(shades) == heat_map.CLASSES
    assert heat_map.depth(90, 100, diverging=False) == "chart-more-4", "to the nearest step"
    assert heat_map.depth(500, 100, diverging=False) == "chart-more-4", "beyond the deepest there is none"
    assert heat_map.depth(-100, 100, diverging=False) == "chart-even" == heat_map.depth(0, 0, diverging=True)


def test_a_heat_map_has_each_cell_in_its_place():
    cells = [HeatCell(row=row, column=column, value=row * 10 + column) for row in range(3) for column in range(4)]
    root = read(charts.heatmap(cells, title="heat"))
    said = {group.find(f"{NAME}title").text: group.find(f"{NAME}rect") for group in found(root, "g")}
    left, top = (float(said["0, 0: 0"].get(name)) for name in ("x", "y"))
    wide = float(said["0, 1: 1"].get("x")) - left
    assert float(said["2, 3: 23"].get("x")) == pytest.approx(left + 3 * wide, abs=0.03)
    assert float(said["2, 3: 23"].get("y")) == pytest.approx(top + 2 * 26, abs=0.03)
    assert left + 4 * wide == pytest.approx(400.5, abs=0.1)


def test_true_and_one_are_two_keys_of_a_heat_map():
    root = read(
        charts.heatmap([HeatCell(row=True, column=1, value=1), HeatCell(row=1, column=1, value=2)], title="keys")
    )
    assert {"true", "1"} <= set(texts(root))


def test_a_large_heat_map_is_cut_and_says_so():
    cells = [HeatCell(row=row, column=column, value=row) for row in range(40) for column in range(2)]
    root = read(charts.heatmap(cells, title="heat"))
    assert "… 10 more rows" in texts(root) and "39" in texts(root) and "9" not in texts(root)


def test_a_burn_down_falls_by_its_steps_and_rises_with_its_limit():
    start = datetime(2026, 1, 1)
    steps = [
        BudgetStep(when=start, remaining=3, limit=4, who="anna"),
        BudgetStep(when=start + timedelta(days=5), remaining=1, limit=4, who="ben"),
        BudgetStep(when=start + timedelta(days=10), remaining=3, limit=6),
    ]
    root = read(charts.burn_down(steps, title="budget"))
    edge = [
        tuple(map(float, pair.split(","))) for pair in found(root, "polyline", "chart-kind-0")[0].get("points").split()
    ]
    heights = [y for _, y in edge][::2]
    unit = (heights[1] - heights[0]) / 1
    assert [round((heights[0] - y) / unit, 2) for y in heights] == [0, -1, -3, -1]
    limit = [float(pair.split(",")[1]) for pair in found(root, "polyline", "chart-limit")[0].get("points").split()]
    assert [round((heights[0] - y) / unit, 2) for y in limit[::2]] == [0, 0, 0, 2]
    drops = {
        group.find(f"{NAME}title").text: group.find(f"{NAME}rect")
        for group in found(root, "g")
        if group.find(f"{NAME}title") is not None and group.find(f"{NAME}rect") is not None
    }
    ben = drops["2026-01-06 00:00, ben: 1 remaining of 4"]
    assert float(ben.get("height")) == pytest.approx(2 * unit, abs=0.02)
    assert ben.get("class") == "chart-who-1" and len(found(root, "pattern")) == 2
    assert "3 epsilon remaining of 6." in root.find(f"{NAME}desc").text
    read(charts.burn_down([], title="none"))
    with pytest.raises(ValueError, match="order"):
        charts.burn_down(steps[::-1], title="backwards")


def test_many_people_share_the_last_pattern():
    steps = [
        BudgetStep(when=datetime(2026, 1, 1 + place), remaining=9 - place, limit=10, who=f"p{place}")
        for place in range(9)
    ]
    root = read(charts.burn_down(steps, title="budget"))
    assert len(found(root, "pattern")) == 6 and "4 others" in texts(root)


def test_a_histogram_has_an_area_of_one():
    root = read(charts.distribution(title="draws", draws=[0, 0, 1, 1, 1, 1, 2, 2], bins=3))
    bins = found(root, "rect", "chart-bin")
    heights = [float(each.get("height")) for each in bins]
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.03) and heights[0] == pytest.approx(heights[2], abs=0.03)
    scale = Scale(low=0, high=0.6, start=0, end=164)  # the axis ends at the next round number
    assert heights[1] == pytest.approx(scale.at(0.5), abs=0.02)
    root = read(charts.distribution(title="draws", draws=list(range(10)), bins=5))
    heights = [float(each.get("height")) for each in found(root, "rect", "chart-bin")]
    assert heights == pytest.approx([Scale(low=0, high=0.1, start=0, end=164).at(0.1)] * 5, abs=0.02), "two in each"
    assert "0.10" in texts(root) and "0.20" not in texts(root)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_a_density_integrates_to_one_and_is_drawn_at_its_centre(kind):
    law = Density(kind=kind, centre=3, scale=2)
    assert sum(law.at(place / 100) / 100 for place in range(-4000, 4600)) == pytest.approx(1, abs=1e-4)
    root = read(charts.distribution(title="law", densities=[law], marks=[Mark(at=3, name="centre")]))
    places = [tuple(map(float, pair.split(","))) for pair in found(root, "polyline")[0].get("points").split()]
    tip = min(places, key=lambda place: place[1])
    assert tip[0] == pytest.approx(float(found(root, "line", "chart-mark")[0].get("x1")), abs=0.02)


@pytest.mark.parametrize("draws", [[5], [0, 0], [1e300, -1e300], [0.5, 0.25], list(range(1000))])
def test_extremes_of_distributions(draws):
    read(charts.distribution(title="draws", draws=draws))
    read(charts.distribution(title="none"))


def test_charts_from_plain_data_are_the_same():
    when = "2026-01-05T10:00:00+00:00"
    plain = [
        {"chart": "bars", "title": "t", "name": "n", "bars": [{"label": "a", "value": 3, "low": 1, "high": 5}]},
        {"chart": "lines", "title": "t", "name": "n", "series": [{"points": [{"x": "2026-01-05", "value": 1}]}]},
        {"chart": "heatmap", "title": "t", "name": "n", "cells": [{"row": "a", "column": None, "value": 1}]},
        {"chart": "burn_down", "title": "t", "name": "n", "steps": [{"when": when, "remaining": 1, "limit": 2, "who": "a"}]},
        {"chart": "distribution", "title": "t", "name": "n", "densities": [{"kind": "laplace", "centre": 0, "scale": 1}]},
    ]  # fmt: skip
    direct = [
        charts.bars([Bar(label="a", value=3, low=1, high=5)], title="t", name="n"),
        charts.lines([LineSeries(name="", points=(LinePoint(x=date(2026, 1, 5), value=1),))], title="t", name="n"),
        charts.heatmap([HeatCell(row="a", column=None, value=1)], title="t", name="n"),
        charts.burn_down(
            [BudgetStep(when=datetime.fromisoformat(when), remaining=1, limit=2, who="a")], title="t", name="n"
        ),
        charts.distribution(title="t", densities=[Density(kind="laplace", centre=0, scale=1)], name="n"),
    ]
    assert [charts.draw(each) for each in plain] == direct
    with pytest.raises(ValueError, match="there is no chart"):
        charts.draw({"chart": "pie"})


def test_what_a_text_is_cut_to_fits():
    for said in ("cardiology", "長長長長", "ab"):
        for room in range(8, 120, 7):
            assert svg.width(svg.shorten(said, room)) <= max(room, svg.LETTER) + 0.02


def test_a_chart_alone_brings_its_colours_and_nothing_else():
    """As a file it has no page around it: one style, no script, and texts stay texts."""
    given = [Bar(label=label, value=place, low=place - 1, high=place + 1) for place, label in enumerate(HOSTILE)]
    made = charts.bars([*given, Bar(label="</desc>", value=3)], title="</desc><style>x</style>", name="chart")
    root = read(charts.standalone_svg(made))
    (style,) = found(root, "style")
    classes = {word for each in root.iter() for word in each.get("class", "").split()}
    steps = charts.bars(ages(112, bar(None, 12, 5000, drowned=True)), title="ages", ordered=True)
    classes |= {word for each in read(steps).iter() for word in each.get("class", "").split()}
    missing = {word for word in classes if word not in ("chart", "chart-label", "chart-number")}
    assert all(f".{word}" in style.text for word in missing) and missing
    assert found(root, "script") == [] and "url(" not in style.text and "import" not in style.text
    assert str(made) == charts.standalone_svg(made).replace(f"<style>{style.text}</style>", "").removesuffix("\n")
    with pytest.raises(ValueError, match="no description"):
        charts.standalone_svg(made[:20])


def test_pairs_before_and_after_stand_on_one_axis():
    pairs = [
        BeforeAfter(label="<a>", before=(-2, 0, 2), after=(1, 2, 3), text="5 ± 1 → 7 ± 1"),
        BeforeAfter(label="b", before=(-2, 0, 2), after=(-3, -2, -1)),
    ]
    root = read(charts.before_after(pairs, title="moves", across="steps"))
    dots = [each for each in root.iter() if each.tag.endswith("circle")][2:]  # after those of the legend
    at = [float(each.get("cx")) for each in dots]
    assert at[0] == at[2] and at[1] - at[0] == pytest.approx(at[2] - at[3]) and at[1] > at[0]
    assert [each.get("class") for each in dots] == ["chart-before", "chart-after"] * 2
    read(charts.before_after([], title="none"))
    with pytest.raises(ValueError, match="between its ends"):
        BeforeAfter(label="c", before=(0, 3, 2), after=(0, 0, 0))


def test_paired_bars_have_their_marks_where_they_say():
    pairs = [BarPair(label="a", first=100, second=50, chance=50, bound=75), BarPair(label="b", first=None)]
    root = read(charts.paired_bars(pairs, title="p", names=("without", "with", "chance", "bound")))
    rects = {each.get("class"): each for each in root.iter() if each.tag.endswith("rect")}
    wide, half = (float(rects[f"chart-pair-{word}"].get("width")) for word in ("first", "second"))
    lines = {each.get("class"): float(each.get("x1")) for each in root.iter() if each.tag.endswith("line")}
    assert half == pytest.approx(wide / 2) == pytest.approx(lines["chart-pair-chance"])
    assert lines["chart-pair-bound"] == pytest.approx(0.75 * wide)
    read(charts.paired_bars([], title="none", names=("a", "b", "c", "d")))
    with pytest.raises(ValueError, match="percent"):
        BarPair(label="c", first=101)


def test_a_forecast_goes_on_from_what_is_left():
    begin, end = datetime(2026, 1, 10, tzinfo=UTC), datetime(2026, 1, 30, tzinfo=UTC)
    steps = [BudgetStep(when=datetime(2026, 1, 1, tzinfo=UTC), remaining=4, limit=10, who="ann")]
    forecast = BudgetForecast(begin=begin, end=end, remaining=0.0)
    root = read(charts.burn_down(steps, title="ahead", forecast=forecast))
    (line,) = [each for each in root.iter() if each.get("class") == "chart-forecast"]
    (x, y), (later, zero) = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
    assert x < later and y < zero
    with pytest.raises(ValueError, match="ends after"):
        BudgetForecast(begin=end, end=begin, remaining=1.0)


def arrows(root):
    """The tips of the arrows that say that a bar continues, each with the axis end that it points at."""
    shapes = [each.get("points").split() for each in root.iter(f"{NAME}polygon") if each.get("class") == "chart-beyond"]
    return [tuple(map(float, shape[0].split(","))) for shape in shapes]


def description(root):
    return root.find(f"{NAME}desc").text


@pytest.mark.parametrize("place", ["under", "beside"])
def test_a_bar_below_the_noise_does_not_set_the_scale(place):
    """Five bars of 100 to 104 once shared a hundredth of the axis with the noise of an empty group."""
    long = "" if place == "under" else " of a department with a name"
    given = [bar(f"{letter}{long}", 100 + number, 8) for number, letter in enumerate("abcde")]
    whole = read(charts.bars(given, title="t"))
    root = read(charts.bars([*given, bar(None, 30, 5000, drowned=True)], title="t"))
    assert {"50", "100"} <= set(texts(root)) and not {"2,000", "5,000", "-5,000"} & set(texts(root))
    side = "height" if place == "under" else "width"
    sizes = [[float(rect.get(side)) for rect in found(each, "rect", "chart-bar")][:5] for each in (whole, root)]
    assert min(sizes[1]) > 60 and sizes[1] == pytest.approx(sizes[0], rel=0.15)
    ends = sorted(arrows(root), key=sum)
    box = [float(each) for each in root.get("viewBox").split()]
    assert len(ends) == 2 and all(0 <= x <= box[2] and 0 <= y <= box[3] for x, y in ends)
    assert description(root).endswith("Arrows mark the noise interval that continues beyond the axis: NULL.")
    assert any("30 ± 5,000" in title.text and "beyond the axis" in title.text for title in root.iter(f"{NAME}title"))
    assert place == "under" or "30 ± 5,000" in texts(root), "numbers stay whole"
    assert not arrows(whole) and "Arrows" not in description(whole)
    for line in found(root, "line", "chart-whisker"):
        assert all(-0.1 <= float(line.get(name)) <= 400.1 for name in ("x1", "x2", "y1", "y2"))


def test_a_bar_that_is_beyond_the_axis_itself_ends_there():
    given = [bar(letter, 100, 8) for letter in "abc"]
    root = read(
        charts.bars([*given, bar("d", 3000, 5000, drowned=True), bar("e", -3000, 5000, drowned=True)], title="t")
    )
    rects = [(float(each.get("y")), float(each.get("height"))) for each in found(root, "rect", "chart-bar")]
    assert all(top >= 9.9 and top + tall <= 178.1 for top, tall in rects) and len(arrows(root)) == 4
    assert "noise intervals that continue beyond the axis: d, e." in description(root)
    many = [bar(f"g{place}", 3000, 5000, drowned=True) for place in range(9)]
    assert "axis: g0, g1, g2, g3, g4 and 4 more." in description(read(charts.bars([*given, *many], title="t")))


def test_groups_with_the_same_noise_are_drawn_whole():
    for values in ((100, 3, -9), (11, 9, -9), (3, 9, -9), (0, 0, 0), (-100, 9, -9)):
        given = [bar(str(place), value, 10, drowned=abs(value) <= 10) for place, value in enumerate(values)]
        root = read(charts.bars(given, title="t"))
        assert not arrows(root) and len(found(root, "line", "chart-whisker")) == 9


def test_where_all_is_below_the_noise_the_least_noise_sets_the_scale():
    given = [bar(letter, place, 10, drowned=True) for place, letter in enumerate("abcd")]
    root = read(charts.bars([*given, bar(None, 3, 5000, drowned=True)], title="t"))
    assert "10" in texts(root) and len(arrows(root)) == 2
    alone = read(charts.bars([bar(None, 3, 5000, drowned=True)], title="t"))
    assert not arrows(alone)


def test_dots_beyond_the_axis_are_an_arrow():
    given = [bar("a", 100, 8), bar("b", 3, 9, drowned=True, dots=(4, 900))]
    root = read(charts.bars(given, title="t"))
    assert len(found(root, "circle", "chart-try")) == 1 and len(arrows(root)) == 1


def ages(count, *more, noise=25):
    given = [bar(age, 400 - (age - 40) ** 2 / 8, noise) for age in range(count)]
    return [*(replace(each, drowned=abs(each.value) <= noise) for each in given), *more]


def test_ordered_groups_beyond_forty_are_steps_in_their_order():
    root = read(charts.bars(ages(112), title="ages", ordered=True))
    slots = [each for each in root.iter(f"{NAME}rect") if each.get("pointer-events") == "all"]
    titles = [group.find(f"{NAME}title").text for group in found(root, "g")]
    assert [each.partition(":")[0] for each in titles] == [str(age) for age in range(112)] and len(slots) == 112
    lefts = [float(slot.get("x")) for slot in slots]
    assert lefts == sorted(lefts) and not found(root, "rect", "chart-bar")
    assert "more" not in " ".join(texts(root)) and description(root).startswith("112 steps, each with its noise")
    points = [
        tuple(map(float, pair.split(",")))
        for line in found(root, "polyline", "chart-step")
        for pair in line.get("points").split()
    ]
    by_place = dict(points)
    heights = [next(y for x, y in points if x == pytest.approx(left, abs=0.01)) for left in (lefts[10], lefts[41])]
    assert heights[0] > heights[1] and min(by_place.values()) == pytest.approx(heights[1], abs=0.5)
    shown = [int(each) for each in texts(root) if each.isdigit() and int(each) < 112]
    assert {10, 20, 30} <= set(shown)  # labels are round ones
    bands = [each.get("class") for each in found(root, "polygon", "chart-noise")]
    assert "chart-noise" in bands and "chart-noise chart-drowned" in bands


def test_up_to_forty_ordered_groups_are_bars_in_their_order():
    root = read(charts.bars(ages(40), title="ages", ordered=True))
    assert [each.text for each in found(root, "text", "chart-label")] == [str(age) for age in range(40)]
    assert len(found(root, "rect", "chart-bar")) == 40 and not found(root, "polyline")


def test_null_stands_beside_the_steps_and_does_not_set_their_scale():
    root = read(charts.bars(ages(112, bar(None, 12, 5000, drowned=True)), title="ages", ordered=True))
    (null,) = found(root, "rect", "chart-bar")
    slots = [each for each in root.iter(f"{NAME}rect") if each.get("pointer-events") == "all"]
    assert len(slots) == 112 and float(null.get("x")) > max(float(slot.get("x")) for slot in slots) + 5
    assert [each.text for each in found(root, "text", "chart-null")] == ["NULL"]
    assert len(arrows(root)) == 2 and "5,000" not in texts(root) and description(root).endswith("axis: NULL.")
    wild = ages(112)
    wild[60] = bar(60, 12, 5000, drowned=True)
    assert len(arrows(read(charts.bars(wild, title="ages", ordered=True)))) == 2


def test_a_step_without_a_number_is_a_gap():
    given = ages(60)
    given[20] = Bar(label=20, value=None, drowned=True)
    root = read(charts.bars(given, title="ages", ordered=True))
    for line in found(root, "polyline", "chart-step"):
        places = [float(pair.split(",")[0]) for pair in line.get("points").split()]
        slots = [each for each in root.iter(f"{NAME}rect") if each.get("pointer-events") == "all"]
        left, right = (float(slots[place].get("x")) for place in (20, 21))
        assert max(places) <= left + 0.02 or min(places) >= right - 0.02
    assert "20: – (the noise is too large to show it)" in str(charts.bars(given, title="ages", ordered=True))


def slots_of(root):
    """The left and the right side of each step."""
    slots = [each for each in root.iter(f"{NAME}rect") if each.get("pointer-events") == "all"]
    return [(float(each.get("x")), float(each.get("x")) + float(each.get("width"))) for each in slots]


def test_steps_of_numbers_are_drawn_to_scale():
    numbers = [*range(30), *range(60, 80)]
    sides = slots_of(read(charts.bars([bar(each, each, 1) for each in numbers], title="t", ordered=True)))
    unit = sides[0][1] - sides[0][0]
    assert len(sides) == 50 and all(right - left == pytest.approx(unit, abs=0.02) for left, right in sides)
    for number, (left, _) in zip(numbers, sides, strict=True):
        assert left == pytest.approx(sides[0][0] + number * unit, abs=0.6), number
    root = read(charts.bars([bar(each, each, 1) for each in numbers], title="t", ordered=True))
    (before, after) = [
        [float(pair.partition(",")[0]) for pair in line.get("points").split()]
        for line in found(root, "polyline", "chart-step")
    ]
    assert max(before) == pytest.approx(sides[29][1], abs=0.02) and min(after) == pytest.approx(sides[30][0], abs=0.02)


def test_bins_of_different_widths_are_drawn_to_scale():
    edges = [*range(0, 40, 2), *range(40, 100, 3), *range(100, 201, 20)]
    bins = [f"[{low}, {high})" for low, high in pairwise(edges)]
    root = read(charts.bars([bar(each, 5, 1) for each in bins], title="t", ordered=True))
    sides = slots_of(root)
    unit = (sides[-1][1] - sides[0][0]) / 200
    for (low, high), (left, right) in zip(pairwise(edges), sides, strict=True):
        assert (right - left) == pytest.approx((high - low) * unit, abs=0.02)
    assert len(found(root, "polyline", "chart-step")) == 1
    labels = [each for each in found(root, "text", "chart-quiet") if each.text.startswith("[")]
    ends = sorted((float(each.get("x")) - svg.width(each.text) / 2, float(each.get("x")) + svg.width(each.text) / 2) for each in labels)  # fmt: skip
    assert len(ends) > 2 and all(one[1] <= other[0] for one, other in pairwise(ends))


@pytest.mark.parametrize("keys", [
    [0, 1, *range(10_000, 410_000, 10_000)],  # some would be too narrow to be seen
    [str(each) for each in range(50)],
    [f"2026-01-{day:02}" for day in range(1, 32)] + [f"2026-03-{day:02}" for day in range(1, 15)],
])  # fmt: skip
def test_other_steps_are_equally_wide(keys):
    sides = slots_of(read(charts.bars([bar(each, 5, 1) for each in keys], title="t", ordered=True)))
    widths = [right - left for left, right in sides]
    assert max(widths) - min(widths) < 0.05


def test_steps_of_every_size_are_finite():
    for given in (
        [bar(place, 0, 0) for place in range(41)],
        [bar(place, 10**300, 10**299) for place in range(41)],
        [bar((-1.0) ** (place < 20) * 1.7e308 + place, 1, 1) for place in range(41)],
        [bar(place * 4e306, 1, 1) for place in (*range(20), *range(22, 43))],
        [Bar(label=place, value=None) for place in range(41)],
        [bar(f"[{place}, {place + 1})", place, 3) for place in range(2000)],
        [Bar(label="x" * 200 + str(place), value=place) for place in range(41)],
    ):
        for each in read(charts.bars(given, title="t", ordered=True)).iter():
            for name in ("x", "y", "width", "height"):
                assert math.isfinite(float(each.get(name, 0)))
    few = read(charts.bars([bar(place, place, 1) for place in range(2001)], title="t", ordered=True))
    assert "… 1,961 more" in texts(few), "finer steps than that are not seen"


@pytest.mark.parametrize(
    ("keys", "places"),
    [
        (range(3), [0, 1, 2]),
        ([2.5, None, -1], [2, 0, 1]),
        ([date(2026, 2, 1), date(2026, 1, 1)], [1, 0]),
        (["2026-02-01 10:00:00", "2026-01-01 09:00:00"], [1, 0]),
        (["[100, 200)", "[20, 100)", "[200, 300]", None], [1, 0, 2, 3]),
        (["[2026-02-01, 2026-03-01)", "[2026-01-01, 2026-02-01)"], [1, 0]),
        (["8001", "8002"], None),
        ([True, False], None),
        ([1, "a"], None),
        ([1, 1], None),
        ([None, 1, None], None),
        ([None], None),
        ([], None),
        (["total", 1], None),
    ],
)
def test_which_keys_have_an_order(keys, places):
    assert ordered_places(list(keys)) == places


def test_long_labels_wrap_and_are_cut_only_beyond_three_lines():
    name = "Department of internal medicine, cardiology and angiology"
    root = read(charts.bars([bar(name, 50), bar("other", 20), bar("very " * 60, 30)], title="t"))
    groups = [[each.text for each in group if "chart-label" in each.get("class", "")] for group in found(root, "g")]
    labels = [lines for lines in groups if lines]
    assert [len(lines) for lines in labels] == [3, 1, 3] or [len(lines) for lines in labels] == [2, 1, 3]
    assert " ".join(labels[0]) == name and labels[1] == ["other"] and labels[2][-1].endswith("…")
    titles = [each.text for each in root.iter(f"{NAME}title")]
    assert any(each.startswith(" ".join(["very"] * 60)) for each in titles), "the whole text is in the title"
    rows = [
        [float(each.get("y")) for each in group if "chart-label" in each.get("class", "")] for group in found(root, "g")
    ]
    at = [y for own in rows for y in own]
    assert all(later - earlier >= 13.9 for earlier, later in itertools.pairwise(at)), "no line over another"
    assert max(at) < float(root.get("viewBox").split()[3]) - 20


@pytest.mark.parametrize(
    "said", ["short", "x" * 100, "a-b " * 40, "weekly_alcohol_units_before_pregnancy", "長" * 60, "", "a  b"]
)
def test_what_is_wrapped_fits_and_loses_nothing_before_the_last_line(said):
    for room in (30.0, 80.0, 142.0, 230.0):
        lines = svg.wrap_all(said, room, most=3)
        assert 1 <= len(lines) <= 3 and all(svg.width(line) <= room + 0.02 for line in lines)
        rejoined, clean = "".join(lines).replace(" ", ""), svg.clean(said).replace(" ", "")
        assert clean == rejoined or (rejoined.endswith("…") and clean.startswith(rejoined[:-1]))


def test_a_point_below_the_noise_does_not_set_the_scale_of_a_line():
    points = [LinePoint(x=place, value=100 + place, low=95 + place, high=105 + place) for place in range(6)]
    wild = LinePoint(x=6, value=30, low=-4970, high=5030, drowned=True)
    root = read(charts.lines([LineSeries(name="n", points=(*points, wild))], title="line"))
    assert "100" in texts(root) and "5,000" not in texts(root) and len(arrows(root)) == 2
    assert description(root).endswith("Arrows mark the noise interval that continues beyond the axis: 6.")
    (band,) = found(root, "polygon", "chart-band")
    assert all(7.9 <= float(pair.split(",")[1]) <= 188.1 for pair in band.get("points").split())
    assert not arrows(read(charts.lines([LineSeries(name="n", points=tuple(points))], title="line")))


def test_a_cell_below_the_noise_does_not_set_the_shades():
    cells = [HeatCell(row=1, column=place, value=100) for place in range(3)]
    root = read(charts.heatmap([*cells, HeatCell(row=1, column=9, value=3000, drowned=True)], title="heat"))
    assert len(found(root, "rect", "chart-more-4")) == 5 and "100" in texts(root)  # with one of the legend
    alone = read(charts.heatmap([HeatCell(row=1, column=9, value=3000, drowned=True)], title="heat"))
    assert "3e+03" in texts(alone)
