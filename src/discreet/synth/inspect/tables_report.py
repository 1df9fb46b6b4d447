"""The report about a model of several tables: questions about persons, table by table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import exact
from discreet.present.cell_text import visible_text
from discreet.synth.cell_decoder import NULL
from discreet.synth.inspect.model_evidence import CONFIDENCE, ModelEvidence
from discreet.synth.inspect.model_findings import plain_data
from discreet.synth.inspect.model_histograms import histograms
from discreet.synth.inspect.person_questions import (
    NEAR_POINTS,
    PERSONS,
    PersonQuestion,
    SampledRows,
    person_questions,
    referring_questions,
    share_question,
)
from discreet.synth.inspect.person_report import PersonReport, persons_page, question_lines
from discreet.synth.inspect.report_text import percent, rounded
from discreet.synth.model_contents import ModelCard
from discreet.synth.persons.tables_contents import LinkedModel, SampledTables
from discreet.synth.persons.tables_model import PersonTablesModel


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesReport:
    """What a model of several tables says about persons, and what it cost. `tables`: a report for each linked table."""

    card: ModelCard
    names: tuple[str, ...]
    persons: float
    persons_plus_minus: float
    tables: tuple[PersonReport, ...]
    near_points: float = NEAR_POINTS
    confidence: float = CONFIDENCE

    def to_data(self) -> dict[str, Any]:
        """The report as JSON data."""
        reports = [report.to_data() for report in self.tables]
        return {
            "card": plain_data(self.card),
            "names": list(self.names),
            "persons": float(f"{self.persons:.6g}"),
            "persons_plus_minus": float(f"{self.persons_plus_minus:.6g}"),
            "tables": reports,
            "near_points": self.near_points,
            "confidence": self.confidence,
        }

    def lines(self) -> list[str]:
        """The report in a few lines of text."""
        paid = "costs nothing" if self.card.epsilon is None else f"epsilon {exact.show(self.card.epsilon, up=True)}"
        questions = tuple(question for report in self.tables for question in report.person_questions)
        return [
            visible_text(line)
            for line in (
                f"{self.card.kind} model of {', '.join(self.names)}: about {rounded(self.persons)} persons, {paid}",
                f"questions about persons (good: within {100 * self.near_points:.0f} points, at "
                f"{percent(self.confidence)} confidence):",
                *question_lines(questions, with_table=True),
            )
        ]

    def page(self) -> str:
        """The report as one HTML page that needs nothing else."""
        title = f"Synthetic persons from {', '.join(self.names)}"
        return persons_page(self.card, list(self.tables), title=title, facts={"persons, about": f"{self.persons:,.0f}"})


def inspect_tables(model: PersonTablesModel) -> TablesReport:
    """Look at a model of several tables.

    Guarantee: none is spent; a function of the model, which holds noisy values and public facts.
    """
    evidence = ModelEvidence(model.records)
    count = max(1, min(PERSONS, round(model.total)))
    sampled = next(model.coded_batches(count, seed=0))
    return TablesReport(
        card=model.card,
        names=model.tables,
        persons=model.total,
        persons_plus_minus=evidence.widths * evidence.total_sd,
        tables=tuple(_linked_report(model, each, evidence, sampled, count) for each in model.linked),
    )


def _linked_report(
    model: PersonTablesModel, linked: LinkedModel, evidence: ModelEvidence, sampled: SampledTables, persons: int
) -> PersonReport:
    own = ModelEvidence(linked.model.records)
    rows = SampledRows(persons=persons, number=sampled.persons[linked.name], codes=sampled.codes[linked.name])
    return PersonReport(
        card=linked.model.card,
        persons=linked.model.total,
        persons_plus_minus=own.widths * own.total_sd,
        rows=linked.model.total_rows,
        constant=linked.model.constants,
        time=linked.model.time,
        person_questions=(
            _with_rows(linked, evidence, sampled),
            *person_questions(linked.model, rows),
            *(question for each in linked.referring for question in referring_questions(linked, each, rows)),
        ),
        columns=histograms(own),
        returns=() if linked.model.steps is None else histograms(ModelEvidence(linked.model.steps.model)),
    )


def _with_rows(linked: LinkedModel, evidence: ModelEvidence, sampled: SampledTables) -> PersonQuestion:
    """Persons with any row in a table, of all persons."""
    place = evidence.model.place(linked.number)
    attribute = evidence.model.attributes[place]
    is_row = np.ones(attribute.size, dtype=np.bool_)
    is_row[attribute.groups[-1]] = False
    share = float((sampled.traits[linked.number] != NULL).mean())
    if ((attribute.groups == attribute.groups[-1]) & (attribute.weights > 0))[:-1].any():  # none and some share a cell
        return PersonQuestion(
            table=linked.name,
            question="persons with a row",
            of="all persons",
            share=share,
            measured=None,
            plus_minus=None,
        )
    return share_question(
        evidence,
        (place,),
        is_row,
        table=linked.name,
        question="persons with a row",
        of="all persons",
        share=share,
    )
