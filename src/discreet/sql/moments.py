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
from discreet.plan.expressions import Null, Number, Part, Start, Whole, bounded
from discreet.sql.compare import constant_of, instant, is_literal, moment_of, words_for
from discreet.sql.express import Handler, Reads, numeric, plus, times
from discreet.sql.typed import DAY_US, Choice, Day, Instant, Kind, Numeric, Typed, literal, whole
from discreet.sql.words import listed

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


def moment(reader: Reads, node: exp.Expr) -> Typed:
    """A date or a timestamp; a written one is read as the type that its text has."""
    found = reader.typed(node)
    if isinstance(found.kind, Day | Instant):
        return found
    if isinstance(found.kind, Choice) and is_literal(found):
        text = str(constant_of(found))
        kind: Kind = Day() if len(text.strip()) <= len("2026-01-31") else Instant()
        return Typed(Whole(int(moment_of(text, kind))), kind)
    if isinstance(found.expression, Null):
        return Typed(Null(), Day())
    raise Refused(f"a date or a timestamp belongs here, not {words_for(found.kind)}")


def day_of(found: Typed) -> Number:
    """The day of a moment."""
    return algebra.over(whole(found), Whole(DAY_US)) if isinstance(found.kind, Instant) else whole(found)


def unit_name(node: object) -> str:
    """The unit that a node names, in our word for it."""
    name = str(getattr(node, "name", node) or "").lower()
    name = _NAMES.get(name, name)
    single = name[:-1] if name.endswith("s") else name
    return single if single in (*_FIXED, *_CALENDAR, *_FIELDS) else name


def field(found: Typed, unit: str) -> Typed:
    """EXTRACT."""
    if isinstance(found.expression, Null):
        return literal(None)
    if unit in _FIELDS:
        return Typed(algebra.settled(Part(_FIELDS[unit], day_of(found))), Numeric())
    match unit:
        case "quarter":
            return Typed(algebra.over(algebra.plus(_month(found), Whole(2)), Whole(3)), Numeric())
        case "dow":
            return Typed(_weekday(found), Numeric())
        case "isodow":
            return Typed(algebra.plus(_cycle(day_of(found), 3, 7), Whole(1)), Numeric())
        case "hour":
            return _clock(found, "hour", 24)
        case "minute":
            return _clock(found, "minute", 60)
        case "second":
            return _clock(found, "second", 60)
        case "epoch" if isinstance(found.kind, Day):
            return Typed(whole(found), Numeric(step=Fraction(86_400)))
        case "epoch":
            return Typed(whole(found), Numeric(step=Fraction(1, _SECOND)))
        case _:
            known = ", ".join([*_FIELDS, "quarter", "dow", "isodow", "hour", "minute", "second", "epoch"])
            raise Refused(f"{unit[:30]!r} is not a known field of a date", hint=f"there are: {known}")


def _month(found: Typed) -> Number:
    return algebra.settled(Part("month", day_of(found)))


def _weekday(found: Typed) -> Number:
    """Sunday is 0. 1970 began on a Thursday."""
    return _cycle(day_of(found), 4, 7)


