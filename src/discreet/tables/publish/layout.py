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

from discreet.errors import Refused
from discreet.inference.linear.eigenbasis import MOST_ROTATED_CELLS, Basis, GroupingsDoNotCommute, common_basis
from discreet.kernel.curator import Version
from discreet.mechanisms.strategy.node_tables import NodeStrategy
from discreet.plan.cells import Axis
from discreet.schema.column import Column, Label
from discreet.schema.schema import closest_name_hint
from discreet.tables.publish.permitted_totals import exact_level, refuse_undeclared
from discreet.tables.publish.place_hierarchy import PlaceHierarchy, Publics, axis_named, build_hierarchy, code_places
from discreet.tables.publish.plan_file import PlanLevel, PublicationPlan, Query
from discreet.tables.publish.possible_cells import bin_cutting_warnings, empty_places, possible_cells, split_rules

Wholes = NDArray[np.int64]

#: More cells than this do not fit in memory beside their estimates and errors.
MOST_CELLS = 20_000_000


@dataclass(frozen=True, kw_only=True)
class LevelQuery:
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

    plan: PublicationPlan
    version: Version
    places: PlaceHierarchy
    attributes: tuple[tuple[Column, Axis], ...]
    possible: NDArray[np.bool_]
    queries: tuple[tuple[LevelQuery, ...], ...]
    basis: Basis
    warnings: tuple[str, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        return self.plan.level_names

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What is counted: places, then attributes."""
        return (*self.places.axes, *(axis for _, axis in self.attributes))

    @cached_property
    def cells(self) -> int:
        """How many possible cells a node has."""
        return int(self.possible.sum())

    @property
    def lowest_exact_level(self) -> int | None:
        """The lowest level whose totals are exact; those above it follow."""
        return exact_level(self.plan)

    def size(self, level: int) -> int:
        """How many cells the table of a level has."""
        return self.places.tree.sizes[level] * self.cells

    def strategy(self, level: int, groups: Wholes) -> NodeStrategy:
        """The tables of a level, cells taken together by `groups`; what is not possible is not counted."""
        spread = np.full(len(self.possible), -1, dtype=np.int64)
        spread[self.possible] = groups
        return NodeStrategy(
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
            if self.plan.levels
            else None,
            "known": self.lowest_exact_level,
            "joined": None if self.places.joined is None else self.places.joined.content,
        }


def lay_out(plan: PublicationPlan, version: Version, publics: Publics) -> Layout:
    """Read a plan against a version. Refuses, with the place, whatever is wrong with it."""
    schema = version.schema
    named = [axis_named(name, plan, schema) for name in plan.attributes]
    attributes = {column.name: (column, axis) for column, axis in named}
    coded = code_places(plan, schema, publics)
    _refuse_twice(plan, [column.name for column, _ in named])
    _refuse_large(plan, coded.size, math.prod(axis.size for _, axis in named))
    cell_rules, place_rules = split_rules(plan)
    possible = possible_cells(plan, cell_rules, attributes)
    places = build_hierarchy(coded, out=empty_places(plan, place_rules, coded))
    refuse_undeclared(plan, schema, places)
    queries = _queries(plan, attributes, possible)
    return Layout(
        plan=plan,
        version=version,
        places=places,
        attributes=tuple(named),
        possible=possible,
        queries=queries,
        basis=_basis(plan, queries, int(possible.sum())),
        warnings=tuple(bin_cutting_warnings(plan, cell_rules, attributes)),
    )


def with_levels(layout: Layout, levels: Mapping[str, PlanLevel]) -> Layout:
    """The same with other levels measured."""
    plan = replace(layout.plan, levels=levels)
    attributes = {column.name: (column, axis) for column, axis in layout.attributes}
    queries = _queries(plan, attributes, layout.possible)
    return replace(layout, queries=queries, basis=_basis(plan, queries, layout.cells))


def _refuse_twice(plan: PublicationPlan, attributes: Sequence[str]) -> None:
    hierarchy = plan.hierarchy
    used = () if hierarchy is None else (*hierarchy.columns, *([hierarchy.column] if hierarchy.column else []))
    twice = {name.lower() for name in used} & {name.lower() for name in attributes}
    twice |= {name.lower() for name in plan.level_names[1:]} & {name.lower() for name in attributes}
    if twice:
        raise plan.fault(f"{sorted(twice)[0]!r} cannot be both a level and an attribute")


def _refuse_large(plan: PublicationPlan, places: int, cells: int) -> None:
    if places * cells > MOST_CELLS:
        raise Refused(
            f"{plan.where}: {places:,} places with {cells:,} cells each are more than {MOST_CELLS:,} cells, the most "
            "that one publication can have",
            hint="use fewer attributes, or wider bins",
        )


def _queries(
    plan: PublicationPlan, attributes: dict[str, tuple[Column, Axis]], possible: NDArray[np.bool_]
) -> tuple[tuple[LevelQuery, ...], ...]:
    levels = [plan.levels.get(name, PlanLevel()) for name in plan.level_names]
    whole = sum((level.share for level in levels), Fraction(0))
    if levels[-1].share == 0 or "cells" not in levels[-1].queries:
        raise plan.fault(
            f"the cells of the last level, {plan.level_names[-1]!r}, must be measured: they cannot be derived",
            hint=f'[levels.{plan.level_names[-1]}] with queries = ["cells"] and a share above 0',
        )
    level_queries = []
    for level in levels:
        groups: dict[bytes, tuple[str, Wholes]] = {}
        for query in level.queries if level.share else ():
            own = _groups(plan, query, attributes, possible)
            groups.setdefault(own.tobytes(), (_words(query), own))
        share = level.share / whole / max(1, len(groups))
        level_queries.append(tuple(LevelQuery(words=words, groups=own, share=share) for words, own in groups.values()))
    return tuple(level_queries)


def _groups(
    plan: PublicationPlan, query: Query, attributes: dict[str, tuple[Column, Axis]], possible: NDArray[np.bool_]
) -> Wholes:
    """The group of each possible cell in a query."""
    if query == "cells":
        return np.arange(int(possible.sum()))
    if query == "total":
        return np.zeros(int(possible.sum()), dtype=np.int64)
    names = {name.lower(): place for place, name in enumerate(attributes)}
    for name in query:
        if name.lower() not in names:
            raise plan.fault(
                f"a query names {name[:60]!r}, which is not an attribute", hint=closest_name_hint(name, attributes)
            )
    places = np.unravel_index(np.flatnonzero(possible), tuple(axis.size for _, axis in attributes.values()))
    sizes = [axis.size for _, axis in attributes.values()]
    number = np.zeros(int(possible.sum()), dtype=np.int64)
    for name in query:
        number = number * sizes[names[name.lower()]] + places[names[name.lower()]]
    return np.unique(number, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _words(query: Query) -> str:
    return query if isinstance(query, str) else " x ".join(query)


def _basis(plan: PublicationPlan, queries: Sequence[Sequence[LevelQuery]], cells: int) -> Basis:
    """Coordinates that suit every query, and the total where that is known; the total comes last."""
    listed = [each for level in queries for each in level]
    groupings = [each.groups for each in listed] + [np.zeros(cells, dtype=np.int64)] * bool(plan.invariants)
    words = [*(each.words for each in listed), "the exact totals"]
    if cells > MOST_ROTATED_CELLS and any(len(np.unique(each)) < cells for each in groupings):
        raise Refused(
            f"{plan.where}: queries other than cells, and invariants, need at most {MOST_ROTATED_CELLS:,} cells per "
            f"place, but there are {cells:,}",
            hint='queries = ["cells"] at every level, or fewer attributes',
        )
    try:
        return common_basis(groupings)
    except GroupingsDoNotCommute as problem:
        raise Refused(
            f"{plan.where}: {words[problem.one]!r} and {words[problem.other]!r} cannot be fitted together exactly, "
            "because impossible cells leave groups of different sizes",
            hint='measure "cells", and at most one other query that the rules cut across',
        ) from None
