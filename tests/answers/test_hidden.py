"""A number that the noise hides is a dash with its reason, never one from the middle of its bounds: on every surface."""

import json
import warnings
from fractions import Fraction

import numpy as np
import pytest

import discreet
from discreet.answers.refine import AnswerReading
from discreet.bundle.card_page import card_cell
from discreet.bundle.sheet import Sheet, to_csv
from discreet.bundle.sheet_chart import chart_of
from discreet.cli.row_file import RowFile
from discreet.cli.terminal import answer_lines, save_rows
from discreet.kernel.measurement import ChosenBins, Measurement, NoisyCells
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.quantile import QuantileChoice

TOML = """
[tables.stays]
source = "stays.csv"
budget = { epsilon = 100000, delta = 0.000001 }
[tables.stays.columns]
ward = { type = "category", values = ["a", "b", "nobody"] }
age = { type = "integer", low = 0, high = 110 }
cost = { type = "integer", low = 0, high = 1000 }
well = { type = "boolean" }
day = { type = "date", low = 2025-01-01, high = 2025-12-31 }
"""

RATIOS = (
    "avg(age)", "2 * avg(cost) - 1", "variance(age)", "stddev_pop(age)", "covar_pop(age, cost)", "corr(age, cost)",
    "regr_slope(age, cost)", "regr_intercept(age, cost)", "avg(cost) + 1", "avg(case when well then 1 else 0 end)",
)  # fmt: skip
CHOICES = ("median(age)", "min(cost)", "max(age)", "median(day)", "percentile_cont(0.9) within group (order by cost)")


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(autouse=True)
def same_state(monkeypatch, state):
    """Every test has another state folder otherwise."""
    monkeypatch.setenv("DISCREET_STATE", str(state))


@pytest.fixture(scope="module")
def stays(tmp_path_factory, state):
    folder = tmp_path_factory.mktemp("stays")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(state))
        draw = np.random.default_rng(3)
        lines = ["ward,age,cost,well,day"]
        for number in range(1200):
            age, cost, day = draw.integers(0, 95), draw.integers(0, 900), draw.integers(1, 28)
            lines.append(f"{'ab'[number % 2]},{age},{cost},{number % 3 == 0},2025-06-{day:02d}")
        (folder / "stays.csv").write_text("\n".join(lines))
        (folder / "discreet.toml").write_text(TOML)
        return discreet.init(folder)


