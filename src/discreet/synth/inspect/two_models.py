"""Two models on one page: what each is good for, how far their columns are apart, and their networks side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.inference.axes import Table
from discreet.present.cell_text import visible_text
from discreet.synth.attribute import Attribute
from discreet.synth.inspect.marginal_verdicts import JudgedMarginal
from discreet.synth.inspect.model_comparison import Comparison
from discreet.synth.inspect.model_report import (
    MOST_LISTED,
    ModelReport,
    compared_lines,
    inspect_model,
    network_panel,
    report_head,
    verdict_tallies,
)
from discreet.synth.inspect.network_svg import NetworkPanel, network_file
from discreet.synth.inspect.report_text import tenths
from discreet.synth.inspect.two_models_page import two_models_page
from discreet.synth.model import Model
from discreet.synth.model_contents import ModelContents

#: So many columns that differ are named in a terminal.
MOST_COLUMNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDifference:
    """A column of both models: the share of rows that would have to move to make one histogram the other.

    None where the two have cut the column into different cells.
    """

    column: str
    distance: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoModels:
    """The reports of two models, what they are called, and how far apart they are, column by column."""

    names: tuple[str, str]
    reports: tuple[ModelReport, ModelReport]
    differences: tuple[ColumnDifference, ...]

    def page(self) -> str:
        """Both models on one HTML page that needs nothing else."""
        differences = {each.column: each.distance for each in self.differences}
        return two_models_page(self.names, self.reports, differences, [self.only_good(place) for place in (0, 1)])

    def graph_file(self) -> str:
        """The two networks side by side, each with its tables, as one SVG file."""
        panels = [network_panel(report) for report in self.reports]
        return network_file(
            [
                NetworkPanel(title=f"{name}: {panel.title}", note=panel.note, network=panel.network)
                for name, panel in zip(self.names, panels, strict=True)
            ]
        )

    def only_good(self, place: int) -> list[JudgedMarginal]:
        """The tables that are good in one of the models and not in the other."""
        own, other = self.reports[place], self.reports[1 - place]
        good = {frozenset(each.columns) for each in other.marginals.judged if each.verdict == "good"}
        return [each for each in own.marginals.judged if each.verdict == "good" and frozenset(each.columns) not in good]

    def to_data(self) -> dict[str, Any]:
        """Both reports as JSON data, and the differences."""
        reports = [{"name": name, **report.to_data()} for name, report in zip(self.names, self.reports, strict=True)]
        differences = [
            {"column": each.column, "distance": None if each.distance is None else float(f"{each.distance:.6g}")}
            for each in self.differences
        ]
        return {"models": reports, "differences": differences}

    def lines(self) -> list[str]:
        """Both models in a few lines of text."""
        text_lines = []
        for name, report in zip(self.names, self.reports, strict=True):
            text_lines += [f"{name}: {report_head(report)}", *verdict_tallies(report), *compared_lines(report)]
        largest_first = sorted(
            ((each.distance, each.column) for each in self.differences if each.distance is not None), reverse=True
        )
        if largest_first:
            listed = ", ".join(f"{column} {tenths(distance)}" for distance, column in largest_first[:MOST_COLUMNS])
            text_lines.append(f"columns that differ most (share of rows that would have to move): {listed}")
        for place, name in enumerate(self.names):
            only = self.only_good(place)
            if only:
                more = f", and {len(only) - MOST_LISTED:,} more" if len(only) > MOST_LISTED else ""
                shown = ", ".join(" x ".join(each.columns) for each in only[:MOST_LISTED])
                text_lines.append(f"good in {name} only: {shown}{more}")
        return [visible_text(line) for line in text_lines]


def inspect_two_models(
    first: Model,
    second: Model,
    *,
    names: tuple[str, str] | None = None,
    comparisons: Sequence[Comparison | None] = (None, None),
) -> TwoModels:
    """Look at two models beside each other. `comparisons`: of each with its real table, where that was paid for.

    Guarantee: none is spent; a function of the two models, which hold noisy values and public facts.
    """
    columns = [each.name for each in first.attributes if each.name in {other.name for other in second.attributes}]
    if not columns:
        raise UsageError("the two models have no column in common", hint="compare models of the same table")
    reports = tuple(
        inspect_model(model, comparison=comparison)
        for model, comparison in zip((first, second), comparisons, strict=True)
    )
    return TwoModels(
        names=names or ("first", "second"),
        reports=(reports[0], reports[1]),
        differences=tuple(
            ColumnDifference(column=name, distance=column_distance(first, second, name)) for name in columns
        ),
    )


def column_distance(first: ModelContents, second: ModelContents, name: str) -> float | None:
    """Half the sum of differences of the two histograms, on the finest cells that both have."""
    places = [model.place(name) for model in (first, second)]
    one, other = first.attributes[places[0]], second.attributes[places[1]]
    if one.column != other.column or one.edges != other.edges or one.null != other.null:
        return None
    shares = [
        fine_shares(attribute, model.calibrated.project((place,)))
        for model, attribute, place in zip((first, second), (one, other), places, strict=True)
    ]
    return float(np.abs(shares[0] - shares[1]).sum()) / 2


def fine_shares(attribute: Attribute, counts: Table) -> Table:
    """The share of each fine cell: its part of the model's cell is by its noisy weight, as rows are sampled."""
    group_weights = np.bincount(attribute.groups, weights=attribute.weights, minlength=attribute.size)
    sizes = np.bincount(attribute.groups, minlength=attribute.size)
    empty = group_weights[attribute.groups] <= 0
    parts = np.where(
        empty, 1 / sizes[attribute.groups], attribute.weights / np.where(empty, 1, group_weights[attribute.groups])
    )
    shares: Table = counts[attribute.groups] * parts / max(float(counts.sum()), 1e-9)
    return shares
