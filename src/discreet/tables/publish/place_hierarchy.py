"""The hierarchy of places, from public facts: which values of the table's columns lie where."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.tree_least_squares import NodeTree
from discreet.kernel.exact_totals import PublicPlaces
from discreet.plan.cells import Axis
from discreet.schema.column import CategoryColumn, Column, Label
from discreet.schema.schema import Schema, closest_name_hint
from discreet.sql.catalog import PublicTable
from discreet.sql.group_keys import declared_axis
from discreet.tables.publish.plan_file import PlanHierarchy, PublicationPlan
from discreet.tables.publish.public_join import PublicPlaceJoin, joined_axis

Wholes = NDArray[np.int64]
Publics = Callable[[str], PublicTable]


@dataclass(frozen=True, kw_only=True)
class PlaceHierarchy:
    """A tree of places under one root, and where each value of the axes lies in it.

    `leaves[i]`: the node of the last level for value i of the axes, flat and row-major; -1 is left out.
    `labels[l]`: the own label of each node of level l + 1; None for rows without a known place.
    """

    axes: tuple[Axis, ...]
    tree: NodeTree
    leaves: Wholes
    labels: tuple[tuple[Label, ...], ...]
    joined: PublicPlaceJoin | None = None
    by: PublicPlaces | None = None

    def nodes(self, level: int) -> Wholes:
        """The node of a level for each value of the axes."""
        level_nodes = self.leaves
        for parent in reversed(self.tree.parents[level:]):
            level_nodes = np.where(level_nodes < 0, -1, parent[np.maximum(level_nodes, 0)])
        return level_nodes

    def path(self, level: int) -> list[tuple[Wholes, tuple[Label, ...]]]:
        """For each level down to this one the labels of its nodes, and which of them each node here lies in."""
        path_labels = []
        own = np.arange(self.tree.sizes[level])
        for upper in range(level, 0, -1):
            path_labels.append((own, self.labels[upper - 1]))
            own = self.tree.parents[upper - 1][own]
        return path_labels[::-1]


@dataclass(frozen=True, kw_only=True)
class CodedPlaces:
    """Values of the axes by the codes of their labels at each level: `codes[l][i]` is a place in `labels[l]`."""

    axes: tuple[Axis, ...]
    codes: tuple[Wholes, ...]
    labels: tuple[tuple[Label, ...], ...]
    joined: PublicPlaceJoin | None = None
    by: PublicPlaces | None = None

    @property
    def size(self) -> int:
        """How many values the axes have together."""
        return math.prod(axis.size for axis in self.axes)

    def unknown(self) -> NDArray[np.bool_]:
        """Which values of the axes have no known place at some level."""
        is_unknown = np.zeros(self.size, dtype=np.bool_)
        for codes, labels in zip(self.codes, self.labels, strict=True):
            is_unknown |= np.array([label is None for label in labels], dtype=np.bool_)[codes]
        return is_unknown


def code_places(plan: PublicationPlan, schema: Schema, publics: Publics) -> CodedPlaces:
    """What the plan says of places, checked against the declaration."""
    hierarchy = plan.hierarchy
    if hierarchy is None:
        return CodedPlaces(axes=(), codes=(), labels=())
    if hierarchy.columns:
        return _nested(plan, hierarchy, schema)
    assert hierarchy.column is not None
    if hierarchy.source is not None:
        return _by_table(plan, hierarchy, schema, publics(hierarchy.source))
    column = column_named(hierarchy.column, plan, schema)
    if hierarchy.prefix and not isinstance(column, CategoryColumn):
        raise plan.fault(
            f"prefix works only with the declared values of a category, and column {column.name!r} has another type",
            hint=f"declare {column.name!r} as a category with its values, or list the places in a public table (from)",
        )
    column, axis = axis_named(hierarchy.column, plan, schema)
    lengths = (*(hierarchy.prefix or ()), None)
    texts = [[None if label is None else str(label)[:length] for label in axis.labels] for length in lengths[:-1]]
    return _labelled((axis,), [*texts, list(axis.labels)])


def build_hierarchy(coded: CodedPlaces, *, out: NDArray[np.bool_]) -> PlaceHierarchy:
    """The tree of places, without those values of the axes that are `out`."""
    size = len(out)
    keys = [np.zeros(size, dtype=np.int64)[~out], *(codes[~out] for codes in coded.codes)]
    order = np.lexsort(keys[::-1])
    new = np.zeros(len(order), dtype=np.bool_)
    new[:1] = True
    nodes = []
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
        nodes.append(np.cumsum(new) - 1)
    firsts = [np.flatnonzero(np.diff(own, prepend=-1)) for own in nodes]
    leaves = np.full(size, -1, dtype=np.int64)
    leaves[np.flatnonzero(~out)[order]] = nodes[-1]
    own_labels = tuple(
        tuple(labels[code] for code in key[order][first].tolist())
        for labels, key, first in zip(coded.labels, keys[1:], firsts[1:], strict=True)
    )
    parents = tuple(upper[first] for upper, first in zip(nodes, firsts[1:], strict=False))
    tree, joined, by = NodeTree(parents), coded.joined, coded.by
    return PlaceHierarchy(axes=coded.axes, tree=tree, leaves=leaves, labels=own_labels, joined=joined, by=by)


def axis_named(name: str, plan: PublicationPlan, schema: Schema) -> tuple[Column, Axis]:
    """A declared column as an axis of known values."""
    column = column_named(name, plan, schema)
    axis = declared_axis(column)
    if axis is None:
        raise plan.fault(
            f"the values of column {column.name!r} are not declared",
            hint="declare its values, or low and high (and optionally bins), then refresh the table",
        )
    return column, axis


def column_named(name: str, plan: PublicationPlan, schema: Schema) -> Column:
    """A declared column."""
    column = schema.column(name)
    if column is None:
        raise plan.fault(
            f"table {plan.table!r} has no column {name[:60]!r}",
            hint=closest_name_hint(name, [declared.name for declared in schema.columns]),
        )
    return column


def _labelled(axes: tuple[Axis, ...], texts: Sequence[Sequence[Label]]) -> CodedPlaces:
    """Labels as codes in the order of their first places; None comes last."""
    codes, labels = [], []
    for listed in texts:
        level_labels: list[Label] = list(dict.fromkeys(each for each in listed if each is not None))
        places: dict[Label, int] = {label: place for place, label in enumerate(level_labels)}
        if None in listed:
            places[None] = len(level_labels)
            level_labels.append(None)
        codes.append(np.array([places[each] for each in listed], dtype=np.int64))
        labels.append(tuple(level_labels))
    return CodedPlaces(axes=axes, codes=tuple(codes), labels=tuple(labels))


def _nested(plan: PublicationPlan, hierarchy: PlanHierarchy, schema: Schema) -> CodedPlaces:
    axes = tuple(axis_named(name, plan, schema)[1] for name in hierarchy.columns)
    codes = np.indices([axis.size for axis in axes]).reshape(len(axes), -1)
    return CodedPlaces(axes=axes, codes=tuple(codes), labels=tuple(axis.labels for axis in axes))


def _by_table(plan: PublicationPlan, hierarchy: PlanHierarchy, schema: Schema, public: PublicTable) -> CodedPlaces:
    """Levels as columns of a public table with one row for each value; the last level is the value itself."""
    assert hierarchy.column is not None
    column = column_named(hierarchy.column, plan, schema)
    by_name = {public_column.name.lower(): public_column for public_column in public.columns}
    for name in hierarchy.levels:
        if name.lower() not in by_name:
            raise plan.fault(
                f"table {public.name!r} has no column {name[:60]!r}", hint=closest_name_hint(name, list(by_name))
            )
    own = [by_name[name.lower()] for name in hierarchy.levels]
    listed = [public.labels(each) for each in own]
    rows: dict[str, int] = {}
    for row, label in enumerate(listed[-1]):
        if label is not None and rows.setdefault(str(label), row) != row:
            raise plan.fault(
                f"table {public.name!r} has two rows for one value of {hierarchy.levels[-1]!r}",
                hint=f"list each value of column {column.name!r} in exactly one row of the last level",
            )
    axis, joined = declared_axis(column), None
    if axis is None:
        axis, joined = joined_axis(plan, column, own[-1], public)
    public_rows = [None if label is None else rows.get(str(label)) for label in axis.labels]
    if all(row is None for row in public_rows):
        raise plan.fault(
            f"no value of column {column.name!r} appears in column {hierarchy.levels[-1]!r} of {public.name!r}"
        )
    coded = _labelled((axis,), [[None if row is None else texts[row] for row in public_rows] for texts in listed])
    return replace(coded, joined=joined, by=PublicPlaces.of(public, hierarchy.levels))
