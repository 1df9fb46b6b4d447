"""Shapes of columns are measured by steps of a fit: each row counts once, and nothing else of the rows is seen."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.events import ReservationEvent
from discreet.answers.whole_table_charge import charge_whole_table
from discreet.errors import UsageError
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.program import Program
from discreet.kernel.project_session import open_session
from discreet.plan.evaluate import value
from discreet.synth import cell_decoder, shape_measurement
from discreet.synth.attribute import Attribute, attribute_of
from discreet.synth.column_differences import add_differences, difference_codes
from discreet.synth.constraints import PublicConstraints
from discreet.synth.fine_cells import shape_cells
from discreet.synth.rules import ColumnOrder
from discreet.synth.shape_measurement import measure_shapes, shape_axes
from discreet.synth.value_shapes import GRAINS, HOUR, day_classes, digit_classes
from synth import test_ledger
from synth.worlds import fit, open_project
from tiers import size

COLUMNS = {
    "who": None,
    "pay": 'type = "integer"\nlow = -20000\nhigh = 900000',
    "born": 'type = "date"\nlow = 1900-01-01\nhigh = 2024-12-31',
    "since": 'type = "date"\nlow = 2000-01-01\nhigh = 2024-12-31',
    "at": 'type = "timestamp"\nlow = 2023-01-01T00:00:00\nhigh = 2024-12-31T23:59:59',
}
ORDER = PublicConstraints(orders=(ColumnOrder(low="born", high="since"),))


def line(number):
    """Rows with NULLs, ends, values outside, and some that break the order."""
    generator = np.random.default_rng(number)
    pay = ["", "0", "-20000", "900000", "2000000", "-9", "50000", "19999"][number % 8] if number % 3 else number * 37
    born = np.datetime64("1900-01-01") + generator.integers(0, 45_000)
    since = np.datetime64("2000-01-01") + generator.integers(0, 9000)
    at = np.datetime64("2023-01-01", "us") + generator.integers(0, 700) * 24 * HOUR
    at = at + int(generator.choice(GRAINS)) * int(generator.integers(1, 7))
    return f"p{number // 2},{pay},{'' if number % 7 == 0 else born},{'' if number % 5 == 0 else since},{str(at).replace('T', ' ')}"


def program_of(project):
    session = open_session(project, "people", project.asker(None))
    event = ReservationEvent(epsilon=None, rho=Fraction(1), delta=Fraction(0))
    return Program(
        project.curator, session.version, charge_whole_table(session, event, question="0" * 64, price=Fraction(1))
    )


def cells_of(project):
    columns = open_session(project, "people", project.asker(None)).version.schema.columns
    attributes = [shape_cells(each) for each in map(attribute_of, columns) if each is not None]
    axes = [each.axis for attribute in attributes for each in shape_axes(attribute)]
    differences = [each.axis() for each in add_differences(attributes, ORDER) if each.between is not None]
    return attributes, (*axes, *differences)


def test_one_person_moves_each_count_by_their_rows(tmp_path):
    """On the real engine, with and without a person, whatever the person's rows are; and the step costs its share."""
    lines, counts = [line(number) for number in range(64)], []
    for gone in (None, *size((21,), (0, 21))):
        folder = tmp_path / str(gone)
        folder.mkdir()
        kept = [each for number, each in enumerate(lines) if number // 2 != gone]
        project = open_project(folder, COLUMNS, kept, table='person = "who"\nrows_per_person = 2')
        program = program_of(project)
        attributes, axes = cells_of(project)
        assert len(axes) == 12  # digits; weekday, day and month of dates; four of instants; and the difference
        cut = BinnedTable(program, axes)
        counts.append([cut._count((place,)) for place in range(len(axes))])
        assert all(own.sum() == len(kept) for own in counts[-1])  # every row has a class, or is NULL
        if gone is not None:
            assert all(np.abs(one - other).sum() <= 2 for one, other in zip(counts[0], counts[-1], strict=True))
    assert {
        np.abs(one - other).sum()
        for other_counts in counts[1:]
        for one, other in zip(counts[0], other_counts, strict=True)
    } == {2}
    measure_shapes(program, attributes)
    assert 1 - program.share_left == shape_measurement.SHARE
    assert program.shares == {"measuring": shape_measurement.SHARE}


@pytest.mark.parametrize("bounds", ["\nlow = 2000-01-01\nhigh = 9999-12-31", ""])
def test_the_last_day_of_all_has_a_shape(tmp_path, bounds):
    """9999-12-31, which many tables have for no end, is the last of its month; no fit is charged and then refused."""
    lines = [f"{2000 + n % 20}-0{1 + n % 9}-15" if n % 2 else "9999-12-31" for n in range(200)]
    project = open_project(tmp_path, {"until": 'type = "date"' + bounds}, lines)
    if bounds:
        attributes, axes = cells_of(project)
        (place,) = (place for place, each in enumerate(shape_axes(attributes[0])) if each.part == 1)
        found = BinnedTable(program_of(project), axes)._count((place,))
        assert found[15] == found[32] == 100 and found.sum() == 200
    rows = project.synthesize("people", epsilon=30, model="independent").sample(50, seed=1)
    assert rows.num_rows == 50


def test_classes_are_those_that_are_drawn(tmp_path):
    """What the engine counts is what `value_shapes` means: digits, days, hours and grains of the codes themselves."""
    project = open_project(
        tmp_path, {name: text for name, text in COLUMNS.items() if text}, [line(n).partition(",")[2] for n in range(80)]
    )
    program = program_of(project)
    attributes, axes = cells_of(project)
    rows = _codes(project, program)
    cut, place = BinnedTable(program, axes), 0
    for attribute in attributes:
        edges = np.array(attribute.edges)
        codes = np.array([row[attribute.name] for row in rows if row[attribute.name] is not None], dtype=np.int64)
        inside = np.diff(edges)[np.clip(np.searchsorted(edges, codes, side="right") - 1, 0, len(edges) - 2)] > 1
        codes = codes[inside & (codes >= edges[0]) & (codes < edges[-1])]
        for axis in shape_axes(attribute):
            found = cut._count((place,))
            assert (
                found[:-1].tolist()
                == np.bincount(_classes(attribute, axis.part, codes), minlength=axis.axis.size - 1).tolist()
            )
            assert [value(axis.axis.of, row) for row in rows].count(None) == found[-1]  # and the reference agrees
            place += 1
    low, high = ([row[name] for row in rows] for name in ("born", "since"))
    own = next(each for each in add_differences(attributes, ORDER) if each.between)
    null = cell_decoder.NULL
    expected = difference_codes(
        *(np.array([null if code is None else code for code in column]) for column in (low, high)), own.edges[-1] - 4
    )
    assert cut._count((place,)).tolist() == np.histogram(expected, bins=np.array(own.edges))[0].tolist()


def _codes(project, program):
    import pyarrow.parquet as pq

    return pq.read_table(project.curator.folder / program.version.file).to_pylist()


def _classes(attribute, part, codes):
    if attribute.name == "pay":
        return digit_classes(codes)
    if attribute.name == "at" and part == 3:
        return codes // HOUR % 24
    if attribute.name == "at" and part == 4:
        return np.array(
            [next(number for number, grain in enumerate(GRAINS) if code % grain == 0) for code in codes], dtype=np.int64
        )
    return day_classes(codes // (24 * HOUR) if attribute.name == "at" else codes)[part]


# ---- what a model holds of shapes follows from the steps


def replayed(folder, monkeypatch):
    one = [line(n).partition(",")[2] for n in range(900)]
    other = [f"{n * 1000},{'1950-12-31' if n % 2 else ''},2010-01-01,2023-05-05 12:00:00" for n in range(77)]
    columns = {name: text for name, text in COLUMNS.items() if text}
    return test_ledger.replayed(folder, "independent", one, other, columns, monkeypatch=monkeypatch)


def test_shapes_follow_from_noisy_counts_alone(tmp_path, monkeypatch):
    one, other = replayed(tmp_path, monkeypatch)
    assert one == other and any("shape" in each for each in one["attributes"])


def test_a_shape_that_is_not_noisy_is_seen(tmp_path, monkeypatch):
    """Planted: weights from exact counts."""
    real = BinnedTable.measure

    def exact(self, sets, laws, **named):
        noisy = real(self, sets, laws, **named)
        is_shapes = len(self.axes) > 4
        return [self._count(own) for own in sets] if is_shapes else noisy

    monkeypatch.setattr(BinnedTable, "measure", exact)
    with pytest.raises(AssertionError):
        test_shapes_follow_from_noisy_counts_alone(tmp_path, monkeypatch)


def test_half_the_noise_is_refused_by_the_ledger(tmp_path, monkeypatch):
    """Planted: a law for a larger share than is taken leaves too little for the rest, and the steps do not fit."""
    project = open_project(tmp_path, {"pay": COLUMNS["pay"]}, ["100"] * 50)
    real = Program.law
    monkeypatch.setattr(Program, "law", lambda self, share: real(self, share * 12))
    with pytest.raises(UsageError, match="beyond what"):
        fit(project, epsilon="1")


# ---- what comes of it


def shaped_rows(tmp_path, **more):
    generator = np.random.default_rng(5)
    pay = np.where(generator.random(4000) < 0.3, 0, np.rint(40 * np.exp(0.5 * generator.normal(size=4000))) * 1000)
    born = (np.datetime64("1950-01-31", "M") + generator.integers(0, 600, 4000) + 1).astype("datetime64[D]") - 1
    at = (
        np.datetime64("2023-01-01", "us")
        + (generator.integers(0, 700, 4000) * 24 + generator.integers(8, 11, 4000)) * HOUR
    )
    lines = [f"{int(p)},{b},{str(a).replace('T', ' ')}" for p, b, a in zip(pay, born, at, strict=True)]
    columns = {name: COLUMNS[name] for name in ("pay", "born", "at")}
    model = fit(open_project(tmp_path, columns, lines, **more), epsilon="4")
    return model, model.sample(4000, seed=1).to_pandas()


def keeps_shapes(rows):
    assert abs((rows["pay"] == 0).mean() - 0.3) < 0.03
    assert (rows["pay"] % 1000 == 0).mean() > 0.8  # in twelve fits at least 0.945
    assert np.mean([day.day for day in rows["born"].dropna() + np.timedelta64(1, "D")]) < 6  # at most 2.6; 16 if even
    assert rows["at"].dt.hour.between(8, 10).mean() > 0.7 and (rows["at"].dt.minute == 0).mean() > 0.7  # 0.91


@pytest.mark.noisy
def test_values_keep_their_shape(tmp_path, monkeypatch):
    model, rows = shaped_rows(tmp_path)
    keeps_shapes(rows)
    model.save(tmp_path / "model.json")
    kept = json.loads((tmp_path / "model.json").read_text())
    assert [each["shape"]["kind"] for each in kept["attributes"]] == ["times", "days", "digits"]
    assert type(model).load(tmp_path / "model.json").sample(300, seed=2).equals(model.sample(300, seed=2))
    # Planted: a sample that does not look at shapes.
    monkeypatch.setattr(Attribute, "draw_between", lambda self, lows, highs, generator: generator.integers(lows, highs))
    with pytest.raises(AssertionError):
        keeps_shapes(model.sample(4000, seed=1).to_pandas())


@pytest.mark.parametrize("damage", ["negative", "other kind", "short"])
def test_a_shape_that_does_not_fit_is_not_read(tmp_path, damage):
    model, _ = shaped_rows(tmp_path)
    model.save(tmp_path / "model.json")
    data = json.loads((tmp_path / "model.json").read_text())
    shape = data["attributes"][1]["shape"]
    if damage == "negative":
        shape["weights"][0][0] = -1.0
    elif damage == "other kind":
        shape["kind"] = "digits"
    else:
        shape["weights"][1] = shape["weights"][1][:-1]
    (tmp_path / "bad.json").write_text(json.dumps(data))
    with pytest.raises(Exception, match="model"):
        type(model).load(tmp_path / "bad.json")
