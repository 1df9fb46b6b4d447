"""The people whom `./do bench curves` asks about: generated, skewed as people are, the same in every run.

Ages lean to the young and thin out, salaries have a long tail, regions follow Zipf's law, and the rest leans on hidden
numbers, so that columns tell about each other. A seed is right here: nobody is protected by it, only compared.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import discreet
from discreet.project.project import Project

ROWS = 50_000
REGIONS, AGES = 50, 100
#: A salary is a whole number of thousands below this.
SALARIES = 1024
#: How many values the columns have that marginals and models are about, besides income.
SIZES = {"education": 8, "work": 6, "household": 5, "health": 5, "sector": 12, "sex": 2, "age_group": 10, "region": 10}


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The columns as whole numbers, and how many values each has."""

    codes: dict[str, np.ndarray]
    sizes: dict[str, int]

    @property
    def rows(self) -> int:
        return len(next(iter(self.codes.values())))

    def table(self, *names: str) -> np.ndarray:
        """The exact counts of these columns' values."""
        shape = [self.sizes[name] for name in names]
        at = np.ravel_multi_index([self.codes[name] for name in names], shape)
        return np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)


def people(rows: int = ROWS) -> People:
    """One row a person: age, region, salary."""
    generator = np.random.default_rng(11)
    ages = np.minimum(generator.gamma(3.0, 13.0, rows).astype(np.int64), AGES - 1)
    shares = 1 / np.arange(1, REGIONS + 1)
    regions = generator.choice(REGIONS, size=rows, p=shares / shares.sum())
    salaries = np.minimum(generator.lognormal(3.6, 0.8, rows).astype(np.int64), SALARIES - 1)
    return People(
        codes={"age": ages, "region": regions, "salary": salaries},
        sizes={"age": AGES, "region": REGIONS, "salary": SALARIES},
    )


def households(rows: int = 20_000) -> People:
    """One row a person: nine columns of 2 to 12 values that lean on three hidden numbers and on each other."""
    generator = np.random.default_rng(12)
    hidden = generator.normal(size=(rows, 3))
    codes: dict[str, np.ndarray] = {}
    for name, size in SIZES.items():
        leaning = hidden @ generator.normal(size=3) + 0.6 * generator.normal(size=rows)
        ends = np.quantile(leaning, np.cumsum(generator.dirichlet(np.full(size, 1.5)))[:-1])
        codes[name] = np.searchsorted(ends, leaning)
    earned = (
        codes["education"] / 7 + codes["sector"] / 11 + 0.5 * (codes["sex"] == 1) + 0.3 * generator.normal(size=rows)
    )
    codes["income"] = (earned > np.quantile(earned, 0.76)).astype(np.int64)
    return People(codes=codes, sizes=SIZES | {"income": 2})


@contextmanager
def project(given: People, *, numbers: tuple[str, ...] = (), accounting: str = "renyi") -> Iterator[Project]:
    """A project over them with a budget that lasts, in a folder that goes away. `numbers`: whole numbers, not categories."""
    before = os.environ.get("DISCREET_STATE")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        folder.mkdir()
        os.environ["DISCREET_STATE"] = str(Path(name) / "state")
        try:
            _write(given, folder, numbers, accounting)
            discreet.init(folder)
            made = discreet.open(folder)
            made.refresh("people")
            yield made
        finally:
            os.environ.pop("DISCREET_STATE")
            if before is not None:
                os.environ["DISCREET_STATE"] = before


def write_csv(given: People, path: Path) -> None:
    """The table as codes."""
    rows = np.stack(list(given.codes.values()), axis=1)
    np.savetxt(path, rows, fmt="%d", delimiter=",", header=",".join(given.codes), comments="")


def _write(given: People, folder: Path, numbers: tuple[str, ...], accounting: str) -> None:
    write_csv(given, folder / "people.csv")
    told = [
        '[tables.people]\nsource = "people.csv"\nbudget = { epsilon = 100000, delta = 1e-5 }',
        f'accounting = "{accounting}"',
    ]
    for name, size in given.sizes.items():
        if name in numbers:
            told.append(f'[tables.people.columns.{name}]\ntype = "integer"\nlow = 0\nhigh = {size - 1}')
        else:
            values = ", ".join(f'"{value}"' for value in range(size))
            told.append(f'[tables.people.columns.{name}]\ntype = "category"\nvalues = [{values}]\nclosed = true')
    (folder / "discreet.toml").write_text("\n".join(told) + "\n")
