"""Shapes of columns, measured: noisy counts of last digits, weekdays, days of the month, months, hours and grains.

A column that is cut into fine cells of several codes is asked once what its codes look like (`value_shapes`). What
noise alone explains is left even, so a column without a shape stays as it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import ValueSet
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.program import Program
from discreet.plan import algebra
from discreet.plan.calendar import LAST_DAY
from discreet.plan.cells import Axis
from discreet.plan.expressions import Choose, Code, Member, Null, Number, Part, Test, Whole
from discreet.schema.column import Column, MomentColumn, NumberColumn
from discreet.synth.attribute import Attribute
from discreet.synth.first_histograms import split_share
from discreet.synth.value_shapes import EVEN_GRAINS, GRAINS, HOUR, DayShape, DigitShape, TimeShape, ValueShape

Floats = NDArray[np.float64]

#: Of what a column of a fit has on the average, this part measures its shape, where it may have one.
SHARE = Fraction(1, 10)

#: A column narrower than this has no digits worth telling apart; of cells narrower than so many days no month days.
LEAST_CODES, LEAST_DAYS, MONTH_DAYS = 300, 3, 25

#: A class is told apart from its like where noise explains the difference once in so many standard deviations; a group
#: of classes, in so many.
CLASS, GROUP = 3.6, 2.5

DAY = 24 * HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeAxis:
    """One noisy histogram of a shape: which weights it gives (`part`), what is counted, and what a class expects.

    `groups`: classes that are alike until noise says otherwise.
    """

    part: int
    axis: Axis
    expected: Floats
    groups: NDArray[np.int64]


def measure_shapes(program: Program, attributes: Sequence[Attribute]) -> tuple[Attribute, ...]:
    """The attributes with the shapes of their values, as one step; nothing is taken where no column can have one.

    Guarantee: the step's loss is its share of the reservation, for neighbours under the version's unit.
    Because: classes of one axis share no row, so a unit of so many rows moves the counts of an axis by no more than
        that (`BinnedTable.measure`); the rest is post-processing.
    """
    axes = [(place, axis) for place, attribute in enumerate(attributes) for axis in shape_axes(attribute)]
    if not axes:
        return tuple(attributes)
    share = SHARE * Fraction(len({place for place, _ in axes}), len(attributes)) * program.share_left
    parts = split_share(program.event, [axis.axis.size for _, axis in axes], share)
    laws = [program.law(part) for part in parts]
    cut = BinnedTable(program, tuple(axis.axis for _, axis in axes))
    noisy = cut.measure([(number,) for number in range(len(axes))], laws, word="measuring")
    weights: dict[int, dict[int, Floats]] = {}
    for (place, axis), values, law in zip(axes, noisy, laws, strict=True):
        counts = values[: len(axis.expected)].astype(np.float64)
        weights.setdefault(place, {})[axis.part] = class_weights(axis, counts, math.sqrt(float(law.variance())))
    return tuple(
        replace(attribute, shape=shape_of(attribute, weights[place])) if place in weights else attribute
        for place, attribute in enumerate(attributes)
    )


def shape_of(attribute: Attribute, weights: dict[int, Floats]) -> ValueShape:
    """The shape that a column has by these weights; all others are even."""
    kind = shape_kind(attribute.column)
    even = [np.ones(size) for size in kind.sizes]
    return kind(weights=tuple(weights.get(part, even[part]) for part in range(len(even))))  # type: ignore[arg-type]


def shape_kind(column: Column) -> type[DigitShape] | type[DayShape] | type[TimeShape]:
    """What kind of shape a column has."""
    if isinstance(column, NumberColumn):
        return DigitShape
    return DayShape if isinstance(column, MomentColumn) and column.type == "date" else TimeShape


def class_weights(axis: ShapeAxis, noisy: Floats, sd: float) -> Floats:
    """The weight of a code of each class beside an even column, from noisy counts.

    Groups of classes, and then classes within a group, that noise cannot tell from even are even.
    """
    total = float(noisy.sum())
    weights = np.ones(len(noisy))
    if total <= 3 * sd * math.sqrt(len(noisy)):
        return weights
    expected = axis.expected / axis.expected.sum()
    rows = np.zeros(len(noisy))
    even = expected > 0
    for group in np.unique(axis.groups[even]):
        own = even & (axis.groups == group)
        part, count = float(expected[own].sum()), int(own.sum())
        if abs(float(noisy[own].sum()) - total * part) > GROUP * sd * math.sqrt(count) + 0.01 * total * part:
            rows[own] = max(0.0, float(noisy[own].sum())) * expected[own] / part
            even &= ~own
    if even.any():
        left = max(0.0, total - float(rows.sum()))
        rows[even] = left * expected[even] / float(expected[even].sum())
    heavy = noisy - rows > CLASS * sd
    light = (rows - noisy > CLASS * sd) & (expected > 0)
    marked = (heavy | light) & (expected > 0)
    rest = ~marked & (expected > 0)
    for group in np.unique(axis.groups[marked]):
        alike = rest & (axis.groups == group)
        over = float(
            (np.maximum(noisy[marked & (axis.groups == group)], 0) - rows[marked & (axis.groups == group)]).sum()
        )
        if alike.any() and rows[alike].sum() > 0:
            rows[alike] *= max(0.0, 1 - over / float(rows[alike].sum()))
    rows[marked] = np.maximum(noisy[marked], 0)
    made = expected > 0
    weights[made] = rows[made] / (max(float(rows.sum()), 1e-9) * expected[made])
    return weights


def shape_axes(attribute: Attribute) -> list[ShapeAxis]:
    """What is counted of a column whose cells are ours and hold several codes. Public."""
    low, high = attribute.edges[0], attribute.edges[-1]
    widths = np.diff(np.array(attribute.edges, dtype=np.int64))
    if not attribute.binned or widths.max() < 2:
        return []
    code = code_in_cells(attribute)
    if isinstance(attribute.column, NumberColumn):
        return _digits(code, low) if high - low >= LEAST_CODES else []
    if not isinstance(attribute.column, MomentColumn):
        return []
    if attribute.column.type == "date":
        return list(_days(code, int(widths.max())))
    day = algebra.over(code, Whole(DAY))
    days = list(_days(day, int(widths.max()) // DAY)) if widths.max() >= 2 * DAY else []
    return [*days, *_times(code, low, int(widths.max()))]


def code_in_cells(attribute: Attribute) -> Number:
    """The code of a row that lies in a cell of several codes; NULL elsewhere."""
    edges = attribute.edges
    runs = [(first, last - 1) for first, last in pairwise(edges) if last - first > 1]
    name = attribute.column.name
    inside = Member(name, ValueSet.union(ValueSet.interval(first, last + 1) for first, last in runs))
    return Choose(((inside, Code(name, runs[0][0], runs[-1][1], null=False)),), Null())


def _axis(of: Number, size: int) -> Axis:
    return Axis(of=of, edges=tuple(range(size + 1)), null=True, labels=())


def _cycle(number: Number, length: int, low: int) -> Number:
    """number mod length, from 0 on, of a number that is at least `low`."""
    turns = max(0, -(low // length)) * length
    return algebra.remainder(algebra.plus(number, Whole(turns)), Whole(length))


def _digits(code: Number, low: int) -> list[ShapeAxis]:
    moved = algebra.plus(code, Whole(max(0, -(low // 10_000)) * 10_000))
    last, before = algebra.remainder(moved, Whole(100)), algebra.remainder(algebra.over(moved, Whole(100)), Whole(100))
    is_round = Test(last, ValueSet.of([0]))
    of = Choose(((is_round, algebra.plus(before, Whole(100))),), last)
    expected = np.concatenate([[0.0], np.full(99, 0.01), np.full(100, 0.0001)])
    digits = np.arange(100)
    fives = (digits % 5 == 0).astype(int) + (digits % 10 == 0) + 2 * (digits % 50 == 0) + 4 * (digits % 25 == 0)
    return [
        ShapeAxis(
            part=0, axis=_axis(of, 200), expected=expected, groups=np.concatenate([fives, fives + 16 + (digits == 0)])
        )
    ]


def _days(day: Number, width: int) -> list[ShapeAxis]:
    low = day.low or 0
    axes = []
    if width >= 2:
        weekday = _cycle(algebra.plus(day, Whole(3)), 7, low + 3)
        axes.append(ShapeAxis(part=0, axis=_axis(weekday, 7), expected=np.ones(7), groups=np.arange(7) // 5))
    if width >= LEAST_DAYS:
        monthday = Choose(tuple((is_last, Whole(32)) for is_last in _last_days(day)), Part("day", day))
        # In 400 years: how often a month has such a day that is not its last.
        expected = np.array([0.0, *[12.0] * 27, 11.2425, 11.0, 7.0, 0.0, 12.0])
        axes.append(ShapeAxis(part=1, axis=_axis(monthday, 33), expected=expected, groups=np.arange(33)))
    if width >= MONTH_DAYS:
        expected = np.array([0.0, 31, 28.25, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
        axes.append(ShapeAxis(part=2, axis=_axis(Part("month", day), 13), expected=expected, groups=np.arange(13)))
    return axes


def _last_days(day: Number) -> list[Test]:
    """That a day is the last of its month: the next one is a first. The last day of all has no next one."""
    following = algebra.plus(day, Whole(1))
    if following.high is None or following.high <= LAST_DAY:
        return [Test(Part("day", following), ValueSet.of([1]))]
    within = algebra.least([following, Whole(LAST_DAY)])
    return [Test(day, ValueSet.of([LAST_DAY])), Test(Part("day", within), ValueSet.of([1]))]


def _times(code: Number, low: int, width: int) -> list[ShapeAxis]:
    axes = []
    if width > HOUR:
        hour = _cycle(algebra.over(code, Whole(HOUR)), 24, low // HOUR)
        axes.append(ShapeAxis(part=3, axis=_axis(hour, 24), expected=np.ones(24), groups=np.arange(24)))
    in_hour = _cycle(code, HOUR, low)
    grained = [
        (Test(algebra.remainder(in_hour, Whole(grain)), ValueSet.of([0])), Whole(number))
        for number, grain in enumerate(GRAINS[:-1])
    ]
    grains = Choose(tuple(grained), Whole(len(GRAINS) - 1))
    # NULL codes have no grain: without a code there is none to divide.
    of = Choose(((Test(in_hour, ValueSet.interval(0, HOUR)), grains),), Null())
    axes.append(ShapeAxis(part=4, axis=_axis(of, len(GRAINS)), expected=EVEN_GRAINS, groups=np.arange(len(GRAINS))))
    return axes
