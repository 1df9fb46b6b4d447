"""What is refused, and why: functions of chance, of time, of other rows, and whatever else is not on the list."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import Refused
from discreet.sql.function_names import closest_function

_CHANCE = "this uses randomness that is not accounted for", ""
_TIME = "the current time is not part of the data", "write the date: DATE '2026-01-31'"
_ROWS = "an expression can use only its own row, but this uses other rows", ""
_CATALOG = "this reads the system, not the data", ""
_PATTERN = "regular expressions are not supported", "LIKE 'a%', or contains(…, 'a')"
_ROOT = "the result is not a whole number of steps on any grid", "use sqrt, ln, log10, log2 or exp"

_REFUSED_NODES: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Rand: _CHANCE,
    exp.Uuid: _CHANCE,
    exp.CurrentDate: _TIME,
    exp.CurrentTime: _TIME,
    exp.CurrentTimestamp: _TIME,
    exp.Window: ("window functions are not supported: they use other rows", "use GROUP BY"),
    exp.Subquery: ("a subquery is not supported here", "join the table in FROM"),
    exp.Exists: ("EXISTS is not supported: it uses other rows", "join the table in FROM"),
    exp.Star: ("* would show rows of people", ""),
    exp.CurrentUser: _CATALOG,
    exp.RegexpLike: _PATTERN,
    exp.SimilarTo: _PATTERN,
    exp.Cbrt: _ROOT,
    exp.Tuple: ("compare columns one by one", "a = 1 AND b = 2"),
    exp.Placeholder: ("parameters are not supported", "write the value"),
    exp.Collate: ("COLLATE is not supported: text is compared byte by byte", "lower(…)"),
    exp.AtTimeZone: ("AT TIME ZONE is not supported: timestamps are in UTC", ""),
}
_REFUSED_NAMES = {
    "now": _TIME,
    "today": _TIME,
    "current_localtimestamp": _TIME,
    "setseed": _CHANCE,
    "getenv": _CATALOG,
    "current_setting": _CATALOG,
    "nextval": _CATALOG,
    "xor": ("XOR is not supported", "a <> b"),
}


def refusal_of(node: exp.Expr) -> Refused:
    """Why a node is not known, and what to write instead."""
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    reason_and_hint = _REFUSED_NODES.get(type(node)) or _REFUSED_NAMES.get(name)
    if reason_and_hint is None and isinstance(node, exp.AggFunc | exp.Filter):
        reason_and_hint = ("an aggregate cannot be used in an expression over one row", "")
    if reason_and_hint is None and (near := closest_function(name)):
        reason_and_hint = (f"there is no function {name[:40]}", f"did you mean {near}?")
    if reason_and_hint is None:
        reason_and_hint = (f"{_shown_name(node, name)} is not a supported function", "")
    return Refused(reason_and_hint[0], hint=reason_and_hint[1])


def _shown_name(node: exp.Expr, name: str) -> str:
    if name:
        return name[:40]
    return node.sql_name().lower() if isinstance(node, exp.Func) else f"this {type(node).__name__.lower()}"
