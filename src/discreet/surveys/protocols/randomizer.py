"""What every randomizer is: a report of so many bytes, made on the device, and an estimate made at home.

A batch of reports is a matrix of bytes, one row each. So a report is the same thing on the wire, in
the collector's store and here, and a million of them are one array.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import UsageError
from discreet.mechanisms.bits import Bits, system

Reports = NDArray[np.uint8]
#: Answers as they are given; an array for speed.
Values = Sequence[Any] | NDArray[Any]
#: The collector takes no longer one (as JSON, about 16 KB).
MOST_REPORT_BYTES = 12_000


class Randomizer(ABC):
    """A protocol that randomizes an answer.

    Guarantee: `epsilon`-differentially private for each report, whoever sees it: any report is at most
        e^epsilon times as likely for one answer as for any other. `epsilon` is computed from the whole
        numbers that the coins use, rounded up, and is never more than was asked for (`coins.cost`).
    """

    __slots__ = ("epsilon", "requested_epsilon", "width")

    #: The name in parameters and on the command line.
    protocol: ClassVar[str]

    #: What was asked for.
    requested_epsilon: Fraction
    #: What a report costs.
    epsilon: Fraction
    #: How many bytes a report has.
    width: int

    @abstractmethod
    def draw_reports(self, values: Values, *, bits: Bits) -> Reports:
        """A report for each answer; refuses an answer outside the domain before any coin is flipped."""

    @abstractmethod
    def canonical(self, value: Any) -> str:
        """One text for all ways to write an answer that are noised alike, and another for any other answer.

        It is made of what is noised itself, so that a device can know an answer again. Refuses what is no answer.
        """

    def check(self, values: Values) -> None:
        """Refuses an answer outside the domain. Flips no coin."""
        for value in values:
            self.canonical(value)

    @abstractmethod
    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports this randomizer can have made."""

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What it was made from beside epsilon, as JSON: `randomizer_from_parameters` makes it again."""

    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """The whole numbers that a device needs to flip its coins, as JSON."""

    def randomize(self, value: Any, *, bits: Bits | None = None) -> bytes:
        """On the device: randomize one answer, and return the bytes that may be sent."""
        return bytes(self.draw_reports([value], bits=bits or system())[0])

    def randomize_all(self, values: Values, *, bits: Bits | None = None) -> Reports:
        """Randomize many answers at once, as if each had been randomized on its own device."""
        return self.draw_reports(values, bits=bits or system())

    def matrix(self, reports: Reports | Sequence[bytes]) -> Reports:
        """Reports as a matrix, checked: what this randomizer cannot have made is refused."""
        if isinstance(reports, np.ndarray):
            report_matrix = reports
        else:
            if any(len(report) != self.width for report in reports):
                raise UsageError(f"A report of {self.protocol} must have {self.width:,} bytes here.")
            report_matrix = np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(len(reports), self.width)
        if report_matrix.dtype != np.uint8 or report_matrix.ndim != 2 or report_matrix.shape[1] != self.width:
            raise UsageError(f"A report of {self.protocol} must have {self.width:,} bytes here.")
        if not self.valid(report_matrix).all():
            raise UsageError(f"One of these is a report that {self.protocol} cannot have made.")
        return report_matrix

    def parameters(self) -> dict[str, Any]:
        """Return everything that a device or a collector needs to know, as JSON data."""
        return {
            "protocol": self.protocol,
            "epsilon": exact.write(self.requested_epsilon),
            "costs": exact.write(self.epsilon),
            "width": self.width,
            "options": self.options(),
            "numbers": self.numbers(),
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {exact.show(self.epsilon, up=True)} a report of {self.width} bytes>"


def randomizer_from_parameters(parameters: Mapping[str, Any], kinds: Mapping[str, type[Randomizer]]) -> Randomizer:
    """The randomizer that `parameters()` described; refused where they do not follow from epsilon and options."""
    if not isinstance(parameters, Mapping):
        raise UsageError("Parameters must be a JSON object.")
    kind = kinds.get(str(parameters.get("protocol")))
    if kind is None:
        named = str(parameters.get("protocol"))[:40]
        raise UsageError(f"There is no protocol {named!r}.", hint=f"one of {', '.join(kinds)}")
    try:
        made = kind(epsilon=exact.read(parameters["epsilon"]), **parameters["options"])  # type: ignore[call-arg]
        same = _canonical_text(made.parameters()) == _canonical_text(dict(parameters))
    except _PARAMETER_ERRORS as error:
        raise UsageError(f"These are not parameters of {kind.protocol}.") from error
    if not same:
        raise UsageError(f"These are not the numbers that {kind.protocol} uses at this epsilon.")
    return made


#: What a constructor may raise when it is given what nobody would write: a list for a number, a thousand nested
#: questions, a ratio over zero.
_PARAMETER_ERRORS = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


def _canonical_text(parameters: dict[str, Any]) -> str:
    """As JSON: 1, 1.0 and true are equal in Python, and three different texts."""
    return json.dumps(parameters, sort_keys=True)
