"""What a choice of a limit is about, as the ledger hashes it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.mechanisms.rank import RankChoice
from discreet.plan.cells import Axis
from discreet.plan.inquiry import Quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought(Quantile):
    """A bin beyond which few rows lie: a share of them, `fraction`, and `spare` more."""

    spare: int
    below: bool

    @staticmethod
    def by(mechanism: RankChoice, *, axis: Axis) -> Sought:
        """What a mechanism seeks among the bins of an axis."""
        return Sought(axis=axis, fraction=mechanism.fraction, spare=mechanism.spare, below=mechanism.descending)

    def to_data(self) -> Any:
        return ["limit", self.axis.to_data(), exact.write(Fraction(self.fraction)), self.spare, self.below]
