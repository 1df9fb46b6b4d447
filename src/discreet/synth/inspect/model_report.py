"""The report: everything that can be said about a model for free, as data, as a page and as lines of text."""

from __future__ import annotations

from dataclasses import dataclass

from discreet import exact
from discreet.present.cell_text import visible_text
from discreet.synth.attribute_discovery import has_no_words, is_empty
from discreet.synth.inspect.dependence import dependences, measured_sets
from discreet.synth.inspect.marginal_verdicts import JudgedMarginal, judge_marginals
from discreet.synth.inspect.model_comparison import Comparison, Distance
from discreet.synth.inspect.model_evidence import ModelEvidence, names_of
from discreet.synth.inspect.model_findings import ModelFindings
from discreet.synth.inspect.model_histograms import histograms
from discreet.synth.inspect.model_network import model_network
from discreet.synth.inspect.network_svg import NetworkPanel, network_file
from discreet.synth.inspect.report_page import report_page
from discreet.synth.inspect.report_text import count_noun, parents_words, percent, rounded, tenths
from discreet.synth.inspect.simple_questions import simple_questions
from discreet.synth.model import Model

_SIZES = {1: "single columns", 2: "pairs", 3: "triples"}

#: So many names are listed.
MOST_LISTED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport(ModelFindings):
    """What a model says, what it cost, and what it is good for: as data, as a page, as text."""

    def page(self) -> str:
        """The report as one HTML page that needs nothing else."""
        return report_page(self)

    def graph_file(self) -> str:
        """The network and the table of each of its columns, as one SVG file."""
        return network_file([network_panel(self)])

    def lines(self) -> list[str]:
        """The report in a few lines of text."""
        return report_lines(self)


def inspect_model(model: Model, *, comparison: Comparison | None = None) -> ModelReport:
    """Look at a model.

    Guarantee: none is spent; a function of the model, which holds noisy values and public facts.
    """
    evidence = ModelEvidence(model)
    pairs = dependences(evidence)
    modelled_names = {each.name for each in model.attributes if not has_no_words(each) or is_empty(each)}
    return ModelReport(
        card=model.card,
        rows=model.total,
        rows_plus_minus=evidence.widths * evidence.total_sd if model.measured else None,
        misfit=model.fitted.misfit,
        cells=model.calibrated.cells,
        histograms=histograms(evidence),
        dependences=pairs,
        network=tuple(names_of(model, own) for own in measured_sets(evidence)),
        graph=model_network(evidence, pairs),
        marginals=judge_marginals(evidence),
        questions=simple_questions(evidence),
        placeholders=tuple(column.name for column in model.columns if column.name not in modelled_names),
        comparison=comparison,
    )


def network_panel(report: ModelFindings) -> NetworkPanel:
    """The network of a model, with what it is and what it cost above it."""
    card, graph = report.card, report.graph
    parents = f", {parents_words(graph.degree, card.degree)}" if graph.arrows else ""
    paid = "free" if card.epsilon is None else f"epsilon {exact.show(card.epsilon, up=True)}"
    arrows = "arrows show what was modelled given what, not causes" if graph.arrows else "lines join what was measured"
    return NetworkPanel(
        title=f"{card.table}: {card.kind}{parents}",
        note=f"{paid}; about {rounded(report.rows)} rows; {arrows}",
        network=graph,
    )


def report_lines(report: ModelFindings) -> list[str]:
    """What the model is, what it is good for and what not. Names cannot move the terminal's cursor."""
    text_lines = [report_head(report), *verdict_tallies(report), *_listed(report), *compared_lines(report)]
    return [visible_text(line) for line in text_lines]


def report_head(report: ModelFindings) -> str:
    """What the model is, in a line."""
    card = report.card
    paid = "costs nothing" if card.epsilon is None else f"epsilon {exact.show(card.epsilon, up=True)}"
    return f"{card.kind} model of {card.table}: about {rounded(report.rows)} rows, {paid}"


def verdict_tallies(report: ModelFindings) -> list[str]:
    """How many tables of each size are good, in words."""
    near, confidence = percent(report.near), percent(report.confidence)
    text_lines = [f"tables with counts within {near} for at least 90% of their rows, at {confidence} confidence:"]
    for size, words in _SIZES.items():
        judged = [each for each in report.marginals.judged if len(each.columns) == size]
        if judged:
            good = sum(each.verdict == "good" for each in judged)
            text_lines.append(f"  {words}: {good:,} of {len(judged):,}{_unknown(judged)}")
    return text_lines


def _unknown(judged: list[JudgedMarginal]) -> str:
    """How many of them nothing is claimed about, and why."""
    unknown = [each for each in judged if each.verdict == "unknown"]
    bought = sum(each.measured for each in unknown)
    rest = len(unknown) - bought
    unknown_text = f"; {bought:,} unknown (measured bounds may be too narrow)" if bought else ""
    return f"{unknown_text}; {rest:,} unknown (never measured)" if rest else unknown_text


def _listed(report: ModelFindings) -> list[str]:
    judged = report.marginals.judged
    groups = {
        "good": [each for each in judged if each.verdict == "good"],
        "too few rows compared with the noise": [each for each in judged if each.verdict == "poor"],
    }
    return [f"{words}: {_names(group_marginals)}" for words, group_marginals in groups.items() if group_marginals]


def _names(judged_marginals: list[JudgedMarginal]) -> str:
    shown = ", ".join(" x ".join(each.columns) for each in judged_marginals[:MOST_LISTED])
    return (
        f"{shown}, and {count_noun(len(judged_marginals) - MOST_LISTED, 'more', 'more')}"
        if len(judged_marginals) > MOST_LISTED
        else shown
    )


def compared_lines(report: ModelFindings) -> list[str]:
    """How far the model is from the real table, where that was paid for."""
    comparison = report.comparison
    if comparison is None:
        return []
    worst = " x ".join(comparison.worst)
    farthest = max(comparison.columns, key=lambda each: each.distance.noisy_value, default=None)
    return [
        f"compared with the real table ({comparison.release}): pairs are {_distance_text(comparison.mean)} off on "
        "average",
        f"  the worst pair, as far as the noise shows: {worst}, {_distance_text(comparison.worst_distance)}",
        *(
            []
            if farthest is None
            else [
                f"  columns by themselves, as far as the noise shows: at most {_distance_text(farthest.distance)}, "
                f"{farthest.column}"
            ]
        ),
    ]


def _distance_text(of: Distance) -> str:
    return f"{tenths(of.noisy_value)} ({tenths(of.low)} to {tenths(of.high)})"
