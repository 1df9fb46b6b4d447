"""What can be said about a model for free, as plain data. `model_report` draws it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import exact
from discreet.synth.inspect.dependence import Dependence
from discreet.synth.inspect.marginal_verdicts import JudgedMarginals
from discreet.synth.inspect.model_comparison import Comparison
from discreet.synth.inspect.model_evidence import CONFIDENCE, NEAR
from discreet.synth.inspect.model_histograms import ModelHistogram
from discreet.synth.inspect.model_network import ModelNetwork
from discreet.synth.inspect.simple_questions import ColumnQuestions
from discreet.synth.model_contents import ModelCard


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFindings:
    """What a model says, what it cost, and what it is good for.

    `rows` and `rows_plus_minus`: about how many rows the table has; None where that was never measured.
    `misfit`: how far the model is from what was measured, in standard deviations of the noise (root mean square).
    `network`: the largest sets of columns that were measured together; `graph`: the same with the table of each column
    given its parents. `placeholders`: columns that hold no values.
    """

    card: ModelCard
    rows: float
    rows_plus_minus: float | None
    misfit: float
    cells: int
    histograms: tuple[ModelHistogram, ...]
    dependences: tuple[Dependence, ...]
    network: tuple[tuple[str, ...], ...]
    graph: ModelNetwork
    marginals: JudgedMarginals
    questions: tuple[ColumnQuestions, ...]
    placeholders: tuple[str, ...]
    comparison: Comparison | None = None
    near: float = NEAR
    confidence: float = CONFIDENCE

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are modelled."""
        return tuple(each.name for each in self.histograms)

    def expected_pairs(self) -> float | None:
        """The mean expected distance of the pairs that were measured together; None where there are none."""
        pairs = [
            each.expected_distance
            for each in self.marginals.judged
            if len(each.columns) == 2 and each.expected_distance is not None
        ]
        return sum(pairs) / len(pairs) if pairs else None

    def to_data(self) -> dict[str, Any]:
        """The report as JSON data."""
        report_data = plain_data(self)
        assert isinstance(report_data, dict)
        return report_data


def plain_data(value: Any) -> Any:
    """Dataclasses as objects, tuples as lists, exact numbers as floats rounded up, floats to six digits."""
    if is_dataclass(value):
        return {each.name: plain_data(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain_data(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain_data(each) for each in value]
    if isinstance(value, Fraction):
        return exact.as_float(value, up=True)
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}")
    return value
