"""Generated tables whose columns depend on each other, and how much of that survives in synthetic rows.

Every table has a main pair of numbers whose correlation is about -.48. Shapes differ: few and many rows, few and many
columns, skewed numbers, categories of many values, one dependence and many. `seed`: tuning used those below 100,
judging those from 100 on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

#: What a generator makes: for each column its values, and whether they are numbers.
Columns = dict[str, NDArray[np.int64]]

#: The correlation of the main pair.
MAIN = -0.48

#: For tv2 and mutual information a number is cut at so many quantiles of the real column.
QUANTILES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DependentTable:
    """A table of whole numbers; `sizes`: of the columns that are categories, how many values they have."""

    name: str
    columns: Columns
    sizes: dict[str, int]
    main: tuple[str, str]

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))

    def declaration(self) -> dict[str, str]:
        """Each column as it is declared: bounds of numbers, values of categories."""
        return {name: self._declared(name) for name in self.columns}

    def _declared(self, name: str) -> str:
        if name in self.sizes:
            return f'type = "category"\nvalues = {[f"v{code}" for code in range(self.sizes[name])]}\nclosed = true'
        low, high = BOUNDS[name.rstrip("0123456789")]
        return f'type = "integer"\nlow = {low}\nhigh = {high}'

    def lines(self) -> list[str]:
        """The rows as lines of a CSV file."""
        words = [
            [f"v{code}" for code in codes] if name in self.sizes else list(map(str, codes.tolist()))
            for name, codes in self.columns.items()
        ]
        return [",".join(self.columns), *(",".join(row) for row in zip(*words, strict=True))]


#: What is declared of numbers, by their names without digits.
BOUNDS = {
    "age": (18, 96),
    "score": (1, 10),
    "prior": (0, 60),
    "income": (0, 500_000),
    "debt": (0, 300_000),
    "mark": (0, 1000),
    "measure": (-5000, 5000),
    "day": (0, 3650),
    "rate": (0, 100),
}


def correlated(generator: np.random.Generator, rows: int, correlation: float) -> tuple[Numbers, Numbers]:
    """Two normal columns of this correlation."""
    one = generator.normal(size=rows)
    return one, correlation * one + np.sqrt(1 - correlation**2) * generator.normal(size=rows)


def whole(values: Numbers, name: str) -> NDArray[np.int64]:
    """Values as whole numbers within the bounds of their name."""
    low, high = BOUNDS[name.rstrip("0123456789")]
    return np.clip(np.rint(values), low, high).astype(np.int64)


def by_rank(values: Numbers, shares: Numbers) -> NDArray[np.int64]:
    """Codes of these shares, by rank."""
    ends = np.quantile(values, np.cumsum(shares)[:-1] / shares.sum())
    return np.searchsorted(ends, values).astype(np.int64)


def leaning(generator: np.random.Generator, on: Numbers, much: float) -> Numbers:
    """A normal column that leans on another one."""
    return much * on / max(1e-9, float(on.std())) + generator.normal(size=len(on))


def offenders(generator: np.random.Generator) -> DependentTable:
    """7,000 rows, 8 columns: ages against scores, a few codes that lean on them a little."""
    young, risk = correlated(generator, 7000, -0.53)
    columns = {
        "sex": by_rank(generator.normal(size=7000), np.array([0.8, 0.2])),
        "age": whole(18 + 11 * np.exp(0.55 * young + 0.25), "age"),
        "race": by_rank(leaning(generator, risk, 0.3), np.array([0.51, 0.34, 0.08, 0.05, 0.01, 0.01])),
        "marital": by_rank(leaning(generator, young, 0.6), np.array([0.7, 0.14, 0.1, 0.03, 0.01, 0.01, 0.01])),
        "score": whole(5.5 + 2.9 * risk, "score"),
        "prior": whole(np.maximum(0, np.exp(0.5 * risk + 0.9 * generator.normal(size=7000) + 0.3) - 1), "prior"),
        "degree": by_rank(leaning(generator, risk, 0.25), np.array([0.65, 0.35])),
        "again": by_rank(leaning(generator, risk, 0.5), np.array([0.55, 0.45])),
    }
    sizes = {"sex": 2, "race": 6, "marital": 7, "degree": 2, "again": 2}
    return DependentTable(name="offenders", columns=columns, sizes=sizes, main=("age", "score"))


def alone(generator: np.random.Generator) -> DependentTable:
    """7,000 rows, 8 columns of numbers: one pair, and nothing else depends on anything."""
    one, other = correlated(generator, 7000, MAIN)
    columns = {"measure1": whole(1200 * one, "measure"), "measure2": whole(1000 * other + 300, "measure")}
    columns |= {f"mark{place}": whole(500 + 160 * generator.normal(size=7000), "mark") for place in range(3)}
    columns |= {f"rate{place}": whole(100 * generator.beta(2, 3 + place, size=7000), "rate") for place in range(3)}
    return DependentTable(name="one pair", columns=columns, sizes={}, main=("measure1", "measure2"))


def skewed(generator: np.random.Generator) -> DependentTable:
    """7,000 rows, 8 columns: incomes and debts with long tails and many zeros."""
    rank, against = correlated(generator, 7000, -0.75)
    debt = np.where(against > -0.5, 12_000 * np.exp(0.75 * against), 0)
    columns = {
        "income": whole(28_000 * np.exp(0.55 * rank), "income"),
        "debt": whole(debt, "debt"),
        "age": whole(45 + 14 * generator.normal(size=7000), "age"),
        "class": by_rank(leaning(generator, rank, 0.8), np.array([0.4, 0.3, 0.2, 0.1])),
        "owner": by_rank(leaning(generator, rank, 0.5), np.array([0.6, 0.4])),
        "region": by_rank(generator.normal(size=7000), 1 / np.arange(1, 13)),
        "mark": whole(500 + 150 * leaning(generator, against, 0.3), "mark"),
        "day": whole(3650 * generator.random(7000), "day"),
    }
    sizes = {"class": 4, "owner": 2, "region": 12}
    return DependentTable(name="long tails", columns=columns, sizes=sizes, main=("income", "debt"))


def categories(generator: np.random.Generator) -> DependentTable:
    """7,000 rows, 8 columns: categories of up to 40 values beside the main pair."""
    one, other = correlated(generator, 7000, MAIN)
    shares = 1 / np.arange(1, 41) ** 1.1
    columns = {
        "age": whole(50 + 13 * one, "age"),
        "mark": whole(500 + 160 * other, "mark"),
        "town": by_rank(generator.normal(size=7000), shares),
        "trade": by_rank(leaning(generator, one, 0.7), generator.permutation(shares[:25])),
        "street": by_rank(generator.normal(size=7000), np.ones(15)),
        "party": by_rank(leaning(generator, other, 0.6), np.ones(6)),
        "sex": by_rank(generator.normal(size=7000), np.ones(2)),
        "smoker": by_rank(leaning(generator, one, 0.3), np.array([0.75, 0.25])),
    }
    sizes = {"town": 40, "trade": 25, "street": 15, "party": 6, "sex": 2, "smoker": 2}
    return DependentTable(name="many values", columns=columns, sizes=sizes, main=("age", "mark"))


def chain(generator: np.random.Generator) -> DependentTable:
    """10,000 rows, 8 columns of numbers, each leaning on the one before it."""
    values = [generator.normal(size=10_000)]
    for step in range(7):
        pull = -0.48 if step == 0 else (0.6, -0.5, 0.4, 0.7, -0.3, 0.5)[step - 1]
        values.append(pull * values[-1] + np.sqrt(1 - pull**2) * generator.normal(size=10_000))
    columns = {f"measure{place}": whole(1100 * value, "measure") for place, value in enumerate(values)}
    return DependentTable(name="chain", columns=columns, sizes={}, main=("measure0", "measure1"))


def small(generator: np.random.Generator) -> DependentTable:
    """3,000 rows, 5 columns."""
    one, other = correlated(generator, 3000, MAIN)
    columns = {
        "age": whole(50 + 14 * one, "age"),
        "measure": whole(1200 * other, "measure"),
        "sex": by_rank(generator.normal(size=3000), np.array([0.5, 0.5])),
        "class": by_rank(leaning(generator, one, 0.5), np.array([0.4, 0.3, 0.2, 0.1])),
        "rate": whole(100 * generator.beta(2, 4, size=3000), "rate"),
    }
    return DependentTable(name="few rows", columns=columns, sizes={"sex": 2, "class": 4}, main=("age", "measure"))


def wide(generator: np.random.Generator) -> DependentTable:
    """12,000 rows, 20 columns: numbers and codes, some of which lean on the main pair."""
    one, other = correlated(generator, 12_000, MAIN)
    columns = {"age": whole(50 + 13 * one, "age"), "measure": whole(1200 * other, "measure")}
    sizes = {}
    for place in range(18):
        on = (one, other, generator.normal(size=12_000))[place % 3]
        value = leaning(generator, on, (0.5, 0.3, 0.0)[place % 3])
        if place % 2:
            columns[f"mark{place}"] = whole(500 + 130 * value, "mark")
        else:
            sizes[f"code{place}"] = 2 + place % 7
            columns[f"code{place}"] = by_rank(value, np.arange(1.0, 3.0 + place % 7))
    return DependentTable(name="20 columns", columns=columns, sizes=sizes, main=("age", "measure"))


TABLES: dict[str, Callable[[np.random.Generator], DependentTable]] = {
    "offenders": offenders,
    "one pair": alone,
    "long tails": skewed,
    "many values": categories,
    "chain": chain,
    "few rows": small,
    "20 columns": wide,
}


def table_of(name: str, seed: int) -> DependentTable:
    """A table of one shape."""
    return TABLES[name](np.random.default_rng([seed, len(name)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class DependenceErrors:
    """How far synthetic rows are from the real ones.

    `main`: synthetic less real correlation of the main pair. `correlations`, `information`: the mean error of the
    correlation over all pairs of numbers, and of the mutual information (in nats) over all pairs. `tv1`, `tv2`: mean
    total variation over all columns, and pairs.
    """

    main: float
    correlations: float
    information: float
    tv1: float
    tv2: float


def dependence_errors(table: DependentTable, rows: Columns) -> DependenceErrors:
    """What became of the table. Missing values of numbers, which no real row has, count as the mean."""
    numbers = [name for name in table.columns if name not in table.sizes]
    correlations = {
        pair: correlation_of(rows, *pair) - correlation_of(table.columns, *pair) for pair in combinations(numbers, 2)
    }
    real, made = _coded(table, table.columns), _coded(table, rows)
    pairs = [
        (_pair(real, *pair, sizes=table.sizes), _pair(made, *pair, sizes=table.sizes))
        for pair in combinations(table.columns, 2)
    ]
    singles = [
        np.abs(_single(real[name], table.sizes.get(name)) - _single(made[name], table.sizes.get(name))).sum() / 2
        for name in table.columns
    ]
    return DependenceErrors(
        main=correlations[table.main],
        correlations=float(np.mean(np.abs(list(correlations.values())))),
        information=float(np.mean([abs(_information(one) - _information(other)) for one, other in pairs])),
        tv1=float(np.mean(singles)),
        tv2=float(np.mean([np.abs(one - other).sum() / 2 for one, other in pairs])),
    )


def correlation_of(rows: Columns, one: str, other: str) -> float:
    """Of two columns of numbers; a missing number counts as the mean, and a column of one value depends on nothing."""
    values = [np.asarray(rows[name], dtype=np.float64) for name in (one, other)]
    values = [np.where(np.isnan(each), np.nanmean(each), each) for each in values]
    if min(each.std() for each in values) == 0:
        return 0.0
    return float(np.corrcoef(*values)[0, 1])


def _coded(table: DependentTable, rows: Columns) -> Columns:
    """Categories as they are; numbers by the quantiles of the real column; missing ones in a cell of their own."""
    coded = {}
    for name, values in rows.items():
        if name in table.sizes:
            coded[name] = values
            continue
        ends = np.unique(np.quantile(table.columns[name], np.arange(1, QUANTILES) / QUANTILES))
        cells = np.searchsorted(ends, values, side="right")
        coded[name] = np.where(np.isnan(np.asarray(values, dtype=np.float64)), QUANTILES, cells).astype(np.int64)
    return coded


def _single(codes: NDArray[np.int64], size: int | None) -> Numbers:
    return np.bincount(codes, minlength=size or QUANTILES + 1) / len(codes)


def _pair(coded: Columns, one: str, other: str, *, sizes: dict[str, int]) -> Numbers:
    rows, columns = sizes.get(one, QUANTILES + 1), sizes.get(other, QUANTILES + 1)
    counts = np.bincount(coded[one] * columns + coded[other], minlength=rows * columns)
    return counts.reshape(rows, columns) / len(coded[one])


def _information(shares: Numbers) -> float:
    product = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    there = shares > 0
    return float((shares[there] * np.log(shares[there] / product[there])).sum())
