"""What the noisy numbers of a release count: which cell of which table, or which statistic of a network.

A bundle tells them as they were drawn, by step, part and place (`measured`). What stands at each place follows from
what the release stores and from the declared columns. Contrasts of marginals count nothing alone, and have no name.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.bundle import networks
from discreet.bundle.sheet import Sheet
from discreet.charts import svg
from discreet.graph.model.recipe import Recipe
from discreet.graph.parts import CLIMBED, measured_parts
from discreet.graph.shape import Shape, most_degree, thresholds
from discreet.packing import unpacked
from discreet.release import ReleaseColumn
from discreet.schema.column import Label
from discreet.schema.schema import Schema
from discreet.sql.keys import declared_axis

#: A list of numbers: the step that drew it, and its part there.
Where = tuple[int, int]
#: A cell: columns and their values.
Cell = tuple[tuple[str, Label], ...]

#: The kinds of releases whose numbers can have names.
KINDS = ("marginals", "publish", *networks.KINDS)
#: A longer list is no table to read, and is not named.
MOST_CELLS = 10_000
#: Wider names than this leave no room for bars.
_WIDEST = 230.0
_ALL = "total"


def named(drawn: Sheet, names: Mapping[Where, Sequence[str]]) -> Sheet:
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


def names_of(kind: str, payloads: Mapping[str, str], release: str, schema: Schema) -> dict[Where, list[str]]:
    """The names of the numbers of each list that has some, place by place; empty where nothing tells them."""
    stored = json.loads(payloads[release])
    match kind:
        case "marginals":
            return _written(_marginals(stored, schema))
        case "publish":
            return _written(_published(stored))
        case "graph":
            return _statistics(Shape.from_data(stored["shape"]), networks.limit_of(kind, release, payloads))
        case "graph model":
            return _model(Recipe.from_data(stored["recipe"]), networks.limit_of(kind, release, payloads))
        case _:
            return {}


def _marginals(stored: Mapping[str, Any], schema: Schema) -> dict[Where, list[Cell]]:
    """Tables that were measured cell by cell. Releases that were stored without the names of columns have none."""
    columns = [schema.column(name) for name in stored.get("columns", ())]
    axes = [None if column is None else declared_axis(column) for column in columns]
    found: dict[Where, list[Cell]] = {}
    for part, (own, centred) in enumerate(stored["parts"] if columns else ()):
        named = [(column.name, axis) for column, axis in ((columns[at], axes[at]) for at in own) if column and axis]
        if not centred and len(named) == len(own) and math.prod(axis.size for _, axis in named) <= MOST_CELLS:
            labels = [[(name, label) for label in axis.labels] for name, axis in named]
            found[1, part] = list(itertools.product(*labels))
    return found


def _published(stored: Mapping[str, Any]) -> dict[Where, list[Cell]]:
    """The first list of a publication, by what `tables.publish.called` stored of it."""
    told = stored.get("called")
    if told is None:
        return {}
    columns = [
        [(name, labels[code]) for code in unpacked(codes).tolist()]
        for name, labels, codes in zip(told["columns"], told["labels"], told["codes"], strict=True)
    ]
    return {(1, 0): list(zip(*columns, strict=True)) if columns else [()] * int(told["numbers"])}


def _statistics(shape: Shape, limit: networks.Limit | None) -> dict[Where, list[str]]:
    rising = thresholds(most_degree(shape, None if limit is None else limit.edges))
    told = {
        "nodes": ["nodes with an edge"],
        "edges": ["edges"],
        "degrees": _degrees(rising),
        "out_degrees": _degrees(rising, "out-degree"),
        "in_degrees": _degrees(rising, "in-degree"),
        "mixing": _mixing(shape.labels, directed=shape.directed),
        "triangles_width": ["most neighbours shared"],
        "wedges_width": ["two largest degrees"],
    }
    together = [told[part] for part in measured_parts(shape)]
    alone = [[part] for part in ("persons", *CLIMBED) if part in shape.shares]
    return _steps(together, alone, first=1 + shape.chooses)


def _model(recipe: Recipe, limit: networks.Limit | None) -> dict[Where, list[str]]:
    edges = None if limit is None else limit.edges
    coarse = _degrees(recipe.coarse(edges))
    told = {
        "degrees": _degrees(recipe.thresholds(edges)),
        "by_block": [f"{recipe.by} = {svg.key(label)}, {degree}" for label in recipe.labels for degree in coarse],
        "edges": ["edges"],
        "mixing": _mixing(recipe.labels, directed=False),
    }
    alone = [["persons"]] if "persons" in recipe.shares else []
    return _steps([told[part] for part in recipe.parts], alone, first=1 + recipe.chooses)


def _steps(together: list[list[str]], alone: list[list[str]], *, first: int) -> dict[Where, list[str]]:
    """What one step draws together, then each that is a step of its own."""
    found = {(first, part): names for part, names in enumerate(together)}
    return found | {(first + bool(together) + number, 0): names for number, names in enumerate(alone)}


def _degrees(rising: Sequence[int], word: str = "degree") -> list[str]:
    return [f"{word} {degree:,} or more" for degree in rising]


def _mixing(labels: Sequence[Label], *, directed: bool) -> list[str]:
    """The groups at the two ends, in the order of `graph.statistics.Mixing.pairs`."""
    between, shown = "to" if directed else "and", [svg.key(label) for label in labels]
    return [
        f"edges {one} {between} {other}"
        for place, one in enumerate(shown)
        for other in (shown if directed else shown[place:])
    ]


def _written(cells: Mapping[Where, Sequence[Cell]]) -> dict[Where, list[str]]:
    """Cells by their columns and values; by values alone, as answers have them, where a name would be too wide."""
    full = {where: [_name(cell) for cell in own] for where, own in cells.items()}
    if all(svg.width(name) <= _WIDEST for own in full.values() for name in own):
        return full
    return {
        where: [", ".join(svg.key(value) for _, value in cell) or _ALL for cell in own] for where, own in cells.items()
    }


def _name(cell: Cell) -> str:
    return ", ".join(f"{column} = {svg.key(value)}" for column, value in cell) or _ALL