@pytest.fixture(scope="module")
def release(stays, state):
    """Noise so small that it is 0 for counts; a group of which nobody is, and NULL, of which nobody is either."""
    listed = ", ".join(f"{text} as c{place}" for place, text in enumerate((*RATIOS, *CHOICES)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(state))
        return stays.sql(f"select ward, count(*) as n, {listed} from stays group by ward").ask(epsilon=1000)


def test_the_numbers_of_nobody_are_not_shown(release):
    a, b, nobody, null = release.rows
    assert nobody[:2] == ("nobody", 0) and null[:2] == (None, 0)
    assert set(nobody[2:]) == set(null[2:]) == {None}
    assert None not in a[1:] and None not in b[1:]
    for ends, column in zip(release.intervals[2][2:], release.columns[2:], strict=True):
        assert ends == column.bounds  # all that is declared; None where nothing is


def test_terminal_json_files_and_frames(release, stays, tmp_path):
    text = "\n".join(str(part) for part in answer_lines(release, stays.budget("stays"))[1:])
    assert "– not shown: the noise is too large." in text and f"{2 * 15} of 64 numbers are not shown (–)" in text
    assert str(release).count("–") == 30
    data = json.loads(json.dumps(release.to_data()))
    assert data["rows"][2][2:] == [None] * 15 and data["intervals"][2][2] == [0.0, 110.0]
    save_rows(release, [RowFile(path=tmp_path / f"a.{each}", format=each) for each in ("csv", "parquet")])
    line = (tmp_path / "a.csv").read_text().splitlines()[3].split(",")
    header = (tmp_path / "a.csv").read_text().splitlines()[0].replace('"', "").split(",")
    assert line[header.index("c0")] == "" and line[header.index("c0_low")] == "0"
    frame = release.to_pandas()
    assert frame["c0"].isna().tolist() == [False, False, True, True] == frame["c13"].isna().tolist()
    face = release._repr_html_()
    assert face.count(">–<") == 30 and "– not shown: the noise is too large" in face


def test_bundles(release):
    sheet = Sheet.of(release.columns, release.rows, release.intervals)
    assert card_cell(sheet, 2, 2).text == "–" != card_cell(sheet, 0, 2).text
    drawn = Sheet.of(
        tuple(release.columns[place] for place in (0, 2)),
        [(row[0], row[2]) for row in release.rows],
        [(ends[0], ends[2]) for ends in release.intervals],
    )
    assert "nobody: – (the noise is too large to show it)" in chart_of(drawn, title="T")
    assert to_csv(drawn).decode().splitlines()[3] == "nobody,,0.0,110.0"


@pytest.mark.parametrize("descending", [False, True])
def test_what_is_hidden_sorts_as_null(stays, descending):
    """By the middle of the bounds, or beyond, nobody would be among the first."""
    turn = "desc" if descending else "asc"
    for text in ("avg(age)", "median(age)"):
        for shown in (f"{text} as x", "count(*) as x"):
            found = stays.sql(f"select ward, {shown} from stays group by ward order by {text} {turn}").ask(epsilon=1000)
            assert [row[0] for row in found.rows[2:]] in (["nobody", None], [None, "nobody"])


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    ("having", "wards"),
    [
        ("avg(age) > 10", ["a", "b"]),
        ("not avg(age) > 10", []),
        ("not (avg(age) > 10 and count(*) > 10)", ["nobody", None]),  # NULL and false is false
        ("avg(age) < 1000", ["a", "b"]),
        ("avg(age) between 0 and 110", ["a", "b"]),
        ("2 * avg(cost) - 1 is not null", ["a", "b"]),
        ("avg(age) is null", ["nobody", None]),
        ("stddev(age) is null or count(*) > 10", ["a", "b", "nobody", None]),
        ("x >= 0", ["a", "b"]),  # by its alias
        ("count(*) < 10", ["nobody", None]),
        ("sum(cost) < 10000", ["nobody", None]),  # noise of scale 10 at most; the others have 250,000
    ],
)
def test_having_reads_what_is_shown(stays, having, wards):
    """A number that is a dash is NULL, not what lies behind the dash."""
    text = f"select ward, avg(age) as x, count(*) from stays group by ward having {having}"
    assert [row[0] for row in stays.sql(text).ask(epsilon=1000).rows] == wards


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    ("text", "shown", "ends"),
    [
        ("coalesce(avg(age), 0)", 0, (0.0, 110.0)),
        ("coalesce(avg(age), -1)", -1, (-1.0, 110.0)),
        ("coalesce(avg(cost), 0.25)", 0.25, (0.0, 1000.0)),  # a literal is not rounded to what noise leaves meaningful
        ("2 * coalesce(avg(age), 10) + 1", 21, (1.0, 221.0)),
        ("round(coalesce(avg(age), 3.14), 1)", 3.1, (0.0, 110.0)),
        ("coalesce(avg(age), avg(cost), 7)", 7, (0.0, 1000.0)),
        ("coalesce(avg(age), coalesce(stddev(age), 7))", 7, (0.0, 110.0)),
        ("coalesce(sum(age) / count(age), 0)", 0, None),  # a quotient whose interval has no end
        ("coalesce(avg(age), 0) + avg(cost)", None, (0.0, 1110.0)),
        ("coalesce(avg(age), avg(cost))", None, (0.0, 1000.0)),
        ("coalesce(avg(age), null)", None, (0.0, 110.0)),
    ],
)
def test_coalesce_shows_its_fallback_where_there_may_be_nobody(stays, text, shown, ends):
    """The number of nobody is not known, and the question says what to show then. Its interval says how little it is."""
    found = stays.sql(f"select ward, {text} as x from stays group by ward").ask(epsilon=1000)
    a, b, nobody, null = (row[1] for row in found.rows)
    assert (nobody, null) == (shown, shown) and None not in (a, b)
    assert found.intervals[2][1] == found.intervals[3][1] == ends
    assert found.is_below_noise(2, 1) and not found.is_below_noise(0, 1)
    if ends is not None:  # who is there is not in doubt; what x / y is where y may be 0, is
        assert found.intervals[0][1][1] - found.intervals[0][1][0] < 5


def test_a_fallback_sorts_and_is_compared_as_it_is_shown(stays):
    text = "select ward, coalesce(avg(age), 500) as x from stays group by ward"
    assert {row[0] for row in stays.sql(f"{text} having x > 200").ask(epsilon=1000).rows} == {"nobody", None}
    assert {row[0] for row in stays.sql(f"{text} order by x desc limit 2").ask(epsilon=1000).rows} == {"nobody", None}


def read(stays, text, low, middle, high):
    """A reading of a quantile without noise on its way: these bins were drawn, in each of four groups."""
    asked = stays.sql(text).query
    part = ChosenBins(place=0, quantile=0, noisy_bins=((low, middle, high),) * 4, confidence=Fraction(95, 100))
    event = ExponentialMechanism(epsilon=Fraction(1), sensitivity=1).event()
    return AnswerReading(query=asked, measurement=Measurement(id="r-1", text="", parts=(part,), event=event))


