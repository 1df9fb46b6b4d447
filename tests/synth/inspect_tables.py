"""Tables whose truth is known, and models fitted to noisy marginals of them by hand: no project, no ledger."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.inference.fit import FitSearch, MeasuredMarginal, fit
from discreet.schema.column import CategoryColumn, Column
from discreet.synth.attribute import attribute_of
from discreet.synth.model import Model, ModelCard

CARD = ModelCard(
    kind="mst",
    table="people",
    version=1,
    unit="row",
    release="r-0123456789",
    epsilon=Fraction(1),
    delta=Fraction(1, 10**9),
    rho=Fraction(15, 1000),
    steps=9,
    shares={"histograms": Fraction(1, 3), "selecting": Fraction(1, 3), "measuring": Fraction(1, 4)},
)
PURE = replace(CARD, rho=None)


def category(name: str, size: int) -> CategoryColumn:
    return CategoryColumn(name=name, values=tuple(f"{name}{value}" for value in range(size)), closed=True)


def table(sizes, rows: int, generator, *, tie: float) -> np.ndarray:
    """Rows whose columns each follow the one before, with chance `tie`; values skewed, so that some are rare."""
    found = np.zeros((rows, len(sizes)), dtype=np.int64)
    for place, size in enumerate(sizes):
        own = generator.choice(size, size=rows, p=generator.dirichlet(np.full(size, 0.7)))
        follows = (generator.random(rows) < tie) & (place > 0)
        found[:, place] = np.where(follows, (found[:, place - 1] * 7 + place) % size, own)
    return found


def exact(data: np.ndarray, sizes, own) -> np.ndarray:
    shape = [sizes[place] for place in own]
    flat = np.ravel_multi_index([data[:, place] for place in own], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(float)


def model_of(columns: list[Column], data: np.ndarray, sets, *, sd: float, generator, card: ModelCard = CARD) -> Model:
    """A model of noisy marginals: every column, and these sets. Laplace noise where the card is a pure one's."""
    attributes = tuple(attribute_of(column) for column in columns)
    sizes = [attribute.size for attribute in attributes]
    measured = []
    for own in [*((place,) for place in range(len(sizes))), *sets]:
        counts = exact(data, sizes, own)
        pure = card.rho is None
        noise = generator.laplace(0, sd / np.sqrt(2), counts.shape) if pure else generator.normal(0, sd, counts.shape)
        measured.append(MeasuredMarginal(attributes=own, values=np.rint(counts + noise), variance=sd**2))
    precisions = np.array([1 / (sd**2 * size) for size in sizes])
    sums = np.array([each.values.sum() for each in measured[: len(sizes)]])
    total = max(1.0, float(precisions @ sums / precisions.sum()))
    return Model(
        card=card,
        columns=tuple(columns),
        attributes=attributes,
        fitted=fit(sizes, measured, total, search=FitSearch(iterations=400, tolerance=0.02)),
        measured=tuple(measured),
        total_sd=float(1 / np.sqrt(precisions.sum())),
    )
