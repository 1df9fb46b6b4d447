"""Numbers have no more digits than the noise leaves meaningful: the same ones in Python, JSON and on a screen."""

import csv
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet
from discreet.kernel.measurement import ChosenBins
from discreet.plan import formula
from discreet.plan.expressions import Code
from discreet.present.cell_text import format_with_noise
from discreet.release import Release
from discreet.sql.bin_labels import bin_middle, bin_range_labels
from discreet.sql.group_keys import quantile_axis
from discreet.sql.typed_expression import NumericKind, TypedExpression

TOML = """
[tables.trips]
source = "trips.csv"
budget = { epsilon = 1000 }
[tables.trips.columns]
fare = { type = "decimal", low = 0, high = 500, step = 0.01 }
metres = { type = "decimal", low = 0, high = 100000, step = 5 }
age = { type = "integer", low = 0, high = 99 }
kind = { type = "category", values = ["a", "b", "c"] }
"""

TEXT = (
    "select kind, count(*) n, sum(fare) f, sum(metres) m, sum(age) a, avg(fare) v, stddev(fare) s, "
    "median(metres) q, sum(fare) / count(*) r from trips group by kind order by n"
)


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trips")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        draw = np.random.default_rng(5)
        with (folder / "trips.csv").open("w", newline="") as stream:
            rows = [
                (f"{draw.uniform(0, 400):.2f}", int(draw.integers(0, 20000)) * 5, int(draw.integers(0, 99)), kind)
                for kind in "abc"
                for _ in range(3000)
            ]
            csv.writer(stream).writerows([("fare", "metres", "age", "kind"), *rows])
        (folder / "discreet.toml").write_text(TOML)
        project = discreet.init(folder)
        yield project, project.sql(TEXT).ask(epsilon="0.02")


def digits_beyond(cell, ends, *, quantile=False) -> int:
    """Whether a number has digits beyond the second one of its half width; a quantile, beyond the third one of the
    distance to its nearer end."""
    width = min(cell - ends[0], ends[1] - cell) / 10 if quantile else (ends[1] - ends[0]) / 2
    unit = 10.0 ** (math.floor(math.log10(width)) - 1)
    return 0 if abs(round(cell / unit) * unit - cell) <= 1e-9 * max(1.0, abs(cell)) else 1


def test_no_number_has_more_digits_than_its_noise_leaves(trips):
    _, release = trips
    checked = 0
    names = [column.name for column in release.columns]
    for row, ends in zip(release.rows, release.intervals, strict=True):
        for name, cell, interval in zip(names[1:], row[1:], ends[1:], strict=True):
            if interval is None or cell is None or cell in interval:  # at a bound it is the bound
                continue
            assert interval[0] < cell < interval[1]
            assert not digits_beyond(cell, interval, quantile=name == "q"), (cell, interval)
            checked += 1
    assert checked >= 12
    sums = [row[2] for row in release.rows]
    assert all(value % 1000 == 0 for value in sums)  # a noise of some ten thousands leaves no cents


def test_every_way_of_reading_gives_the_same_number(trips):
    _, release = trips
    data = release.to_data()
    frame = release.to_arrow()
    for place, row in enumerate(release.rows):
        assert data["rows"][place] == list(row)
        for column, cell in enumerate(row):
            name = release.columns[column].name
            assert frame[name][place].as_py() == cell
            if column and cell is not None:
                shown = release.cell_text(place, column).split(" ")[0]
                assert float(shown.replace(",", "")) == cell, (name, shown, cell)


def test_sorting_goes_by_all_digits(trips):
    project, _ = trips
    release = project.sql("select kind, sum(metres) m from trips group by kind order by m desc").ask(
        epsilon="0.0001", fresh=True
    )
    stored = project.curator.stored_measurement(release.id).parts[0].noisy_values[0]
    wanted = [kind for kind, _ in sorted(zip(["a", "b", "c", None], stored, strict=True), key=lambda pair: -pair[1])]
    assert [row[0] for row in release.rows] == wanted
    assert all(row[1] % 1_000_000 == 0 for row in release.rows)


