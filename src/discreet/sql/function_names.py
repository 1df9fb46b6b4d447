"""The names of the functions that are known, to help out whoever mistypes one. It decides nothing."""

from __future__ import annotations

import difflib

from discreet.sql.text_limits import MOST_ARGUMENTS

#: How like two names must be for one to be taken for the other: cout for count, but not foo for floor.
_ALIKE = 0.76

#: Other names, known elsewhere, of what is known here.
_ALIASES = {
    "average": "avg",
    "cnt": "count",
    "mean": "avg",
    "std": "stddev",
    "var": "variance",
    "total": "sum",
    "len": "length",
    "strlen": "length",
    "prefix": "starts_with",
    "startswith": "starts_with",
    "suffix": "ends_with",
    "endswith": "ends_with",
    "nvl": "coalesce",
    "isnull": "coalesce",
    "percentile": "quantile",
    "log": "ln",
    "wavg": "weighted_avg",
    "geometric_mean": "geomean",
}

#: Functions of aggregates, of rows and of persons. What takes a list is in no table of arguments.
FUNCTIONS = frozenset(MOST_ARGUMENTS) - frozenset(_ALIASES) | {
    "count", "coalesce", "least", "greatest", "concat", "extract",
}  # fmt: skip


def closest_function(name: str) -> str:
    """The function that somebody may have meant by a name that is none; empty where nothing is near.

    >>> closest_function("cout"), closest_function("AVERAGE"), closest_function("pg_sleep")
    ('count', 'avg', '')
    """
    lowered_name = name.lower()[:40]
    near = difflib.get_close_matches(lowered_name, sorted(FUNCTIONS | set(_ALIASES)), n=1, cutoff=_ALIKE)
    return _ALIASES.get(near[0], near[0]) if near else ""
