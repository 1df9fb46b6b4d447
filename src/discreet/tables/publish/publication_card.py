"""The card of a publication: what is guaranteed, what is exact, how wrong the rest may be. JSON, and one plain page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from discreet import exact
from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.present.cell_text import counted
from discreet.present.html import render
from discreet.tables.publish.layout import Layout
from discreet.tables.publish.permitted_totals import COSTS
from discreet.tables.publish.publication_offer import PublicationOffer
from discreet.tables.publish.publication_price import PublicationPrice
from discreet.tables.publish.table_estimates import Accuracy


class CardSource(Protocol):
    """What of published tables their card tells."""

    @property
    def offer(self) -> PublicationOffer: ...

    @property
    def layout(self) -> Layout: ...

    @property
    def price(self) -> PublicationPrice: ...

    @property
    def accuracy(self) -> Accuracy: ...

    @property
    def release(self) -> str: ...

    @property
    def total(self) -> int: ...

    @property
    def confidence(self) -> Fraction: ...

    @property
    def label_columns(self) -> dict[str, str]: ...


def card_data(made: CardSource, files: Sequence[str]) -> dict[str, Any]:
    """The card as JSON data."""
    layout, version = made.layout, made.layout.version
    return {
        "kind": "published tables",
        "table": version.table,
        "version": version.number,
        "release": made.release,
        "guarantee": guarantee_data(layout, made.price, has_exact_totals=made.offer.has_exact_totals),
        "noise": "discrete Laplace" if made.price.is_pure else "discrete Gaussian",
        "exact": exact_words(layout, has_exact_totals=made.offer.has_exact_totals),
        "confidence": float(made.confidence),
        "rows": made.total,
        "levels": levels_data(layout, made.accuracy),
        "columns": COLUMNS | {shown: f"what {name} is called" for name, shown in made.label_columns.items()},
        "rules": [rule.name for rule in layout.plan.rules],
        "notes": notes(layout),
        "files": list(files),
        "cite": f"Discreet release {made.release}, version {version.number} of {version.table!r}",
    }


#: What each column of the tables means.
COLUMNS = {
    "count": "a whole number, never negative; counts add up exactly at every level",
    "estimate": "the least-squares estimate from all measurements; unbiased, and can be negative",
    "standard_error": "of the estimate, from the added noise only",
    "low, high": "confidence interval of the added noise, per row, for the number of the declared table",
}


def guarantee_data(layout: Layout, price: PublicationPrice, *, has_exact_totals: bool) -> dict[str, Any]:
    """What is promised, and for whom. `has_exact_totals`: exact totals of these people are published, here or before.

    Exact totals leave neighbours that change one unit: two steps of adding or removing one, so that a pure epsilon
    counts twice and rho four times; the epsilon told is what that rho converts to at the same delta.
    """
    unit = layout.version.schema.unit
    one = "row" if unit.is_row else "person"
    epsilon, rho = price.epsilon, None if price.is_pure else price.event.rho
    if has_exact_totals and rho is not None:
        rho *= 4
        epsilon = epsilon_from_rho(rho, price.delta)
    elif has_exact_totals:
        epsilon *= 2
    return {
        "epsilon": exact.as_float(epsilon, up=True),
        "delta": exact.as_float(price.delta, up=True),
        "rho": None if rho is None else exact.as_float(rho, up=True),
        "unit": "row" if unit.is_row else f"person, at most {counted(unit.rows, 'row')}",
        "neighbours": f"one {one} is "
        + ("changed, and the exact totals stay the same" if has_exact_totals else "added or removed"),
        "presence_protected": not has_exact_totals,
    }


def in_plain_words(guarantee: Mapping[str, Any]) -> str:
    """What the unit and its neighbours mean, for somebody who has never read of them."""
    rows = "one row" if guarantee["unit"] == "row" else "all rows of one person"
    if guarantee["presence_protected"]:
        return (
            "In other words: a reader of these tables, whatever else they know, can hardly distinguish them from "
            f"tables of the same data without {rows}. The smaller epsilon is, the harder it is."
        )
    return (
        "In other words: a reader of these tables, whatever else they know, can hardly distinguish them from tables of "
        f"data in which {rows} had other values and every exact total was the same. The smaller epsilon is, the harder "
        "it is."
    )


def exact_words(layout: Layout, *, has_exact_totals: bool) -> list[str]:
    """What carries no noise, here or in what was published of the same people before, and what that does."""
    if not has_exact_totals:
        return []
    of = ", ".join(layout.plan.invariants)
    return [
        f"exact totals{f' of {of}' if of else ', published before'}: {COSTS}; a person's attributes stay protected, as "
        "far as the totals do not determine them"
    ]


def levels_data(layout: Layout, accuracy: Accuracy) -> list[dict[str, Any]]:
    """For each level what it has, what was measured, and how exact it is expected to be."""
    return [
        {
            "level": name,
            "places": layout.places.tree.sizes[level],
            "cells": layout.size(level),
            "measured": [query.words for query in layout.queries[level]],
            "share": float(sum(query.share for query in layout.queries[level])),
            "expected_error": {
                "cell": accuracy.typical(level, accuracy.cell_errors(level)),
                "total": accuracy.typical(level, accuracy.total_errors(level)[None, :]),
            },
        }
        for level, name in enumerate(layout.levels)
    ]


def notes(layout: Layout) -> list[str]:
    """What a reader should know."""
    note_lines = list(layout.warnings)
    unit = layout.version.schema.unit
    if not unit.is_row:
        note_lines.append(f"the tables count rows, at most {unit.rows:,} per person")
    if layout.plan.rules:
        note_lines.append("rows that break a rule are left out of every table; impossible cells are not listed")
    if layout.plan.hierarchy is not None:
        kept = layout.plan.hierarchy.elsewhere
        where = "are counted in separate places without a label" if kept else "are left out of every table"
        note_lines.append(f"rows without a known place {where}")
    note_lines.append(
        "counts are never negative, which makes nearly empty cells slightly too large and others too small: "
        "for sums, shares and models of small places, use the estimates"
    )
    return note_lines


def card_text(data: dict[str, Any]) -> str:
    """The card as a file."""
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def card_page(data: dict[str, Any]) -> str:
    """The card as a page that asks nothing of the network."""
    plain_words = in_plain_words(data["guarantee"])
    return render("publication.html", title=f"Tables of {data['table']}", plain_words=plain_words, **data)
