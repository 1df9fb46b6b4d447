"""Cells of a model back to values: a fine cell by its noisy weight, a code by chance within it, a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema.column import MOST_CODE, Boolean, Category, Column, Moment, Number, Text, domain
from discreet.synth.attribute import Attribute

if TYPE_CHECKING:
    import pyarrow as pa

#: The code of NULL among codes: below every other.
NULL = np.iinfo(np.int64).min


def codes(attribute: Attribute, cells: NDArray[Any], generator: np.random.Generator) -> NDArray[np.int64]:
    """For each cell of the model a code of the column, `NULL` for NULL."""
    fine = _fine(attribute, cells, generator)
    edges = np.array(attribute.edges, dtype=np.int64)
    missing = fine == len(edges) - 1
    safe = np.where(missing, 0, fine)
    found = generator.integers(edges[safe], edges[safe + 1])
    return np.where(missing, NULL, found)


def _fine(attribute: Attribute, cells: NDArray[Any], generator: np.random.Generator) -> NDArray[np.int64]:
    """One fine cell for each cell of the model, in proportion to the weights; evenly where all are 0."""
    sums = np.bincount(attribute.groups, weights=attribute.weights)
    weights = np.where(sums[attribute.groups] > 0, attribute.weights, 1.0)
    order = np.argsort(attribute.groups, kind="stable")
    order = order[weights[order] > 0]
    groups, ends = attribute.groups[order], np.cumsum(weights[order])
    firsts = np.searchsorted(groups, np.arange(attribute.size))
    lasts = np.append(firsts[1:], len(groups)) - 1
    starts = np.concatenate([[0.0], ends])[firsts]
    wanted = starts[cells] + generator.random(len(cells)) * (ends[lasts] - starts)[cells]
    places = np.clip(np.searchsorted(ends, wanted, side="right"), firsts[cells], lasts[cells])
    found: NDArray[np.int64] = order[places]
    return found


def arrow_column(column: Column, values: NDArray[np.int64]) -> pa.Array:
    """Codes as an Arrow column of the type that people expect."""
    import pyarrow as pa

    missing = values == NULL
    plain = np.where(missing, 0, values)
    match column:
        case Number(step=step):
            if _whole(column):
                return pa.array(plain * step.numerator, mask=missing)
            return pa.array(plain.astype(np.float64) * step.numerator / step.denominator, mask=missing)
        case Moment(type="date"):
            return pa.array(plain.astype("datetime64[D]"), mask=missing)
        case Moment():
            return pa.array(plain.astype("datetime64[us]"), mask=missing)
        case Boolean():
            return pa.array(plain.astype(bool), mask=missing)
        case Category(values=names):
            return pa.array(np.array(names, dtype=object)[plain], type=pa.string(), mask=missing)
        case Text():
            raise ValueError("text has no codes")


def _whole(column: Number) -> bool:
    """Whether its values are whole numbers of 64 bits. From its declaration, so that all parts of a sample agree."""
    most = max(abs(end) for end in domain(column) or (MOST_CODE,))
    return column.step.denominator == 1 and most * column.step.numerator < 2**63


def placeholders(name: str, start: int, count: int) -> pa.Array:
    """What stands for text: the column's name and a running number, different in every row."""
    import pyarrow as pa

    return pa.array([f"{name} {number}" for number in range(start + 1, start + count + 1)], type=pa.string())


def table(columns: Sequence[Column], found: dict[str, NDArray[np.int64]], *, rows: int, start: int = 0) -> pa.Table:
    """Rows in the order of the declared columns; those without codes hold placeholders."""
    import pyarrow as pa

    return pa.table(
        {
            column.name: arrow_column(column, found[column.name])
            if column.name in found
            else placeholders(column.name, start, rows)
            for column in columns
        }
    )
