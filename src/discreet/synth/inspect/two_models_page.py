"""Two models on one HTML page that needs nothing else. What it says is in `present/templates/synthetic/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet import exact
from discreet.present.cell_text import DASH
from discreet.present.html import render
from discreet.synth.inspect import histogram_svg
from discreet.synth.inspect.distance_svg import draw_distances
from discreet.synth.inspect.marginal_verdicts import JudgedMarginal
from discreet.synth.inspect.model_findings import ModelFindings
from discreet.synth.inspect.report_page import (
    SHOWN,
    comparison_distances,
    comparison_price,
    delta_text,
    heat_maps,
    histogram_notes,
    network_parts,
)
from discreet.synth.inspect.report_text import count_noun, crossed_names, parents_words, percent, rounded, tenths

_SIZES = {1: "good single columns", 2: "good pairs", 3: "good triples"}


def two_models_page(
    names: Sequence[str],
    reports: Sequence[ModelFindings],
    differences: Mapping[str, float | None],
    only_good: Sequence[Sequence[JudgedMarginal]],
) -> str:
    """The whole page. Each section has a template, which escapes all that comes from a table."""
    sections = {
        "two_facts": "What each is good for",
        "two_compared": "Compared with the real table",
        "two_columns": "Each column",
        "two_pairs": "How columns depend on each other",
        "two_networks": "The networks",
    }
    left_out = {
        "two_compared": all(report.comparison is None for report in reports),
        "two_pairs": max(len(report.columns) for report in reports) < 2,
        "two_networks": not any(report.graph.edges for report in reports),
    }
    tables = sorted({report.card.table for report in reports})
    return render(
        "synthetic/two_models.html",
        title=f"Two models of {' and '.join(tables)}",
        sections={name: title for name, title in sections.items() if not left_out.get(name)},
        shared="the two models" if left_out["two_compared"] else "the two models and their comparisons",
        is_compared=not left_out["two_compared"],
        names=names,
        facts=both_facts(reports),
        only_good=only_good,
        shown=SHOWN,
        comparisons=[_comparison(report) for report in reports],
        columns=_columns(reports, differences),
        maps=[heat_maps(report) for report in reports],
        networks=[network_parts(report.graph) for report in reports],
        confidence=percent(reports[0].confidence),
        near=percent(reports[0].near),
        degrees=[report.card.degree for report in reports],
        formats={
            "cross": crossed_names,
            "tenths": tenths,
            "count": count_noun,
            "percent": percent,
            "parents": parents_words,
        },
    )


def both_facts(reports: Sequence[ModelFindings]) -> dict[str, list[str]]:
    """What is told of both, a line for each."""
    lines: dict[str, list[str]] = {
        "model": [report.card.kind for report in reports],
        "most parents of a column": [
            _parents(report) if report.graph.edges else "none: each column by itself" for report in reports
        ],
        "epsilon": [
            "free" if each.card.epsilon is None else exact.show(each.card.epsilon, up=True) for each in reports
        ],
        "delta": [delta_text(report.card) for report in reports],
        "rows, about": [rounded(report.rows) for report in reports],
        "distance from the measurements, in standard deviations": [f"{report.misfit:.2f}" for report in reports],
    }
    for size, words in _SIZES.items():
        judged = [[each for each in report.marginals.judged if len(each.columns) == size] for report in reports]
        if any(judged):
            lines[words] = [f"{sum(each.verdict == 'good' for each in own):,} of {len(own):,}" for own in judged]
    lines["mean expected distance of measured pairs"] = [
        DASH if (mean := report.expected_pairs()) is None else tenths(mean) for report in reports
    ]
    return lines


def _parents(report: ModelFindings) -> str:
    degree = report.card.degree
    return f"{report.graph.degree:,}" + ("" if degree is None else f" (K = {degree})")


def _comparison(report: ModelFindings) -> dict[str, Any] | None:
    comparison = report.comparison
    if comparison is None:
        return None
    distances = comparison_distances(report)
    return {"price": comparison_price(comparison), "release": comparison.release, "drawing": draw_distances(distances)}


def _columns(reports: Sequence[ModelFindings], differences: Mapping[str, float | None]) -> list[dict[str, Any]]:
    """The columns that both have, and then those of one alone."""
    names = [*differences, *(name for report in reports for name in report.columns if name not in differences)]
    return [
        {
            "name": name,
            "distance": None if (distance := differences.get(name)) is None else tenths(distance),
            "both": name in differences,
            "figures": [_figure(report, name) for report in reports],
        }
        for name in dict.fromkeys(names)
    ]


def _figure(report: ModelFindings, name: str) -> tuple[Any, str] | None:
    for histogram in report.histograms:
        if histogram.name == name:
            return histogram_svg.draw_histogram(histogram), histogram_notes(histogram)
    return None
