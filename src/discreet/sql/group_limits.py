"""Limits on the groups that one person is in, as a comment of a statement says them, and the plan that keeps them.

    -- groups per person: 5
    -- rows per person per group: 2
    SELECT destination, count(*) FROM trips GROUP BY destination

A table can declare them for all of its queries with GROUP BY; a comment goes first. Comments are part of the text, so
that a stored answer, which has its text, is read again as it was asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from discreet.errors import UsageError
from discreet.plan.axis import Axis
from discreet.plan.cell_statistics import DistinctCount, Statistic, Sum
from discreet.plan.expressions import Expression, columns
from discreet.plan.inquiry import Quantile
from discreet.plan.relation import LimitGroups, Plan
from discreet.sql.query_text import QueryText
from discreet.sql.text_limits import comments

GROUPS, GROUP_ROWS = "groups per person", "rows per person per group"
_HINT = re.compile(rf"\s*({GROUPS}|{GROUP_ROWS})\s*:(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits:
    """In how many groups a person's rows count, and how many of them in each. None: no limit."""

    groups: int | None = None
    rows: int | None = None

    def or_else(self, *, groups: int | None, rows: int | None) -> GroupLimits:
        """These limits, with the declared ones where none is set."""
        return GroupLimits(
            groups=groups if self.groups is None else self.groups, rows=rows if self.rows is None else self.rows
        )

    def __bool__(self) -> bool:
        return self.groups is not None or self.rows is not None


def read_limits(source: QueryText) -> GroupLimits:
    """The limits that the comments of a statement set. Other comments say nothing.

    >>> read_limits(QueryText(text="-- groups per person: 5\\nSELECT 1 /* rows per person per group: 2 */"))
    GroupLimits(groups=5, rows=2)
    """
    limits: dict[str, int] = {}
    for start, end, comment in comments(source.text):
        hint = _HINT.fullmatch(comment)
        if hint is None:
            continue
        name, written = hint[1].lower(), hint[2].strip()
        if not re.fullmatch(r"[1-9][0-9]{0,8}", written):
            raise source.refusal(f"{name} must be a whole number from 1", at=(start, end), hint=f"-- {name}: 5")
        if limits.setdefault(name, int(written)) != int(written):
            raise source.refusal(f"{name} is set twice", at=(start, end), hint="set it once")
    return GroupLimits(groups=limits.get(GROUPS), rows=limits.get(GROUP_ROWS))


def with_limits(text: str, *, groups: object = None, rows: object = None) -> str:
    """A statement whose comments set these limits too.

    >>> with_limits("SELECT 1", groups=5)
    '-- groups per person: 5\\nSELECT 1'
    """
    limits = {GROUPS: groups, GROUP_ROWS: rows}
    lines = [f"-- {name}: {_limit(name, limit)}\n" for name, limit in limits.items() if limit is not None]
    return "".join([*lines, text])


def _limit(name: str, limit: object) -> int:
    """A limit as a whole number."""
    text = str(limit).strip()
    if isinstance(limit, bool) or not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise UsageError(f"{name} must be a whole number from 1, got {text[:60]!r}", hint="5")
    return int(text)


def limited_plan(plan: Plan, limits: GroupLimits, axes: Sequence[Axis], keys: Sequence[Expression]) -> LimitGroups:
    """A relation under limits on the groups by these axes and keys; what is counted of it is not known yet."""
    return LimitGroups(
        source=plan,
        axes=tuple(replace(axis, labels=()) for axis in axes),
        keys=tuple(dict.fromkeys(keys)),
        groups=limits.groups,
        rows=limits.rows,
        columns=(),
    )


def with_columns(plan: Plan, statistics: Iterable[Statistic], quantiles: Iterable[Quantile]) -> Plan:
    """The relation whose rows are told apart by all that is counted of them, where a limit chooses among rows.

    Guarantee: rows of one group that agree in its columns count alike.
    Because: a statistic and a quantile look at the columns of their expressions alone.
    """
    if not isinstance(plan, LimitGroups) or plan.rows is None:
        return plan
    names: set[str] = set()
    for statistic in statistics:
        names |= columns(statistic.where)
        if isinstance(statistic, Sum | DistinctCount):
            names |= columns(statistic.of)
    for quantile in quantiles:
        names |= columns(quantile.axis.of) | columns(quantile.where)
    return replace(plan, columns=tuple(sorted(names)))
