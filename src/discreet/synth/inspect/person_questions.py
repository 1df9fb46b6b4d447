"""Questions about whole persons, as a user of synthetic persons would ask them: what the sampled persons say, beside
what was measured with noise.

Free: a function of a model, which holds noisy values and public facts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.schema.column import CategoryColumn, MomentColumn
from discreet.sql.typed_expression import DAY_US
from discreet.synth.attribute import Attribute
from discreet.synth.cell_decoder import NULL
from discreet.synth.inspect.model_evidence import ModelEvidence
from discreet.synth.persons.person_model import PersonModel
from discreet.synth.persons.tables_contents import LinkedModel, ReferringModel

#: An answer is good if it is within so many points of the truth, at 95%.
NEAR_POINTS = 0.03

#: Persons with at least so many rows, and a next row within so many days, are asked about.
ROWS = (2, 3, 5, 10)
DAYS = (7, 30, 90, 365)

#: So many persons are sampled to answer.
PERSONS = 20_000

Verdict = Literal["good", "uncertain", "poor", "unknown"]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonQuestion:
    """A share that is asked for: `of` whom, what the sampled persons say, and what was measured with noise.

    `measured` and `plus_minus` (95%, at most 1) are None where no measurement says it. `good`: the sampled share is
    within three points of the truth, as far as the noise tells; `poor`: it is not; `uncertain`: the noise is too large
    to tell.
    """

    table: str
    question: str
    of: str
    share: float
    measured: float | None
    plus_minus: float | None

    @property
    def verdict(self) -> Verdict:
        if self.plus_minus is None:
            return "unknown"
        off = 0.0 if self.measured is None else max(0.0, abs(self.share - self.measured) - self.plus_minus)
        if off + self.plus_minus <= NEAR_POINTS:
            return "good"
        return "poor" if off > NEAR_POINTS else "uncertain"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRows:
    """Sampled rows of one table: of each the number of its person, persons together and in order, and its codes."""

    persons: int
    number: Codes
    codes: Mapping[str, Codes]

    @property
    def counts(self) -> Codes:
        """How many rows each person has."""
        return np.bincount(self.number, minlength=self.persons)

    @property
    def later(self) -> Codes:
        """The rows that follow another of the same person."""
        return np.flatnonzero(self.number[1:] == self.number[:-1]) + 1


def sample_rows(model: PersonModel, persons: int = PERSONS) -> SampledRows:
    """Rows of sampled persons, always the same."""
    count = max(1, min(persons, round(model.total)))
    parts = list(model.coded_batches(count, seed=0))
    names = parts[0][1] if parts else {}
    return SampledRows(
        persons=count,
        number=np.concatenate([number for number, _, _ in parts]),
        codes={name: np.concatenate([codes[name] for _, codes, _ in parts]) for name in names},
    )


def person_questions(model: PersonModel, rows: SampledRows) -> tuple[PersonQuestion, ...]:
    """What persons are like: how many rows they have, how soon the next one comes, what stays as it was."""
    return (*_numbers(model, rows), *_times(model, rows), *_kept(model, rows))


def _numbers(model: PersonModel, rows: SampledRows) -> list[PersonQuestion]:
    """Persons with at least so many rows. Somebody without a row is nobody here."""
    evidence = ModelEvidence(model.records)
    place = model.records.place(model.rows_name)
    attribute = model.records.attributes[place]
    counts = rows.counts[rows.counts > 0]
    questions = []
    for least in ROWS:
        if least > attribute.edges[-1] - 1:
            break
        measured, plus_minus = _above(evidence, place, attribute, least)
        questions.append(
            PersonQuestion(
                table=model.card.table,
                question=f"persons with at least {least} rows",
                of="persons",
                share=_mean(counts >= least),
                measured=measured,
                plus_minus=plus_minus,
            )
        )
    return questions


def _times(model: PersonModel, rows: SampledRows) -> list[PersonQuestion]:
    """How soon the next row comes: the share of a person's returns, averaged over persons; and of all rows."""
    if model.time is None or model.steps is None or model.time not in rows.codes:
        return []
    place = model.steps.place("gap", model.time)
    attribute = model.steps.attribute(place)
    evidence = ModelEvidence(model.steps.model)
    column = next(column for column in model.columns if column.name == model.time)
    day = 1 if isinstance(column, MomentColumn) and column.type == "date" else DAY_US
    later, moments = rows.later, rows.codes[model.time]
    is_known = (moments[later] != NULL) & (moments[later - 1] != NULL)
    gaps = np.where(is_known, moments[later] - moments[later - 1], -1)
    weights = _person_weights(rows, later)
    questions = []
    for days in DAYS:
        if days * day >= attribute.edges[-1]:
            break
        soon = is_known & (gaps < (days + 1) * day)
        above, plus_minus = _above(evidence, place, attribute, (days + 1) * day)
        nulls = _null_share(evidence, place, attribute)
        measured = None if above is None else max(0.0, 1 - above - nulls)
        questions.append(
            PersonQuestion(
                table=model.card.table,
                question=f"the next row within {days} days",
                of="returns, averaged over persons",
                share=float(weights @ soon),
                measured=measured,
                plus_minus=plus_minus,
            )
        )
        if days == 30:
            followed = len(later) / max(1, len(rows.number))
            questions.append(
                PersonQuestion(
                    table=model.card.table,
                    question="rows followed by another of the same person within 30 days",
                    of="rows",
                    share=float(soon.sum() / max(1, len(rows.number))),
                    measured=None,
                    plus_minus=None if plus_minus is None else plus_minus * followed,
                )
            )
    return questions


