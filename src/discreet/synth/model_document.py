"""A model as plain data and back: card, columns, attributes, noisy measurements, potentials, constraints.

What is read may have been written by anybody: whatever does not fit together raises ValueError, TypeError, KeyError
or one of our own errors, before a table is made of it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from discreet import exact
from discreet.inference.axes import Axes, Table, cells_of, check_attributes, shape_of
from discreet.inference.fit import FittedGraphicalModel, restore_fit
from discreet.inference.fit_inputs import MeasuredMarginal, cells_in
from discreet.inference.junction_tree import model_cells
from discreet.schema.column import CategoryColumn, Column, TextColumn
from discreet.sql.typed_expression import column_expression
from discreet.synth.archive import DocumentArrays
from discreet.synth.attribute import Attribute
from discreet.synth.attribute_discovery import attribute_of_words
from discreet.synth.column_data import column_data, column_of, flag_of, text_of
from discreet.synth.column_differences import restore_differences
from discreet.synth.constraints import PublicConstraints
from discreet.synth.model_contents import ModelCard, ModelContents
from discreet.synth.shape_measurement import shape_kind
from discreet.synth.value_shapes import SHAPES, ValueShape

#: The class that a document is read as: `Model`, which its file does not know.
AnyModel = TypeVar("AnyModel", bound=ModelContents)

NAME = "discreet model"
FORMAT = 1

#: The format of models of persons: see `persons.person_file`.
PERSONS_FORMAT = 2

#: The format of models of several tables.
TABLES_FORMAT = 3

#: A file that makes a model of more cells is refused: 2**25 cells take 256 megabytes.
MOST_CELLS = 2**25


def model_data(model: ModelContents, arrays: DocumentArrays) -> dict[str, Any]:
    """A model as data."""
    return {
        "format": NAME,
        "version": FORMAT,
        "card": card_data(model.card),
        "columns": [column_data(column) for column in model.columns],
        "attributes": [_attribute_data(attribute, arrays) for attribute in model.attributes],
        "total": model.fitted.total,
        "total_sd": model.total_sd,
        "constraints": model.constraints.to_data(),
        "measured": [
            {
                "attributes": list(measured.attributes),
                "values": arrays.put(measured.values),
                "variance": arrays.put(measured.variance),
                **({} if measured.variances is None else {"variances": arrays.put(measured.variances)}),
                **({} if measured.groups is None else {"groups": [arrays.put(group) for group in measured.groups]}),
            }
            for measured in model.measured
        ],
        "potentials": [
            {"attributes": list(axes), "values": arrays.put(table)} for axes, table in model.fitted.potentials.items()
        ],
        "fit": {name: getattr(model.fitted, name) for name in ("residual", "misfit", "iterations")},
    }


def model_of(data: dict[str, Any], arrays: DocumentArrays, kind: type[AnyModel]) -> AnyModel:
    """The model that was written."""
    columns = tuple(column_of(entry) for entry in data["columns"])
    if len({column.name.lower() for column in columns}) != len(columns):
        raise ValueError("two columns have the same name")
    attributes = restore_differences([_attribute_of(entry, columns, arrays) for entry in data["attributes"]])
    if len({attribute.name for attribute in attributes}) != len(attributes):
        raise ValueError("two attributes have the same name")
    sizes = tuple(attribute.size for attribute in attributes)
    constraints = PublicConstraints.from_saved(data["constraints"])
    return kind(
        card=card_of(data["card"]),
        columns=columns,
        attributes=attributes,
        fitted=_fitted_of(data, sizes, attributes, constraints, arrays),
        measured=tuple(_measured_of(entry, sizes, arrays) for entry in data["measured"]),
        total_sd=_finite(data["total_sd"]),
        constraints=constraints,
    )


def card_data(card: ModelCard) -> dict[str, Any]:
    return {
        "kind": card.kind,
        "table": card.table,
        "version": card.version,
        "unit": card.unit,
        "release": card.release,
        "epsilon": None if card.epsilon is None else exact.write(card.epsilon),
        "delta": exact.write(card.delta),
        "rho": None if card.rho is None else exact.write(card.rho),
        "steps": card.steps,
        "shares": {name: exact.write(share) for name, share in card.shares.items()},
        "because": card.because,
        "warnings": list(card.warnings),
        "doubtful": list(card.doubtful),
        "outside": dict(card.outside),
        "degree": card.degree,
    }


def card_of(data: dict[str, Any]) -> ModelCard:
    return ModelCard(
        kind=text_of(data["kind"]),
        table=text_of(data["table"]),
        version=_whole(data["version"]),
        unit=text_of(data["unit"]),
        release=None if data["release"] is None else text_of(data["release"]),
        epsilon=None if data["epsilon"] is None else exact.read(data["epsilon"]),
        delta=exact.read(data["delta"]),
        rho=None if data["rho"] is None else exact.read(data["rho"]),
        steps=_whole(data["steps"]),
        shares={text_of(name): exact.read(share) for name, share in data["shares"].items()},
        because=text_of(data["because"]),
        warnings=tuple(text_of(warning) for warning in data["warnings"]),
        doubtful=tuple(text_of(name) for name in data["doubtful"]),
        outside={text_of(name): _finite(rows) for name, rows in data.get("outside", {}).items()},
        degree=None if data.get("degree") is None else _whole(data["degree"]),
    )


def _attribute_data(attribute: Attribute, arrays: DocumentArrays) -> dict[str, Any]:
    return {
        "column": column_data(attribute.column),
        "edges": arrays.put(np.array(attribute.edges, dtype=np.int64)),
        "null": attribute.null,
        "binned": attribute.binned,
        "open": attribute.open,
        "groups": arrays.put(attribute.groups),
        "weights": arrays.put(attribute.weights),
        **({} if attribute.shape is None else {"shape": _shape_data(attribute.shape, arrays)}),
        **({} if attribute.between is None else {"between": list(attribute.between)}),
        **({"outer": list(attribute.outer)} if any(attribute.outer) else {}),
    }


def _shape_data(shape: ValueShape, arrays: DocumentArrays) -> dict[str, Any]:
    return {"kind": shape.kind, "weights": [arrays.put(weights) for weights in shape.weights]}


def _shape_of(data: Any, column: Column, arrays: DocumentArrays) -> ValueShape:
    kind, weights = SHAPES[data["kind"]], tuple(arrays.floats(entry) for entry in data["weights"])
    if kind is not shape_kind(column):
        raise ValueError(f"column {column.name[:60]!r} cannot have this shape")
    if tuple(map(len, weights)) != kind.sizes or any((each < 0).any() for each in weights):
        raise ValueError(f"the shape of column {column.name[:60]!r} does not fit together")
    return kind(weights=weights)  # type: ignore[arg-type]


def _attribute_of(data: dict[str, Any], columns: tuple[Column, ...], arrays: DocumentArrays) -> Attribute:
    """An attribute. How its cells are counted follows from its column and the table's, and is not in the file."""
    column = column_of(data["column"])
    between = tuple(map(text_of, data["between"])) if "between" in data else None
    own = [table_column for table_column in columns if table_column.name == column.name]
    if isinstance(column, TextColumn) or (bool(own) == (between is not None)):
        raise ValueError(f"column {column.name[:60]!r} cannot be modelled")
    edges = arrays.integers(data["edges"])
    groups, weights = arrays.integers(data["groups"]), arrays.floats(data["weights"])
    null, open_ = flag_of(data["null"]), flag_of(data["open"])
    _check_cells(column, edges, groups, weights)
    of = None
    if between is None and isinstance(own[0], TextColumn) and isinstance(column, CategoryColumn):
        of = attribute_of_words(column.name, column.values[:-1]).of
    elif open_ and between is None:
        of = column_expression(own[0]).expression
    return Attribute(
        column=column,
        edges=tuple(edges.tolist()),
        null=null,
        binned=flag_of(data["binned"]),
        of=of,
        open=open_,
        groups=groups,
        weights=weights,
        shape=_shape_of(data["shape"], column, arrays) if "shape" in data else None,
        outer=_outer_of(data["outer"]) if "outer" in data else (0, 0),
        between=between,  # type: ignore[arg-type]
    )


