"""Tables as people have them, of which nothing is declared: names, codes, dates, skewed numbers, gaps, free text.

`TUNED` are those that the shares and limits of a description were chosen on; `JUDGED` were made before that, and looked
at only afterwards, but for `stops`: its column `fine` (and `ward`, of a tuned table) led to a cell for each whole number.
So did `months` of `loans`, later, to such cells a little beyond the bounds.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = list[Any]
Columns = dict[str, Values]

_FIRST = ("James", "Mary", "John", "Linda", "Robert", "Ann", "Luis", "Keisha", "Tyrone", "Maria", "Wei", "Olga")
_SYLLABLES = ("ba", "do", "ke", "li", "mar", "no", "pe", "ra", "so", "tu", "van", "wil")


def _names(random: np.random.Generator, rows: int) -> Values:
    parts = random.integers(len(_SYLLABLES), size=(rows, 3))
    first = random.integers(len(_FIRST), size=rows)
    return [f"{_FIRST[first[row]]} {''.join(_SYLLABLES[part] for part in parts[row]).title()}" for row in range(rows)]


def _pick(random: np.random.Generator, rows: int, shares: dict[Any, float]) -> Values:
    values, chances = list(shares), np.array(list(shares.values()))
    return [values[place] for place in random.choice(len(values), size=rows, p=chances / chances.sum())]


def _with_gaps(random: np.random.Generator, values: Values, share: float) -> Values:
    gaps = random.random(len(values)) < share
    return ["" if gap else value for gap, value in zip(gaps.tolist(), values, strict=True)]


def _days(start: date, offsets: NDArray[np.int64]) -> list[date]:
    return [start + timedelta(days=int(offset)) for offset in offsets]


def _free_text(random: np.random.Generator, rows: int) -> Values:
    return [f"note {number} on {_SYLLABLES[number % 12]}" for number in random.integers(10**6, size=rows).tolist()]


def offenders(random: np.random.Generator, rows: int = 7000) -> Columns:
    """As in a course's notes: small codes, flags that few have, dates of birth such as 4/18/47."""
    age = np.minimum(96, 18 + random.gamma(1.7, 9, rows)).astype(int)
    born = _days(date(2016, 4, 1), -(age * 365.25 + random.integers(365, size=rows)).astype(int))
    decile = np.clip(np.rint(5 - 0.09 * (age - 33) + random.normal(0, 2.6, rows)), 1, 10).astype(int)
    charges = {"Battery": 16.0, "Arrest without charge": 15.0, "Possession": 7.0, "Theft": 6.0, "Driving": 3.0}
    return {
        "name": _names(random, rows),
        "sex": _pick(random, rows, {"Male": 81, "Female": 19}),
        "age": age.tolist(),
        "race": _pick(random, rows, {1: 51, 2: 34, 3: 10, 4: 5}),
        "date_of_birth": [f"{day.month}/{day.day}/{day.year % 100:02}" for day in born],
        "marital_status": _pick(
            random,
            rows,
            {"Single": 73, "Married": 13, "Divorced": 6, "Partner": 5, "Separated": 1.5, "Widowed": 1, "Unknown": 0.5},
        ),
        "decile_score": decile.tolist(),
        "score_text": ["Low" if one < 5 else "Medium" if one < 8 else "High" for one in decile.tolist()],
        "priors": np.minimum(38, random.exponential(3.4, rows)).astype(int).tolist(),
        "is_recid": (random.random(rows) < 0.13).astype(int).tolist(),
        "is_violent": (random.random(rows) < 0.08).astype(int).tolist(),
        "charge": _pick(random, rows, charges | {f"charge {number}": 0.25 for number in range(200)}),
    }


def stays(random: np.random.Generator, rows: int = 5000) -> Columns:
    """A hospital's stays: dates, codes far from 0, costs with cents, gaps."""
    start = random.integers(0, 1460, rows)
    length = random.geometric(0.22, rows) - 1
    cost = np.round(np.exp(random.normal(7.2, 1.1, rows)), 2)
    return {
        "ward": _pick(random, rows, {101: 30, 102: 25, 205: 20, 207: 15, 310: 8, 999: 2}),
        "admission": [day.isoformat() for day in _days(date(2019, 1, 1), start)],
        "discharge": _with_gaps(random, [day.isoformat() for day in _days(date(2019, 1, 1), start + length)], 0.04),
        "age": np.clip(random.normal(58, 22, rows), 0, 103).astype(int).tolist(),
        "diagnosis": _pick(random, rows, {f"{chr(65 + n)}{n:02}": 1 / (n + 1.5) for n in range(26)}),
        "emergency": _pick(random, rows, {"yes": 38, "no": 62}),
        "cost": [f"{one:.2f}" for one in cost],
        "weight": _with_gaps(random, [f"{one:.1f}" for one in np.clip(random.normal(76, 17, rows), 2, 220)], 0.2),
        "falls": _pick(random, rows, {0: 93, 1: 5, 2: 1.5, 3: 0.5}),
        "remark": _with_gaps(random, _free_text(random, rows), 0.7),
    }


