"""What a fit is asked for: everything but epsilon has a sane default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, Unpack

from discreet import exact
from discreet.errors import Flag, Message, UsageError
from discreet.inference.axes import MOST_CELLS
from discreet.schema.schema import Schema, closest_name_hint
from discreet.synth.constraints import PublicConstraints
from discreet.synth.constraints_file import read_constraint_file, read_constraints
from discreet.synth.model_kinds import KINDS, OTHER_NAMES

#: The model that gives whole persons: see `persons`.
PERSONS = "persons"

#: A weight beyond this is no wish any more; a table of more columns is only noise.
MOST_WEIGHT = 1000
MOST_TOGETHER = 6

#: Inference makes no larger model: of 8 bytes a cell.
MOST_MB = MOST_CELLS * 8 // 2**20


class FitOptions(TypedDict, total=False):
    """What a fit may be told beside its guarantee, its model and its columns, as people write it."""

    degree: object
    seconds: object
    model_mb: object
    workload: object
    rows: object
    weights: Mapping[Sequence[str], int] | None
    marginals: Sequence[Sequence[str]]
    adjacent: bool
    constant: Sequence[str]
    time: str | None
    rows_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRequest:
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
    marginals: tuple[tuple[str, ...], ...] = ()
    adjacent: bool = True
    public: str | None = None
    rows: int | None = None
    constraints: PublicConstraints = field(default_factory=PublicConstraints)
    fresh: bool = False
    constant: tuple[str, ...] = ()
    time: str | None = None
    rows_only: bool = False
    tables: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", OTHER_NAMES.get(self.kind, self.kind))
        if self.kind not in ("auto", "random", *KINDS, PERSONS):
            names = ["auto", "random", *KINDS, PERSONS, *OTHER_NAMES]
            raise UsageError(f"unknown model {self.kind[:40]!r}", hint=closest_name_hint(self.kind, names))
        if self.kind == "random":
            return
        if self.epsilon is None:
            raise UsageError(
                "a fit needs an epsilon",
                hint=Message(Flag("epsilon", 1), ", or ", Flag("model", "random"), ", which costs nothing"),
            )
        exact.positive(self.epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)
        self._check_options()

    def _check_options(self) -> None:
        for _, weight in self.weights:
            if type(weight) is not int or not 1 <= weight <= MOST_WEIGHT:
                raise UsageError(f"a weight must be a whole number from 1 to {MOST_WEIGHT:,}, got {weight!r}")
        for names in (*self.marginals, *(names for names, _ in self.weights)):
            if not 1 <= len(names) <= MOST_TOGETHER:
                raise UsageError(f"a marginal must name 1 to {MOST_TOGETHER} columns, got {names!r}")
        named = [name.lower() for name in self.columns or ()]
        if twice := next((name for name in named if named.count(name) > 1), None):
            raise UsageError(f"column {twice[:60]!r} is named twice")
        for kinds, option, given in (
            (("mst", "aim"), "marginals", bool(self.marginals)),
            (("mst",), "public", self.public is not None),
        ):
            if given and self.kind not in ("auto", *kinds):
                raise UsageError(f"{option} works only with {' and '.join(kinds)} models, not with {self.kind}")
        if self.degree is not None and self.kind != "privbayes":  # auto never chooses it
            raise UsageError(
                f"degree works only with privbayes models, not with {self.kind}",
                hint=Message(Flag("model", "privbayes"), ", or its other name, correlated"),
            )

    @staticmethod
    def of(
        *,
        epsilon: object = None,
        delta: object = None,
        kind: str = "auto",
        columns: Sequence[str] | None = None,
        public: str | None = None,
        constraints: PublicConstraints | None = None,
        fresh: bool = False,
        **more: Unpack[FitOptions],
    ) -> FitRequest:
        """What was asked, in the words of the command line or of Python, checked."""
        _refuse_others(more)
        seconds, model_mb, weights = more.get("seconds"), more.get("model_mb"), more.get("weights")
        return FitRequest(
            epsilon=None
            if epsilon is None
            else exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON),
            delta=None if delta is None else exact.probability(delta, name="delta"),
            kind=kind,
            columns=None if columns is None else _names(columns),
            degree=_whole(more.get("degree"), "degree", most=8),
            seconds=None if seconds is None else exact.positive(seconds, name="seconds", most=Fraction(10**6)),
            model_mb=None if model_mb is None else exact.positive(model_mb, name="model_mb", most=Fraction(MOST_MB)),
            workload=_whole(more.get("workload"), "workload", most=4),
            rows=_whole(more.get("rows"), "rows", most=10**12),
            weights=tuple((_names(names), weight) for names, weight in (weights or {}).items()),
            marginals=tuple(map(_names, more.get("marginals", ()))),
            adjacent=more.get("adjacent", True),
            public=public,
            constraints=constraints or PublicConstraints(),
            fresh=fresh,
            constant=_names(more.get("constant", ())),
            time=more.get("time"),
            rows_only=more.get("rows_only", False),
        )

    @property
    def row_options(self) -> tuple[str, ...]:
        """The options that were given and that only models of rows have."""
        given = {
            "constraints": self.constraints != PublicConstraints(),
            "public": self.public is not None,
            "marginals": bool(self.marginals),
            "weights": bool(self.weights),
            "degree": self.degree is not None,
            "workload": self.workload is not None,
            "rows": self.rows is not None,
        }
        return tuple(name for name, is_given in given.items() if is_given)

    @property
    def person_options(self) -> tuple[str, ...]:
        """The options that were given and that only models of persons have."""
        return (*(["constant"] if self.constant else []), *(["time"] if self.time is not None else []))

    def data(self) -> dict[str, Any]:
        """What makes two fits the same one, as JSON data."""
        persons = {"constant": sorted(name.lower() for name in self.constant), "time": self.time}
        return {
            **({"persons": persons} if self.kind == PERSONS else {}),
            **({"tables": [list(each) for each in self.tables]} if self.tables else {}),
            **({"rows_only": True} if self.rows_only else {}),
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "kind": self.kind,
            "columns": None if self.columns is None else sorted({name.lower() for name in self.columns}),
            "degree": self.degree,
            "seconds": str(self.seconds),
            "model_mb": str(self.model_mb),
            "workload": self.workload,
            "weights": self.weights,
            "marginals": self.marginals,
            "adjacent": self.adjacent,
            "public": self.public,
            "rows": self.rows,
            "constraints": self.constraints.to_data(),
        }


def _names(names: Sequence[str]) -> tuple[str, ...]:
    """Column names; one alone may stand without brackets."""
    return (names,) if isinstance(names, str) else tuple(names)


def _whole(value: object, name: str, *, most: int) -> int | None:
    if value is None:
        return None
    number = exact.positive(value, name=name, most=Fraction(most))
    if number.denominator != 1:
        raise UsageError(f"{name} must be a whole number, got {exact.show(number)}")
    return int(number)


def constraints_of(
    given: Mapping[str, Any] | str | PathLike[str] | PublicConstraints | None, schema: Schema
) -> PublicConstraints:
    """Constraints as given: a mapping, a file's name, or made already."""
    if given is None or isinstance(given, PublicConstraints):
        return given or PublicConstraints()
    if isinstance(given, str | PathLike):
        return read_constraint_file(Path(given), schema.columns)
    return read_constraints(given, schema.columns)


def _refuse_others(more: FitOptions) -> None:
    """An option of another name is refused, and the nearest is told."""
    option_names = [each.name for each in fields(FitRequest)]
    for name in more:
        if name not in FitOptions.__annotations__:
            raise UsageError(f"a fit has no option named {name[:60]!r}", hint=closest_name_hint(name, option_names))
