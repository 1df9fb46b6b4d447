"""Persons for `./do bench persons`: generated patients, visits and prescriptions, and how far synthetic ones are from them.

Nothing here is real. How many visits a patient has hangs on their traits; the diagnosis of a visit on the one before,
the time between two visits on the diagnosis; prescriptions belong to a visit and hang on its diagnosis. Other seeds give
other chances as well as other draws, so that what is tuned on one world is judged on others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PERSONS = 20_000
MOST_VISITS = 12
MOST_PRESCRIPTIONS = 30

SEXES = ("F", "M")
REGIONS = ("north", "south", "east", "west", "city")
WARDS = ("medicine", "surgery", "heart", "children", "emergency")
DIAGNOSES = ("asthma", "cancer", "copd", "diabetes", "fracture", "heart failure", "infection", "other")
DRUGS = ("analgesic", "antibiotic", "diuretic", "inhaler", "insulin", "opioid", "statin", "steroid", "other", "none")

#: The first and the last day of a first visit, as days since 1970; no visit is later than the end.
START, LAST_START, END = (
    (day - date(1970, 1, 1)).days for day in (date(2021, 1, 1), date(2023, 6, 30), date(2025, 12, 31))
)

#: Ends of the bins in which days between visits, years of birth and costs are compared.
GAPS = (0, 8, 31, 91, 181, 366, 10**6)
BIRTHS = (0, 1940, 1955, 1970, 1985, 2000, 3000)
COSTS = (0, 500, 1000, 2000, 4000, 8000, 10**9)

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Generated tables: columns of each, all in the order of persons and dates. `person` is a number in each of them.

    `visits` has the traits of its patient beside its own columns, as one table alone would have them.
    """

    patients: Columns
    visits: Columns
    prescriptions: Columns


def generate(seed: int, *, persons: int = PERSONS) -> World:
    """Patients with their visits and prescriptions."""
    draw = np.random.default_rng(seed)
    traits = _traits(draw, persons)
    numbers = _visit_numbers(draw, traits)
    visits = _visits(draw, traits, numbers)
    return World(patients=traits, visits=visits, prescriptions=_prescriptions(draw, visits))


def _traits(draw: np.random.Generator, persons: int) -> dict[str, NDArray[Any]]:
    region = draw.choice(len(REGIONS), size=persons, p=draw.dirichlet(np.full(len(REGIONS), 8.0)))
    sex = (draw.random(persons) < 0.47 + 0.02 * region).astype(np.int64)
    born = np.clip(np.round(1958 + 22 * draw.standard_normal(persons) + 3 * (region == 4)), 1925, 2020).astype(np.int64)
    smoker = (draw.random(persons) < np.where(born < 1965, 0.35, 0.15) + 0.1 * sex).astype(np.int64)
    return {"person": np.arange(persons), "sex": sex, "born": born, "region": region, "smoker": smoker}


def _visit_numbers(draw: np.random.Generator, traits: Columns) -> NDArray[np.int64]:
    """Old people and smokers come more often; a tenth of the patients never came."""
    rate = 0.6 + 1.5 * draw.random() + 2.2 * (traits["born"] < 1955) + 1.2 * traits["smoker"] + 0.5 * traits["sex"]
    often = draw.gamma(1.6, rate / 1.6)
    numbers: NDArray[np.int64] = np.clip(1 + draw.poisson(often), 1, MOST_VISITS)
    return np.where(draw.random(len(rate)) < 0.1, 0, numbers)


