"""The report as one HTML page that needs nothing else. What it says is in `present/templates/synthetic/`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.present.cell_text import NULL
from discreet.present.html import render
from discreet.synth.inspect import dependence_diagrams, histogram_svg, network_svg
from discreet.synth.inspect.dependence import Dependence
from discreet.synth.inspect.distance_svg import draw_distances
from discreet.synth.inspect.marginal_verdicts import JudgedMarginal, Verdict
from discreet.synth.inspect.model_comparison import Comparison, Distance
from discreet.synth.inspect.model_findings import ModelFindings
from discreet.synth.inspect.model_histograms import ModelHistogram
from discreet.synth.inspect.model_network import ModelNetwork, NetworkTable
from discreet.synth.inspect.report_text import count_noun, crossed_names, parents_words, percent, rounded, tenths
from discreet.synth.inspect.simple_questions import ColumnQuestions, SimplePredicate
from discreet.synth.model_contents import ModelCard

#: How many of a list are shown at once; the others unfold.
SHOWN = 10
#: How many rows of a table.
SHOWN_ROWS = 25
#: How many of the strongest dependences are listed, and from which strength on.
STRONGEST = 8
LEAST_STRENGTH = 0.005

_REST = "everything else"
_SIZES = {1: "Single columns", 2: "Pairs of columns", 3: "Three columns"}
_VERDICTS: tuple[Verdict, ...] = ("good", "partly", "poor", "unknown")


def report_page(report: ModelFindings) -> str:
    """The whole page. Each section has a template of its name, which escapes all that comes from a table."""
    sections = {
        "questions": "What this data is good and bad for",
        "compared": "Compared with the real table",
        "columns": "Each column",
        "pairs": "How columns depend on each other",
        "network": "The network" if report.graph.arrows else "What was measured together",
        "errors": "Expected error of each table",
        "cost": "What it cost",
        "method": "How this was judged",
    }
    left_out = {
        "compared": report.comparison is None,
        "pairs": len(report.columns) < 2,
        "network": not report.graph.edges,
    }
    return render(
        "synthetic/report.html",
        title=f"Synthetic data from {report.card.table}",
        sections={name: title for name, title in sections.items() if not left_out.get(name)},
        shared="the model" if report.comparison is None else "the model and that comparison",
        report=report,
        card=report.card,
        formats={
            "percent": percent,
            "rounded": rounded,
            "tenths": tenths,
            "count": count_noun,
            "cross": crossed_names,
            "parents": parents_words,
        },
        epsilon=None if report.card.epsilon is None else exact.show(report.card.epsilon, up=True),
        delta=delta_text(report.card),
        **_questions(report),
        **_columns(report),
        **_pairs(report),
        **network_parts(report.graph),
        **_errors(report),
        **_cost(report),
        **_compared(report),
    )


def delta_text(card: ModelCard) -> str:
    """The delta of the guarantee. With noise that is charged in rho it is never 0, whatever a card says."""
    return "not stated" if card.rho is not None and card.delta == 0 else exact.show(card.delta, up=True)


def _questions(report: ModelFindings) -> dict[str, Any]:
    """What to rely on, what not, and why."""
    judged = report.marginals.judged
    verdicts = {verdict: [each for each in judged if each.verdict == verdict] for verdict in _VERDICTS}
    unknown = verdicts["unknown"]
    return {
        "shown": SHOWN,
        "verdicts": _VERDICTS,
        "tallies": list(filter(None, (_tally(words, size, judged) for size, words in _SIZES.items()))),
        "rely": {
            "Good": verdicts["good"],
            "Partly good: only the common cells": verdicts["partly"],
        },
        "avoid": {
            "Too few rows compared with the noise": verdicts["poor"],
            "Measured bounds that may be too narrow: rows may be outside them": [
                each for each in unknown if each.measured
            ],
            "Never measured together: the model guesses from other tables": [
                each for each in unknown if not each.measured
            ],
        },
        "simple_counts": [_simple_counts(each) for each in report.questions],
    }


def _tally(words: str, size: int, judged: Sequence[JudgedMarginal]) -> tuple[str, list[int]] | None:
    """How many tables of a size have each verdict, and how many there are."""
    of_size = [each.verdict for each in judged if len(each.columns) == size]
    return (words, [*map(of_size.count, _VERDICTS), len(of_size)]) if of_size else None


def _simple_counts(of: ColumnQuestions) -> dict[str, Any]:
    return {
        "column": of.column,
        "least": "unknown" if of.least is None else rounded(of.least),
        "good": f"{sum(each.good for each in of.predicates):,} of {len(of.predicates):,}",
        "examples": {
            "good examples": [(each.condition, _width(each)) for each in _examples(of, good=True)],
            "poor examples": [(each.condition, _width(each)) for each in _examples(of, good=False)],
        },
    }


def _examples(of: ColumnQuestions, *, good: bool) -> list[SimplePredicate]:
    """The most common one and the rarest that is still good; the two most common that are not."""
    ordered = sorted((each for each in of.predicates if each.good == good), key=lambda each: -each.count)
    return (ordered[:1] + ordered[-1:] * (len(ordered) > 1)) if good else ordered[:2]


def _width(of: SimplePredicate) -> str:
    return rounded(of.count) + ("" if of.plus_minus is None else f" ± {rounded(of.plus_minus)}")


def _columns(report: ModelFindings) -> dict[str, Any]:
    return {
        "figures": [
            (each.name, histogram_svg.draw_histogram(each), histogram_notes(each)) for each in report.histograms
        ]
    }


def histogram_notes(of: ModelHistogram) -> str:
    """What a reader of a histogram should know."""
    notes = []
    if of.null_share is not None:
        notes.append(f"{NULL} {percent(of.null_share)}")
    if of.ordered and histogram_svg.is_drawn_equally_wide(of):
        notes.append("bins have different widths but are drawn equally wide")
    elif of.ordered and histogram_svg.widths_differ([high - low for low, high in filter(None, of.spans)]):
        notes.append("the area of a bar shows its rows, so wide bins look low")
    if of.noisy_counts is None:
        notes.append("never measured")
    return "; ".join(notes)


def _pairs(report: ModelFindings) -> dict[str, Any]:
    return heat_maps(report) | {"strongest": strongest(report.dependences)}


def heat_maps(report: ModelFindings) -> dict[str, Any]:
    """The dependence of all pairs as measured and in the model, which are drawn alike."""
    return {
        "noisy_heatmap": dependence_diagrams.heatmap(report.columns, report.dependences, noisy=True),
        "heatmap": dependence_diagrams.heatmap(report.columns, report.dependences),
    }


def strongest(dependences: Sequence[Dependence]) -> list[Dependence]:
    """The strongest dependences of the model, without those that noise alone would show."""
    shown = [each for each in dependences if (each.strength or 0.0) >= LEAST_STRENGTH and not each.below_noise]
    return sorted(shown, key=lambda each: -(each.strength or 0.0))[:STRONGEST]


def network_parts(graph: ModelNetwork) -> dict[str, Any]:
    """The drawing of a network, and its tables as texts."""
    return {
        "graph": graph,
        "network_drawing": network_svg.draw_network(graph),
        "network_tables": [_network_table(each) for each in graph.tables],
    }


def _network_table(table: NetworkTable) -> dict[str, Any]:
    rows = [
        (
            row.given,
            [
                (network_svg.share_text(share), network_svg.width_text(width))
                for share, width in zip(row.shares, row.plus_minus, strict=True)
            ],
            rounded(row.count),
        )
        for row in table.rows
    ]
    return {
        "title": network_svg.heading(table),
        "parents": table.parents,
        "values": table.values,
        "rows": rows,
        "left_out": table.rows_left_out,
    }


def _errors(report: ModelFindings) -> dict[str, Any]:
    """Each table that was measured, the worst first; the others cannot be known."""
    measured = [each for each in report.marginals.judged if each.expected_distance is not None]
    measured.sort(key=lambda each: -(each.expected_distance or 0))
    return {"measured": measured, "shown_rows": SHOWN_ROWS, "unknown": len(report.marginals.judged) - len(measured)}


def _cost(report: ModelFindings) -> dict[str, Any]:
    card, shares = report.card, _shares(report.card)
    return {
        "unit": "one row" if card.unit == "row" else f"one {card.unit}",
        "cost_facts": {
            "epsilon": exact.show(card.epsilon or Fraction(0), up=True),
            "delta": delta_text(card),
            "rho": "none (pure)" if card.rho is None else exact.show(card.rho, up=True),
            "release": card.release or "none",
            "steps": f"{card.steps:,}",
            "version": f"{card.version:,}",
        },
        "shares": shares,
        "share_bar": dependence_diagrams.share_bar(shares),
    }


def _shares(card: ModelCard) -> dict[str, float]:
    """How the budget was split, as far as the card says; shares that do not add up to all leave a rest."""
    shares = {word: float(share) for word, share in card.shares.items()}
    rest = 1 - sum(card.shares.values(), Fraction(0))
    return shares | ({_REST: float(rest)} if shares and rest > Fraction(1, 10**6) else {})


def _compared(report: ModelFindings) -> dict[str, Any]:
    comparison = report.comparison
    if comparison is None:
        return {"comparison": None}
    distances = comparison_distances(report)
    return {
        "comparison": comparison,
        "comparison_price": comparison_price(comparison),
        "distances": {words: each for words, each in distances.items() if isinstance(each, Distance)},
        "distance_drawing": draw_distances(distances),
    }


def comparison_price(comparison: Comparison) -> str:
    """What a comparison cost."""
    delta = f" and delta {exact.show(comparison.delta, up=True)}" if comparison.delta else ""
    return f"epsilon {exact.show(comparison.epsilon, up=True)}{delta}"


def comparison_distances(report: ModelFindings) -> dict[str, Distance | float]:
    """What was paid for, each with its interval, and beside it what was expected for free."""
    comparison = report.comparison
    assert comparison is not None
    worst = f"the worst pair, as far as the noise shows: {crossed_names(comparison.worst)}"
    distances: dict[str, Distance | float | None] = {
        f"mean of {count_noun(comparison.pairs, 'pair')} of columns": comparison.mean,
        "pairs that were measured together": comparison.measured,
        "the same, as expected from the noise alone": report.expected_pairs() if comparison.measured else None,
        "pairs that were never measured together": comparison.others,
        worst: comparison.worst_distance,
        **{f"{each.column} by itself": each.distance for each in comparison.columns},
    }
    return {words: distance for words, distance in distances.items() if distance is not None}