@pytest.mark.parametrize("asked", ["median(fare)", "percentile_cont(0.25) within group (order by fare)"])
def test_a_quantile_stays_where_it_was_chosen(trips, asked):
    """It is shown at a 200th of the way to the nearer end of its interval, or nearer."""
    project, _ = trips
    release = project.sql(f"select kind, {asked} q from trips group by kind").ask(epsilon="1", fresh=True)
    (chosen,) = [part for part in project.curator.stored_measurement(release.id).parts if isinstance(part, ChosenBins)]
    size = 50_001  # hundredths from 0 to 500, in 4,096 bins
    assert len(release.rows) >= 3
    for (kind, cell), (_, (low, high)) in list(zip(release.rows, release.intervals, strict=True))[
        :3
    ]:  # NULL has nobody
        bin_ = chosen.noisy_bins[["a", "b", "c", None].index(kind)][1]
        middle = (bin_ * size // 4096 + (bin_ + 1) * size // 4096 - 1) / 200
        assert abs(cell - middle) <= min(middle - low, high - middle) / 200 + 1e-9


@pytest.mark.parametrize(
    ("cell", "low", "high", "shown"),
    [
        (1230, 1111, 1357, "1,230 ± 130"),
        (1234, 1222, 1246, "1,234 ± 12"),
        (1230.0, 1111.5, 1357.5, "1,230 ± 130"),
        (5.02, 4.9, 5.14, "5.02 ± 0.12"),
        (5.02, 4.9, 5.8, "5.02 (4.90 to 5.80)"),
        (3, 1, 90, "3 (1 to 90)"),
        (0.5, 0.5, 0.5, "0.5 ± 0"),
        (12345678901234567890, 12345678901234560000, 12345678901234575780, "12,345,678,901,234,567,890 ± 7,900"),
    ],
)
def test_a_number_and_its_noise_in_two_digits(cell, low, high, shown):
    assert format_with_noise(cell, low, high) == shown


def test_combined_answers_are_rounded_too(trips):
    project, _ = trips
    first = project.sql("select count(*) from trips").ask(epsilon="0.01")
    both = project.again(first.id, epsilon="0.01")
    (cell,), (ends,) = both.rows[0], both.intervals[0]
    assert isinstance(both, Release) and not digits_beyond(cell, ends)


@pytest.mark.thin(1)
@pytest.mark.parametrize(("least", "step"), [(1_100_000_000_000_000_100, "1"), (500_000_000_000_000_100, "0.5")])
def test_a_quantile_of_large_numbers_stays_inside_its_interval(tmp_path, least, step):
    """Floats have only every 64th number or so there: a median was told 21 below its interval's low end."""
    cells = [f"{least + 20 + row % 60}{'.5' if step == '0.5' and row % 2 else ''}" for row in range(5000)]
    (tmp_path / "t.csv").write_text("stamp\n" + "\n".join(cells) + "\n")
    (tmp_path / "discreet.toml").write_text(
        f"""
[tables.t]
source = "t.csv"
budget = {{ epsilon = 1000 }}
[tables.t.columns]
stamp = {{ type = "decimal", low = {least}, high = {least + 100}, step = {step} }}
"""
    )
    text = "select median(stamp) m, quantile_cont(stamp, 0.05) q from t"
    release = discreet.init(tmp_path).sql(text).ask(epsilon=100)
    (row,), (ends,) = release.rows, release.intervals
    for cell, (low, high), true in zip(row, ends, (49, 22), strict=True):
        assert isinstance(cell, int) and least <= low <= cell <= high <= least + 100
        assert abs(cell - least - true) <= 3


def test_large_numbers_are_rounded_as_others_are():
    large = 2**60
    assert formula.meaningful_quantiles([large + 5007], [large], [2 * large]) == [(large + 5007) // 10 * 10]
    for value in (783, -783, 12345):  # the same digits on either side of what floats hold
        (small,) = formula.meaningful_quantiles([value], [value - 9999], [value + 99999])
        (moved,) = formula.meaningful_quantiles([value + 10**18], [value - 9999 + 10**18], [value + 99999 + 10**18])
        assert moved - 10**18 == small == round(value, -1)


def test_bins_of_fractions_beyond_floats_have_their_ends_outside():
    found = TypedExpression(Code("x", 4 * 2**60 + 1, 4 * 2**60 + 7, null=True), NumericKind(step=Fraction(1, 4)))
    axis = quantile_axis(found)
    assert bin_range_labels(axis, found, 0, 6) == (2**60, 2**60 + 2)
    assert [bin_middle(axis, found, place) - 2**60 for place in range(7)] == [0, 0, 0, 1, 1, 1, 1]
