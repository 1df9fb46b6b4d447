"""What a choice of a limit is about, as the ledger hashes it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.mechanisms.rank_choice import RankChoice
from discreet.plan.cells import Axis
from discreet.plan.inquiry import Quantile
from discreet.plan.price import Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class TailBin(Quantile):
    """A bin beyond which few rows lie: a share of them, `fraction`, and `spare` more.

    `turn`: its number among the choices of one errand, by which the errand reads them. Another order is another errand.
    """

    spare: int
    below: bool
    turn: int = 0

    @staticmethod
    def by(mechanism: Choice, *, axis: Axis, turn: int = 0) -> TailBin:
        """What a mechanism seeks among the bins of an axis."""
        assert isinstance(mechanism, RankChoice)
        fraction, spare = mechanism.fraction, mechanism.spare
        return TailBin(axis=axis, fraction=fraction, spare=spare, below=mechanism.descending, turn=turn)

    def to_data(self) -> Any:
        fraction = exact.write(Fraction(self.fraction))
        return ["limit", self.axis.to_data(), fraction, self.spare, self.below, self.turn]
