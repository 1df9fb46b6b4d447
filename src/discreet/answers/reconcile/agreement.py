"""Agreement: all released numbers of a table at once, as numbers that some table could have.

The least-squares answers are unbiased, and their standard errors are exact. Those that are also whole and not negative
are nearer to the truth in all, but biased near zero: no standard error is given for them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.answers.reconcile.history import MOST_NUMBERS, ExcludedRelease, History, history
from discreet.answers.reconcile.released_numbers import ExclusionReason, ReleasedNumber
from discreet.answers.reconcile.table_blocks import TableBlock, table_block
from discreet.answers.repeats import Reads
from discreet.errors import UsageError
from discreet.inference.reconcile import (
    ROWS,
    ColumnDomains,
    MeasuredNumber,
    NumberIdentity,
    Reconciliation,
    make_nonnegative,
    round_answers,
)
from discreet.inference.reconcile.block_fit import fit_blocks
from discreet.kernel.curator import Curator, Version
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.present.cell_text import cell_text

#: Stands where a number's noise is not its own, but that of many sums together.
_NO_LAW = DiscreteLaplace(scale=Fraction(1))


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
    released_history = history(version, curator=curator, reads=reads, only=only, with_tables=True)
    blocks, left_out = _blocks(released_history)
    if not released_history.numbers and not blocks:
        raise UsageError(
            f"no released number of version {version.number} of {version.table!r} can be reconciled",
            hint="; ".join(dict.fromkeys(each.reason for each in left_out)) or "run a query first",
        )
    if blocks:
        return _agree_with_tables(version, released_history, blocks, left_out, wholes=wholes)
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
        left_out=left_out,
        rounded=None if rounded is None else rounded[1],
    )


def _blocks(released_history: History) -> tuple[list[TableBlock], tuple[ExcludedRelease, ...]]:
    """The releases of tables that are small enough, the oldest first, and all that stays out."""
    blocks, left_out, room = [], list(released_history.left_out), MOST_NUMBERS - len(released_history.numbers)
    for table in released_history.tables:
        block = table_block(table)
        if isinstance(block, TableBlock) and len(block.keys) > room:
            block = ExclusionReason(reason=f"more than {MOST_NUMBERS:,} numbers at once; name fewer releases")
        if isinstance(block, ExclusionReason):
            left_out.append(ExcludedRelease(release=table.release, reason=block.reason))
        else:
            room -= len(block.keys)
            blocks.append(block)
    return blocks[::-1], tuple(left_out)


def _agree_with_tables(
    version: Version,
    released_history: History,
    blocks: Sequence[TableBlock],
    left_out: tuple[ExcludedRelease, ...],
    *,
    wholes: bool,
) -> Agreement:
    """Numbers and releases of tables together. The cells of a table are released as its own least squares gives them.

    Tables are of counts of rows; sums are fitted by themselves, as ever.
    """
    domain = ColumnDomains.of(version.schema.columns)
    counts = [number for number in released_history.numbers if number.family == ROWS]
    others = [number for number in released_history.numbers if number.family != ROWS]
    cells = [_cell_numbers(block) for block in blocks]
    fit = fit_blocks([number.measured() for number in counts], [block.block for block in blocks], domain)
    apart = Reconciliation([number.measured() for number in others], domain)
    lines = [
        _line(number, value, error, None)
        for number, value, error in zip(counts, fit.values.tolist(), fit.standard_errors.tolist(), strict=False)
    ]
    start = len(counts)
    for block, numbers in zip(blocks, cells, strict=True):
        alone = fit_blocks([], [block.block], domain)
        for place, number in enumerate(numbers):
            lines.append(
                ReconciledNumber(
                    number=number,
                    value=float(alone.values[place]),
                    standard_error=float(alone.standard_errors[place]),
                    reconciled=float(fit.values[start + place]),
                    reconciled_error=float(fit.standard_errors[start + place]),
                )
            )
        start += len(numbers)
    of_others = apart.reconciled
    identities = [*fit.identities, *(_shifted(each, start) for each in of_others.identities)]
    lines += [
        _line(number, of_others.values[place], of_others.standard_errors[place], None)
        for place, number in enumerate(others)
    ]
    rounded = _whole_lines(lines, domain) if wholes else None
    return Agreement(
        table=version.table,
        version=version.number,
        lines=tuple(lines if rounded is None else rounded[0]),
        identities=tuple(identities),
        chi_square=fit.chi_square + of_others.chi_square,
        degrees=fit.degrees + of_others.degrees,
        left_out=left_out,
        rounded=None if rounded is None else rounded[1],
    )


def _cell_numbers(block: TableBlock) -> list[ReleasedNumber]:
    """The cells of a release of tables, as people know them; their errors are not independent."""
    return [
        ReleasedNumber(
            release=block.release, family=ROWS, region=region, value=0, law=_NO_LAW, least=0, column="rows", keys=keys
        )
        for region, keys in zip(block.block.regions, block.keys, strict=True)
    ]


def _shifted(identity: NumberIdentity, start: int) -> NumberIdentity:
    return NumberIdentity(terms=tuple((place + start, amount) for place, amount in identity.terms))


def _whole_lines(lines: Sequence[ReconciledNumber], domain: ColumnDomains) -> tuple[list[ReconciledNumber], bool]:
    """Whole numbers near numbers that agree already."""
    measured = [
        MeasuredNumber(
            region=line.number.region,
            value=line.reconciled / float(line.number.step),
            variance=max((line.reconciled_error / float(line.number.step)) ** 2, 1e-9),
            family=line.number.family,
        )
        for line in lines
    ]
    values, all_whole = _whole_numbers(Reconciliation(measured, domain), [line.number for line in lines])
    return [
        replace(line, whole=value * float(line.number.step)) for line, value in zip(lines, values, strict=True)
    ], all_whole


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
