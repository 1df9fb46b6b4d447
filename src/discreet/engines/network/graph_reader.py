"""Reads the exact graph of a declared table, from a file or from columns. Between a charge and its noise only.

Guarantee: of a table of rows, one row more or less moves the graph by at most one edge.
Because: it holds an edge where some row does, and a row is of one edge at most: equal rows are one edge, and NULL ends
    and edges from a node to itself are none. Which nodes there are comes from the edges, or is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.accounting.region import Value
from discreet.engines.network.distinct_numbers import distinct
from discreet.engines.network.edge_labels import edge_labels, label_pairs, node_hashes
from discreet.engines.network.exact_graph import ExactGraph, ExactTraits
from discreet.engines.table_file import FROM, PERSON, TO, persons_file

Numbers = NDArray[np.int64]

#: Values that lie so close are counted by their places, without sorting: fewer than this many for each edge.
_CLOSE = 8


def read_graph(
    file: Path,
    ends: tuple[str, str] | None,
    *,
    directed: bool,
    nodes: Sequence[Value] | None,
    traits: ExactTraits | None = None,
    labels: tuple[str, str] | None = None,
) -> ExactGraph:
    """The graph of a declared table: of its ends where it has them, else of two columns of its rows.

    `traits`: of a table with ends, what persons are. `labels`: of a table of rows, the columns that say what either end
    is.
    """
    if ends is None:
        if nodes is not None:
            raise ValueError("the nodes of a table with ends are the persons who have an edge")
        return _graph_of_ends(file, directed=directed, traits=traits)
    if traits is not None:
        raise ValueError("only nodes that are persons have private traits")
    return graph_of_columns(_columns(file, (*ends, *(labels or ()))), directed=directed, nodes=nodes)


def graph_of_columns(columns: list[Any], *, directed: bool, nodes: Sequence[Value] | None) -> ExactGraph:
    """The graph of the rows of a declared table, whatever engine read them.

    `columns`: Arrow columns of the codes of both ends, and, where rows say what either end is, of these two labels.
    """
    if len(columns) == 4:
        return _labelled_graph(columns, directed=directed, nodes=nodes)
    return _graph_of_rows(columns, directed=directed, nodes=nodes)


def _graph_of_ends(file: Path, *, directed: bool, traits: ExactTraits | None) -> ExactGraph:
    """The edges as they stand. Numbers that nobody has any more, or whose persons lost every edge, are closed up."""
    first, second = (_integers(column) for column in _columns(file, (FROM, TO)))
    exact_traits = None
    if traits is not None:
        stored = distinct(np.concatenate([first, second]))
        exact_traits = _traits(file, traits, most=int(stored[-1]) if stored.size else 0)[stored]
    first, second, exact_nodes = _numbered(first, second)
    return ExactGraph(first, second, exact_nodes=exact_nodes, directed=directed, exact_traits=exact_traits)


def read_traits(persons: Path, column: str) -> ExactTraits:
    """What the declared table of persons in a file says of each of them in a column."""
    rows = pq.read_table(persons, columns=[column, PERSON], partitioning=None)
    beside = pq.read_table(persons_file(persons), columns=["number", "tag"], partitioning=None)
    with_value = rows.filter(rows.column(column).is_valid())
    places = pa.compute.index_in(
        with_value.column(PERSON).cast(pa.int64()), value_set=beside.column("number").cast(pa.int64())
    )
    return ExactTraits(
        beside.column("tag").take(places).combine_chunks().cast(pa.binary()), _integers(with_value.column(column))
    )


def _traits(file: Path, traits: ExactTraits, *, most: int) -> Numbers:
    """The code of each number of a person of the edges, -1 for nobody's; persons of two tables are one by their tag.

    Guarantee: it depends, for each person, on their own row of the other table alone.
    """
    ours = pq.read_table(persons_file(file), columns=["number", "tag"], partitioning=None)
    places = pa.compute.index_in(ours.column("tag").cast(pa.binary()), value_set=traits.exact_tags)
    own, there = _integers(ours.column("number")), np.asarray(places.is_valid())
    there &= own <= most
    codes = np.full(most + 1, -1, dtype=np.int64)
    codes[own[there]] = traits.exact_codes[_integers(places.filter(pa.array(there)))]
    return codes


def _graph_of_rows(columns: list[Any], *, directed: bool, nodes: Sequence[Value] | None) -> ExactGraph:
    columns = _whole(columns)
    if nodes is None:
        first, second = _coded(columns)
        first, second = _without(first, second, first == second)
        first, second, exact_nodes = _numbered(first, second)
    else:
        first, second = (_places(column, nodes) for column in columns)
        first, second = _without(first, second, (first == second) | (first < 0) | (second < 0))
        exact_nodes = len(nodes)
    if not directed:
        first, second = np.minimum(first, second), np.maximum(first, second)
    edges = distinct(first * exact_nodes + second)  # there are fewer than 2**31 nodes
    first, second = np.divmod(edges, max(exact_nodes, 1))
    return ExactGraph(first, second, exact_nodes=exact_nodes, directed=directed)


def _labelled_graph(columns: list[Any], *, directed: bool, nodes: Sequence[Value] | None) -> ExactGraph:
    """The same graph, and what its rows say of both ends of each edge."""
    kept = pc.and_(*(pc.is_valid(column) for column in columns[:2]))
    columns = [column.filter(kept) for column in columns]
    if nodes is None:
        first, second = _coded(columns[:2])
        values = distinct(np.concatenate([first, second]))
        first, second = np.searchsorted(values, first), np.searchsorted(values, second)
        node_values: Sequence[Any] = values.tolist()
        if pa.types.is_string(columns[0].type):  # the codes are ranks of the sorted texts
            both = pa.chunked_array([chunk for column in columns[:2] for chunk in column.chunks], pa.string())
            node_values = pc.unique(both).sort().to_pylist()
    else:
        first, second = (_places(column, nodes) for column in columns[:2])
        node_values = nodes
    named = [_integers(pc.fill_null(column, -1)) for column in columns[2:]]
    gone = (first == second) | (first < 0) | (second < 0)
    first, second, *named = (each[~gone] for each in (first, second, *named))
    if not directed:
        turned = first > second
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        named = [np.where(turned, named[1], named[0]), np.where(turned, named[0], named[1])]
    first, second, one, other = label_pairs(first, second, (named[0], named[1]), max(1, len(node_values)))
    return ExactGraph(
        first,
        second,
        exact_nodes=len(node_values),
        directed=directed,
        exact_labels=edge_labels(first, second, one, other, node_hashes(node_values)),
    )


def _columns(file: Path, names: tuple[str, ...]) -> list[Any]:
    edge_table = pq.read_table(file, columns=list(dict.fromkeys(names)), partitioning=None)
    return [edge_table.column(name) for name in names]


def _whole(columns: list[Any]) -> list[Any]:
    """Two columns without the rows in which one of them is NULL."""
    if columns[0].type != columns[1].type and "string" in (str(columns[0].type), str(columns[1].type)):
        raise ValueError("the two ends must have the same type")
    if not any(column.null_count for column in columns):
        return columns
    kept = pc.and_(*(pc.is_valid(column) for column in columns))
    return [column.filter(kept) for column in columns]


def _coded(columns: list[Any]) -> tuple[Numbers, Numbers]:
    """Two columns as whole numbers, equal and in the same order where their values are; texts bytewise."""
    if not pa.types.is_string(columns[0].type):
        return _integers(columns[0]), _integers(columns[1])
    both = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())
    encoded = both.dictionary_encode().combine_chunks()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    numbers = ranks[encoded.indices.to_numpy()]
    return numbers[: len(columns[0])], numbers[len(columns[0]) :]


def _places(column: Any, nodes: Sequence[Value]) -> Numbers:
    """Which of the nodes each value is; -1 where it is none."""
    if not pa.types.is_string(column.type) and (table := _table(nodes)) is not None:
        return _looked_up(_integers(column), *table)
    of = column.type if pa.types.is_string(column.type) else pa.int64()
    indices = pc.index_in(column.cast(of), value_set=pa.array(nodes, of))
    return _integers(pc.fill_null(indices, -1))


def _table(nodes: Sequence[Value]) -> tuple[Numbers, int] | None:
    """Where each number from the least node on is among the nodes, -1 for none, and the least; None if it were large.

    Looking a number up takes a fifth of the time that hashing it does.
    """
    node_codes = np.array(nodes, dtype=np.int64)
    if not node_codes.size or int(node_codes.max()) - int(node_codes.min()) >= _CLOSE * node_codes.size:
        return None
    low = int(node_codes.min())
    table = np.full(int(node_codes.max()) - low + 1, -1, dtype=np.int64)
    table[node_codes - low] = np.arange(node_codes.size)
    return table, low


def _looked_up(numbers: Numbers, table: Numbers, low: int) -> Numbers:
    inside = (numbers >= low) & (numbers < low + table.size)
    node_numbers: Numbers = np.where(inside, table[np.where(inside, numbers - low, 0)], -1)
    return node_numbers


def _integers(column: Any) -> Numbers:
    numbers: Numbers = column.to_numpy().astype(np.int64)
    return numbers


def _without(first: Numbers, second: Numbers, gone: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    return (first[~gone], second[~gone]) if gone.any() else (first, second)


def _numbered(first: Numbers, second: Numbers) -> tuple[Numbers, Numbers, int]:
    """The same edges between numbers from 0 on, in the order of the values that occur, and how many those are."""
    if not len(first):
        return first, second, 0
    low = min(int(first.min()), int(second.min()))
    high = max(int(first.max()), int(second.max()))
    if high - low >= _CLOSE * len(first):
        values = distinct(np.concatenate([first, second]))
        return np.searchsorted(values, first), np.searchsorted(values, second), len(values)
    seen = np.zeros(high - low + 1, dtype=bool)
    seen[first - low] = True
    seen[second - low] = True
    ranks = np.cumsum(seen) - 1
    return ranks[first - low], ranks[second - low], int(ranks[-1]) + 1
