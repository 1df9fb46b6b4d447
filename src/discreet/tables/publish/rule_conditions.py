"""What a rule says of one column: which cells of its axis lie wholly within it, and which outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.engines.source_values import code_of
from discreet.plan.cells import Axis
from discreet.schema.column import CategoryColumn, Column, MomentColumn, NumberColumn, domain, nullable
from discreet.schema.schema import closest_name_hint
from discreet.tables.publish.plan_file import PublicationPlan

Bools = NDArray[np.bool_]
_FAR = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCondition:
    """A set of codes of one column: intervals with both ends in them, apart and rising, and perhaps NULL."""

    intervals: tuple[tuple[int, int], ...]
    null: bool

    def within(self, axis: Axis) -> Bools:
        """Which cells hold nothing else."""
        inside_flags = [
            any(low <= first and last <= high for low, high in self.intervals) for first, last in _cells(axis)
        ]
        return np.array([*inside_flags, *([self.null] if axis.null else [])], dtype=np.bool_)

    def outside(self, axis: Axis) -> Bools:
        """Which cells hold nothing of it."""
        outside_flags = [
            all(last < low or high < first for low, high in self.intervals) for first, last in _cells(axis)
        ]
        return np.array([*outside_flags, *([not self.null] if axis.null else [])], dtype=np.bool_)


def _cells(axis: Axis) -> list[tuple[int, int]]:
    return [(low, high - 1) for low, high in zip(axis.edges, axis.edges[1:], strict=False)]


def read_condition(column: Column, value: Any, plan: PublicationPlan, rule: str) -> RuleCondition:
    """A value, a list of values, a range "0 to 14", or {null = true}, of a column."""
    reader = _ConditionReader(column, plan, rule)
    listed = value if isinstance(value, list | tuple) else [value]
    parts = [reader.part(each) for each in listed]
    if not parts:
        raise reader.fault(f"no value is given for column {column.name!r}")
    joined: list[tuple[int, int]] = []
    for low, high in sorted(part for part in parts if part is not None):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], high)
        else:
            joined.append((low, high))
    return RuleCondition(intervals=tuple(joined), null=None in parts)


class _ConditionReader:
    def __init__(self, column: Column, plan: PublicationPlan, rule: str) -> None:
        self.column, self.plan, self.rule = column, plan, rule

    def part(self, value: Any) -> tuple[int, int] | None:
        """An interval of codes; None for NULL."""
        if value == {"null": True}:
            if not nullable(self.column):
                raise self.fault(f"column {self.column.name!r} is closed, so it is never NULL")
            return None
        if isinstance(self.column, NumberColumn | MomentColumn):
            if isinstance(value, Mapping) and value and set(value) <= {"from", "to"}:
                low = self.code(value["from"]) if "from" in value else -_FAR
                high = self.code(value["to"]) if "to" in value else _FAR
                return self.range(value, low, high)
            if isinstance(value, str) and " to " in value:
                low, high = (self.code(end) for end in value.split(" to ", 1))
                return self.range(value, low, high)
        code = self.code(value)
        return code, code

    def range(self, value: Any, low: int, high: int) -> tuple[int, int]:
        if low > high:
            raise self.fault(f"{str(value)[:60]!r} is not a range of column {self.column.name!r}")
        return low, high

    def code(self, value: Any) -> int:
        """A value as its code."""
        if isinstance(value, float | Fraction):
            value = exact.show(exact.number(value, name=f"{self.plan.where}: {self.rule}"), digits=40)
        if isinstance(value, date | datetime):
            value = value.isoformat()
        code = code_of(self.column, value) if isinstance(value, bool | int | str) else None
        limits = domain(self.column)
        if not isinstance(code, int) or limits is None or not limits[0] <= code < limits[1]:
            closest_value = (
                closest_name_hint(str(value), self.column.values) if isinstance(self.column, CategoryColumn) else ""
            )
            raise self.fault(f"{str(value)[:60]!r} is not a value of column {self.column.name!r}", hint=closest_value)
        return code

    def fault(self, reason: str, *, hint: str = "") -> Exception:
        return self.plan.fault(f"{self.rule}: {reason}", hint=hint)
