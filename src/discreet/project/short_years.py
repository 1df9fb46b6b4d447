"""Years of two digits in a table that is being declared: which century they are in, by public facts alone.

The year that they end with is written down as `high`, so that it can be seen and changed, and no later clock moves it.
A date of birth does not lie in the future, so that it ends with this year; other dates may lie a little ahead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from discreet.errors import SchemaError
from discreet.schema.value_format import read_moment_format

#: A date that is not one of birth may lie this many years ahead.
AHEAD = 10

#: Names of dates that cannot lie ahead, in the languages that tables are usually in.
_BIRTH = re.compile(
    r"birth|born|(^|[^a-z])(dob|bday|b_?date|d_o_b)([^a-z]|$)|geb(oren|urt)|naiss|nacimiento|nascimento|nascita|"
    r"geboorte|f(ø|o)dsel|f(ö|o)delse",
    re.IGNORECASE,
)


def with_last_years(columns: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The settings of columns, each as `with_last_year` has it."""
    return {name: with_last_year(name, settings) for name, settings in columns.items()}


def with_last_year(name: str, settings: Mapping[str, Any], *, this_year: int | None = None) -> dict[str, Any]:
    """A column's settings, with a `high` where years have two digits and none is declared.

    >>> with_last_year("dob", {"type": "date", "format": "m/d/yy"}, this_year=2026)["high"]
    datetime.date(2026, 12, 31)
    >>> with_last_year("seen", {"type": "date", "format": "%d.%m.%y"}, this_year=2026)["high"]
    datetime.date(2036, 12, 31)
    >>> with_last_year("seen", {"type": "date", "format": "%d.%m.%Y"}, this_year=2026)
    {'type': 'date', 'format': '%d.%m.%Y'}
    """
    if settings.get("type") not in ("date", "timestamp") or "high" in settings or not has_short_year(settings):
        return dict(settings)
    year = datetime.now(UTC).year if this_year is None else this_year
    year = min(9999, year if _BIRTH.search(name) else year + AHEAD)
    is_day = settings["type"] == "date"
    return {**settings, "high": date(year, 12, 31) if is_day else datetime(year, 12, 31, 23, 59, 59)}


def has_short_year(settings: Mapping[str, Any]) -> bool:
    """Whether the settings of a column have years of two digits; settings that make no sense have none."""
    try:
        form = read_moment_format(settings, last_year=None, where="format")
    except SchemaError:
        return False
    return form is not None and form.has_short_year
