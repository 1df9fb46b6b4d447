"""Measurements: what was drawn for a question, with the laws of its noise. What the ledger stores under a charge.

Post-processing begins here: a measurement holds noisy values alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, assert_never

import numpy as np

from discreet import exact
from discreet.accounting import events
from discreet.errors import LedgerFault
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.laplace import DiscreteLaplace

Law = DiscreteLaplace | DiscreteGaussian


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCells:
    """The noisy cells of one grouping set: for each statistic a vector in row-major order, and its law."""

    place: int
    statistics: tuple[int, ...]
    noisy_values: tuple[tuple[int, ...], ...]
    laws: tuple[Law, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenBins:
    """A quantile of one grouping set: for each group a bin below, at and above it."""

    place: int
    quantile: int
    noisy_bins: tuple[tuple[int, int, int], ...]
    confidence: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredKeys:
    """Keys that were discovered, and, where that was measured, their noisy numbers of persons."""

    keys: tuple[tuple[int | str | None, ...], ...]
    answers: int | None = None
    noisy_values: tuple[int, ...] = ()
    law: Law | None = None
    threshold: int | None = None
    is_truncated: bool = False


Part = NoisyCells | ChosenBins | DiscoveredKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What was measured for a question: its noisy parts, and the event that made them.

    `text` is the question as it was asked, so that it can be read, and measured, again. `also`: earlier
    measurements of the same cells that it is read together with. `surer`: its intervals are to miss so many times less
    often than is asked for, because it was bought only after others had not been precise enough
    (docs/proofs/precision.md). `is_resumed`: it was drawn now, under the charge of a
    process that died before it stored an answer; that is not stored.
    """

    id: str
    text: str
    parts: tuple[Part, ...]
    event: events.Event
    also: tuple[str, ...] = ()
    surer: int = 1
    is_resumed: bool = field(default=False, compare=False)

    def to_text(self) -> str:
        """The measurement as the ledger stores it."""
        return json.dumps(
            {
                "id": self.id,
                "text": self.text,
                "parts": [_part_to_data(part) for part in self.parts],
                "event": events.to_data(self.event),
                "also": list(self.also),
            }
            | ({} if self.surer == 1 else {"surer": self.surer}),
            sort_keys=True,
            separators=(",", ":"),
        )

    @staticmethod
    def from_text(text: str) -> Measurement:
        """The measurement that `to_text` wrote, now or before fields were added to it."""
        data = json.loads(text)
        _check_members(data, _MEMBERS, "a stored answer")
        return Measurement(
            id=data["id"],
            text=data["text"],
            parts=tuple(_part_from_data(part) for part in data["parts"]),
            event=events.from_data(data["event"]),
            also=tuple(data.get("also", ())),
            surer=_surer(data.get("surer", 1)),
        )

    def noisy_cells(self, place: int, statistics: Sequence[int], laws: Sequence[Law]) -> list[Integers]:
        """The cells of these statistics in one grouping set, which must have noise of these laws."""
        part = next(part for part in self.parts if isinstance(part, NoisyCells) and part.place == place)
        if tuple(statistics) != part.statistics or tuple(laws) != part.laws:
            raise ValueError("the stored answer is not of these cells")
        return [np.array(values, dtype=object) for values in part.noisy_values]

    @property
    def laws(self) -> list[Law]:
        """The laws of all its noise on counts and sums."""
        cells = [law for part in self.parts if isinstance(part, NoisyCells) for law in part.laws]
        return cells + [part.law for part in self.parts if isinstance(part, DiscoveredKeys) and part.law is not None]


#: The members of a measurement, of its parts and of laws. Older ones may lack some; none had others.
_MEMBERS = {"id", "text", "parts", "event", "also", "surer"}
_PARTS = {
    "cells": {"kind", "place", "statistics", "noisy", "laws"},
    "bins": {"kind", "place", "quantile", "noisy", "confidence"},
    "keys": {"kind", "keys", "answers", "noisy", "law", "threshold", "cut"},
}
_LAWS = {"discrete-laplace": {"kind", "scale"}, "discrete-gaussian": {"kind", "sigma2"}}


def _surer(times: Any) -> int:
    if type(times) is not int or times < 1:
        raise LedgerFault("a stored answer says in no whole number how much surer its intervals are")
    return times


def _check_members(data: dict[str, Any], members: set[str], what: str) -> None:
    """Refuse what would be passed over: whoever reads the text would see it, and nothing would account for it."""
    if strange := sorted(set(data) - members):
        raise LedgerFault(
            f"{what} has an unknown field {strange[0][:60]!r}",
            hint="a newer version of Discreet wrote it; upgrade Discreet",
        )


def _part_to_data(part: Part) -> dict[str, Any]:
    match part:
        case NoisyCells():
            return {
                "kind": "cells",
                "place": part.place,
                "statistics": list(part.statistics),
                "noisy": [list(values) for values in part.noisy_values],
                "laws": [law_to_data(law) for law in part.laws],
            }
        case ChosenBins():
            return {
                "kind": "bins",
                "place": part.place,
                "quantile": part.quantile,
                "noisy": [list(bins) for bins in part.noisy_bins],
                "confidence": exact.write(part.confidence),
            }
        case DiscoveredKeys():
            return {
                "kind": "keys",
                "keys": [list(key) for key in part.keys],
                "answers": part.answers,
                "noisy": list(part.noisy_values),
                "law": None if part.law is None else law_to_data(part.law),
                "threshold": part.threshold,
                "cut": part.is_truncated,
            }
        case _:
            assert_never(part)


def _part_from_data(data: dict[str, Any]) -> Part:
    _check_members(data, _PARTS.get(data["kind"], set(data)), "a part of a stored answer")
    match data["kind"]:
        case "cells":
            return NoisyCells(
                place=data["place"],
                statistics=tuple(data["statistics"]),
                noisy_values=tuple(tuple(values) for values in data["noisy"]),
                laws=tuple(law_from_data(law) for law in data["laws"]),
            )
        case "bins":
            return ChosenBins(
                place=data["place"],
                quantile=data["quantile"],
                noisy_bins=tuple((low, middle, high) for low, middle, high in data["noisy"]),
                confidence=exact.read(data["confidence"]),
            )
        case "keys":
            return DiscoveredKeys(
                keys=tuple(tuple(key) for key in data["keys"]),
                answers=data["answers"],
                noisy_values=tuple(data["noisy"]),
                law=None if data["law"] is None else law_from_data(data["law"]),
                threshold=data["threshold"],
                is_truncated=data.get("cut", False),
            )
        case kind:
            raise LedgerFault(f"a stored answer has an unknown part {str(kind)[:40]!r}")


def law_to_data(law: Law) -> dict[str, str]:
    """A law as JSON data."""
    if isinstance(law, DiscreteLaplace):
        return {"kind": "discrete-laplace", "scale": exact.write(law.scale)}
    return {"kind": "discrete-gaussian", "sigma2": exact.write(law.sigma2)}


def law_from_data(data: dict[str, str]) -> Law:
    """The law that `law_to_data` wrote."""
    _check_members(data, _LAWS.get(data["kind"], set(data)), "a noise distribution")
    match data:
        case {"kind": "discrete-laplace", "scale": scale}:
            return DiscreteLaplace(scale=exact.read(scale))
        case {"kind": "discrete-gaussian", "sigma2": sigma2}:
            return DiscreteGaussian(sigma2=exact.read(sigma2))
        case _:
            raise LedgerFault("a stored answer has an unknown noise distribution")
