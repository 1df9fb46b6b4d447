"""Whether a stored measurement is one: each member of its type, a law and a statistic for each vector, nothing else.

`Measurement.from_text` reads what a ledger holds, which Discreet wrote. A bundle may come from anybody.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.kernel.measurement import ChosenBins, DiscoveredKeys, Measurement, NoisyCells, Part


class UnknownMember(Exception):
    """Something that nobody reads, or that is of another kind than what is read."""


def read_measurement(data: Mapping[str, Any]) -> Measurement:
    """The measurement that JSON data is. Raises UnknownMember where it holds anything else."""
    measurement = Measurement.from_text(json.dumps(data))
    whole = {"also": [], **data, "parts": [_whole(part) for part in data["parts"]]}  # older ones may lack these
    if json.dumps(whole, sort_keys=True, separators=(",", ":")) != measurement.to_text():
        raise UnknownMember("a measurement is not formatted as Discreet formats it")
    if not all(type(each) is str for each in (measurement.id, measurement.text, *measurement.also)):
        raise UnknownMember("the name or the text of a measurement is not text")
    for part in measurement.parts:
        _check(part)
    return measurement


def _whole(part: Mapping[str, Any]) -> dict[str, Any]:
    return {"cut": False, **part} if part["kind"] == "keys" else dict(part)


def _check(part: Part) -> None:
    match part:
        case NoisyCells():
            _check_whole(part.place, *part.statistics, *(each for vector in part.noisy_values for each in vector))
            if not part.statistics or not len(part.statistics) == len(part.noisy_values) == len(part.laws):
                raise UnknownMember("noisy numbers have no statistic, or no noise distribution")
        case ChosenBins():
            _check_whole(part.place, part.quantile, *(each for bins in part.noisy_bins for each in bins))
            if not part.confidence and any(len(set(bins)) > 1 for bins in part.noisy_bins):
                raise UnknownMember("a quantile without an interval has ends")
        case DiscoveredKeys():
            _check_keys(part.keys)
            numbers = [each for each in (part.answers, part.threshold) if each is not None]
            _check_whole(*numbers, *part.noisy_values)
            if type(part.is_truncated) is not bool:
                raise UnknownMember("whether keys were cut must be true or false")


def _check_whole(*values: object) -> None:
    if not all(type(each) is int for each in values):
        raise UnknownMember("a measurement contains something that is not a whole number")


def _check_keys(keys: Sequence[tuple[object, ...]]) -> None:
    if not all(each is None or type(each) in (str, int) for key in keys for each in key):
        raise UnknownMember("a key is not text, a whole number or NULL")
    if len({len(key) for key in keys}) > 1 or len(set(keys)) < len(keys):
        raise UnknownMember("a key was discovered twice, or has more columns than others")