@pytest.mark.parametrize(
    ("bins", "shown"),
    [
        ((0, 55, 110), False),
        ((0, 51, 94), False),  # one end was drawn by chance
        ((0, 100, 100), False),
        ((20, 51, 110), False),
        ((0, 20, 60), True),  # tells something
        ((70, 94, 110), True),
        ((10, 55, 100), True),  # both ends were drawn from rows: by chance that is one in a thousand
        ((0, 0, 0), True),
    ],
)
def test_a_quantile_is_hidden_by_its_interval(stays, bins, shown):
    reading = read(stays, "select ward, median(age) from stays group by ward", *bins)
    (_, cell), (_, ends) = reading.rows[0], reading.intervals(Fraction(95, 100))[0]
    assert (cell is not None) == shown
    assert shown or ends == (0, 110)


def test_a_quantile_of_two_values_or_of_one(stays):
    """A column of few values: one of two is told."""
    reading = read(stays, "select ward, median(case when well then 1 else 0 end) from stays group by ward", 0, 0, 0)
    assert reading.rows[0][1] == 0


def chance_to_show(choice, size):
    """The exact probability that a group without rows shows a quantile."""
    empty = np.zeros(size, dtype=np.int64)
    laws = []
    for one, shift in ((choice.end, -choice.margin), (choice.estimate, 0), (choice.end, choice.margin)):
        weights = np.exp(float(one.epsilon) / (2 * one.sensitivity) * choice.scores(empty, shift).astype(float))
        laws.append(weights / weights.sum())
    low, middle, high = np.meshgrid(*[np.arange(size)] * 3, indexing="ij")
    weight = laws[0][:, None, None] * laws[1][None, :, None] * laws[2][None, None, :]
    first, last = np.minimum(np.minimum(low, middle), high), np.maximum(np.maximum(low, middle), high)
    wide = 3 * (last - first + 1) > 2 * size
    hidden = ((first == 0) | (last == size - 1)) & wide
    return float(weight[~hidden].sum()), float(weight[(first > 0) | (last < size - 1)].sum())


@pytest.mark.parametrize("fraction", [Fraction(1, 2), Fraction(199, 200), Fraction(1, 10)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(5)])
def test_few_groups_without_rows_show_a_quantile(fraction, epsilon):
    """By the exact law: one in 20 passes where its interval alone had to be all that is declared, now one in 40."""
    choice = QuantileChoice(fraction=fraction, bins=60, rows=1, epsilon=epsilon)
    now, before = chance_to_show(choice, 60)
    assert now < min(0.0235, 0.6 * before)


def test_a_count_in_the_question_tells_whether_there_is_anybody(stays):
    """The bins would be shown: an interval that reaches one bound, of less than two thirds of the column."""
    asked = stays.sql("select ward, count(*), median(age) from stays group by ward").query
    law = DiscreteLaplace(scale=Fraction(10))
    counts = (500, law.half_width(Fraction(99, 100)), 0, -9)
    cells = NoisyCells(place=0, statistics=(0,), noisy_values=(counts,), laws=(law,))
    bins = ChosenBins(place=0, quantile=0, noisy_bins=((0, 20, 60),) * 4, confidence=Fraction(95, 100))
    measurement = Measurement(id="r-1", text="", parts=(cells, bins), event=law.event(l1=1))
    found = AnswerReading(query=asked, measurement=measurement).rows
    assert [row[2] is None for row in found] == [False, True, True, True]


DEEP = [pytest.param(epsilon, marks=pytest.mark.deep) for epsilon in ("0.01", "100", "185", "400")]


@pytest.mark.thin(3)
@pytest.mark.parametrize("epsilon", ["0.00001", "20", "179", "900", *DEEP])
def test_no_epsilon_makes_a_warning_or_a_wrong_interval(stays, epsilon):
    """exp and sinh of what a large epsilon makes of noise overflow, and what a small one makes underflows."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        listed = ", ".join(f"{text} as c{place}" for place, text in enumerate(RATIOS))
        found = stays.sql(f"select count(*), {listed} from stays").ask(epsilon=epsilon, fresh=True)
        for confidence in ("0.95", "0.999999"):
            for cell, ends in zip(found.rows[0], found.interval(confidence)[0], strict=True):
                assert cell is None or ends is None or ends[0] <= cell <= ends[1] or ends[0] == pytest.approx(cell)
        well = stays.sql("select avg(case when well then 1 else 0 end) from stays").ask(epsilon=epsilon, fresh=True)
        stays.sql("select day, median(age), count(*) from stays group by day").ask(epsilon=epsilon, fresh=True)
    if float(epsilon) >= 100:
        (low, high), share = well.intervals[0][0], Fraction(400, 1200)
        assert low <= float(share) + 1e-12 and high >= float(share) - 1e-12
        assert high - low <= 2 / 1200
