"""Ranges by groups: one release, in which every group of some columns has ranges of its own. Free to read."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.errors import Refused, UsageError
from discreet.plan.cells import Axis
from discreet.release import Spending
from discreet.schema.column import Column, Label, code_labels
from discreet.schema.schema import Schema, closest_name_hint
from discreet.sql.group_keys import declared_axis
from discreet.tables.ranges.range_answers import Ranges
from discreet.tables.ranges.ruler import Ruler

#: More cells than this in all groups together are not measured at once.
MOST_CELLS = 2**21


def group_axes(by: Sequence[str], schema: Schema, *, beside: Ruler) -> tuple[Axis, ...]:
    """The groups of some columns, as they are declared. Refuses what has no declared values, and too many groups."""
    axes = []
    seen = {beside.column.name.lower()}
    for name in by:
        column = schema.column(name) if isinstance(name, str) else None
        if column is None:
            hint = closest_name_hint(str(name), [each.name for each in schema.columns])
            raise UsageError(f"table {schema.table!r} has no column {str(name)[:60]!r}", hint=hint)
        if column.name.lower() in seen:
            raise UsageError(f"column {column.name!r} is named twice")
        seen.add(column.name.lower())
        axis = declared_axis(column)
        if axis is None:
            raise Refused(
                f"the values of {column.name!r} are not declared, so there are no groups by it",
                hint="declare its values, or low, high and bins",
            )
        axes.append(axis)
    if math.prod(axis.size for axis in axes) * beside.cells > MOST_CELLS:
        raise Refused(f"the groups have more than {MOST_CELLS:,} cells in total", hint="fewer groups, or wider bins")
    return tuple(axes)


@dataclass(frozen=True, kw_only=True, repr=False)
class RangesByGroup:
    """A release of the ranges of a column in every group: ask each group as `Ranges` is asked.

    Groups share no row, so that they cost together what one costs, and have each the noise of one.
    `code_labels`: what values of the groups' columns are called for people.
    """

    by: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    groups: tuple[Ranges, ...]
    code_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @staticmethod
    def of(made: Ranges, by: Sequence[str], axes: Sequence[Axis], schema: Schema) -> RangesByGroup:
        """The groups of a release whose numbers stand one group after the other."""
        labels = tuple(itertools.product(*(axis.labels for axis in axes)))
        groups = tuple(replace(made, noisy=line) for line in made.noisy.reshape(len(labels), -1))
        for group in groups:
            group.__dict__["solver"] = made.solver  # one for all: they were measured alike
        columns = [column for name in by if (column := schema.column(name)) is not None]
        return RangesByGroup(by=tuple(by), labels=labels, groups=groups, code_labels=group_labels(by, columns))

    def __iter__(self) -> Iterator[tuple[tuple[Label, ...], Ranges]]:
        return iter(zip(self.labels, self.groups, strict=True))

    def group(self, *labels: object) -> Ranges:
        """The ranges of one group, by its labels: group("F"). None: the rows without a value."""
        for own, ranges in self:
            if own == labels or tuple(map(str, own)) == tuple(map(str, labels)):
                return ranges
        raise UsageError(
            f"there is no group {', '.join(map(str, labels))[:60]}",
            hint=closest_name_hint(", ".join(map(str, labels)), [", ".join(map(str, own)) for own in self.labels]),
        )

    @property
    def first(self) -> Ranges:
        """The first group: what is the same for all is read from it."""
        return self.groups[0]

    @property
    def release(self) -> str:
        return self.first.release

    @property
    def table(self) -> str:
        return self.first.table

    @property
    def version(self) -> int:
        return self.first.version

    @property
    def ruler(self) -> Ruler:
        return self.first.ruler

    @property
    def words(self) -> str:
        return self.first.words

    @property
    def expected_rmse(self) -> float:
        return self.first.expected_rmse

    @property
    def cost(self) -> Spending:
        return self.first.cost

    @property
    def cached(self) -> bool:
        return self.first.cached

    @property
    def only(self) -> bool:
        return self.first.only

    @property
    def where(self) -> str | None:
        return self.first.where

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.first.warnings

    def __repr__(self) -> str:
        return f"<RangesByGroup {self.release}: {self.ruler.column.name} of {self.table} by {', '.join(self.by)}>"

    def to_data(
        self, *, confidence: object = "0.95", quantiles: Sequence[object] = (), whole: bool = False
    ) -> dict[str, Any]:
        """As `Ranges.to_data`: each row and quantile begins with the labels of its group, in the order of `by`."""
        data = [
            (labels, ranges.to_data(confidence=confidence, quantiles=quantiles, whole=whole)) for labels, ranges in self
        ]
        return data[0][1] | {
            "by": list(self.by),
            "rows": [[*labels, *row] for labels, own in data for row in own["rows"]],
            "quantiles": [[*labels, *quantile] for labels, own in data for quantile in own["quantiles"]],
            **({"labels": {name: dict(own) for name, own in self.code_labels.items()}} if self.code_labels else {}),
        }


def group_labels(by: Sequence[str], columns: Sequence[Column]) -> dict[str, dict[str, str]]:
    """What values of groups are called for people, under the names by which the groups were asked for."""
    called = code_labels(columns)
    return {name: called[column.name] for name, column in zip(by, columns, strict=True) if column.name in called}
