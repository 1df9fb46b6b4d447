"""Networks in plain Python: the readable twin of `making` and `reading`, which they must equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.accounting.region import Value
from discreet.engines import file_source as sources
from discreet.engines.engine import DeclarationOutcome
from discreet.engines.keyed_hashes import edge_place, edges_secret, person_tag
from discreet.engines.memory_person_table import keys, write_persons
from discreet.engines.missing_values import declared_marks
from discreet.engines.network.edge_labels import edge_labels, node_hashes
from discreet.engines.network.exact_graph import ExactGraph, ExactTraits
from discreet.engines.network.network_size import check_size
from discreet.engines.ownership import Ownership
from discreet.engines.table_file import FROM, PERSON, TO, arrow_schema, new_pair, persons_file


def declare_network(ownership: Ownership, *, folder: Path, target: Path) -> DeclarationOutcome:
    """Make the declared table and its side file."""
    source = sources.find_tables([ownership.table], folder=folder)[0]
    directed = ownership.schema.directed
    with new_pair(target) as (stream, beside), source.ensure_unchanged():
        rows = list(keys(source, tuple(ownership.unit.ends), marks=declared_marks(ownership.table.null)))
        tags = {name: person_tag([name], ownership.tag_key) for row in rows if row is not None for name in row}
        there = [row for row in rows if row is not None and not ownership.forgotten & {tags[name] for name in row}]
        listed = [(first, second) for first, second in there if first != second]
        edges = distinct_edges(listed, directed=directed)
        check_size(len(edges), table=ownership.table.name)
        secret = edges_secret(ownership.key)
        edges.sort(key=lambda edge: edge_place(secret, tags[edge[0]], tags[edge[1]], directed=directed))
        degrees = Counter(name for edge in edges for name in edge)
        numbers = {name: number for number, name in enumerate(degrees)}
        stored = [[numbers[name] for name in edge] for edge in edges]
        stored = stored if directed else [sorted(edge) for edge in stored]
        pq.write_table(
            pa.Table.from_pylist(
                [{FROM: first, TO: second} for first, second in stored], schema=arrow_schema(ownership.schema)
            ),
            stream,
        )
        write_persons([tags[name] for name in degrees], list(degrees.values()), beside)
    return DeclarationOutcome(
        exact_rows=len(edges),
        exact_nulled={},
        exact_clamped={},
        exact_without_person=rows.count(None),
        exact_persons=len(degrees),
        exact_loops=len(there) - len(listed),
        exact_doubles=len(listed) - len(edges),
        exact_one_way=None if directed else sum((second, first) not in set(listed) for first, second in set(listed)),
    )


def distinct_edges(listed: Sequence[tuple[str, str]], *, directed: bool) -> list[tuple[str, str]]:
    """The different edges; one from a to b is one from b to a, unless edges are directed."""
    return list(dict.fromkeys(listed if directed else [(min(edge), max(edge)) for edge in listed]))


def read_graph(
    file: Path,
    ends: tuple[str, str] | None,
    *,
    directed: bool,
    nodes: Sequence[Value] | None,
    traits: ExactTraits | None = None,
    labels: tuple[str, str] | None = None,
) -> ExactGraph:
    """The graph of a declared table: of its ends where it has them, else of two columns of its rows."""
    if ends is None and nodes is not None:
        raise ValueError("the nodes of a table with ends are the persons who have an edge")
    if ends is not None and labels is not None:
        return _labelled_graph(pq.read_table(file, partitioning=None).to_pylist(), ends, labels, directed, nodes)
    first, second = ends or (FROM, TO)
    rows = [(row[first], row[second]) for row in pq.read_table(file, partitioning=None).to_pylist()]
    if ends is not None:
        rows = [row for row in rows if None not in row and row[0] != row[1]]
    if nodes is not None:
        rows = [row for row in rows if row[0] in nodes and row[1] in nodes]
    node_values = list(nodes) if nodes is not None else sorted({value for row in rows for value in row})
    numbers = {value: number for number, value in enumerate(node_values)}
    edges = [(numbers[one], numbers[other]) for one, other in rows]
    if ends is not None:
        edges = sorted(set(edges if directed else [(min(edge), max(edge)) for edge in edges]))
    exact = np.array(edges, dtype=np.int64).reshape(len(edges), 2)
    exact_traits = None if traits is None else _traits(file, traits, numbers=node_values)
    return ExactGraph(
        exact[:, 0], exact[:, 1], exact_nodes=len(node_values), directed=directed, exact_traits=exact_traits
    )


def _labelled_graph(
    rows: list[dict[str, Any]],
    ends: tuple[str, str],
    labels: tuple[str, str],
    directed: bool,
    nodes: Sequence[Value] | None,
) -> ExactGraph:
    """The graph, and what its rows say of both ends of each edge, one pair after another."""
    listed = [tuple(row[name] for name in (*ends, *labels)) for row in rows]
    listed = [row for row in listed if None not in row[:2]]
    values = list(nodes) if nodes is not None else sorted({value for row in listed for value in row[:2]})
    pairs: dict[tuple[Any, Any], set[tuple[Any, Any]]] = {}
    for first, second, one, other in listed:
        if first == second or first not in values or second not in values:
            continue
        turned = not directed and values.index(first) > values.index(second)
        pair, ends_labels = ((second, first), (other, one)) if turned else ((first, second), (one, other))
        pairs.setdefault(pair, set()).add(ends_labels)
    numbered = sorted(
        (values.index(first), values.index(second), ends_labels) for (first, second), ends_labels in pairs.items()
    )
    agreed = [ends_labels.copy().pop() if len(ends_labels) == 1 else (None, None) for _, _, ends_labels in numbered]
    agreed = [(-1, -1) if None in ends_labels else ends_labels for ends_labels in agreed]
    exact = np.array([pair[:2] for pair in numbered], dtype=np.int64).reshape(-1, 2)
    codes = np.array(agreed, dtype=np.int64).reshape(-1, 2)
    labelled = edge_labels(exact[:, 0], exact[:, 1], codes[:, 0], codes[:, 1], node_hashes(values))
    return ExactGraph(exact[:, 0], exact[:, 1], exact_nodes=len(values), directed=directed, exact_labels=labelled)


def read_traits(persons: Path, column: str) -> ExactTraits:
    """What a table with one row for each person says of those who have a value."""
    tags = {row["number"]: row["tag"] for row in pq.read_table(persons_file(persons)).to_pylist()}
    codes = {
        tags[row[PERSON]]: row[column]
        for row in pq.read_table(persons, partitioning=None).to_pylist()
        if row[column] is not None
    }
    return ExactTraits(pa.array(list(codes), pa.binary()), np.array(list(codes.values()), dtype=np.int64))


def _traits(file: Path, traits: ExactTraits, *, numbers: Sequence[Any]) -> NDArray[np.int64]:
    """The code of each number of a person, -1 for those who have no row or no value in the other table."""
    tags = {row["number"]: row["tag"] for row in pq.read_table(persons_file(file)).to_pylist()}
    codes = dict(zip(traits.exact_tags.to_pylist(), traits.exact_codes.tolist(), strict=True))
    return np.array([codes.get(tags[number], -1) for number in numbers], dtype=np.int64)