def _visits(draw: np.random.Generator, traits: Columns, numbers: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Visit by visit, for everybody at once."""
    kinds = len(DIAGNOSES)
    chain = 0.62 * np.eye(kinds) + 0.38 * np.array([draw.dirichlet(np.full(kinds, 0.5)) for _ in range(kinds)])
    first = np.array([draw.dirichlet(np.full(kinds, 0.8)) for _ in range(8)])
    group = 4 * traits["smoker"] + np.searchsorted([1955, 1975, 1995], traits["born"], side="right")
    wards = np.array([draw.dirichlet(np.full(len(WARDS), 0.4)) for _ in range(kinds)])
    soon = draw.permutation(np.array([0.55, 0.45, 0.35, 0.28, 0.2, 0.15, 0.1, 0.05]))
    dear = draw.permutation(np.linspace(6.2, 8.6, kinds))
    persons = len(numbers)
    diagnosis = _pick(draw, first[group])
    day = START + (draw.beta(1.1, 1.3, persons) * (LAST_START - START)).astype(np.int64)
    rows: list[dict[str, NDArray[Any]]] = []
    for step in range(MOST_VISITS):
        here = np.flatnonzero(numbers > step)
        ward = _pick(draw, wards[diagnosis[here]])
        urgent = (ward == 4) | (draw.random(len(here)) < 0.2)
        cost = np.exp(dear[diagnosis[here]] + 0.5 * draw.standard_normal(len(here)) + 0.4 * urgent)
        rows.append(
            {
                "person": here,
                "step": np.full(len(here), step),
                "day": day[here],
                "diagnosis": diagnosis[here],
                "ward": ward,
                "urgent": urgent.astype(np.int64),
                "cost": np.clip(np.round(cost, -1), 0, 20_000).astype(np.int64),
            }
        )
        quick = draw.random(persons) < soon[diagnosis]
        gap = np.where(quick, 1 + draw.integers(0, 30, persons), 31 + draw.gamma(1.5, 70, persons)).astype(np.int64)
        day = np.minimum(day + gap, END)
        diagnosis = _pick(draw, chain[diagnosis])
    whole = {name: np.concatenate([part[name] for part in rows]) for name in rows[0]}
    order = np.lexsort((whole["step"], whole["person"]))
    visits = {name: values[order] for name, values in whole.items() if name != "step"}
    own = {name: values[visits["person"]] for name, values in traits.items() if name != "person"}
    return {**visits, **own, "visit": np.arange(len(order))}


def _prescriptions(draw: np.random.Generator, visits: Columns) -> dict[str, NDArray[Any]]:
    """None to four for each visit."""
    kinds = len(DIAGNOSES)
    mean = draw.permutation(np.array([0.2, 0.5, 0.8, 1.1, 1.4, 1.7, 2.0, 2.4]))
    drugs = np.array([draw.dirichlet(np.full(len(DRUGS), 0.3)) for _ in range(kinds)])
    numbers = np.minimum(draw.poisson(mean[visits["diagnosis"]]), 4)
    visit = np.repeat(np.arange(len(numbers)), numbers)
    drug = _pick(draw, drugs[visits["diagnosis"][visit]])
    days = np.clip(draw.poisson(6 + 3 * (drug % 4)), 1, 60)
    kept = _rank(visits["person"][visit]) < MOST_PRESCRIPTIONS
    return {
        "person": visits["person"][visit][kept],
        "visit": visit[kept],
        "drug": drug[kept],
        "days": days[kept],
    }


def _pick(draw: np.random.Generator, chances: NDArray[np.float64]) -> NDArray[np.int64]:
    """One place for each row of chances."""
    levels = np.cumsum(chances, axis=1)
    return (draw.random(len(chances))[:, None] * levels[:, -1:] >= levels).sum(axis=1)


def _rank(person: NDArray[Any]) -> NDArray[np.int64]:
    """For each row, how many rows of the same person stand before it; persons stand together."""
    starts = np.flatnonzero(np.append(True, person[1:] != person[:-1])) if len(person) else np.zeros(0, np.int64)
    return np.arange(len(person)) - np.repeat(starts, np.diff(np.append(starts, len(person))))


# What is compared.


def person_histograms(visits: Columns) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """What persons are like, by their visits: shares of persons, of pairs of visits. `visits` has traits beside rows.

    Persons need not stand together, nor their visits be in order.
    """
    order = np.lexsort((visits["day"], visits["person"]))
    rows = {name: np.asarray(visits[name])[order] for name in visits}
    starts = np.flatnonzero(np.append(True, rows["person"][1:] != rows["person"][:-1]))
    ends = np.append(starts[1:], len(order)) - 1
    numbers = ends - starts + 1
    owner = np.repeat(np.arange(len(starts)), numbers)
    few = np.minimum(numbers, 6) - 1
    born = np.digitize(rows["born"], BIRTHS[1:-1])
    traits = {"sex": (rows["sex"], 2), "born": (born, 6), "region": (rows["region"], 5), "smoker": (rows["smoker"], 2)}
    own = {
        "diagnosis": (rows["diagnosis"], len(DIAGNOSES)),
        "ward": (rows["ward"], len(WARDS)),
        "urgent": (rows["urgent"], 2),
        "cost": (np.digitize(rows["cost"], COSTS[1:-1]), 6),
    }
    yield "visits of a person", _shares(numbers - 1, size=MOST_VISITS)
    yield "at least three visits", _shares((numbers >= 3).astype(int), size=2)
    for name, (values, size) in traits.items():
        yield f"{name} of persons", _shares(values[starts], size=size)
        yield f"{name} x visits", _shares(values[starts] * 6 + few, size=size * 6)
        yield f"{name} x first diagnosis", _shares(values[starts] * 8 + own["diagnosis"][0][starts], size=size * 8)
    for name, (values, size) in own.items():
        yield f"first {name}", _shares(values[starts], size=size)
        yield f"last {name}", _shares(values[ends], size=size)
        yield f"last {name} x visits", _shares(values[ends] * 6 + few, size=size * 6)
        for value in range(size):
            times = np.bincount(owner[values == value], minlength=len(starts))
            yield f"visits with {name} {value}", _shares(np.minimum(times, 3), size=4)
    later = np.flatnonzero(owner[1:] == owner[:-1])
    gaps = np.digitize(rows["day"][later + 1] - rows["day"][later], GAPS[1:-1])
    yield "time between visits", _shares(gaps, size=6)
    for name, (values, size) in own.items():
        yield f"{name} to {name}", _shares(values[later] * size + values[later + 1], size=size * size)
        yield f"{name} x time", _shares(values[later] * 6 + gaps, size=size * 6)
    yield "first to last visit", _shares(np.digitize(rows["day"][ends] - rows["day"][starts], GAPS[1:-1]), size=6)


def row_histograms(visits: Columns) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Pairs of columns in rows, as a model of rows would be judged."""
    columns = {
        "sex": (visits["sex"], 2),
        "born": (np.digitize(visits["born"], BIRTHS[1:-1]), 6),
        "diagnosis": (visits["diagnosis"], len(DIAGNOSES)),
        "ward": (visits["ward"], len(WARDS)),
        "urgent": (visits["urgent"], 2),
        "cost": (np.digitize(visits["cost"], COSTS[1:-1]), 6),
    }
    names = list(columns)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            (left, _), (right, size) = columns[one], columns[other]
            yield f"{one} x {other}", _shares(left * size + right, size=columns[one][1] * size)


def prescription_histograms(visits: Columns, prescriptions: Columns) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """What visits are like by their prescriptions, and persons. `visit` is a number that both tables have."""
    names, place = np.unique(visits["visit"], return_inverse=True)
    row_of = np.zeros(len(names), dtype=np.int64)
    row_of[place] = np.arange(len(place))
    refers = row_of[np.searchsorted(names, prescriptions["visit"])]
    times = np.bincount(refers, minlength=len(place))
    diagnosis = visits["diagnosis"]
    yield "prescriptions of a visit", _shares(np.minimum(times, 4), size=5)
    yield "diagnosis x prescriptions", _shares(diagnosis * 5 + np.minimum(times, 4), size=40)
    drugs = len(DRUGS)
    yield "drug", _shares(prescriptions["drug"], size=drugs)
    yield "diagnosis x drug", _shares(diagnosis[refers] * drugs + prescriptions["drug"], size=8 * drugs)
    yield "sex x drug", _shares(visits["sex"][refers] * drugs + prescriptions["drug"], size=2 * drugs)
    yield "drug x days", _shares(prescriptions["drug"] * 6 + np.minimum(prescriptions["days"] // 5, 5), size=6 * drugs)
    of_person = np.bincount(visits["person"][refers], minlength=int(visits["person"].max()) + 1)
    has_visit = np.bincount(visits["person"], minlength=len(of_person)) > 0
    yield "prescriptions of a person", _shares(np.minimum(of_person[has_visit], 15), size=16)


def readmission(visits: Columns, *, within: int = 30) -> float:
    """The share of visits that are followed by another of the same person within so many days."""
    order = np.lexsort((visits["day"], visits["person"]))
    person, day = visits["person"][order], visits["day"][order]
    soon = (person[1:] == person[:-1]) & (day[1:] - day[:-1] <= within)
    return float(soon.sum() / len(order))


def changing(visits: Columns) -> float:
    """The share of persons in whose visits a trait changes: none, in truth."""
    order = np.argsort(visits["person"], kind="stable")
    same = visits["person"][order][1:] == visits["person"][order][:-1]
    names = ("sex", "born", "region", "smoker")
    moved = np.any([visits[name][order][1:] != visits[name][order][:-1] for name in names], axis=0)
    return len(np.unique(visits["person"][order][1:][same & moved])) / len(np.unique(visits["person"]))


def distances(
    exact: Iterator[tuple[str, NDArray[np.float64]]], synthetic: Iterator[tuple[str, NDArray[np.float64]]]
) -> dict[str, float]:
    """The total variation of each histogram."""
    return {
        name: float(np.abs(one - other).sum() / 2) for (name, one), (_, other) in zip(exact, synthetic, strict=True)
    }


def _shares(cells: NDArray[Any], *, size: int) -> NDArray[np.float64]:
    counts = np.bincount(np.asarray(cells, dtype=np.int64), minlength=size).astype(np.float64)
    return counts / max(1.0, counts.sum())


def assigned_at_random(rows: Columns, numbers: NDArray[np.int64], seed: int) -> dict[str, NDArray[Any]]:
    """Rows of a model of rows, given to persons of exactly the right numbers of visits: the kindest reading of them."""
    draw = np.random.default_rng(seed)
    person = np.repeat(np.arange(len(numbers)), numbers)
    taken = draw.permutation(len(rows["day"]))[: len(person)]
    return {**{name: np.asarray(values)[taken] for name, values in rows.items()}, "person": person[: len(taken)]}


# Files and projects.


def write_project(world: World, folder: Path) -> None:
    """Three files, and a project of three tables and of the visits alone with traits beside them."""
    folder.mkdir(parents=True)
    for name, columns, names in (
        ("patients", world.patients, ("person", "sex", "born", "region", "smoker")),
        ("visits", world.visits, ("person", "visit", "day", "diagnosis", "ward", "urgent", "cost")),
        ("prescriptions", world.prescriptions, ("person", "visit", "drug", "days")),
        ("histories", world.visits, ("person", "day", "sex", "born", "region", "smoker", "diagnosis", "ward", "urgent", "cost")),
    ):  # fmt: skip
        _write_csv(folder / f"{name}.csv", {each: columns[each] for each in names})
    (folder / "discreet.toml").write_text(_declaration(len(world.visits["day"])))


WORDS = {
    "sex": SEXES,
    "region": REGIONS,
    "diagnosis": DIAGNOSES,
    "ward": WARDS,
    "drug": DRUGS,
    "smoker": ("no", "yes"),
    "urgent": ("no", "yes"),
}


def _write_csv(path: Path, columns: Columns) -> None:
    texts = {
        name: [(date(1970, 1, 1) + timedelta(days=int(code))).isoformat() for code in codes]
        if name == "day"
        else [WORDS[name][code] for code in codes]
        if name in WORDS
        else [str(code) for code in codes]
        for name, codes in columns.items()
    }
    lines = [",".join(texts), *(",".join(row) for row in zip(*texts.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")


def _declaration(visits: int) -> str:
    head = 'population = "people"\n'
    one = f'{head}person = "person"\n'
    traits = {name: _column(name, visits) for name in ("sex", "born", "region", "smoker")}
    constant = {name: f"{text}\nconstant = true" for name, text in traits.items()}
    rows = {name: _column(name, visits) for name in ("day", "diagnosis", "ward", "urgent", "cost")}
    tables = {
        "patients": (f"{one}rows_per_person = 1\n", traits),
        "visits": (f"{one}rows_per_person = {MOST_VISITS}\n", {"visit": _column("visit", visits), **rows}),
        "prescriptions": (
            f'{head}person = {{ through = "visits", on = "visit" }}\nrows_per_person = {MOST_PRESCRIPTIONS}\n',
            {name: _column(name, visits) for name in ("visit", "drug", "days")},
        ),
        "histories": (f"{one}rows_per_person = {MOST_VISITS}\n", {**constant, **rows}),
    }
    texts = ["[populations.people]\nbudget = { epsilon = 10000, delta = 1e-6 }\n"]
    for name, (settings, columns) in tables.items():
        texts.append(f'[tables.{name}]\nsource = "{name}.csv"\n{settings}')
        texts += [f"[tables.{name}.columns.{column}]\n{text}\n" for column, text in columns.items()]
    return "\n".join(texts)


def _column(name: str, visits: int) -> str:
    if name in WORDS:
        values = ", ".join(f'"{word}"' for word in WORDS[name])
        return f'type = "category"\nvalues = [{values}]\nclosed = true'
    if name == "day":
        return 'type = "date"\nlow = 2021-01-01\nhigh = 2025-12-31'
    low, high = {"born": (1925, 2020), "cost": (0, 20_000), "days": (1, 60), "visit": (0, visits)}[name]
    return f'type = "integer"\nlow = {low}\nhigh = {high}'


def read_columns(table: Any) -> dict[str, NDArray[Any]]:
    """Columns of numbers from an Arrow table as `sample` makes it: words by their places, days since 1970."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns: dict[str, NDArray[Any]] = {}
    for name in table.column_names:
        column = table.column(name)
        if name in WORDS:
            places = pc.index_in(pc.cast(column, pa.string()), value_set=pa.array(WORDS[name]))
            columns[name] = pc.fill_null(places, 0).to_numpy().astype(np.int64)
        elif pa.types.is_date(column.type):
            columns[name] = pc.fill_null(pc.cast(column, pa.int32()), END).to_numpy().astype(np.int64)
        elif pa.types.is_string(column.type):
            columns[name] = np.unique(column.to_numpy(zero_copy_only=False), return_inverse=True)[1]
        else:
            columns[name] = pc.fill_null(column, 0).to_numpy().astype(np.int64)
    return columns
