"""Tables of a few columns each, from one charge, that agree with each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.console import forms
from discreet.console.jobs import noisy_charts, release_store
from discreet.console.responses import PageTable
from discreet.errors import Refused
from discreet.present.cell_text import cell_text
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease
from discreet.tables.marginals.marginals_release import MarginalsRelease, ReleasedMarginal


def wish_of(texts: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """What a form, or an address, says."""

    def one(name: str) -> str:
        return texts.get(name, ("",))[0].strip()

    return {
        "table": one("table"),
        "columns": sorted({name for name in texts.get("columns", ()) if name}),
        "epsilon": forms.number_text(one("epsilon"), "epsilon"),
        "delta": forms.number_text(one("delta"), "delta"),
        "order": forms.number_text(one("order"), "the order"),
        "exactly": bool(one("exactly")),
        "objective": one("objective") or "mean",
    }


def _plan_arguments(wish: Mapping[str, Any]) -> dict[str, Any]:
    return {name: wish[name] for name in ("epsilon", "delta", "order", "exactly", "objective")}


def quote_marginals(project: Project, wish: Mapping[str, Any], *, most: int) -> dict[str, Any]:
    """What it would cost, and how exact it would be. Free; too many cells are refused by what is declared."""
    name = project.private(wish["table"]).name
    plan = project.plan_marginals(name, wish["columns"], **_plan_arguments(wish))
    data = plan.to_data()
    if data["cells"] > most:
        raise Refused(
            f"these tables have {data['cells']:,} cells, but this server answers with at most {most:,}",
            hint="use fewer columns, or fewer columns per table",
        )
    return {**release_store.to_json(data), "price": forms.price_json(project, name, plan.event)}


def measure_marginals(project: Project, wish: Mapping[str, Any], *, analyst: str | None) -> str:
    """Measure, and pay, or find what is stored; the address of what came of it."""
    marginals = project.marginals(wish["table"], wish["columns"], **_plan_arguments(wish), analyst=analyst)
    if release_store.find_release(project.folder, marginals.release) is None:
        release_store.store_release(project.folder, marginals.release, _release_json(marginals))
    return f"/tables/{marginals.release}"


def _release_json(marginals: MarginalsRelease) -> dict[str, Any]:
    """All of a release, with the whole numbers beside the unbiased ones. What it cost, the ledger says."""
    data = {name: part for name, part in marginals.to_data().items() if name not in ("cost", "cached")}
    return {"kind": "marginals", "table": marginals.table, **data, "marginals": [_table(each) for each in marginals]}


def _table(each: ReleasedMarginal) -> dict[str, Any]:
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
    return [
        *labels,
        noisy_charts.round_to_noise(value, width),
        [noisy_charts.round_to_noise(low, width), noisy_charts.round_to_noise(high, width)],
    ]


def marginals_page(project: Project, recalled_release: RecalledRelease, *, number: str) -> dict[str, Any] | None:
    """One table of a release, and the list of all; None where nothing is kept of it here."""
    data = release_store.find_release(project.folder, recalled_release.id)
    if data is None:
        return None
    tables = data.pop("marginals")
    place = forms.whole_number(number or "1", "the table's number", least=1, most=len(tables)) - 1
    shown_table = tables[place]
    return {
        **data,
        "tables": [
            {"number": turn, "name": " × ".join(each["columns"]) or "total", "cells": len(each["rows"]),
             "standard_error": each["standard_error"]}
            for turn, each in enumerate(tables, start=1)
        ],
        "number": place + 1,
        "shown": shown_table,
        "name": " × ".join(shown_table["columns"]) or "total",
        "lines": [
            [*map(cell_text, labels), noisy_charts.number_with_noise(value, ends), whole]
            for (*labels, value, ends), whole in zip(shown_table["rows"], shown_table["whole"], strict=True)
        ],
        "chart": _chart(shown_table),
    }  # fmt: skip


def _chart(shown_table: Mapping[str, Any]) -> dict[str, Any] | None:
    names, rows = shown_table["columns"], shown_table["rows"]
    if not rows or len(rows) > noisy_charts.MOST_DRAWN:
        return None
    if len(names) == 1:
        return noisy_charts.bars(f"Rows by {names[0]}", rows)
    return noisy_charts.heatmap(f"Rows by {names[0]} and {names[1]}", names, rows) if len(names) == 2 else None


def grid(data: Mapping[str, Any]) -> PageTable:
    """The shown table, as a file has it."""
    shown_table = data["shown"]
    rows = [
        [*labels, value, *ends, whole]
        for (*labels, value, ends), whole in zip(shown_table["rows"], shown_table["whole"], strict=True)
    ]
    return PageTable(columns=(*shown_table["header"], "whole"), rows=rows)
