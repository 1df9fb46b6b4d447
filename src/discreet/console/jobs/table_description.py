"""A private profile of every column of a table, for one price that is told before."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from discreet.console import forms
from discreet.console.console_text import console_texts, page_sentence
from discreet.console.jobs import release_store
from discreet.console.responses import PageTable
from discreet.present.cell_text import DASH, cell_text
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease
from discreet.schema.column import CategoryColumn
from discreet.schema.project_file import NAME
from discreet.schema.toml_edit import table_text, text_with
from discreet.schema.toml_file import parse_toml
from discreet.tables.description.description import Description
from discreet.tables.description.description_declaration import undeclared_settings

#: Where bounds or values come from, in words.
SOURCES = {
    "declared": "declared",
    "bought": "found with noise",
    "words": "common words, found with noise",
    "none": "words cannot be found without a delta",
}
#: So many words of a column are in the table beside its chart; its files have them all.
MOST_LISTED = 100


def wish_of(texts: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """What a form, or an address, says."""

    def one(name: str) -> str:
        return texts.get(name, ("",))[0].strip()

    return {
        "table": one("table"),
        "epsilon": forms.number_text(one("epsilon"), "epsilon"),
        "delta": forms.number_text(one("delta"), "delta"),
    }


def quote_description(project: Project, wish: Mapping[str, Any]) -> dict[str, Any]:
    """What it would cost, how exact it would be, and how many rows it needs. Free."""
    name = project.private(wish["table"]).name
    plan = project.describe_plan(name, epsilon=wish["epsilon"], delta=wish["delta"])
    data = release_store.to_json(plan.to_data())
    unit = "persons" if plan.has_persons else "rows"
    for each in data["columns"]:
        each["words"] = SOURCES[each["source"]]
        each["needs"] = _needs(each, unit=unit, bounds_unit="persons" if plan.unit_rows > 1 else "rows")
    return {
        **data,
        "notes": [page_sentence(note) for note in console_texts([*plan.sentences(), *plan.notes])],
        "price": forms.price_json(project, name, plan.event),
    }


def _needs(column: Mapping[str, Any], *, unit: str, bounds_unit: str) -> str:
    """From how many rows or persons on its bounds or words are found; nothing where they are declared."""
    if column["rows_for_bounds"]:
        return f"about {column['rows_for_bounds']:,} {bounds_unit} for its bounds"
    if column["least_persons"]:
        return f"about {column['least_persons']:,} {unit} for each word"
    return ""


def measure_description(project: Project, wish: Mapping[str, Any], *, analyst: str | None) -> str:
    """Measure, and pay, or find what is stored; the address of what came of it."""
    description = project.describe(wish["table"], epsilon=wish["epsilon"], delta=wish["delta"], analyst=analyst)
    if release_store.find_release(project.folder, description.release) is None:
        release_store.store_release(project.folder, description.release, _release_json(description))
    return f"/tables/{description.release}"


def _release_json(description: Description) -> dict[str, Any]:
    """All of a release: noisy numbers and public facts. `found`: what may be declared of it, as TOML."""
    data = {name: part for name, part in description.to_data().items() if name not in ("cost", "cached")}
    labels = {
        each.name: dict(each.column.labels) for each in description.columns if isinstance(each.column, CategoryColumn)
    }
    return {
        "kind": "description",
        **data,
        "notes": console_texts(description.notes),
        "labels": {name: own for name, own in labels.items() if own},
        "found": table_text(description.table, {}, description.settings) if description.settings else "",
    }


def description_page(project: Project, recalled_release: RecalledRelease) -> dict[str, Any] | None:
    """A release as its page shows it; None where nothing is kept of it here."""
    data = release_store.find_release(project.folder, recalled_release.id)
    if data is None:
        return None
    rows, labels = data["rows"], data.get("labels", {})
    notes = [*data["notes"], *(note for each in data["columns"] for note in each["notes"])]
    return {
        **data,
        "rows_words": _number_words(rows),
        "persons_words": None if data["persons"] is None else _number_words(data["persons"]),
        "notes": [page_sentence(note) for note in notes],
        "shown": [_shown_column(each, rows, labels.get(each["column"], {})) for each in data["columns"]],
        "undeclared": list(_undeclared(project, data)),
    }


def _undeclared(project: Project, data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What was found and is not declared; nothing of a table that is gone."""
    table = project.file.tables.get(data["table"])
    if not data.get("found") or table is None or table.public:
        return {}
    settings = parse_toml(data["found"], name="the release")["tables"][data["table"]]["columns"]
    types = {each["column"]: each["type"] for each in data["columns"]}
    return undeclared_settings(settings, types, table=table, declared=project.file.raw[table.name]["columns"])


