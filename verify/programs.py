"""Marginals and publications: tables by declared columns, what they say they measured, and how far a row moves them.

A unit has at most so many rows of the declared table, each of which lies in one cell of a table.
"""

from math import prod
from typing import Any

from measured import check_noise, digest, hashed, numbers, parted, ratio, size_of
from relation import Broken, Node


def check_declared_tables(plan: Node, stored: Node, drawn: list[Any], axes: list[Any], rows: int) -> str:
    """The one step of marginals or of a publication. axes: those of the columns, by which its digest follows."""
    (step,), kind = plan["steps"], plan["kind"]
    events = parted(step["event"])
    if digest(counted(kind, stored, axes)) != step["of"]:
        raise Broken("the step measured something other than these tables of these columns")
    if kind == "publish" and drawn[0] != {"noisy": drawn[0]["noisy"], "beside": None}:
        raise Broken("a step stores something other than its noisy numbers")
    if kind == "marginals":
        check_noise(events, drawn[0], contrasts(stored, [*map(size_of, axes)], rows))
    else:
        check_noise(events, drawn[0]["noisy"], [(count, rows, rows**2) for count in nodes_by_groups(stored["cells"])])
    return f"the noise covers {rows} rows per unit on all tables, which are what the step measured"


def counted(kind: str, stored: Node, axes: list[Any]) -> Node:
    """What a step of marginals or of a publication says it measured; a row is in one cell of each of its tables."""
    sizes, inside = [size_of(axis) for axis in axes], stored["cells"] if kind == "publish" else {}
    names = stored["columns"] if kind == "marginals" else [*inside["places"], *inside["attributes"]]
    if [of for of, _, _ in axes] != [{"column": name} for name in names]:
        raise Broken("tables by something other than the columns that they name")
    if kind == "publish":
        pairs = [(numbers(level["nodes"]), numbers(groups)) for level in inside["levels"] for groups in level["groups"]]
        linear = [["nodes", max(a) + 1, max(b) + 1, len(a), len(b), hashed(a), hashed(b)] for a, b in pairs]
        return {"linear": linear, "axes": axes}

    def factor(size: int, centred: bool) -> list[Any]:
        return (["matrix", 1, hashed([1, -1])] if size == 2 else ["centred", size]) if centred else ["identity", size]

    factors = [[factor(sizes[axis], axis in centred) for axis in own] for own, centred in stored["parts"]]
    measured = [["product", each] if each else ["identity", 1] for each in factors]
    sets = [own for own, _ in stored["parts"]]
    return {"linear": measured, "sets": sets, "axes": axes, "groups": [[*range(size)] for size in sizes]}


def nodes_by_groups(cells: Node) -> list[int]:
    """How many cells each table of a publication has: of each level each node, by each group."""
    levels = [(numbers(level["nodes"]), map(numbers, level["groups"])) for level in cells["levels"]]
    return [(max(nodes) + 1) * (max(each) + 1) for nodes, groups in levels for each in groups]


def contrasts(stored: Any, sizes: list[int], rows: int) -> list[tuple[int, int, int]]:
    """Each part is a table, by contrasts along some columns: (1, -1) of two cells, n I - J of more.

    Returns how many numbers each has, one contrast of two cells and as many as cells of more, and how far rows move it.
    """
    if len(stored["parts"]) != len(stored["shares"]) or sum(map(ratio, stored["shares"])) > 1:
        raise Broken("the shares are not those of the parts, or add up to more than the whole")
    found = []
    for own, centred in stored["parts"]:
        more = [sizes[axis] for axis in centred if sizes[axis] != 2]
        count = prod(1 if axis in centred and sizes[axis] == 2 else sizes[axis] for axis in own)
        one, two = prod(2 * (size - 1) for size in more), prod(size * (size - 1) for size in more)
        found.append((count, rows * one, rows**2 * two))
    return found
