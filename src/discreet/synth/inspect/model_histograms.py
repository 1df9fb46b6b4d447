"""Each column by itself: the model's histogram, and beside it the noisy one that was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.schema.column import BooleanColumn, CategoryColumn, Label, MomentColumn, NumberColumn, TextColumn
from discreet.synth.attribute import Attribute
from discreet.synth.inspect.model_evidence import ModelEvidence

Kind = Literal["number", "moment", "category", "boolean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelHistogram:
    """One column: for each cell its label, the model's count, and what was measured, give or take its noise.

    `noisy_counts` and `plus_minus` are None where the column was never measured. `null_share`: of the model's rows
    those without a value; None where the column always has one. `order`: the cells as people read them.
    `spans`: the codes [low, high) of each cell that is a run of numbers or moments, else None. `shown_labels`: labels,
    with codes by what they are called.
    """

    name: str
    kind: Kind
    labels: tuple[Label, ...]
    counts: tuple[float, ...]
    noisy_counts: tuple[float, ...] | None
    plus_minus: tuple[float, ...] | None
    null_share: float | None
    order: tuple[int, ...]
    spans: tuple[tuple[int, int] | None, ...]
    shown_labels: tuple[Label, ...] = ()

    def shown(self, cell: int) -> Label:
        """The value of a cell for people; data of before has no shown labels."""
        return (self.shown_labels or self.labels)[cell]

    @property
    def ordered(self) -> bool:
        return self.kind in ("number", "moment")


def histograms(evidence: ModelEvidence) -> tuple[ModelHistogram, ...]:
    """Every column of the model, in the table's order."""
    return tuple(_histogram(evidence, place, each) for place, each in enumerate(evidence.model.attributes))


def _histogram(evidence: ModelEvidence, place: int, attribute: Attribute) -> ModelHistogram:
    counts, noisy_marginal = evidence.bounds((place,)).model, evidence.noisy_marginal((place,))
    return ModelHistogram(
        name=attribute.name,
        kind=kind_of(attribute),
        labels=attribute.labels(),
        shown_labels=attribute.shown_labels(),
        counts=tuple(counts.tolist()),
        noisy_counts=None if noisy_marginal is None else tuple(noisy_marginal.values.tolist()),
        plus_minus=None
        if noisy_marginal is None
        else tuple((evidence.widths * np.sqrt(noisy_marginal.variances) + evidence.outside[place]).tolist()),
        null_share=_null_share(attribute, counts / max(evidence.total, 1e-9)) if attribute.null else None,
        order=reading_order(attribute),
        spans=tuple(_span(attribute, cell) for cell in range(attribute.size)),
    )


def kind_of(attribute: Attribute) -> Kind:
    """What sort of values a column has, in a word. A difference has values that are no numbers: who of two is NULL."""
    if attribute.between is not None:
        return "category"
    match attribute.column:
        case NumberColumn():
            return "number"
        case MomentColumn():
            return "moment"
        case BooleanColumn():
            return "boolean"
        case CategoryColumn():
            return "category"
        case TextColumn():
            raise ValueError("text has no cells")


def reading_order(attribute: Attribute) -> tuple[int, ...]:
    """The model's cells by the first of their values: merged ones and NULL have numbers after all others."""
    firsts = [int(attribute.drawn(cell)[0]) for cell in range(attribute.size)]
    return tuple(sorted(range(attribute.size), key=lambda cell: (draws_mixed(attribute, cell), firsts[cell])))


def is_mixed(attribute: Attribute, cell: int) -> bool:
    """Whether a cell was measured for values that do not adjoin, or for NULL with others."""
    return _are_mixed(attribute, np.flatnonzero(attribute.groups == cell))


def draws_mixed(attribute: Attribute, cell: int) -> bool:
    """The same for the values that come out of a cell: those that nobody seems to have do not."""
    return _are_mixed(attribute, attribute.drawn(cell))


def _are_mixed(attribute: Attribute, fine: NDArray[np.int64]) -> bool:
    with_null = attribute.null and fine[-1] == attribute.fine - 1
    return bool((np.diff(fine) > 1).any()) or (with_null and len(fine) > 1)


def _span(attribute: Attribute, cell: int) -> tuple[int, int] | None:
    """Where a cell lies on the line of codes; None for NULL, for merged values, and where there is no line."""
    fine = attribute.drawn(cell)
    beyond = fine[-1] >= len(attribute.edges) - 1
    if kind_of(attribute) not in ("number", "moment") or draws_mixed(attribute, cell) or beyond:
        return None
    return attribute.edges[fine[0]], attribute.edges[fine[-1] + 1]


def _null_share(attribute: Attribute, shares: NDArray[np.float64]) -> float:
    """NULL is the last fine cell; where it lies in one cell with others, its part of that is by its noisy weight."""
    group = int(attribute.groups[-1])
    beside = attribute.weights[attribute.groups == group]
    part = float(attribute.weights[-1] / beside.sum()) if beside.sum() > 0 else 1 / len(beside)
    return float(shares[group]) * part