def orders(random: np.random.Generator, rows: int = 12000) -> Columns:
    """A shop's orders: amounts with a long tail, balances below 0, years, a flag that 5% have."""
    quantity = np.minimum(60, random.geometric(0.5, rows))
    balance = np.rint(random.normal(120, 400, rows)).astype(int)
    return {
        "customer": _names(random, rows),
        "year": _pick(random, rows, {2021: 20, 2022: 25, 2023: 30, 2024: 25}),
        "country": _pick(random, rows, {"DE": 55, "FR": 20, "AT": 10, "CH": 8, "IT": 5, "PL": 1.5, "DK": 0.5}),
        "quantity": quantity.tolist(),
        "price": _pick(random, rows, {"4.99": 20, "9.99": 35, "19.99": 25, "49.00": 12, "199.00": 6, "999.00": 2}),
        "discount": _pick(random, rows, {0: 80, 5: 8, 10: 7, 50: 5}),
        "balance": balance.tolist(),
        "returned": _pick(random, rows, {0: 95, 1: 5}),
        "paid_at": [day.isoformat() for day in _days(date(2021, 1, 1), random.integers(0, 1461, rows))],
        "channel": _with_gaps(random, _pick(random, rows, {"web": 60, "app": 35, "phone": 5}), 0.1),
    }


def pupils(random: np.random.Generator, rows: int = 4000) -> Columns:
    """A school survey: many small codes, missing answers coded 99, points to 500."""
    points = np.clip(random.normal(310, 75, rows), 0, 500)
    answers = {f"q{number}": _pick(random, rows, {1: 30, 2: 30, 3: 20, 4: 12, 5: 6, 99: 2}) for number in range(1, 6)}
    return {
        "school": _pick(random, rows, {f"school {number}": 1 / (number + 2) for number in range(30)}),
        "grade": _pick(random, rows, {5: 18, 6: 17, 7: 17, 8: 17, 9: 16, 10: 15}),
        "girl": _pick(random, rows, {0: 51, 1: 49}),
        "support": _pick(random, rows, {0: 90, 1: 10}),
        "points": points.astype(int).tolist(),
        "birthday": [day.isoformat() for day in _days(date(2008, 1, 1), random.integers(0, 2200, rows))],
        "language": _pick(random, rows, {"German": 78, "Turkish": 9, "Arabic": 6, "Russian": 4, "Polish": 3}),
        **answers,
    }


def loans(random: np.random.Generator, rows: int = 8000) -> Columns:
    """A bank's loans: round amounts, rates, negative changes, a rare default."""
    amount = np.rint(np.exp(random.normal(9.2, 0.8, rows)) / 500) * 500
    return {
        "client": _names(random, rows),
        "amount": amount.astype(int).tolist(),
        "months": _pick(random, rows, {12: 15, 24: 20, 36: 30, 48: 15, 60: 15, 84: 5}),
        "rate": [f"{one:.2f}" for one in np.clip(random.gamma(6, 0.9, rows), 0.5, 19.9)],
        "income": np.rint(np.exp(random.normal(10.5, 0.6, rows))).astype(int).tolist(),
        "children": _pick(random, rows, {0: 55, 1: 20, 2: 17, 3: 6, 4: 2}),
        "defaulted": _pick(random, rows, {0: 93, 1: 7}),
        "purpose": _pick(random, rows, {"car": 40, "home": 30, "debt": 15, "study": 8, "travel": 5, "other": 2}),
        "score_change": np.rint(random.normal(-5, 30, rows)).astype(int).tolist(),
        "opened": [f"{day:%d.%m.%Y}" for day in _days(date(2015, 3, 1), random.integers(0, 3300, rows))],
    }


def stops(random: np.random.Generator, rows: int = 20000) -> Columns:
    """Traffic stops: hours, speeds, small categories, a column that is empty but for 3%."""
    speed = np.clip(random.normal(18, 9, rows), 1, 90).astype(int)
    return {
        "officer": random.integers(1000, 1400, rows).tolist(),
        "hour": np.clip(random.normal(15, 5, rows), 0, 23).astype(int).tolist(),
        "over_limit": speed.tolist(),
        "gender": _pick(random, rows, {"M": 66, "F": 33, "X": 1}),
        "driver_age": np.clip(random.gamma(5, 7.4, rows) + 2, 16, 95).astype(int).tolist(),
        "searched": _pick(random, rows, {0: 94, 1: 6}),
        "outcome": _pick(random, rows, {"warning": 55, "ticket": 38, "arrest": 5, "nothing": 2}),
        "fine": _pick(random, rows, {0: 57, 80: 20, 120: 15, 250: 6, 1000: 2}),
        "contraband": _with_gaps(random, _pick(random, rows, {"drugs": 70, "weapon": 30}), 0.97),
        "district": _pick(random, rows, {1: 30, 2: 25, 3: 20, 4: 15, 5: 10}),
    }


Maker = Callable[[np.random.Generator], Columns]
TUNED: dict[str, Maker] = {"offenders": offenders, "stays": stays, "orders": orders}
JUDGED: dict[str, Maker] = {"pupils": pupils, "loans": loans, "stops": stops}


def write_csv(path: Path, columns: Columns) -> None:
    """The table as a file."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def is_gap(value: Any) -> bool:
    """Whether a value is missing: NULL of a sample, nothing of a file."""
    return value is None or value == ""


def shares_of(values: Sequence[Any]) -> dict[Any, float]:
    """The share of each value."""
    distinct, counts = np.unique(np.array([str(value) for value in values]), return_counts=True)
    return dict(zip(distinct.tolist(), (counts / len(values)).tolist(), strict=True))
