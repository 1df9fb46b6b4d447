"""Rows that are no secret, cut as the table is: what a fit may look at for nothing, to choose what to measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.engines.source_values import code_of
from discreet.errors import UsageError
from discreet.schema.column import Label, TextColumn
from discreet.sql.catalog import PublicTable
from discreet.synth.attribute import Attribute
from discreet.synth.cell_decoder import NULL
from discreet.synth.code_spans import cells_of
from discreet.synth.column_differences import difference_codes


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicRows:
    """Codes of public rows, in the codes of the private table's columns, by name."""

    codes: dict[str, NDArray[np.int64]]

    def pair(self, attributes: Sequence[Attribute], left: int, right: int) -> NDArray[np.float64]:
        """The share of public rows in each pair of the model's cells, of the rows that lie in some."""
        one, other = (cells_of(attributes[place], self.codes[attributes[place].name]) for place in (left, right))
        inside = (one >= 0) & (other >= 0)
        sizes = attributes[left].size, attributes[right].size
        counts = np.bincount(one[inside] * sizes[1] + other[inside], minlength=sizes[0] * sizes[1])
        return counts.reshape(sizes) / max(1, int(inside.sum()))


def refuse_other_columns(table: PublicTable, names: Sequence[str]) -> None:
    """A public table to choose by has all columns that are modelled."""
    public_names = {column.name.lower() for column in table.columns}
    missing = [name for name in names if name.lower() not in public_names]
    if missing:
        raise UsageError(
            f"public table {table.name!r} has no column {missing[0]!r}",
            hint="a public table that guides the model must have all modelled columns",
        )


def public_rows(table: PublicTable, attributes: Sequence[Attribute]) -> PublicRows:
    """The rows of a public table that has the same columns. A value that the private column cannot take is left out."""
    columns = {column.name.lower(): column for column in table.columns}
    codes_by_name = {}
    for attribute in attributes:
        if attribute.between is not None:
            continue
        column = columns[attribute.name.lower()]
        assert not isinstance(column, TextColumn)
        given = table.codes[column.name]
        code_map = {
            code: _code(attribute, column.label(code) if isinstance(code, int) else None) for code in set(given)
        }
        codes_by_name[attribute.name] = np.array([code_map[code] for code in given], dtype=np.int64)
    for attribute in attributes:
        if attribute.between is not None:
            low, high = (codes_by_name[name] for name in attribute.between)
            codes_by_name[attribute.name] = difference_codes(low, high, attribute.edges[-1] - 4)
    return PublicRows(codes=codes_by_name)


def _code(attribute: Attribute, value: Label) -> int:
    """A value as a code of the private column; beyond all of them where it has none."""
    if value is None:
        return NULL
    assert not isinstance(attribute.column, TextColumn)
    code = code_of(attribute.column, str(value) if isinstance(value, float) else value)
    return code if isinstance(code, int) else attribute.edges[-1]
