"""A question that was read: what to measure, and how to show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.plan import formula
from discreet.plan.formula import Formula
from discreet.plan.formula.linear import linear
from discreet.plan.inquiry import Inquiry
from discreet.plan.query_sensitivity import UnitReach
from discreet.plan.relation import Scan
from discreet.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow

    from discreet.sql.aggregates import TypedQuantile
    from discreet.sql.group_keys import GroupKey


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputColumn:
    """One column of the answer: a key, whether a key was summed over, a quantile, or a formula over statistics."""

    name: str
    key: int | None = None
    grouping: int | None = None
    quantile: int | None = None
    formula: Formula | None = None

    @property
    def plain(self) -> tuple[int, Fraction] | None:
        """The statistic that this is a multiple of, and how many times; None for what is computed from several."""
        linear_form = None if self.formula is None else linear(self.formula)
        if linear_form is None or linear_form.constant or linear_form.over or len(linear_form.weights) != 1:
            return None
        return linear_form.weights[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTerm:
    """One part of ORDER BY: an output column, a formula, or a key or quantile that is not shown, as it would be."""

    output: int | None
    formula: Formula | None
    hidden: OutputColumn | None = None
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """A question that was read: what to measure, and how to show it."""

    text: str
    inquiry: Inquiry
    reach: UnitReach
    keys: tuple[GroupKey, ...]
    sets: tuple[tuple[int, ...], ...]
    outputs: tuple[OutputColumn, ...]
    quantiles: tuple[TypedQuantile, ...] = ()
    having: Formula | None = None
    order: tuple[OrderTerm, ...] = ()
    limit: int | None = None
    offset: int = 0
    tables: tuple[Scan, ...] = ()
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    publics: Mapping[int, pyarrow.Table] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def table(self) -> str:
        """The table asked about."""
        return self.tables[0].table

    def axis_of(self, place: int, key: int) -> int | None:
        """Which axis of a grouping set a key is; None where it is summed over or discovered."""
        axis = self.keys[key].axis
        if key not in self.sets[place] or axis is None:
            return None
        return self.inquiry.sets[place].index(axis)

    @property
    def needs(self) -> dict[int, Fraction]:
        """How much the noise of each statistic matters to the answer."""
        need_by_statistic: dict[int, Fraction] = {}
        formulas = [output.formula for output in self.outputs] + [self.having] + [part.formula for part in self.order]
        for each in formulas:
            if each is not None:
                for index, need in formula.needs(each).items():
                    need_by_statistic[index] = need_by_statistic.get(index, Fraction(0)) + need
        return need_by_statistic
