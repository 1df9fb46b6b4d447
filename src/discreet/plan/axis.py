"""An axis: one group key whose values are known, cut into cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.plan.expressions import Expression
from discreet.plan.expressions import to_data as expression_data
from discreet.schema.column import Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One group key: cell i holds the codes in [edges[i], edges[i + 1]); the last cell holds NULL if `null`.

    `labels` are what the reader sees; they are not part of what is measured.
    """

    of: Expression
    edges: tuple[int, ...]
    null: bool
    labels: tuple[Label, ...]

    @property
    def size(self) -> int:
        return len(self.edges) - 1 + self.null

    def to_data(self) -> Any:
        return [expression_data(self.of), list(self.edges), self.null]