def _kept(model: PersonModel, rows: SampledRows) -> list[PersonQuestion]:
    """How often a category is the same as in the row before."""
    chain = model.steps
    if chain is None:
        return []
    evidence = ModelEvidence(chain.model)
    later = rows.later
    weights = _person_weights(rows, later)
    questions = []
    for variable in chain.variables:
        if variable.role != "previous" or variable.column not in rows.codes:
            continue
        own = chain.place("next", variable.column)
        attribute = chain.attribute(own)
        drawn = attribute.groups[attribute.weights > 0]
        if not isinstance(attribute.column, CategoryColumn) or len(np.unique(drawn)) < len(drawn):
            continue  # values that share a cell are not told apart by what was measured
        codes = rows.codes[variable.column]
        measured, plus_minus = _diagonal(evidence, chain.place("previous", variable.column), own)
        questions.append(
            PersonQuestion(
                table=model.card.table,
                question=f"the next row has the same {variable.column}",
                of="returns, averaged over persons",
                share=float(weights @ (codes[later] == codes[later - 1])),
                measured=measured,
                plus_minus=plus_minus,
            )
        )
    return questions


def _above(evidence: ModelEvidence, place: int, attribute: Attribute, least: int) -> tuple[float | None, float | None]:
    """The measured share of codes from `least` on, and its noise; half of what shares a cell with others is open."""
    noisy_marginal = evidence.noisy_marginal((place,))
    if noisy_marginal is None or evidence.total <= 0:
        return None, None
    lows = np.array(attribute.edges[:-1])
    is_above = np.append(lows >= least, [False] * attribute.null)
    inside = np.bincount(attribute.groups, weights=attribute.weights * is_above, minlength=attribute.size)
    whole = np.maximum(np.bincount(attribute.groups, weights=attribute.weights, minlength=attribute.size), 1e-300)
    parts = inside / whole
    touched = parts > 0
    counts = np.maximum(noisy_marginal.values, 0)
    cut = np.minimum(parts, 1 - parts) * counts
    noise = evidence.widths * math.sqrt(
        min(noisy_marginal.variances[touched].sum(), noisy_marginal.variances[~touched].sum() + evidence.total_sd**2)
    )
    share = float((parts * noisy_marginal.values).sum() / evidence.total)
    return min(1.0, max(0.0, share)), min(1.0, float((noise + cut.sum()) / evidence.total))


def _null_share(evidence: ModelEvidence, place: int, attribute: Attribute) -> float:
    noisy_marginal = evidence.noisy_marginal((place,))
    if noisy_marginal is None or not attribute.null:
        return 0.0
    return max(0.0, float(noisy_marginal.values[attribute.groups[-1]]) / evidence.total)


def _diagonal(evidence: ModelEvidence, previous: int, own: int) -> tuple[float | None, float | None]:
    """The measured share of pairs of equal values, and its noise."""
    noisy_marginal = evidence.noisy_marginal((min(previous, own), max(previous, own)))
    if noisy_marginal is None or evidence.total <= 0:
        return None, None
    share = float(np.trace(noisy_marginal.values) / evidence.total)
    noise = evidence.widths * math.sqrt(float(np.trace(noisy_marginal.variances)))
    return min(1.0, max(0.0, share)), min(1.0, noise / evidence.total)


def _person_weights(rows: SampledRows, later: Codes) -> NDArray[np.float64]:
    """Weights of returns by which each person who returns counts once."""
    number = rows.number[later]
    returns = np.bincount(number, minlength=rows.persons)
    return 1 / np.maximum(returns[number], 1) / max(1, int((returns > 0).sum()))


def _mean(flags: NDArray[np.bool_]) -> float:
    return float(flags.mean()) if len(flags) else 0.0


def share_question(
    evidence: ModelEvidence,
    places: tuple[int, ...],
    chosen: NDArray[np.bool_],
    *,
    table: str,
    question: str,
    of: str,
    share: float,
) -> PersonQuestion:
    """A question whose answer is the share of some cells of a marginal."""
    noisy_marginal = evidence.noisy_marginal(places)
    measured = plus_minus = None
    if noisy_marginal is not None and evidence.total > 0:
        measured = min(1.0, max(0.0, float(noisy_marginal.values[chosen].sum()) / evidence.total))
        variances = noisy_marginal.variances
        inside, outside = float(variances[chosen].sum()), float(variances[~chosen].sum()) + evidence.total_sd**2
        plus_minus = min(1.0, evidence.widths * math.sqrt(min(inside, outside)) / evidence.total)
    return PersonQuestion(table=table, question=question, of=of, share=share, measured=measured, plus_minus=plus_minus)


def referring_questions(
    linked: LinkedModel, referring: ReferringModel, rows: SampledRows
) -> tuple[PersonQuestion, ...]:
    """First rows that some row of another table refers to."""
    records = linked.model.records
    evidence = ModelEvidence(records)
    place = records.place(referring.number)
    attribute = records.attributes[place]
    chosen = np.ones(attribute.size, dtype=np.bool_)
    chosen[attribute.groups[0]] = False
    if ((attribute.groups == attribute.groups[0]) & (attribute.weights > 0))[1:].any():
        return ()  # none and some share a cell
    first = np.flatnonzero(np.append(True, rows.number[1:] != rows.number[:-1])) if len(rows.number) else rows.number
    return (
        share_question(
            evidence,
            (place,),
            chosen,
            table=linked.name,
            question=f"the first row has a row in {referring.name}",
            of="persons with a row",
            share=_mean(rows.codes[referring.number][first] > 0),
        ),
    )