def _cycle(number: Number, moved: int, length: int) -> Number:
    """(number + moved) mod length, from 0 on: whole turns are added first, so that nothing is negative."""
    low = bounded(number).low + moved
    turns = max(0, -(low // length))
    return algebra.remainder(algebra.plus(number, Whole(moved + turns * length)), Whole(length))


def _clock(found: Typed, unit: str, length: int) -> Typed:
    """A field of the time of day: how many whole units, less whole turns. A date has none."""
    if isinstance(found.kind, Day):
        return Typed(algebra.times(whole(found), Whole(0)), Numeric())
    return Typed(_cycle(algebra.over(whole(found), Whole(_FIXED[unit])), 0, length), Numeric())


def _extract(reader: Reads, node: exp.Expr) -> Typed:
    return field(moment(reader, node.expression), unit_name(node.this))


def _named_field(reader: Reads, node: exp.Expr) -> Typed:
    """year(d), month(d) and their like."""
    return field(moment(reader, node.this), unit_name(type(node).__name__))


def date_part(reader: Reads, node: exp.Expr) -> Typed:
    """date_part('year', d)."""
    if len(node.expressions) != 2 or not isinstance(node.expressions[0], exp.Literal):
        raise Refused("date_part takes a field and a date", hint="date_part('year', …)")
    return field(moment(reader, node.expressions[1]), unit_name(node.expressions[0]))


def named_field(reader: Reads, node: exp.Expr) -> Typed:
    """A field by a function that the parser does not know: weekday(d), isoyear(d)."""
    if len(node.expressions) != 1:
        raise Refused("one date belongs here")
    return field(moment(reader, node.expressions[0]), unit_name(str(node.this)))


def _day_name(reader: Reads, node: exp.Expr) -> Typed:
    found = moment(reader, node.this)
    return listed(whole(field(found, "dow")), _WEEKDAYS)


def _month_name(reader: Reads, node: exp.Expr) -> Typed:
    found = moment(reader, node.this)
    return listed(algebra.plus(whole(field(found, "month")), Whole(-1)), _MONTHS)


def _truncated(reader: Reads, node: exp.Expr) -> Typed:
    """DATE_TRUNC: the start of a period, a date of a date and a timestamp of a timestamp."""
    found, unit = moment(reader, node.this), unit_name(node.args.get("unit"))
    if isinstance(found.expression, Null):
        return found
    if unit in _CALENDAR:
        start = algebra.settled(Start(_CALENDAR[unit], day_of(found)))
        return Typed(start if isinstance(found.kind, Day) else algebra.times(start, Whole(DAY_US)), found.kind)
    if unit not in _FIXED:
        known = ", ".join(["year", "quarter", "month", *reversed(_FIXED)])
        raise Refused(f"{unit[:30]!r} is not a known period", hint=f"there are: {known}")
    if isinstance(found.kind, Day):
        return found
    length = Whole(_FIXED[unit])
    return Typed(algebra.times(algebra.over(whole(found), length), length), found.kind)


def _difference(reader: Reads, node: exp.Expr) -> Typed:
    """DATE_DIFF(unit, a, b): how many starts of a unit lie after a and up to b; for weeks, whole sevens of days."""
    later, earlier = moment(reader, node.this), moment(reader, node.expression)
    unit = unit_name(node.args.get("unit"))
    if unit == "week":
        days = algebra.minus(periods(later, "day"), periods(earlier, "day"))
        return Typed(algebra.over(days, Whole(7), "zero"), Numeric())
    return Typed(algebra.minus(periods(later, unit), periods(earlier, unit)), Numeric())


def periods(found: Typed, unit: str) -> Number:
    """How many periods began since some fixed one."""
    if isinstance(found.expression, Null):
        return Null()
    match unit:
        case "year":
            return whole(field(found, "year"))
        case "quarter":
            return algebra.plus(algebra.times(periods(found, "year"), Whole(4)), whole(field(found, "quarter")))
        case "month":
            return algebra.plus(algebra.times(periods(found, "year"), Whole(12)), _month(found))
        case "day":
            return day_of(found)
        case _ if unit in _FIXED:
            return algebra.over(whole(instant(found)), Whole(_FIXED[unit]))
        case _:
            raise Refused(f"{unit[:30]!r} is not a known unit", hint="'day', 'week', 'month', 'year', 'hour', …")


def micros(node: exp.Expr) -> Fraction:
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


def moved(found: Typed, by: Fraction) -> Typed:
    """A moment, so many microseconds later. A date stays one if it is moved by whole days."""
    if isinstance(found.kind, Day) and (by / DAY_US).denominator == 1:
        return checked(Typed(algebra.plus(whole(found), Whole(int(by / DAY_US))), Day()))
    if by.denominator != 1:
        raise Refused("an interval is of whole microseconds")
    return checked(Typed(algebra.plus(whole(instant(found)), Whole(int(by))), Instant()))


def checked(found: Typed) -> Typed:
    """A moment that stays within the calendar."""
    length = DAY_US if isinstance(found.kind, Instant) else 1
    low, high = found.expression.low, found.expression.high
    if low is None or high is None or low < FIRST_DAY * length or high >= (LAST_DAY + 1) * length:
        raise Refused("by the declared bounds this can leave the years 1 to 9999")
    return found


def _add(reader: Reads, node: exp.Expr) -> Typed:
    """Numbers, a date and days, a moment and an interval."""
    for one, two in ((node.this, node.expression), (node.expression, node.this)):
        if isinstance(two, exp.Interval):
            return moved(moment(reader, one), micros(two))
    left, right = reader.typed(node.this), reader.typed(node.expression)
    for one, two in ((left, right), (right, left)):
        if isinstance(one.kind, Day) and isinstance(two.kind, Numeric):
            return _days_later(one, two)
    return plus(numeric(reader, node.this), numeric(reader, node.expression))


def _subtract(reader: Reads, node: exp.Expr) -> Typed:
    if isinstance(node.expression, exp.Interval):
        return moved(moment(reader, node.this), -micros(node.expression))
    left, right = reader.typed(node.this), reader.typed(node.expression)
    if isinstance(left.kind, Day | Instant) and not isinstance(right.kind, Numeric):
        left, right = moment(reader, node.this), moment(reader, node.expression)
        if isinstance(left.kind, Instant) or isinstance(right.kind, Instant):
            raise Refused("the difference of timestamps has no unit", hint="date_diff('second', a, b)")
        return Typed(algebra.minus(whole(left), whole(right)), Numeric())
    if isinstance(left.kind, Day):
        return _days_later(left, times(right, literal(Fraction(-1))))
    return plus(numeric(reader, node.this), times(numeric(reader, node.expression), literal(Fraction(-1))))


def _days_later(day: Typed, days: Typed) -> Typed:
    """A date and a whole number of days."""
    if isinstance(day.expression, Null) or isinstance(days.expression, Null):
        return Typed(Null(), Day())
    assert isinstance(days.kind, Numeric)
    if days.kind.step.denominator != 1:
        raise Refused("a date is moved by whole days")
    number = algebra.times(whole(days), Whole(int(days.kind.step)))
    return checked(Typed(algebra.plus(whole(day), number), Day()))


def _date_add(reader: Reads, node: exp.Expr) -> Typed:
    """date_add(d, INTERVAL …)."""
    return moved(moment(reader, node.this), micros(node.expression))


def _interval(reader: Reads, node: exp.Expr) -> Typed:
    raise Refused("an interval is added to a date or a timestamp", hint="d + INTERVAL '3 days'")


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