def declared_text(project: Project, recalled_release: RecalledRelease) -> str | None:
    """discreet.toml with what a description found; None where nothing is left to declare of it."""
    data = release_store.find_release(project.folder, recalled_release.id)
    columns = {} if data is None else _undeclared(project, data)
    if not columns:
        return None
    table = recalled_release.charge.table
    changes: dict[tuple[str, ...], Any] = {
        ("tables", table, "columns", column, key): value
        for column, settings in columns.items()
        for key, value in settings.items()
    }
    return text_with(project.folder / NAME, changes)


def _shown_column(column: Mapping[str, Any], rows: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    cells = [{**cell, "label": labels.get(cell["label"], cell["label"])} for cell in column["cells"]]
    is_ordered = bool(column["quantiles"]) or column["type"] in ("integer", "decimal", "date", "timestamp")
    facts = {"Type": column["type"], "Bounds" if is_ordered else "Values": SOURCES[column["source"]]}
    if is_ordered:
        span = f"{cell_text(column['low'])} to {cell_text(column['high'])}"
        facts["Bounds"] = "could not be found" if column["low"] is None else f"{span} ({SOURCES[column['source']]})"
    facts["NULL"] = "not possible" if column["nulls"] is None else _share_words(column["nulls"], rows)
    if column["others"] is not None:
        facts["Outside the bounds" if is_ordered else "All other values"] = _share_words(column["others"], rows)
    seen = [cell for cell in cells if not cell["below_noise"]]
    listed = cells if is_ordered else sorted(seen, key=lambda cell: -cell["value"])
    return {
        "name": column["column"],
        "facts": facts,
        "quantiles": [_quantile_line(each) for each in column["quantiles"]],
        "chart": _chart(column["column"], cells, ordered=is_ordered) if seen else None,
        "lines": [[cell_text(cell["label"]), _number_words(cell)] for cell in listed[:MOST_LISTED]],
        "hidden": len(cells) - len(seen),
        "cells_count": len(cells),
    }


def _quantile_line(quantile: Mapping[str, Any]) -> list[str]:
    is_known = not quantile["below_noise"]
    between = f"{cell_text(quantile['low'])} to {cell_text(quantile['high'])}"
    return [
        f"{quantile['fraction']:.0%}",
        cell_text(quantile["value"]) if is_known else "below noise",
        between if is_known else DASH,
    ]


def _number_words(number: Mapping[str, Any]) -> str:
    if number["below_noise"]:
        return f"below noise, at most {max(1, number['at_most']):,}"
    return f"{number['value']:,} ± {number['plus_minus']:,}"


def _share_words(number: Mapping[str, Any], rows: Mapping[str, Any]) -> str:
    """A number of rows as a share of them, where both are above the noise."""
    if not rows["value"]:
        return _number_words(number)
    if number["below_noise"]:  # rounded up: noise never shows that there is none
        tenths = max(1, min(1000, math.ceil(1000 * number["at_most"] / rows["value"])))
        return f"below noise, at most {tenths / 10:.1f}%"
    return f"{min(1.0, number['value'] / rows['value']):.1%} ± {number['plus_minus'] / rows['value']:.1%}"


def _chart(name: str, cells: list[dict[str, Any]], *, ordered: bool) -> dict[str, Any]:
    bars = [
        {"label": cell["label"], "value": None, "low": None, "high": None, "drowned": True}
        if cell["below_noise"]
        else {
            "label": cell["label"],
            "value": cell["value"],
            "low": max(0, cell["value"] - cell["plus_minus"]),
            "high": cell["value"] + cell["plus_minus"],
        }
        for cell in cells
    ]
    return {"chart": "bars", "title": f"Rows by {name}", "bars": bars, "ordered": ordered}


def grid(data: Mapping[str, Any]) -> PageTable:
    """All numbers, as a file has them: of each column NULL, quantiles, the cells of its histogram, the rest."""
    grid_rows: list[list[Any]] = [["", "rows", None, *_ends(data["rows"])]]
    if data["persons"] is not None:
        grid_rows.append(["", "persons", None, *_ends(data["persons"])])
    for column in data["columns"]:
        name = column["column"]
        if column["nulls"] is not None:
            grid_rows.append([name, "NULL", None, *_ends(column["nulls"])])
        for each in column["quantiles"]:
            grid_rows.append([name, "quantile", each["fraction"], each["value"], each["low"], each["high"]])
        grid_rows += [[name, "cell", cell["label"], *_ends(cell)] for cell in column["cells"]]
        if column["others"] is not None:
            grid_rows.append([name, "others", None, *_ends(column["others"])])
    return PageTable(columns=("column", "measure", "label", "value", "low", "high"), rows=grid_rows)


def _ends(number: Mapping[str, Any]) -> list[Any]:
    """A number and its interval; what is below noise has no value."""
    low = 0 if number["below_noise"] else max(0, number["value"] - number["plus_minus"])
    return [number["value"], low, number["at_most"]]
