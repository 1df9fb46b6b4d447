"""What a table gives away about the people in it: k, l, t, the class to blame for each, and every row's risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import Flag, Message, UsageError
from discreet.lab.anonymize.column_codes import CodedColumn, Flags, Floats, code_columns
from discreet.lab.anonymize.criteria import measure_spreads
from discreet.lab.anonymize.equivalence_classes import EquivalenceClasses, group
from discreet.lab.anonymize.sensitive_spread import SensitiveSpread
from discreet.lab.table_reader import select_columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnonymityReport:
    """How well classes hide their rows. l, t and what follows from them are the worst over the sensitive columns, and
    None where there is none. `witness` names, for k, l and t, a class that has this value."""

    rows: int
    classes: int
    k: int
    l: int | None  # noqa: E741 - its name for twenty years
    entropy_l: float | None
    t: float | None
    unique_share: float
    homogeneous_share: float | None
    witness: dict[str, dict[str, Any]]
    class_size: Any
    largest_share: Any

    def to_data(self) -> dict[str, Any]:
        """As JSON has it."""
        risk = 1 / self.class_size
        return {
            "k": self.k,
            "l": self.l,
            "t": self.t,
            "classes": self.classes,
            "rows": self.rows,
            "unique_share": self.unique_share,
            "homogeneous_share": self.homogeneous_share,
            "entropy_l": self.entropy_l,
            "risk": {"mean": float(risk.mean()), "most": float(risk.max())},
            "witness": self.witness,
        }

    def risks(self) -> pa.Table:
        """One row for each row: its number from 1, the size of its class, the chance to pick it out of its class and,
        with a sensitive column, the share of the class that has the most frequent value."""
        risk_columns: dict[str, Any] = {
            "row": np.arange(1, self.rows + 1),
            "class_size": self.class_size,
            "reidentification": 1 / self.class_size,
        }
        if self.largest_share is not None:
            risk_columns["disclosure"] = self.largest_share
        return pa.table(risk_columns)


def check(table: pa.Table, *, quasi: Sequence[str], sensitive: Sequence[str] = ()) -> AnonymityReport:
    """Measure a table. NULL is a value like others, in quasi-identifiers and in sensitive columns.

    >>> people = pa.table({"ward": ["a", "a", "b", "b"], "ill": ["flu", "flu", "flu", "mumps"]})
    >>> found = check(people, quasi=["ward"], sensitive=["ill"])
    >>> found.k, found.l, found.t, found.homogeneous_share
    (2, 1, 0.25, 0.5)
    """
    hidden, kept = code_roles(table, quasi, sensitive)
    return measure_classes(group(hidden), hidden, kept)


def code_roles(
    table: pa.Table, quasi: Sequence[str], sensitive: Sequence[str]
) -> tuple[list[CodedColumn], list[CodedColumn]]:
    """The quasi-identifiers and the sensitive columns, or a refusal that says what is wrong with them."""
    both = sorted(set(quasi) & set(sensitive))
    if both:
        raise UsageError(
            f"{both[0]!r} cannot be both a quasi-identifier and sensitive", hint="remove it from one of the two"
        )
    if not table.num_rows:
        raise UsageError("the table has no rows")
    coded_columns = code_columns(select_columns(table, [*quasi, *sensitive]), [*quasi, *sensitive])
    hidden, kept = coded_columns[: len(quasi)], coded_columns[len(quasi) :]
    if not hidden:
        raise UsageError(
            "no quasi-identifiers were given",
            hint=Message(Flag("quasi", ("zip", "birth", "sex")), ": the columns that an attacker knows"),
        )
    for column in kept:
        if not len(column.values):
            raise UsageError(f"the sensitive column {column.name!r} is NULL in every row", hint="choose another column")
    return hidden, kept


def measure_classes(
    classes: EquivalenceClasses, quasi: Sequence[CodedColumn], sensitive: Sequence[CodedColumn]
) -> AnonymityReport:
    """The report on classes that are known already."""
    column_spreads = measure_spreads(classes, sensitive)
    sizes, rows = classes.sizes, len(classes.ids)
    witness = {"k": _witness(classes, quasi, int(np.argmin(sizes)))}
    if column_spreads:
        few = np.min([one.distinct for one in column_spreads], axis=0)
        far = np.max([one.distance for one in column_spreads], axis=0)
        witness |= {
            "l": _witness(classes, quasi, int(np.argmin(few))),
            "t": _witness(classes, quasi, int(np.argmax(far))),
        }
    return AnonymityReport(
        rows=rows,
        classes=len(sizes),
        k=int(sizes.min()),
        l=int(few.min()) if column_spreads else None,
        entropy_l=float(min(one.entropy.min() for one in column_spreads)) if column_spreads else None,
        t=float(far.max()) if column_spreads else None,
        unique_share=float((sizes == 1).sum() / rows),
        homogeneous_share=float(sizes[homogeneous_classes(column_spreads)].sum() / rows) if column_spreads else None,
        witness=witness,
        class_size=sizes[classes.ids],
        largest_share=largest_shares(column_spreads)[classes.ids] if column_spreads else None,
    )


def homogeneous_classes(column_spreads: Sequence[SensitiveSpread]) -> Flags:
    """The classes in which some sensitive column has a single value."""
    alone: Flags = np.any([one.distinct == 1 for one in column_spreads], axis=0)
    return alone


def largest_shares(column_spreads: Sequence[SensitiveSpread]) -> Floats:
    """For each class, the largest share that one value of a sensitive column has in it."""
    shares: Floats = np.max([one.largest for one in column_spreads], axis=0)
    return shares


def _witness(classes: EquivalenceClasses, quasi: Sequence[CodedColumn], number: int) -> dict[str, Any]:
    """A class, by its quasi-identifiers and its size."""
    row = int(np.argmax(classes.ids == number))
    shown = {column.name: column.text_of(int(column.codes[row])) for column in quasi}
    return {"class": shown, "rows": int(classes.sizes[number])}
