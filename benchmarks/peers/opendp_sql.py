"""OpenDP on Polars: the six queries as its frames say them, epsilon 1 for each, known keys.

Runs in OpenDP's own environment. Salaries are summed as whole numbers: its float sums by group did not finish.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from sql_worker import Ask, Order, serve

MOST_ROWS = 10_000_000
MOST_SALARY = 500_000
KEYS = {
    "region": [f"region_{number:02d}" for number in range(50)],
    "disease": [f"d{number:03d}" for number in range(200)],
    "sex": ["F", "M"],
}


def prepare(order: Order, query: str, place: str) -> Ask:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    frame = pl.scan_parquet(place)
    person = order.unit == "person"
    unit = dp.unit_of(contributions=1, identifier=pl.col("user_id")) if person else dp.unit_of(contributions=1)

    def start() -> Any:
        asked = dp.Context.compositor(
            data=frame,
            privacy_unit=unit,
            privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1,
            margins=[dp.polars.Margin(max_length=MOST_ROWS, max_groups=20_000)],
        ).query()
        return asked.truncate_per_group(order.rows_per_person) if person else asked

    salary = pl.col.salary.fill_nan(0.0).fill_null(0.0).clip(0.0, float(MOST_SALARY)).cast(pl.Int64)
    total = pl.col.salary.fill_null(0).dp.sum(bounds=(0, MOST_SALARY)).alias("total")
    count = dp.len().alias("n")
    candidates = [float(value) for value in range(0, MOST_SALARY + 1, 1000)]

    def grouped(asked: Any, by: list[str], *numbers: Any) -> Any:
        keys = pl.LazyFrame({by[0]: KEYS[by[0]]})
        for name in by[1:]:
            keys = keys.join(pl.LazyFrame({name: KEYS[name]}), how="cross")
        return asked.group_by(*by).agg(*numbers).with_keys(keys).release().collect()

    def ask() -> Sequence[Sequence[Any]]:
        match query:
            case "Q1":
                kept = start().filter((pl.col.age > 24) & (pl.col.disease == "d007"))
                return [[kept.select(dp.len()).release().collect().item()]]
            case "Q2":
                return grouped(start(), ["region"], count).select("region", "n").rows()
            case "Q3":
                found = grouped(start().with_columns(salary), ["disease"], total, count)
                return found.select("disease", pl.col.total / pl.col.n.clip(1)).rows()
            case "Q4":
                return [[start().select(pl.col.user_id.dp.n_unique()).release().collect().item()]]
            case "Q5":
                found = grouped(start().with_columns(salary), ["region", "disease", "sex"], count, total)
                return found.select("region", "disease", "sex", "n", "total").rows()
            case _:
                middle = pl.col.salary.fill_nan(0.0).fill_null(0.0).dp.median(candidates=candidates)
                return [[start().select(middle).release().collect().item()]]

    return ask


if __name__ == "__main__":
    serve(prepare)
