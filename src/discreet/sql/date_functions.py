"""Functions of dates and timestamps: fields, starts of periods, differences, intervals.

A timestamp is UTC. Its day is a quotient, what is shorter than a day is plain arithmetic, and only years,
quarters, months and weeks need the calendar.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from discreet import exact
from discreet.errors import Refused, UsageError
from discreet.plan import algebra
from discreet.plan.calendar import FIRST_DAY, LAST_DAY, PartUnit, StartUnit
from discreet.plan.expressions import Null, Number, Part, Start, Whole, required_bounds
from discreet.sql.comparison import constant_of, is_literal, kind_phrase, moment_of, to_timestamp
from discreet.sql.scalar_expressions import Handler, ScalarReader, numeric, plus, times
from discreet.sql.text_functions import category_of
from discreet.sql.typed_expression import (
    DAY_US,
    CategoryKind,
    DateKind,
    Kind,
    NumericKind,
    TimestampKind,
    TypedExpression,
    codes_of,
    literal,
)

_SECOND = 1_000_000
#: Periods of one length, in microseconds.
_FIXED = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": _SECOND,
    "minute": 60 * _SECOND,
    "hour": 3_600 * _SECOND,
    "day": DAY_US,
    "week": 7 * DAY_US,
}
_CALENDAR: Mapping[str, StartUnit] = {"year": "year", "quarter": "quarter", "month": "month", "week": "week"}
_FIELDS: Mapping[str, PartUnit] = {
    "year": "year",
    "month": "month",
    "day": "day",
    "doy": "doy",
    "week": "week",
    "isoyear": "isoyear",
}
#: Other names of units and fields.
_NAMES = {
    "dayofmonth": "day",
    "dayofyear": "doy",
    "dayofweek": "dow",
    "weekday": "dow",
    "dayofweekiso": "isodow",
    "weekofyear": "week",
    "timetounix": "epoch",
}
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def moment(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """A date or a timestamp; a written one is read as the type that its text has."""
    moment_value = reader.typed(node)
    if isinstance(moment_value.kind, DateKind | TimestampKind):
        return moment_value
    if isinstance(moment_value.kind, CategoryKind) and is_literal(moment_value):
        text = str(constant_of(moment_value))
        kind: Kind = DateKind() if len(text.strip()) <= len("2026-01-31") else TimestampKind()
        return TypedExpression(Whole(int(moment_of(text, kind))), kind)
    if isinstance(moment_value.expression, Null):
        return TypedExpression(Null(), DateKind())
    raise Refused(f"expected a date or a timestamp, got {kind_phrase(moment_value.kind)}")


def day_of(moment_value: TypedExpression) -> Number:
    """The day of a moment."""
    return (
        algebra.over(codes_of(moment_value), Whole(DAY_US))
        if isinstance(moment_value.kind, TimestampKind)
        else codes_of(moment_value)
    )


def unit_name(node: object) -> str:
    """The unit that a node names, in our word for it."""
    name = str(getattr(node, "name", node) or "").lower()
    name = _NAMES.get(name, name)
    single = name[:-1] if name.endswith("s") else name
    return single if single in (*_FIXED, *_CALENDAR, *_FIELDS) else name


def date_field(moment_value: TypedExpression, unit: str) -> TypedExpression:
    """EXTRACT."""
    if isinstance(moment_value.expression, Null):
        return literal(None)
    if unit in _FIELDS:
        return TypedExpression(algebra.fold_constant(Part(_FIELDS[unit], day_of(moment_value))), NumericKind())
    match unit:
        case "quarter":
            return TypedExpression(algebra.over(algebra.plus(_month(moment_value), Whole(2)), Whole(3)), NumericKind())
        case "dow":
            return TypedExpression(_weekday(moment_value), NumericKind())
        case "isodow":
            return TypedExpression(algebra.plus(_cycle(day_of(moment_value), 3, 7), Whole(1)), NumericKind())
        case "hour":
            return _clock(moment_value, "hour", 24)
        case "minute":
            return _clock(moment_value, "minute", 60)
        case "second":
            return _clock(moment_value, "second", 60)
        case "epoch" if isinstance(moment_value.kind, DateKind):
            return TypedExpression(codes_of(moment_value), NumericKind(step=Fraction(86_400)))
        case "epoch":
            return TypedExpression(codes_of(moment_value), NumericKind(step=Fraction(1, _SECOND)))
        case _:
            field_names = ", ".join([*_FIELDS, "quarter", "dow", "isodow", "hour", "minute", "second", "epoch"])
            raise Refused(f"{unit[:30]!r} is not a supported field of a date", hint=f"use one of: {field_names}")


def _month(moment_value: TypedExpression) -> Number:
    return algebra.fold_constant(Part("month", day_of(moment_value)))


def _weekday(moment_value: TypedExpression) -> Number:
    """Sunday is 0. 1970 began on a Thursday."""
    return _cycle(day_of(moment_value), 4, 7)


def _cycle(number: Number, moved: int, length: int) -> Number:
    """(number + moved) mod length, from 0 on: whole turns are added first, so that nothing is negative."""
    low = required_bounds(number).low + moved
    turns = max(0, -(low // length))
    return algebra.remainder(algebra.plus(number, Whole(moved + turns * length)), Whole(length))


def _clock(moment_value: TypedExpression, unit: str, length: int) -> TypedExpression:
    """A field of the time of day: how many whole units, less whole turns. A date has none."""
    if isinstance(moment_value.kind, DateKind):
        return TypedExpression(algebra.times(codes_of(moment_value), Whole(0)), NumericKind())
    return TypedExpression(_cycle(algebra.over(codes_of(moment_value), Whole(_FIXED[unit])), 0, length), NumericKind())


def _extract(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    return date_field(moment(reader, node.expression), unit_name(node.this))


def _named_field(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """year(d), month(d) and their like."""
    return date_field(moment(reader, node.this), unit_name(type(node).__name__))


def date_part(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """date_part('year', d)."""
    if len(node.expressions) != 2 or not isinstance(node.expressions[0], exp.Literal):
        raise Refused("date_part takes a field and a date", hint="date_part('year', …)")
    return date_field(moment(reader, node.expressions[1]), unit_name(node.expressions[0]))


def named_field(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """A field by a function that the parser does not know: weekday(d), isoyear(d)."""
    if len(node.expressions) != 1:
        raise Refused("this function takes one date")
    return date_field(moment(reader, node.expressions[0]), unit_name(str(node.this)))


def _day_name(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    moment_value = moment(reader, node.this)
    return category_of(codes_of(date_field(moment_value, "dow")), _WEEKDAYS)


def _month_name(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    moment_value = moment(reader, node.this)
    return category_of(algebra.plus(codes_of(date_field(moment_value, "month")), Whole(-1)), _MONTHS)


def _truncated(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """DATE_TRUNC: the start of a period, a date of a date and a timestamp of a timestamp."""
    moment_value, unit = moment(reader, node.this), unit_name(node.args.get("unit"))
    if isinstance(moment_value.expression, Null):
        return moment_value
    if unit in _CALENDAR:
        start = algebra.fold_constant(Start(_CALENDAR[unit], day_of(moment_value)))
        return TypedExpression(
            start if isinstance(moment_value.kind, DateKind) else algebra.times(start, Whole(DAY_US)), moment_value.kind
        )
    if unit not in _FIXED:
        period_names = ", ".join(["year", "quarter", "month", *reversed(_FIXED)])
        raise Refused(f"{unit[:30]!r} is not a supported period", hint=f"use one of: {period_names}")
    if isinstance(moment_value.kind, DateKind):
        return moment_value
    length = Whole(_FIXED[unit])
    return TypedExpression(algebra.times(algebra.over(codes_of(moment_value), length), length), moment_value.kind)


def _difference(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """DATE_DIFF(unit, a, b): how many starts of a unit lie after a and up to b; for weeks, whole sevens of days."""
    later, earlier = moment(reader, node.this), moment(reader, node.expression)
    unit = unit_name(node.args.get("unit"))
    if unit == "week":
        days = algebra.minus(count_periods(later, "day"), count_periods(earlier, "day"))
        return TypedExpression(algebra.over(days, Whole(7), "zero"), NumericKind())
    return TypedExpression(algebra.minus(count_periods(later, unit), count_periods(earlier, unit)), NumericKind())


def count_periods(moment_value: TypedExpression, unit: str) -> Number:
    """How many periods began since some fixed one."""
    if isinstance(moment_value.expression, Null):
        return Null()
    match unit:
        case "year":
            return codes_of(date_field(moment_value, "year"))
        case "quarter":
            return algebra.plus(
                algebra.times(count_periods(moment_value, "year"), Whole(4)),
                codes_of(date_field(moment_value, "quarter")),
            )
        case "month":
            return algebra.plus(algebra.times(count_periods(moment_value, "year"), Whole(12)), _month(moment_value))
        case "day":
            return day_of(moment_value)
        case _ if unit in _FIXED:
            return algebra.over(codes_of(to_timestamp(moment_value)), Whole(_FIXED[unit]))
        case _:
            raise Refused(f"{unit[:30]!r} is not a supported unit", hint="'day', 'week', 'month', 'year', 'hour', …")


def interval_micros(node: exp.Expr) -> Fraction:
    """The length of an interval literal."""
    text, unit = node.this, node.args.get("unit")
    if isinstance(node, exp.Interval) and isinstance(text, exp.Literal) and unit is not None:
        try:
            number = exact.number(str(text.this), name="an interval")
        except UsageError:
            raise Refused("this interval cannot be read", hint="INTERVAL '3 days'") from None
        if unit_name(unit) in _FIXED:
            return number * _FIXED[unit_name(unit)]
        if unit_name(unit) in _CALENDAR:
            raise Refused("months and years have no fixed length", hint="INTERVAL '30 days', or DATE_TRUNC")
    raise Refused("this interval cannot be read", hint="INTERVAL '3 days'")


def shift_moment(moment_value: TypedExpression, by: Fraction) -> TypedExpression:
    """A moment, so many microseconds later. A date stays one if it is moved by whole days."""
    if isinstance(moment_value.kind, DateKind) and (by / DAY_US).denominator == 1:
        return check_calendar(
            TypedExpression(algebra.plus(codes_of(moment_value), Whole(int(by / DAY_US))), DateKind())
        )
    if by.denominator != 1:
        raise Refused("an interval must be a whole number of microseconds")
    return check_calendar(
        TypedExpression(algebra.plus(codes_of(to_timestamp(moment_value)), Whole(int(by))), TimestampKind())
    )


def check_calendar(moment_value: TypedExpression) -> TypedExpression:
    """A moment that stays within the calendar."""
    length = DAY_US if isinstance(moment_value.kind, TimestampKind) else 1
    low, high = moment_value.expression.low, moment_value.expression.high
    if low is None or high is None or low < FIRST_DAY * length or high >= (LAST_DAY + 1) * length:
        raise Refused("with the declared bounds, this can fall outside the years 1 to 9999")
    return moment_value


def _add(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """Numbers, a date and days, a moment and an interval."""
    for one, two in ((node.this, node.expression), (node.expression, node.this)):
        if isinstance(two, exp.Interval):
            return shift_moment(moment(reader, one), interval_micros(two))
    left, right = reader.typed(node.this), reader.typed(node.expression)
    for one, two in ((left, right), (right, left)):
        if isinstance(one.kind, DateKind) and isinstance(two.kind, NumericKind):
            return _days_later(one, two)
    return plus(numeric(reader, node.this), numeric(reader, node.expression))


def _subtract(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    if isinstance(node.expression, exp.Interval):
        return shift_moment(moment(reader, node.this), -interval_micros(node.expression))
    left, right = reader.typed(node.this), reader.typed(node.expression)
    if isinstance(left.kind, DateKind | TimestampKind) and not isinstance(right.kind, NumericKind):
        left, right = moment(reader, node.this), moment(reader, node.expression)
        if isinstance(left.kind, TimestampKind) or isinstance(right.kind, TimestampKind):
            raise Refused("the difference of two timestamps needs a unit", hint="date_diff('second', a, b)")
        return TypedExpression(algebra.minus(codes_of(left), codes_of(right)), NumericKind())
    if isinstance(left.kind, DateKind):
        return _days_later(left, times(right, literal(Fraction(-1))))
    return plus(numeric(reader, node.this), times(numeric(reader, node.expression), literal(Fraction(-1))))


def _days_later(day: TypedExpression, days: TypedExpression) -> TypedExpression:
    """A date and a whole number of days."""
    if isinstance(day.expression, Null) or isinstance(days.expression, Null):
        return TypedExpression(Null(), DateKind())
    assert isinstance(days.kind, NumericKind)
    if days.kind.step.denominator != 1:
        raise Refused("a date can be shifted only by whole days")
    number = algebra.times(codes_of(days), Whole(int(days.kind.step)))
    return check_calendar(TypedExpression(algebra.plus(codes_of(day), number), DateKind()))


def _date_add(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """date_add(d, INTERVAL …)."""
    return shift_moment(moment(reader, node.this), interval_micros(node.expression))


def _interval(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    raise Refused("an interval can be used only with a date or a timestamp", hint="d + INTERVAL '3 days'")


_ONE = frozenset({"this"})
_PLAIN = (
    exp.Year, exp.Month, exp.Quarter, exp.Day, exp.DayOfMonth, exp.Hour, exp.Minute, exp.Second, exp.DayOfWeek,
    exp.DayOfWeekIso, exp.DayOfYear, exp.Week, exp.WeekOfYear, exp.TimeToUnix,
)  # fmt: skip

MOMENTS: Mapping[type[exp.Expr], tuple[Handler, frozenset[str]]] = {
    exp.Add: (_add, frozenset({"this", "expression"})),
    exp.Sub: (_subtract, frozenset({"this", "expression"})),
    exp.Extract: (_extract, frozenset({"this", "expression"})),
    exp.TimestampTrunc: (_truncated, frozenset({"this", "unit"})),
    exp.DateTrunc: (_truncated, frozenset({"this", "unit"})),
    exp.DateDiff: (_difference, frozenset({"this", "expression", "unit", "date_part_boundary"})),
    exp.DateAdd: (_date_add, frozenset({"this", "expression"})),
    exp.Interval: (_interval, frozenset({"this", "unit", "fraction_in_string"})),
    exp.Dayname: (_day_name, _ONE),
    exp.Monthname: (_month_name, _ONE),
    **dict.fromkeys(_PLAIN, (_named_field, _ONE)),
}

#: Functions that the parser does not know, by name.
NAMED: Mapping[str, Handler] = {
    "date_part": date_part,
    "datepart": date_part,
    **dict.fromkeys(("weekday", "isoyear"), named_field),
}
