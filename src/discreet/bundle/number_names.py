"""What the noisy numbers of a release count: which cell of which table, or which statistic of a network.

A bundle tells them as they were drawn, by step, part and place (`measured`). What stands at each place follows from
what the release stores and from the declared columns. Contrasts of marginals count nothing alone, and have no name.

A name tells the columns and values of a cell. Where that is too wide for a chart, one table is told by values alone,
with its columns above; of several tables the names of columns are cut, each so that no two look alike.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.bundle import networks
from discreet.bundle.sheet import Sheet
from discreet.graph.graph_shape import GraphShape, most_degree, thresholds
from discreet.graph.model.recipe import Recipe
from discreet.graph.statistic_parts import LADDER_COUNTS, measured_parts
from discreet.mechanisms.packed_integers import unpack_integers
from discreet.present.charts import svg
from discreet.present.charts.key_order import ordered_places
from discreet.release import ReleaseColumn
from discreet.schema.column import Label
from discreet.schema.schema import Schema
from discreet.sql.group_keys import declared_axis

#: A list of numbers: the step that drew it, and its part there.
Where = tuple[int, int]
#: A cell: columns and their values.
Cell = tuple[tuple[str, Label], ...]

#: The kinds of releases whose numbers can have names.
KINDS = ("marginals", "publish", *networks.KINDS)
#: A longer list is no table to read, and is not named.
MOST_CELLS = 10_000
_ALL = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberNames:
    """The names of the numbers of each list that has some, place by place. `note`: the columns that they leave out.

    `is_ordered`: there is one list, and it counts the values of one column in their order, as ages.
    """

    lists: Mapping[Where, Sequence[str]]
    note: str = ""
    is_ordered: bool = False


def with_names(drawn: Sheet, names: Mapping[Where, Sequence[str]]) -> Sheet:
    """The numbers that have a name, under it, from the sheet of all as they were drawn."""
    kept = [
        (row, names[step, part][place])
        for row, (step, part, place, _) in enumerate(drawn.rows)
        if isinstance(step, int) and isinstance(part, int) and isinstance(place, int) and (step, part) in names
    ]
    return Sheet(
        columns=(ReleaseColumn(name="of", kind="key"), drawn.columns[-1]),
        rows=tuple((name, drawn.rows[row][-1]) for row, name in kept),
        intervals=tuple((None, drawn.intervals[row][-1]) for row, _ in kept),
    )


def names_of(kind: str, payloads: Mapping[str, str], release: str, schema: Schema, *, room: float) -> NumberNames:
    """What the numbers count, in names that a chart has room for; none where nothing tells it."""
    stored = json.loads(payloads[release])
    match kind:
        case "marginals":
            return _fit_names(_marginals(stored, schema), room)
        case "publish":
            return _fit_names(_publication(stored), room)
        case "graph":
            shape = GraphShape.from_data(stored["shape"])
            return NumberNames(lists=_statistics(shape, networks.limit_of(kind, release, payloads)))
        case "graph model":
            recipe = Recipe.from_data(stored["recipe"])
            return NumberNames(lists=_model(recipe, networks.limit_of(kind, release, payloads)))
        case _:
            return NumberNames(lists={})


def _marginals(stored: Mapping[str, Any], schema: Schema) -> dict[Where, list[Cell]]:
    """Tables that were measured cell by cell. Releases that were stored without the names of columns have none."""
    columns = [schema.column(name) for name in stored.get("columns", ())]
    axes = [None if column is None else declared_axis(column) for column in columns]
    cells_by_list: dict[Where, list[Cell]] = {}
    for part, (own, centred) in enumerate(stored["parts"] if columns else ()):
        named = [(column.name, axis) for column, axis in ((columns[at], axes[at]) for at in own) if column and axis]
        if not centred and len(named) == len(own) and math.prod(axis.size for _, axis in named) <= MOST_CELLS:
            labels = [[(name, label) for label in axis.labels] for name, axis in named]
            cells_by_list[1, part] = list(itertools.product(*labels))
    return cells_by_list


def _publication(stored: Mapping[str, Any]) -> dict[Where, list[Cell]]:
    """The first list of a publication, by what `publication_measurement.cell_names` stored of it."""
    called = stored.get("called")
    if called is None:
        return {}
    columns = [
        [(name, labels[code]) for code in unpack_integers(codes).tolist()]
        for name, labels, codes in zip(called["columns"], called["labels"], called["codes"], strict=True)
    ]
    return {(1, 0): list(zip(*columns, strict=True)) if columns else [()] * int(called["numbers"])}


def _statistics(shape: GraphShape, limit: networks.EdgeLimit | None) -> dict[Where, list[str]]:
    rising = thresholds(most_degree(shape, None if limit is None else limit.edges))
    names_by_part = {
        "nodes": ["nodes with an edge"],
        "edges": ["edges"],
        "degrees": _degrees(rising),
        "out_degrees": _degrees(rising, "out-degree"),
        "in_degrees": _degrees(rising, "in-degree"),
        "mixing": _mixing(shape.labels, directed=shape.directed),
        "homophily": ["edges within groups", "edges between groups"],
        "triangles_width": ["most neighbours shared"],
        "wedges_width": ["two largest degrees"],
    }
    together = [names_by_part[part] for part in measured_parts(shape)]
    alone = [[part] for part in ("persons", *LADDER_COUNTS) if part in shape.shares]
    return _steps(together, alone, first=1 + shape.chooses)


def _model(recipe: Recipe, limit: networks.EdgeLimit | None) -> dict[Where, list[str]]:
    edges = None if limit is None else limit.edges
    coarse = _degrees(recipe.coarse(edges))
    names_by_part = {
        "degrees": _degrees(recipe.thresholds(edges)),
        "by_block": [
            f"{recipe.by} = {svg.quoted_key(label)}, {degree}" for label in recipe.labels for degree in coarse
        ],
        "edges": ["edges"],
        "mixing": _mixing(recipe.labels, directed=False),
    }
    alone = [["persons"]] if "persons" in recipe.shares else []
    return _steps([names_by_part[part] for part in recipe.parts], alone, first=1 + recipe.chooses)


def _steps(together: list[list[str]], alone: list[list[str]], *, first: int) -> dict[Where, list[str]]:
    """What one step draws together, then each that is a step of its own."""
    names_by_list = {(first, part): names for part, names in enumerate(together)}
    return names_by_list | {(first + bool(together) + number, 0): names for number, names in enumerate(alone)}


def _degrees(rising: Sequence[int], word: str = "degree") -> list[str]:
    return [f"{word} {degree:,} or more" for degree in rising]


def _mixing(labels: Sequence[Label], *, directed: bool) -> list[str]:
    """The groups at the two ends, in the order of `graph.graph_statistics.Mixing.pairs`."""
    between, shown = "to" if directed else "and", [svg.quoted_key(label) for label in labels]
    return [
        f"edges {one} {between} {other}"
        for place, one in enumerate(shown)
        for other in (shown if directed else shown[place:])
    ]


def _fit_names(cells: Mapping[Where, Sequence[Cell]], room: float) -> NumberNames:
    columns = list(dict.fromkeys(column for own in cells.values() for cell in own[:1] for column, _ in cell))
    lists = {where: _within(own, columns, room) for where, own in cells.items()}
    is_ordered = len(cells) == 1 and all(map(_are_in_order, cells.values()))
    if len(cells) != 1 or all(full for _, full in lists.values()):
        return NumberNames(lists={where: names for where, (names, _) in lists.items()}, is_ordered=is_ordered)
    ((where, own),) = cells.items()
    return NumberNames(
        lists={where: [", ".join(svg.quoted_key(value) for _, value in cell) for cell in own]},
        note=f"by {', '.join(columns)}",
        is_ordered=is_ordered,
    )


def _are_in_order(own: Sequence[Cell]) -> bool:
    """Whether these are the values of one column that has an order, in that order."""
    labels = [value for cell in own for _, value in cell]
    return all(len(cell) == 1 for cell in own) and ordered_places(labels) == list(range(len(own)))


def _within(own: Sequence[Cell], columns: Sequence[str], room: float) -> tuple[list[str], bool]:
    """Cells by columns and values, the columns cut as little as there is room for, and whether there is room for all.

    They stay apart from all others of the chart. Where there is still no room, it cuts the values, and numbers them.
    """
    inside = [column for column, _ in own[0]] if own else []
    values = max((svg.width(_name(cell, dict.fromkeys(inside, ""))) for cell in own), default=0.0)
    cut = {column: column for column in columns}
    wide = values + sum(map(svg.width, inside))
    for letters in range(max(map(len, columns), default=0), 1, -1):
        if values + sum(svg.width(cut[column]) for column in inside) <= room:
            break
        less = {column: column if len(column) <= letters else f"{column[: letters - 1]}…" for column in columns}
        alike = Counter(less.values())
        if any(alike[less[column]] > 1 for column in inside):
            break
        cut = less
    return [_name(cell, cut) for cell in own], wide <= room


def _name(cell: Cell, called: Mapping[str, str]) -> str:
    return ", ".join(f"{called[column]} = {svg.quoted_key(value)}" for column, value in cell) or _ALL
