"""Releases: noisy values with their error law, event and provenance. Safe to print, store and send.

A `Measurement` is what the ledger stores under the id of its charge; a `Release` is one reading of
it, in the order and under the names that a question asked for.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from discreet import exact
from discreet.accounting import events
from discreet.errors import LedgerFault, UsageError
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Law = DiscreteLaplace | DiscreteGaussian
Cell = int | float | str | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Noisy cells in row-major order, the law of their noise and the event that made them."""

    id: str
    cells: dict[str, Any]
    shape: tuple[int, ...]
    noisy_values: tuple[int, ...]
    law: Law
    event: events.Event

    def to_text(self) -> str:
        """The measurement as the ledger stores it."""
        return json.dumps(
            {
                "id": self.id,
                "cells": self.cells,
                "shape": list(self.shape),
                "noisy": list(self.noisy_values),
                "law": law_to_data(self.law),
                "event": events.to_data(self.event),
            },
            sort_keys=True,
            separators=(",", ":"),
        )

    @staticmethod
    def from_text(text: str) -> Measurement:
        """The measurement that `to_text` wrote."""
        data = json.loads(text)
        return Measurement(
            id=data["id"],
            cells=data["cells"],
            shape=tuple(data["shape"]),
            noisy_values=tuple(data["noisy"]),
            law=law_from_data(data["law"]),
            event=events.from_data(data["event"]),
        )


def law_to_data(law: Law) -> dict[str, str]:
    """A law as JSON data."""
    if isinstance(law, DiscreteLaplace):
        return {"kind": "discrete-laplace", "scale": exact.write(law.scale)}
    return {"kind": "discrete-gaussian", "sigma2": exact.write(law.sigma2)}


def law_from_data(data: dict[str, str]) -> Law:
    """The law that `law_to_data` wrote."""
    match data:
        case {"kind": "discrete-laplace", "scale": scale}:
            return DiscreteLaplace(scale=exact.read(scale))
        case {"kind": "discrete-gaussian", "sigma2": sigma2}:
            return DiscreteGaussian(sigma2=exact.read(sigma2))
        case _:
            raise LedgerFault("an answer with an unknown law of noise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Epsilon (None: no pure bound), rho and delta: of a question, or of a population."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None = None

    def __str__(self) -> str:
        epsilon = "no pure epsilon" if self.epsilon is None else f"epsilon {exact.show(self.epsilon)}"
        rho = "" if self.rho is None else f", rho {exact.show(self.rho)}"
        return f"{epsilon}{rho}, delta {exact.show(self.delta)}"

    def to_data(self, *, up: bool) -> dict[str, float | None]:
        """Floats for JSON: spent rounded up, remaining down. Epsilon is null where no pure bound holds."""
        data: dict[str, float | None] = {
            "epsilon": None if self.epsilon is None else exact.as_float(self.epsilon, up=up)
        }
        if self.rho is not None:
            data["rho"] = exact.as_float(self.rho, up=up)
        return data | {"delta": exact.as_float(self.delta, up=up)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseColumn:
    """A column of an answer: a key, a noisy number, or something derived from those."""

    name: str
    kind: Literal["key", "noisy", "derived"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """An answer. Each noisy number is the exact one plus a draw of `law`; `interval` says how wrong it may be."""

    id: str
    table: str
    version: int
    columns: tuple[ReleaseColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    law: Law
    event: events.Event
    confidence: Fraction
    cost: Spending
    spent: Spending
    remaining: Spending
    cached: bool = False
    warnings: tuple[str, ...] = ()

    def plus_minus(self, confidence: object = None) -> int:
        """The noise of each cell is at most this, with the confidence asked for."""
        wanted = self.confidence if confidence is None else exact.number(confidence, name="confidence")
        return self.law.half_width(wanted)

    def interval(self, confidence: object = None) -> list[list[list[int] | None]]:
        """A noise interval for each noisy cell, None for keys: it holds the exact number with this confidence.

        It speaks of the noise alone, not of sampling or of how the data were collected.
        """
        width = self.plus_minus(confidence)
        noisy = [column.kind == "noisy" for column in self.columns]
        return [
            [[cell - width, cell + width] if told else None for cell, told in zip(row, noisy, strict=True)]  # type: ignore[operator,list-item]
            for row in self.rows
        ]

    def at(self, confidence: Fraction) -> Release:
        """The same answer, read at another confidence."""
        return replace(self, confidence=confidence)

    def to_data(self) -> dict[str, Any]:
        """The answer as JSON data; the keys are a contract."""
        return {
            "release": self.id,
            "version": self.version,
            "columns": [{"name": column.name, "kind": column.kind} for column in self.columns],
            "rows": [list(row) for row in self.rows],
            "intervals": self.interval(),
            "confidence": float(self.confidence),
            "cost": self.cost.to_data(up=True),
            "spent": self.spent.to_data(up=True),
            "remaining": self.remaining.to_data(up=False),
            "cached": self.cached,
            "warnings": list(self.warnings),
        }

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table; noisy columns are followed by their interval's ends."""
        import pyarrow

        arrays: dict[str, Any] = {}
        intervals = self.interval()
        taken = {column.name for column in self.columns}
        for place, column in enumerate(self.columns):
            arrays[column.name] = pyarrow.array([row[place] for row in self.rows])
            if column.kind == "noisy":
                for word, end in (("low", 0), ("high", 1)):
                    name = f"{column.name}_{word}"
                    while name in taken:
                        name += "_"
                    taken.add(name)
                    arrays[name] = pyarrow.array([ends[place][end] for ends in intervals])  # type: ignore[index]
        return pyarrow.table(arrays)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame."""
        _needs("pandas")
        found: pandas.DataFrame = self.to_arrow().to_pandas()
        return found

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars frame."""
        _needs("polars")
        import polars

        found = polars.from_arrow(self.to_arrow())
        assert isinstance(found, polars.DataFrame)
        return found

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Cell, ...]]:
        return iter(self.rows)

    def __str__(self) -> str:
        width = self.plus_minus()
        table = [[column.name for column in self.columns]]
        for row in self.rows[:20]:
            shown = zip(row, self.columns, strict=True)
            table.append([f"{cell} ± {width}" if column.kind == "noisy" else str(cell) for cell, column in shown])
        widths = [max(len(row[place]) for row in table) for place in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in table]
        return "\n".join([*lines, *(["…"] if len(self.rows) > 20 else []), repr(self)])

    def __repr__(self) -> str:
        price = "stored answer, free" if self.cached else f"cost epsilon {_shown(self.cost)}"
        return f"<Release {self.id}: {len(self.rows)} rows, each ± {self.plus_minus()}, {price}>"

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(column.name)}</th>" for column in self.columns)
        width = self.plus_minus()
        body = ""
        for row in self.rows:
            cells = [
                f"{cell} ± {width}" if column.kind == "noisy" else "NULL" if cell is None else str(cell)
                for cell, column in zip(row, self.columns, strict=True)
            ]
            body += "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(repr(self))}</p>"


def _needs(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise UsageError(f"{package} is not installed", hint=f"pip install 'discreet[{package}]', or use to_arrow()")


def _shown(cost: Spending) -> str:
    return "none (rho)" if cost.epsilon is None else exact.show(cost.epsilon, up=True)
