"""The grid of a decimal column whose owner declares no `step`: from its bounds, never from data.

    step    the largest power of ten, at most 0.01, that divides low, high and all edges and cuts the range into at
            least 10,000 steps; never below 1e-12. Without two bounds there is no range, and 0.01 it is.
            Where codes would leave no room for sums, the next larger one that does.

discreet.toml is read with these steps, and a version's schema in the ledger spells them out. A stored schema without
a step has 0.01: versions that were made before this rule keep what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.errors import UsageError
from discreet.schema.column import MOST_CODE, NumberColumn

#: What a stored schema without a step means, for good.
STORED_STEP = Fraction(1, 100)

LEAST_STEPS = 10_000
_SMALLEST, _LARGEST = Fraction(1, 10**12), Fraction(10**12)

#: A range of fewer steps than this is coarse: half a step is then more than 1/2000 of it.
_COARSE = 1000


def derived_step(data: Mapping[str, Any]) -> Fraction:
    """The step of a decimal column's settings that name none.

    >>> str(derived_step({"low": 0, "high": 20_000})), str(derived_step({"low": 0, "high": Fraction(1, 10)}))
    ('1/100', '1/100000')
    """
    edges = data.get("edges")
    given = [data[key] for key in ("low", "high") if key in data] + (edges if isinstance(edges, list) else [])
    try:
        limits = [exact.number(value, name="a bound") for value in given]
    except UsageError:
        return STORED_STEP  # the reader of the column says what is wrong with it
    width = max(limits) - min(limits) if "low" in data and "high" in data else Fraction(0)

    def holds(step: Fraction) -> bool:
        return all((limit / step).denominator == 1 for limit in limits)

    def fits(step: Fraction) -> bool:
        return all(abs(limit) <= MOST_CODE * step for limit in limits)

    step = STORED_STEP
    while step > _SMALLEST and not (holds(step) and (not width or width >= LEAST_STEPS * step)):
        step /= 10
    if not holds(step):
        return STORED_STEP
    larger = step
    while not fits(larger) and larger < _LARGEST and holds(larger * 10):
        larger *= 10
    return larger if fits(larger) else step


def with_steps(table: Any) -> Any:
    """A table's settings with the step of each decimal column that declares none, unless it is the stored default."""
    columns = table.get("columns") if isinstance(table, Mapping) else None
    if not isinstance(columns, Mapping):
        return table
    return {**table, "columns": {name: _with_step(column) for name, column in columns.items()}}


def _with_step(column: Any) -> Any:
    if not isinstance(column, Mapping) or column.get("type") != "decimal" or "step" in column:
        return column
    step = derived_step(column)
    return column if step == STORED_STEP else {**column, "step": step}


def is_coarse(column: NumberColumn) -> bool:
    """Whether a column's step is larger than 1/1000 of its range."""
    if column.type == "integer" or column.low is None or column.high is None:
        return False
    return 0 < column.high - column.low < _COARSE
