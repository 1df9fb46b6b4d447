"""Columns as plain data, in codes: what a saved model says about the table that it is a model of."""

from __future__ import annotations

from typing import Any

from discreet import exact
from discreet.schema.category_labels import read_labels
from discreet.schema.column import (
    BooleanColumn,
    CategoryColumn,
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
    type_name,
)
from discreet.schema.value_format import BooleanFormat, read_moment_format, read_number_format


def column_data(column: Column) -> dict[str, Any]:
    """A column as data."""
    data: dict[str, Any] = {"name": column.name, "type": type_name(column), "constant": column.constant}
    if isinstance(column, NumberColumn):
        data["step"] = exact.write(column.step)
    if isinstance(column, NumberColumn | MomentColumn):
        edges = None if column.edges is None else list(column.edges)
        data |= {"low": column.low, "high": column.high, "edges": edges} | ({"closed": True} if column.closed else {})
    if isinstance(column, BooleanColumn | CategoryColumn):
        data["closed"] = column.closed
    if isinstance(column, CategoryColumn):
        data |= {"values": list(column.values), "other": column.other}
        data |= {"labels": dict(column.labels)} if column.labels else {}
    if isinstance(column, BooleanColumn) and column.format is not None:
        data |= {"true": list(column.format.true), "false": list(column.format.false)}
    if isinstance(column, MomentColumn) and column.format is not None:
        data |= {"format": column.format.text, "last_year": column.format.last_year}
    if isinstance(column, NumberColumn) and column.format is not None:
        number_format = column.format
        data |= {"decimal": number_format.decimal, "thousands": number_format.thousands}
        data |= {"symbols": list(number_format.symbols)} if number_format.symbols else {}
    return data


def column_of(data: Any) -> Column:
    """The column that was written; its own checks refuse what makes no sense."""
    name, type_, constant = text_of(data["name"]), data["type"], flag_of(data["constant"])
    match type_:
        case "integer" | "decimal":
            number_format = read_number_format(data, where="[format]")
            return NumberColumn(
                name=name,
                type=type_,
                constant=constant,
                step=exact.read(data["step"]),
                format=number_format,
                **_ordered(data),
            )
        case "date" | "timestamp":
            last_year = _whole(data["last_year"]) if "format" in data else None
            moment_format = read_moment_format(data, last_year=last_year, where="[format]")
            return MomentColumn(name=name, type=type_, constant=constant, format=moment_format, **_ordered(data))
        case "boolean":
            words = BooleanFormat(true=_words(data["true"]), false=_words(data["false"])) if "true" in data else None
            return BooleanColumn(name=name, constant=constant, closed=flag_of(data["closed"]), format=words)
        case "category":
            values = tuple(text_of(value) for value in data["values"])
            return CategoryColumn(
                name=name,
                constant=constant,
                closed=flag_of(data["closed"]),
                values=values,
                other=None if data["other"] is None else text_of(data["other"]),
                labels=read_labels(data.get("labels"), values, where=f"column {name[:60]!r}:"),
            )
        case "text":
            return TextColumn(name=name, constant=constant)
        case _:
            raise ValueError(f"column {name[:60]!r} has an unknown type")


def _words(data: Any) -> tuple[str, ...]:
    if not isinstance(data, list) or not data:
        raise ValueError("a list of words is missing")
    return tuple(text_of(word) for word in data)


def _ordered(data: Any) -> dict[str, Any]:
    edges = data["edges"]
    return {
        "low": _code(data["low"]),
        "high": _code(data["high"]),
        "edges": None if edges is None else tuple(_whole(edge) for edge in edges),
        "closed": flag_of(data.get("closed", False)),
    }


def _code(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError("a bound is not a whole number")
    return value


def text_of(value: Any) -> str:
    """A value that must be text."""
    if not isinstance(value, str):
        raise ValueError("a text value is missing")
    return value


def flag_of(value: Any) -> bool:
    """A value that must be true or false."""
    if not isinstance(value, bool):
        raise ValueError("a true or false value is missing")
    return value
