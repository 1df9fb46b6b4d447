"""A rehearsal as a picture: plain numbers, how far the noise goes, and the answers of the runs."""

from discreet.console.pages.rehearsal_charts import MOST, charts_of
from discreet.present import charts


def rehearsal(rows, keys=("ward",)):
    numbers = [{"plain": plain, "noisy": list(noisy)} for _, plain, noisy in rows]
    return {
        "keys": list(keys),
        "columns": [{"name": "n"}],
        "rows": [{"keys": list(key), "numbers": [number]} for (key, _, _), number in zip(rows, numbers, strict=True)],
    }


def test_a_group_shows_its_number_its_noise_and_its_answers():
    data = rehearsal([(("w0",), 100, (90, 104)), ((None,), 3, (-4, 9))])
    (chart,) = charts_of(data, [{"column": "n", "plus_minus": 10.0}])
    first, second = chart["bars"]
    assert (first["value"], first["low"], first["high"], first["dots"], first["drowned"]) == (
        100,
        90,
        110,
        [90, 104],
        False,
    )
    assert second["label"] is None and second["drowned"]
    drawn = str(charts.draw(chart))
    assert chart["title"] == "n by ward" and drawn.count('class="chart-try"') == 4 and "style=" not in drawn


def test_dots_are_inside_the_drawing():
    """Seen to fail while the axis knew of bars and noise alone."""
    (chart,) = charts_of(rehearsal([(("w0",), 10, (900.0, -900.0))]), [{"column": "n", "plus_minus": 1.0}])
    drawn = str(charts.draw(chart))
    places = [float(part.split('"')[0]) for part in drawn.split('cx="')[1:]]
    assert len(places) == 2 and all(0 <= place <= 400 for place in places)


def test_what_is_no_number_has_no_chart_and_unknown_noise_no_line():
    assert charts_of(rehearsal([(("w0",), "2026-01-01", ("2026-01-02",))]), []) == [None]
    assert charts_of(rehearsal([]), []) == [None]
    (chart,) = charts_of(rehearsal([((), 5.0, (4.0, None))], keys=()), [{"column": "n", "plus_minus": None}])
    assert (chart["title"], chart["bars"][0]["low"], chart["bars"][0]["dots"]) == ("n", None, [4.0])
    (many,) = charts_of(rehearsal([((n,), n, (n,)) for n in range(100)]), [])
    assert len(many["bars"]) == MOST
