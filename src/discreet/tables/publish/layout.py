"""A plan against a version of its table: places, possible cells, and what is measured of them. Public facts alone.

Everything that can be wrong with a plan is found here, before anything is paid.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator import Version
from discreet.errors import Refused
from discreet.inference.linear.eigenbasis import MOST_TURNED, Basis, Disturbing, common_basis
from discreet.mechanisms.strategy.nodes import Nodes
from discreet.plan.cells import Axis
from discreet.schema.column import Column, Label
from discreet.schema.schema import closest
from discreet.tables.publish.empty import empty_places, split_rules
from discreet.tables.publish.exactly import exact_level, refuse_undeclared
from discreet.tables.publish.places import Places, Publics, axis_named, coded_places, placed
from discreet.tables.publish.possible import cutting, possible_cells
from discreet.tables.publish.told import Query, Told, ToldLevel

Wholes = NDArray[np.int64]

#: More cells than this do not fit in memory beside their estimates and errors.
MOST_CELLS = 20_000_000


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One query of one level: which group each possible cell is in, and its part of the whole budget."""

    words: str
    groups: Wholes
    share: Fraction

    @property
    def kinds(self) -> int:
        return int(self.groups.max()) + 1


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What a plan means: a tree of places, the possible cells of each, and the queries of every level from the top."""

    told: Told
    version: Version
    places: Places
    attributes: tuple[tuple[Column, Axis], ...]
    possible: NDArray[np.bool_]
    queries: tuple[tuple[Measured, ...], ...]
    basis: Basis
    warnings: tuple[str, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        return self.told.level_names

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What is counted: places, then attributes."""
        return (*self.places.axes, *(axis for _, axis in self.attributes))

    @cached_property
    def cells(self) -> int:
        """How many possible cells a node has."""
        return int(self.possible.sum())

    @property
    def known(self) -> int | None:
        """The lowest level whose totals are exact; those above it follow."""
        return exact_level(self.told)

    def size(self, level: int) -> int:
        """How many cells the table of a level has."""
        return self.places.tree.sizes[level] * self.cells

    def strategy(self, level: int, groups: Wholes) -> Nodes:
        """The tables of a level, cells taken together by `groups`; what is not possible is not counted."""
        spread = np.full(len(self.possible), -1, dtype=np.int64)
        spread[self.possible] = groups
        return Nodes(
            places=self.places.nodes(level),
            nodes=self.places.tree.sizes[level],
            groups=spread,
            kinds=int(groups.max()) + 1,
        )

    def cell_labels(self) -> list[tuple[str, tuple[Label, ...], Wholes]]:
        """For each attribute its name, its labels, and which of them each possible cell has."""
        shape = tuple(axis.size for _, axis in self.attributes)
        places = np.unravel_index(np.flatnonzero(self.possible), shape) if shape else ()
        return [
            (column.name, axis.labels, np.asarray(place, dtype=np.int64))
            for (column, axis), place in zip(self.attributes, places, strict=True)
        ]

    def to_data(self) -> dict[str, Any]:
        """What a plan says, as JSON data: equal plans have equal data, whichever levels are found worth measuring."""
        tree = [hashlib.sha256(parent.astype("<i8").tobytes()).hexdigest() for parent in self.places.tree.parents]
        return {
            "levels": list(self.levels),
            "axes": hashlib.sha256(repr([axis.to_data() for axis in self.axes]).encode()).hexdigest(),
            "tree": [*tree, hashlib.sha256(self.places.leaves.astype("<i8").tobytes()).hexdigest()],
            "possible": hashlib.sha256(self.possible.tobytes()).hexdigest(),
            "queries": [
                [[each.words, str(each.share), each.groups.tolist()] for each in level] for level in self.queries
            ]
            if self.told.levels
            else None,
            "known": self.known,
            "joined": None if self.places.joined is None else self.places.joined.content,
        }


def lay_out(told: Told, version: Version, publics: Publics) -> Layout:
    """Read a plan against a version. Refuses, with the place, whatever is wrong with it."""
    schema = version.schema
    named = [axis_named(name, told, schema) for name in told.attributes]
    attributes = {column.name: (column, axis) for column, axis in named}
    coded = coded_places(told, schema, publics)
    _refuse_twice(told, [column.name for column, _ in named])
    _refuse_large(told, coded.size, math.prod(axis.size for _, axis in named))
    cell_rules, place_rules = split_rules(told)
    possible = possible_cells(told, cell_rules, attributes)
    places = placed(coded, out=empty_places(told, place_rules, coded))
    refuse_undeclared(told, schema, places)
    queries = _queries(told, attributes, possible)
    return Layout(
        told=told,
        version=version,
        places=places,
        attributes=tuple(named),
        possible=possible,
        queries=queries,
        basis=_basis(told, queries, int(possible.sum())),
        warnings=tuple(cutting(told, cell_rules, attributes)),
    )


