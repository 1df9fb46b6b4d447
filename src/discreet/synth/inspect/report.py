"""The report: everything that can be said about a model for free, as plain data. The page is drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import exact
from discreet.synth.inspect.columns import Histogram, histograms
from discreet.synth.inspect.compare import Comparison
from discreet.synth.inspect.dependence import Dependence, dependences, measured_sets
from discreet.synth.inspect.evidence import CONFIDENCE, NEAR, Evidence, names_of
from discreet.synth.inspect.marginals import Marginals, marginals
from discreet.synth.inspect.predicates import Simple, simple_questions
from discreet.synth.model import Card, Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a model says, what it cost, and what it is good for.

    `rows` and `rows_plus_minus`: about how many rows the table has; None where that was never measured.
    `misfit`: how far the model is from what was measured, in standard deviations of the noise (root mean square).
    `network`: the largest sets of columns that were measured together. `placeholders`: columns that hold no values.
    """

    card: Card
    rows: float
    rows_plus_minus: float | None
    misfit: float
    cells: int
    histograms: tuple[Histogram, ...]
    dependences: tuple[Dependence, ...]
    network: tuple[tuple[str, ...], ...]
    marginals: Marginals
    questions: tuple[Simple, ...]
    placeholders: tuple[str, ...]
    comparison: Comparison | None = None
    near: float = NEAR
    confidence: float = CONFIDENCE

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are modelled."""
        return tuple(each.name for each in self.histograms)

    def page(self) -> str:
        """The report as one HTML page that needs nothing else."""
        from discreet.synth.inspect.page import page

        return page(self)

    def lines(self) -> list[str]:
        """The report in a few lines of text."""
        from discreet.synth.inspect.lines import lines

        return lines(self)

    def to_data(self) -> dict[str, Any]:
        """The report as JSON data."""
        found = _plain(self)
        assert isinstance(found, dict)
        return found


def inspected(model: Model, *, comparison: Comparison | None = None) -> Report:
    """Look at a model.

    Guarantee: none is spent; a function of the model, which holds noisy values and public facts.
    """
    evidence = Evidence(model)
    known = {attribute.name for attribute in model.attributes}
    return Report(
        card=model.card,
        rows=model.total,
        rows_plus_minus=evidence.widths * evidence.total_sd if model.measured else None,
        misfit=model.fitted.misfit,
        cells=model.calibrated.cells,
        histograms=histograms(evidence),
        dependences=dependences(evidence),
        network=tuple(names_of(model, own) for own in measured_sets(evidence)),
        marginals=marginals(evidence),
        questions=simple_questions(evidence),
        placeholders=tuple(column.name for column in model.columns if column.name not in known),
        comparison=comparison,
    )


def _plain(value: Any) -> Any:
    """Dataclasses as objects, tuples as lists, exact numbers as floats rounded up, floats to six digits."""
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, Fraction):
        return exact.as_float(value, up=True)
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}")
    return value
