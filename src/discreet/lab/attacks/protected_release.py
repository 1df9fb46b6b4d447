"""What Discreet publishes instead of a table of people: counts with noise, charged to a budget. And how an attack on
such a release is judged: beside people who were never in it.

A release under epsilon says about the same whether or not somebody is in the table. So an attack that concludes
something about a person is right about people in the table at most e^epsilon times as often as about others of the same
population, and what it is right about is the population, not the person.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

import discreet
from discreet import exact
from discreet.lab.evidence import DOUBT, clopper_pearson, percent
from discreet.ledger.filesystem import use_state_folder

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: The budget of every protected release of the lab.
EPSILON = Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedOutcome:
    """How often an attack on a protected release is right: about people in the table, and about people who are not."""

    success: float
    outsiders: float
    n: int
    n_outsiders: int
    epsilon: Fraction = EPSILON
    #: False where success is a share of those whom the attack names: then epsilon bounds something else.
    bounded: bool = True

    def to_data(self) -> dict[str, Any]:
        """As details have it. `allowed`: the most that epsilon allows, given how often it is right about outsiders."""
        right = round(self.outsiders * self.n_outsiders)
        most = clopper_pearson(right, self.n_outsiders, 1 - DOUBT)[1] if self.bounded and self.n_outsiders else 1.0
        return {
            "success": self.success,
            "outsiders": self.outsiders,
            "n": self.n,
            "epsilon": float(self.epsilon),
            "allowed": min(1.0, math.exp(self.epsilon) * most),
        }

    def sentence(self, what: str) -> str:
        """The outcome beside the attack's own."""
        return (
            f"On {what} (epsilon {exact.show(self.epsilon)}), the same attack is right about {percent(self.success)} "
            f"of the people in the table and {percent(self.outsiders)} of people who were never in it."
        )


def compare_people(right: Flags, inside: Flags, *, named: Flags | None = None) -> ProtectedOutcome:
    """The outcome, from whom the attack is right about and who is in the table; of those `named` only, if given."""
    groups = [right[who if named is None else who & named] for who in (inside, ~inside)]
    shares = [float(group.mean()) if len(group) else 0.0 for group in groups]
    return ProtectedOutcome(
        success=shares[0],
        outsiders=shares[1],
        n=len(groups[0]),
        n_outsiders=len(groups[1]),
        bounded=named is None,
    )


def noisy_counts(table: pa.Table, domains: Mapping[str, Sequence[str]], *, epsilon: Fraction = EPSILON) -> Counts:
    """How many rows have each combination of values, as Discreet answers: an array with an axis for each column.

    Guarantee: one row moves the law of the answer by a factor of exp(epsilon) at most.
    Because: a project in a temporary folder answers the one question, with this as its whole budget. The values are
        declared, not read from the table.
    """
    names = ", ".join(domains)
    with tempfile.TemporaryDirectory(prefix="discreet-lab-") as name, use_state_folder(Path(name) / "state"):
        folder = Path(name) / "project"
        folder.mkdir()
        pyarrow.parquet.write_table(table.select(list(domains)), folder / "people.parquet")
        (folder / "discreet.toml").write_text(_declaration(domains, epsilon), encoding="utf-8")
        project = discreet.init(folder)
        try:
            release = project.sql(f"SELECT {names}, count(*) FROM people GROUP BY {names}").ask(epsilon=epsilon)
            rows = release.rows
        finally:
            project.ledger.close()
    places = [{value: place for place, value in enumerate(values)} for values in domains.values()]
    counts = np.zeros([len(values) for values in domains.values()], dtype=np.int64)
    for *cell, count in rows:
        counts[tuple(place[str(value)] for place, value in zip(places, cell, strict=True))] = int(str(count))
    return counts


def _declaration(domains: Mapping[str, Sequence[str]], epsilon: Fraction) -> str:
    columns = "".join(
        f'[tables.people.columns.{name}]\ntype = "category"\nclosed = true\nvalues = {list(values)!r}\n'
        for name, values in domains.items()
    )
    return (
        '[project]\nledger = "sqlite:///.discreet/ledger.db"\n\n[tables.people]\nsource = "people.parquet"\n'
        f"budget = {{ epsilon = {exact.show(epsilon, digits=12)}, delta = 0 }}\n{columns}"
    )


def codes_of(table: pa.Table, domains: Mapping[str, Sequence[str]]) -> tuple[Counts, ...]:
    """The place of each row's value in the domain of each column, to look up its cell."""
    return tuple(
        pc.index_in(table[name], value_set=pa.array(list(values))).to_numpy().astype(np.int64)
        for name, values in domains.items()
    )