def with_levels(layout: Layout, levels: Mapping[str, ToldLevel]) -> Layout:
    """The same with other levels measured."""
    told = replace(layout.told, levels=levels)
    attributes = {column.name: (column, axis) for column, axis in layout.attributes}
    queries = _queries(told, attributes, layout.possible)
    return replace(layout, queries=queries, basis=_basis(told, queries, layout.cells))


def _refuse_twice(told: Told, attributes: Sequence[str]) -> None:
    hierarchy = told.hierarchy
    used = () if hierarchy is None else (*hierarchy.columns, *([hierarchy.column] if hierarchy.column else []))
    twice = {name.lower() for name in used} & {name.lower() for name in attributes}
    twice |= {name.lower() for name in told.level_names[1:]} & {name.lower() for name in attributes}
    if twice:
        raise told.fault(f"{sorted(twice)[0]!r} is a level and an attribute at once")


def _refuse_large(told: Told, places: int, cells: int) -> None:
    if places * cells > MOST_CELLS:
        raise Refused(
            f"{told.where}: {places:,} places and {cells:,} cells at each make more than the {MOST_CELLS:,} cells that "
            "are published at once",
            hint="take fewer attributes, or wider bins",
        )


def _queries(
    told: Told, attributes: dict[str, tuple[Column, Axis]], possible: NDArray[np.bool_]
) -> tuple[tuple[Measured, ...], ...]:
    levels = [told.levels.get(name, ToldLevel()) for name in told.level_names]
    whole = sum((level.share for level in levels), Fraction(0))
    if levels[-1].share == 0 or "cells" not in levels[-1].queries:
        raise told.fault(
            f"the cells of the last level, {told.level_names[-1]!r}, must be measured: nothing else tells them",
            hint=f'[levels.{told.level_names[-1]}] with queries = ["cells"] and a share',
        )
    found = []
    for level in levels:
        groups: dict[bytes, tuple[str, Wholes]] = {}
        for query in level.queries if level.share else ():
            own = _groups(told, query, attributes, possible)
            groups.setdefault(own.tobytes(), (_words(query), own))
        share = level.share / whole / max(1, len(groups))
        found.append(tuple(Measured(words=words, groups=own, share=share) for words, own in groups.values()))
    return tuple(found)


def _groups(
    told: Told, query: Query, attributes: dict[str, tuple[Column, Axis]], possible: NDArray[np.bool_]
) -> Wholes:
    """The group of each possible cell in a query."""
    if query == "cells":
        return np.arange(int(possible.sum()))
    if query == "total":
        return np.zeros(int(possible.sum()), dtype=np.int64)
    names = {name.lower(): place for place, name in enumerate(attributes)}
    for name in query:
        if name.lower() not in names:
            raise told.fault(f"a query names {name[:60]!r}, which is no attribute", hint=closest(name, attributes))
    places = np.unravel_index(np.flatnonzero(possible), tuple(axis.size for _, axis in attributes.values()))
    sizes = [axis.size for _, axis in attributes.values()]
    number = np.zeros(int(possible.sum()), dtype=np.int64)
    for name in query:
        number = number * sizes[names[name.lower()]] + places[names[name.lower()]]
    return np.unique(number, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _words(query: Query) -> str:
    return query if isinstance(query, str) else " x ".join(query)


def _basis(told: Told, queries: Sequence[Sequence[Measured]], cells: int) -> Basis:
    """Coordinates that suit every query, and the total where that is known; the total comes last."""
    listed = [each for level in queries for each in level]
    groupings = [each.groups for each in listed] + [np.zeros(cells, dtype=np.int64)] * bool(told.invariants)
    words = [*(each.words for each in listed), "the exact totals"]
    if cells > MOST_TURNED and any(len(np.unique(each)) < cells for each in groupings):
        raise Refused(
            f"{told.where}: queries beside cells, and invariants, are for at most {MOST_TURNED:,} cells a place, "
            f"and there are {cells:,}",
            hint='queries = ["cells"] at every level, or fewer attributes',
        )
    try:
        return common_basis(groupings)
    except Disturbing as problem:
        raise Refused(
            f"{told.where}: {words[problem.one]!r} and {words[problem.other]!r} cannot be fitted together exactly, "
            "for impossible cells leave groups of different sizes",
            hint='measure "cells", and at most one other query that cuts across the rules',
        ) from None
