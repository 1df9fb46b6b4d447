"""Tables whose columns have shapes of their own, for `./do bench shapes`, and how much of a shape synthetic rows keep.

Spikes at 0 and at the ends, round numbers, prices that end in .99, long tails, weekdays, month ends, hours, lengths of
stay. Each table has two forms, with other scales and shapes: constants were tuned on "tuned", "judged" is what counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS = 20_000
FORMS = ("tuned", "judged")

Values = NDArray[Any]
Rows = Mapping[str, Values]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeTable:
    """A generated table: how its columns are declared, its rows, what is known of it, and what is measured."""

    name: str
    columns: dict[str, str]
    rows: dict[str, Values]
    measures: dict[str, Callable[[Rows], Values | float]]
    constraints: dict[str, Any] = field(default_factory=dict)

    def errors(self, rows: Rows) -> dict[str, float]:
        """How far synthetic rows are from these: shares by total variation, other numbers in parts of the true one."""
        found = {}
        for name, measure in self.measures.items():
            real, made = np.asarray(measure(self.rows), dtype=float), np.asarray(measure(rows), dtype=float)
            found[name] = float(
                np.abs(real - made).sum() / 2 if real.ndim else abs(made - real) / max(abs(float(real)), 1e-9)
            )
        return found


def share_of(values: Values, size: int) -> Values:
    """How often each of the whole numbers from 0 occurs."""
    return np.bincount(values.astype(np.int64), minlength=size)[:size] / max(len(values), 1)


def _here(values: Values) -> Values:
    """Without NULL."""
    return values[~(np.isnat(values) if values.dtype.kind == "M" else np.isnan(values.astype(float)))]


def _sum(name: str) -> Callable[[Rows], float]:
    return lambda rows: float(_here(rows[name]).sum())


def _at(name: str, value: float) -> Callable[[Rows], Values]:
    """The share at one value, and the rest."""

    def measure(rows: Rows) -> Values:
        share = float(np.mean(np.abs(_here(rows[name]) - value) < 1e-6))
        return np.array([share, 1 - share])

    return measure


def _endings(name: str, step: float, size: int) -> Callable[[Rows], Values]:
    """What values end in, of those that are not 0."""

    def measure(rows: Rows) -> Values:
        codes = np.rint(_here(rows[name]) / step).astype(np.int64)
        return share_of(codes[codes != 0] % size, size)

    return measure


def _parts(name: str, ends: list[float]) -> Callable[[Rows], Values]:
    """The shares between ends."""
    return lambda rows: share_of(np.searchsorted(ends, _here(rows[name]), side="right"), len(ends) + 1)


def _days(values: Values) -> Values:
    return _here(values).astype("datetime64[D]")


def weekday(name: str) -> Callable[[Rows], Values]:
    """The shares of Monday to Sunday."""
    return lambda rows: share_of((_days(rows[name]).astype(np.int64) + 3) % 7, 7)


def month_end(name: str) -> Callable[[Rows], Values]:
    """The share of last days of a month, and the rest."""

    def measure(rows: Rows) -> Values:
        share = float(
            np.mean((_days(rows[name]) + 1).astype("datetime64[M]") != _days(rows[name]).astype("datetime64[M]"))
        )
        return np.array([share, 1 - share])

    return measure


def _hour(name: str) -> Callable[[Rows], Values]:
    return lambda rows: share_of(_here(rows[name]).astype("datetime64[h]").astype(np.int64) % 24, 24)


def _minute(name: str) -> Callable[[Rows], Values]:
    return lambda rows: share_of(_here(rows[name]).astype("datetime64[m]").astype(np.int64) % 60, 60)


def _stay(low: str, high: str) -> Callable[[Rows], Values]:
    """The days between two dates."""

    def measure(rows: Rows) -> Values:
        return np.maximum((rows[high] - rows[low]).astype("timedelta64[D]").astype(float), 0)

    return measure


def _stay_mean(low: str, high: str) -> Callable[[Rows], float]:
    days = _stay(low, high)
    return lambda rows: float(np.nanmean(days(rows)))


def _stay_shares(low: str, high: str) -> Callable[[Rows], Values]:
    days = _stay(low, high)
    return lambda rows: share_of(np.minimum(_here(days(rows)), 60), 61)


def _stay_by(low: str, high: str, by: str, value: int) -> Callable[[Rows], float]:
    """The mean stay of one group."""
    days = _stay(low, high)
    return lambda rows: float(np.nanmean(days(rows)[rows[by] == value]))


def _missing(low: str, high: str) -> Callable[[Rows], Values]:
    """The shares of neither, one, the other and both being NULL."""
    return lambda rows: share_of(np.isnat(rows[low]) * 2 + np.isnat(rows[high]), 4)


def _numbers(low: float, high: float, step: float = 1) -> str:
    kind = "integer" if step == 1 else f'decimal"\nstep = "{step}'
    return f'type = "{kind}"\nlow = {low}\nhigh = {high}'


def _values(count: int) -> str:
    return f'type = "category"\nvalues = {[str(value) for value in range(count)]}\nclosed = true'


def _group(generator: np.random.Generator, chances: list[float]) -> Values:
    return generator.choice(len(chances), size=ROWS, p=np.array(chances) / sum(chances))


def pay(form: str, generator: np.random.Generator) -> ShapeTable:
    """Incomes: many at 0, most round, a long tail; hours, age, schooling."""
    tuned = form == "tuned"
    school = _group(generator, [3, 5, 4, 2])
    age = np.clip(generator.normal(44, 15, ROWS), 16, 95).astype(int)
    middle, spread, high = (24_000, 0.75, 500_000) if tuned else (41_000, 0.6, 1_000_000)
    income = middle * np.exp(spread * generator.normal(size=ROWS) + 0.2 * school)
    grain = generator.choice(
        [1, 100, 500, 1000, 5000], size=ROWS, p=[0.2, 0.2, 0.1, 0.35, 0.15] if tuned else [0.45, 0.15, 0.05, 0.3, 0.05]
    )
    income = np.clip(np.rint(income / grain) * grain, 0, high)
    income[generator.random(ROWS) < (0.12 if tuned else 0.25)] = 0
    return ShapeTable(
        name="pay",
        columns={
            "income": _numbers(0, high),
            "hours": _numbers(0, 100),
            "age": _numbers(16, 95),
            "school": _values(4),
            "sex": _values(2),
        },
        rows={
            "income": income,
            "hours": np.clip(np.where(generator.random(ROWS) < 0.5, 40, generator.normal(34, 12, ROWS)), 0, 100).astype(int),
            "age": age,
            "school": school,
            "sex": _group(generator, [1, 1]),
        },
        measures={
            "sum of income": _sum("income"),
            "income at 0": _at("income", 0),
            "endings of income (1,000)": _endings("income", 1, 1000),
            "shape of income": _parts("income", [float(np.exp(x)) for x in np.arange(8, 13.6, 0.2)]),
            "sum of hours": _sum("hours"),
        },
    )  # fmt: skip


def bills(form: str, generator: np.random.Generator) -> ShapeTable:
    """Charges in cents: half of them 0, a long tail; prices that end in .99; amounts that are capped."""
    tuned = form == "tuned"
    insurer = _group(generator, [6, 3, 2, 1])
    middle, spread, high = (420.0, 1.1, 50_000) if tuned else (900.0, 1.3, 100_000)
    charge = np.clip(
        np.rint(100 * middle * np.exp(spread * generator.normal(size=ROWS)) * (1 + 0.4 * insurer)) / 100, 0, high
    )
    charge[generator.random(ROWS) < (0.45 if tuned else 0.3)] = 0
    price = np.floor(generator.gamma(2.0, 14 if tuned else 30, ROWS)) + generator.choice(
        [0.99, 0.95, 0.5, 0.0], size=ROWS, p=[0.6, 0.1, 0.1, 0.2] if tuned else [0.4, 0.05, 0.25, 0.3]
    )
    most = 200 if tuned else 400
    deductible = np.clip(np.rint(generator.gamma(1.5, 400, ROWS) / 50) * 50, 0, 1500 if tuned else 2500)
    return ShapeTable(
        name="bills",
        columns={
            "charge": _numbers(0, high, 0.01),
            "price": _numbers(0, most, 0.01),
            "deductible": _numbers(0, 1500 if tuned else 2500),
            "insurer": _values(4),
            "urgent": _values(2),
        },
        rows={
            "charge": charge,
            "price": np.clip(price, 0, most),
            "deductible": deductible,
            "insurer": insurer,
            "urgent": _group(generator, [5, 1]),
        },
        measures={
            "sum of charges": _sum("charge"),
            "charges at 0": _at("charge", 0),
            "shape of charges": _parts("charge", [float(np.exp(x)) for x in np.arange(3, 11.5, 0.3)]),
            "sum of prices": _sum("price"),
            "endings of prices (1.00)": _endings("price", 0.01, 100),
            "sum of deductibles": _sum("deductible"),
            "deductibles at their limit": _at("deductible", 1500 if tuned else 2500),
            "endings of deductibles (100)": _endings("deductible", 1, 100),
        },
    )  # fmt: skip


def stays(form: str, generator: np.random.Generator) -> ShapeTable:
    """Stays in a hospital: admitted on weekdays, discharged some days later, billed at the end of a month."""
    tuned = form == "tuned"
    first, count = np.datetime64("2021-01-01"), 1096 if tuned else 1826
    days = first + np.arange(count)
    chances = np.where((days.astype(np.int64) + 3) % 7 < 5, 1.0, 0.35 if tuned else 0.6)
    ward = _group(generator, [4, 3, 2, 1])
    admission = generator.choice(days[: count - 90], size=ROWS, p=chances[: count - 90] / chances[: count - 90].sum())
    means = np.array([1.2, 3.5, 7.0, 14.0] if tuned else [0.6, 5.0, 9.0, 20.0])[ward]
    stay = np.minimum(generator.geometric(1 / (1 + means)) - 1, 85)
    discharge = admission + stay
    ends = discharge.astype("datetime64[M]") + 1
    billed = np.where(generator.random(ROWS) < (0.7 if tuned else 0.4), ends.astype("datetime64[D]") - 1, discharge)
    still, none = generator.random(ROWS) < 0.06, generator.random(ROWS) < (0.04 if tuned else 0.1)
    nothing = np.datetime64("NaT")
    date = f'type = "date"\nlow = {days[0]}\nhigh = {days[-1]}'
    return ShapeTable(
        name="stays",
        columns={
            "admission": date,
            "discharge": date,
            "billed": date,
            "ward": _values(4),
            "age": _numbers(0, 99),
        },
        rows={
            "admission": np.where(none, nothing, admission),
            "discharge": np.where(none | still, nothing, discharge),
            "billed": billed,
            "ward": ward,
            "age": np.clip(generator.normal(58, 20, ROWS), 0, 99).astype(int),
        },
        measures={
            "mean stay": _stay_mean("admission", "discharge"),
            "shape of stays": _stay_shares("admission", "discharge"),
            "mean stay of ward 0": _stay_by("admission", "discharge", "ward", 0),
            "mean stay of ward 3": _stay_by("admission", "discharge", "ward", 3),
            "weekdays of admission": weekday("admission"),
            "month ends of billed": month_end("billed"),
            "months of admission": lambda rows: share_of(
                _days(rows["admission"]).astype("datetime64[M]").astype(np.int64) - 51 * 12, 60
            ),
            "NULL together": _missing("admission", "discharge"),
        },
        constraints={"orders": [["admission", "discharge"]]},
    )


def events(form: str, generator: np.random.Generator) -> ShapeTable:
    """Timestamps by hour, weekday and round minutes; amounts in steps of 5 with a spike at 0; a count with a tail."""
    tuned = form == "tuned"
    hours = np.exp(-(((np.arange(24) - (13 if tuned else 19)) / 4.0) ** 2)) + 0.05
    day = generator.choice(365, size=ROWS, p=_weekly(365, 0.5 if tuned else 1.8))
    minute = generator.integers(0, 60, ROWS)
    grain = generator.choice([1, 5, 15], size=ROWS, p=[0.3, 0.4, 0.3] if tuned else [0.5, 0.2, 0.3])
    moment = (
        np.datetime64("2024-01-01", "s")
        + day.astype("timedelta64[D]")
        + generator.choice(24, size=ROWS, p=hours / hours.sum()).astype("timedelta64[h]")
        + (minute // grain * grain).astype("timedelta64[m]")
    )
    amount = np.rint(generator.gamma(0.8, 260, ROWS) / 5) * 5
    amount[generator.random(ROWS) < 0.2] = 0
    clicks = np.minimum(generator.geometric(0.02 if tuned else 0.008, ROWS), 5000)
    return ShapeTable(
        name="events",
        columns={
            "moment": 'type = "timestamp"\nlow = 2024-01-01T00:00:00\nhigh = 2024-12-31T23:59:59',
            "amount": _numbers(0, 10_000),
            "clicks": _numbers(0, 5000),
            "place": _values(5),
        },
        rows={"moment": moment, "amount": np.clip(amount, 0, 10_000), "clicks": clicks, "place": _group(generator, [5, 4, 3, 2, 1])},
        measures={
            "hours": _hour("moment"),
            "minutes": _minute("moment"),
            "weekdays": weekday("moment"),
            "sum of amounts": _sum("amount"),
            "amounts at 0": _at("amount", 0),
            "endings of amounts (10)": _endings("amount", 1, 10),
            "sum of clicks": _sum("clicks"),
        },
    )  # fmt: skip


def _weekly(count: int, weekend: float) -> Values:
    chances = np.where((np.arange(count) % 7) < 5, 1.0, weekend)
    return chances / chances.sum()


TABLES = {"pay": pay, "bills": bills, "stays": stays, "events": events}


def made(name: str, form: str, seed: int) -> ShapeTable:
    """One of the tables."""
    return TABLES[name](form, np.random.default_rng([seed, FORMS.index(form)]))