def _outer_of(data: Any) -> tuple[int, int]:
    below, above = map(_whole, data)
    return below, above


def _check_cells(column: Column, edges: Any, groups: Any, weights: Any) -> None:
    if len(edges) < 2 or (np.diff(edges) <= 0).any():
        raise ValueError(f"the cells of column {column.name[:60]!r} are not in increasing order")
    if isinstance(column, CategoryColumn) and not (edges[0] >= 0 and edges[-1] <= len(column.values)):
        raise ValueError(f"column {column.name[:60]!r} has cells beyond its values")
    if not len(groups) or set(np.unique(groups).tolist()) != set(range(len(np.unique(groups)))):
        raise ValueError(f"the groups of column {column.name[:60]!r} are not numbered from 0")
    if (weights < 0).any():
        raise ValueError(f"a weight of column {column.name[:60]!r} is negative")


def _fitted_of(
    data: dict[str, Any],
    sizes: tuple[int, ...],
    attributes: tuple[Attribute, ...],
    constraints: PublicConstraints,
    arrays: DocumentArrays,
) -> FittedGraphicalModel:
    potentials: dict[Axes, Table] = {}
    for entry in data["potentials"]:
        axes = _axes(entry, sizes)
        potentials[axes] = _shaped(arrays.floats(entry["values"]), sizes, axes)
    total = _finite(data["total"])
    limits = constraints.on(attributes, total)
    factors = [*potentials, *(axes for axes, _ in limits.allowed), *(axes for axes, _ in limits.totals)]
    if model_cells(sizes, factors) > MOST_CELLS:
        raise ValueError(f"its tables would have more than {MOST_CELLS:,} cells")
    restored_fit = restore_fit(sizes, total, potentials, allowed=limits.allowed, totals=limits.totals)
    fit = data["fit"]
    return replace(
        restored_fit,
        residual=_finite(fit["residual"]),
        misfit=_finite(fit["misfit"]),
        iterations=_whole(fit["iterations"]),
    )


