"""What a fit is asked for: everything but epsilon has a sane default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.errors import UsageError
from discreet.schema.schema import Schema, closest
from discreet.synth.constraints import Constraints
from discreet.synth.kinds import KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the owner asked for. All but epsilon has a sane default; `random` needs not even that."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    kind: str = "auto"
    columns: tuple[str, ...] | None = None
    degree: int | None = None
    seconds: Fraction | None = None
    model_mb: Fraction | None = None
    workload: int | None = None
    weights: tuple[tuple[tuple[str, ...], int], ...] = ()
    rows: int | None = None
    constraints: Constraints = field(default_factory=Constraints)
    fresh: bool = False

    def __post_init__(self) -> None:
        if self.kind not in ("auto", "random", *KINDS):
            raise UsageError(
                f"no model is called {self.kind[:40]!r}", hint=closest(self.kind, ["auto", "random", *KINDS])
            )
        if self.kind == "random":
            return
        if self.epsilon is None:
            raise UsageError("a fit needs an epsilon", hint="--epsilon 1, or --model random, which costs nothing")
        exact.positive(self.epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)

    @staticmethod
    def of(
        *,
        epsilon: object = None,
        delta: object = None,
        kind: str = "auto",
        columns: Sequence[str] | None = None,
        degree: object = None,
        seconds: object = None,
        model_mb: object = None,
        workload: object = None,
        rows: object = None,
        weights: Mapping[Sequence[str], int] | None = None,
        constraints: Constraints | None = None,
        fresh: bool = False,
    ) -> Wanted:
        """What was asked, in the words of the command line or of Python, checked."""
        return Wanted(
            epsilon=None
            if epsilon is None
            else exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON),
            delta=None if delta is None else exact.probability(delta, name="delta"),
            kind=kind,
            columns=None if columns is None else tuple(columns),
            degree=_whole(degree, "degree", most=8),
            seconds=None if seconds is None else exact.positive(seconds, name="seconds", most=Fraction(10**6)),
            model_mb=None if model_mb is None else exact.positive(model_mb, name="model_mb", most=Fraction(10**4)),
            workload=_whole(workload, "workload", most=4),
            rows=_whole(rows, "rows", most=10**12),
            weights=tuple((tuple(names), weight) for names, weight in (weights or {}).items()),
            constraints=constraints or Constraints(),
            fresh=fresh,
        )

    def data(self) -> dict[str, Any]:
        """What makes two fits the same one, as JSON data."""
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "kind": self.kind,
            "columns": self.columns,
            "degree": self.degree,
            "seconds": str(self.seconds),
            "model_mb": str(self.model_mb),
            "workload": self.workload,
            "weights": self.weights,
            "rows": self.rows,
            "constraints": self.constraints.to_data(),
        }


def _whole(value: object, name: str, *, most: int) -> int | None:
    if value is None:
        return None
    found = exact.positive(value, name=name, most=Fraction(most))
    if found.denominator != 1:
        raise UsageError(f"{name} must be a whole number, got {exact.show(found)}")
    return int(found)


def constraints_of(given: Mapping[str, Any] | str | PathLike[str] | Constraints | None, schema: Schema) -> Constraints:
    """Constraints as given: a mapping, a file's name, or made already."""
    if given is None or isinstance(given, Constraints):
        return given or Constraints()
    if isinstance(given, str | PathLike):
        return Constraints.from_file(Path(given), schema.columns)
    return Constraints.from_data(given, schema.columns)
