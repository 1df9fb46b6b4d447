"""Agreement: all released numbers of a table at once, as numbers that some table could have.

The least-squares answers are unbiased, and their standard errors are exact. Those that are also whole and not negative
are nearer to the truth in all, but biased near zero: no standard error is given for them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.answers.reconcile.history import ExcludedRelease, history
from discreet.answers.reconcile.released_numbers import ReleasedNumber
from discreet.answers.repeats import Reads
from discreet.errors import UsageError
from discreet.inference.reconcile import ColumnDomains, NumberIdentity, Reconciliation, make_nonnegative, round_answers
from discreet.kernel.curator import Curator, Version
from discreet.present.cell_text import cell_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciledNumber:
    """A released number beside what it became; `round_answers` where that was wished for and can be kept."""

    number: ReleasedNumber
    value: float
    standard_error: float
    reconciled: float
    reconciled_error: float
    whole: float | None = None

    def to_data(self) -> dict[str, Any]:
        """The line as JSON data."""
        return {
            "release": self.number.release,
            "column": self.number.column,
            "keys": dict(self.number.keys),
            "value": self.value,
            "standard_error": self.standard_error,
            "reconciled": self.reconciled,
            "reconciled_error": self.reconciled_error,
            "whole": self.whole,
        }

    def words(self) -> str:
        """The number's name for people: r-… count [sex F]."""
        keys = ", ".join(f"{name} {cell_text(label)}" for name, label in self.number.keys)
        return f"{self.number.release} {self.number.column}" + (f" [{keys}]" if keys else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Released numbers that agree. `chi_square`: their squared distance from what was released, about `degrees`.

    `rounded`: where whole numbers were wished for, whether all could be made whole and still agree.
    """

    table: str
    version: int
    lines: tuple[ReconciledNumber, ...]
    identities: tuple[NumberIdentity, ...]
    chi_square: float
    degrees: int
    left_out: tuple[ExcludedRelease, ...]
    rounded: bool | None = None

    def to_data(self) -> dict[str, Any]:
        """The agreement as JSON data; the keys are a contract."""
        return {
            "table": self.table,
            "version": self.version,
            "numbers": [line.to_data() for line in self.lines],
            "identities": [[[place, str(amount)] for place, amount in each.terms] for each in self.identities],
            "chi_square": self.chi_square,
            "degrees": self.degrees,
            "whole": self.rounded,
            "left_out": [{"release": each.release, "reason": each.reason} for each in self.left_out],
            "cost": {"epsilon": 0.0, "rho": 0.0, "delta": 0.0},
        }

    def identity(self, identity: NumberIdentity) -> str:
        """An identity for people: one number on the left, the others on the right."""
        (first, amount), *rest = sorted(identity.terms, key=lambda term: -abs(term[1]))
        terms = [(-other / amount, self.lines[place].words()) for place, other in rest]
        return f"{self.lines[first].words()} = {_sum(terms) or '0'}"


def _sum(terms: Sequence[tuple[Fraction, str]]) -> str:
    text = ""
    for amount, name in terms:
        sign = (" + " if text else "") if amount > 0 else (" - " if text else "-")
        text += sign + (name if abs(amount) == 1 else f"{abs(amount)} {name}")
    return text


def agree(
    version: Version, *, curator: Curator, reads: Reads, only: Collection[str] = (), wholes: bool = False
) -> Agreement:
    """Make the released numbers of a version agree. Free; refuses where no fit is found. `only`: these releases."""
    released_history = history(version, curator=curator, reads=reads, only=only)
    if not released_history.numbers:
        raise UsageError(
            f"no released number of version {version.number} of {version.table!r} can be reconciled",
            hint="; ".join(dict.fromkeys(each.reason for each in released_history.left_out)) or "run a query first",
        )
    reconciliation = Reconciliation(
        [number.measured() for number in released_history.numbers], ColumnDomains.of(version.schema.columns)
    )
    fit = reconciliation.reconciled
    rounded = _whole_numbers(reconciliation, released_history.numbers) if wholes else None
    lines = [
        _line(number, fit.values[place], fit.standard_errors[place], None if rounded is None else rounded[0][place])
        for place, number in enumerate(released_history.numbers)
    ]
    return Agreement(
        table=version.table,
        version=version.number,
        lines=tuple(lines),
        identities=fit.identities,
        chi_square=fit.chi_square,
        degrees=fit.degrees,
        left_out=released_history.left_out,
        rounded=None if rounded is None else rounded[1],
    )


def _line(number: ReleasedNumber, value: float, error: float, rounded: float | None) -> ReconciledNumber:
    step = float(number.step)
    return ReconciledNumber(
        number=number,
        value=number.value * step,
        standard_error=math.sqrt(number.variance) * abs(step),
        reconciled=value * step,
        reconciled_error=error * abs(step),
        whole=None if rounded is None else rounded * step,
    )


def _whole_numbers(reconciliation: Reconciliation, numbers: Sequence[ReleasedNumber]) -> tuple[tuple[float, ...], bool]:
    """Numbers that agree, are not negative where none can be, and whole; and whether they could be made whole."""
    families = {number.family for number in numbers}
    never_negative = {number.family for number in numbers if number.least == 0}
    nearest = make_nonnegative(reconciliation, never_negative)
    rounded = round_answers(reconciliation, nearest.values, families=families, nonnegative=never_negative)
    return rounded.values, all(rounded.rounded)