def _measured_of(data: dict[str, Any], sizes: tuple[int, ...], arrays: DocumentArrays) -> MeasuredMarginal:
    axes = _axes(data, sizes)
    (variance,) = arrays.floats(data["variance"])
    groups = tuple(arrays.integers(group) for group in data["groups"]) if "groups" in data else None
    if groups is not None and tuple(map(len, groups)) != shape_of(sizes, axes):
        raise ValueError(f"the groups of a table over {axes} do not match its cells")
    # A table over groups of cells has an axis of as many cells as there are groups.
    axis_sizes = sizes if groups is None else tuple(map(cells_in, groups))
    own = axes if groups is None else tuple(range(len(axes)))
    return MeasuredMarginal(
        attributes=axes,
        values=_shaped(arrays.floats(data["values"]), axis_sizes, own),
        variance=float(variance),
        variances=_shaped(arrays.floats(data["variances"]), axis_sizes, own) if "variances" in data else None,
        groups=groups,
    )


def _axes(data: dict[str, Any], sizes: tuple[int, ...]) -> Axes:
    return check_attributes(sizes, [_whole(place) for place in data["attributes"]])


def _shaped(values: Table, sizes: tuple[int, ...], axes: Axes) -> Table:
    if len(values) != cells_of(sizes, axes):
        raise ValueError(f"a table over {axes} must have {cells_of(sizes, axes):,} cells, got {len(values):,}")
    return values.reshape(shape_of(sizes, axes))


def _finite(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or value < 0:
        raise ValueError("a number is missing, negative or not finite")
    return float(value)


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("a whole number is missing")
    return value
