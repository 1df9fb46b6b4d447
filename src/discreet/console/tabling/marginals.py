"""Tables of a few columns each, from one charge, that agree with each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.api import Project
from discreet.console import forms, kept
from discreet.console.answer import Grid
from discreet.console.tabling import drawn
from discreet.errors import Refused
from discreet.recall import Recalled
from discreet.tables.marginals.release import Marginal, Marginals


def wish_of(texts: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """What a form, or an address, says."""

    def one(name: str) -> str:
        return texts.get(name, ("",))[0].strip()

    return {
        "table": one("table"),
        "columns": sorted({name for name in texts.get("columns", ()) if name}),
        "epsilon": forms.number(one("epsilon"), "epsilon"),
        "delta": forms.number(one("delta"), "delta"),
        "order": forms.number(one("order"), "the order"),
        "exactly": bool(one("exactly")),
        "objective": one("objective") or "mean",
    }


def _asked(wish: Mapping[str, Any]) -> dict[str, Any]:
    return {name: wish[name] for name in ("epsilon", "delta", "order", "exactly", "objective")}


def quoted(project: Project, wish: Mapping[str, Any], *, most: int) -> dict[str, Any]:
    """What it would cost, and how exact it would be. Free; too many cells are refused by what is declared."""
    name = project.private(wish["table"]).name
    found = project.plan_marginals(name, wish["columns"], **_asked(wish))
    data = found.to_data()
    if data["cells"] > most:
        raise Refused(
            f"these tables have {data['cells']:,} cells, more than the {most:,} that this server answers with",
            hint="fewer columns, or a lower order",
        )
    return {**kept.plain(data), "price": forms.price(project, name, found.event)}


def made(project: Project, wish: Mapping[str, Any], *, analyst: str | None) -> str:
    """Measure, and pay, or find what is stored; the address of what came of it."""
    found = project.marginals(wish["table"], wish["columns"], **_asked(wish), analyst=analyst)
    if kept.find(project.folder, found.release) is None:
        kept.keep(project.folder, found.release, _told(found))
    return f"/tables/{found.release}"


def _told(found: Marginals) -> dict[str, Any]:
    """All of a release, with the whole numbers beside the unbiased ones. What it cost, the ledger says."""
    data = {name: part for name, part in found.to_data().items() if name not in ("cost", "cached")}
    return {"kind": "marginals", "table": found.table, **data, "marginals": [_table(each) for each in found]}


def _table(each: Marginal) -> dict[str, Any]:
    return {
        "columns": list(each.columns),
        "header": list(each.header),
        "standard_error": each.standard_error,
        "half_width": each.half_width,
        "rows": [_row(row, each.half_width) for row in each.rows()],
        "whole": each.whole.ravel().tolist(),
    }


def _row(row: list[Any], width: float) -> list[Any]:
    *labels, value, (low, high) = row
    return [*labels, drawn.told(value, width), [drawn.told(low, width), drawn.told(high, width)]]


def shown(project: Project, told: Recalled, *, number: str) -> dict[str, Any] | None:
    """One table of a release, and the list of all; None where nothing is kept of it here."""
    data = kept.find(project.folder, told.id)
    if data is None:
        return None
    tables = data.pop("marginals")
    place = forms.whole(number or "1", "the number of a table", least=1, most=len(tables)) - 1
    found = tables[place]
    return {
        **data,
        "tables": [
            {"number": turn, "name": " × ".join(each["columns"]) or "total", "cells": len(each["rows"]),
             "standard_error": each["standard_error"]}
            for turn, each in enumerate(tables, start=1)
        ],
        "number": place + 1,
        "shown": found,
        "name": " × ".join(found["columns"]) or "total",
        "lines": [
            [*map(drawn.label, labels), drawn.noise(value, ends), whole]
            for (*labels, value, ends), whole in zip(found["rows"], found["whole"], strict=True)
        ],
        "chart": _chart(found),
    }  # fmt: skip


def _chart(found: Mapping[str, Any]) -> dict[str, Any] | None:
    names, rows = found["columns"], found["rows"]
    if not rows or len(rows) > drawn.MOST_DRAWN:
        return None
    if len(names) == 1:
        return drawn.bars(f"Rows by {names[0]}", rows)
    return drawn.heat(f"Rows by {names[0]} and {names[1]}", names, rows) if len(names) == 2 else None


def grid(data: Mapping[str, Any]) -> Grid:
    """The shown table, as a file has it."""
    found = data["shown"]
    rows = [
        [*labels, value, *ends, whole]
        for (*labels, value, ends), whole in zip(found["rows"], found["whole"], strict=True)
    ]
    return Grid(columns=(*found["header"], "whole"), rows=rows)
