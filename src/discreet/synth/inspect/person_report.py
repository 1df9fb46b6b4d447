"""The report about a model of persons: person-level questions first, then the columns of persons and of returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet import exact
from discreet.present.cell_text import visible_text
from discreet.present.html import render
from discreet.synth.inspect import histogram_svg
from discreet.synth.inspect.model_evidence import CONFIDENCE, ModelEvidence
from discreet.synth.inspect.model_findings import plain_data
from discreet.synth.inspect.model_histograms import ModelHistogram, histograms
from discreet.synth.inspect.person_questions import NEAR_POINTS, PersonQuestion, person_questions, sample_rows
from discreet.synth.inspect.report_text import count_noun, percent, rounded, tenths
from discreet.synth.model_contents import ModelCard
from discreet.synth.persons.person_model import PersonModel


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonReport:
    """What a model of persons says, what it cost, and which questions about persons it is good for.

    `persons`, `rows`: about how many of each there are. `columns`: those of a person's first row, and the number of
    rows; `returns`: those of a step from a row to the next, where each person who returns counts once.
    """

    card: ModelCard
    persons: float
    persons_plus_minus: float
    rows: float
    constant: tuple[str, ...]
    time: str | None
    person_questions: tuple[PersonQuestion, ...]
    columns: tuple[ModelHistogram, ...]
    returns: tuple[ModelHistogram, ...]
    near_points: float = NEAR_POINTS
    confidence: float = CONFIDENCE

    def to_data(self) -> dict[str, Any]:
        """The report as JSON data."""
        data: dict[str, Any] = plain_data(self)
        for question, entry in zip(self.person_questions, data["person_questions"], strict=True):
            entry["verdict"] = question.verdict
        return data

    def lines(self) -> list[str]:
        """The report in a few lines of text."""
        paid = "costs nothing" if self.card.epsilon is None else f"epsilon {exact.show(self.card.epsilon, up=True)}"
        return [
            visible_text(line)
            for line in (
                f"{self.card.kind} model of {self.card.table}: about {rounded(self.persons)} persons with "
                f"{rounded(self.rows)} rows, {paid}",
                f"questions about persons (good: within {100 * self.near_points:.0f} points, at "
                f"{percent(self.confidence)} confidence):",
                *question_lines(self.person_questions),
            )
        ]

    def page(self) -> str:
        """The report as one HTML page that needs nothing else."""
        title = f"Synthetic persons from {self.card.table}"
        return persons_page(self.card, [self], title=title, facts={"persons, about": f"{self.persons:,.0f}"})


def question_lines(questions: tuple[PersonQuestion, ...], *, with_table: bool = False) -> list[str]:
    """Each question with what the sampled persons say, what was measured, and the verdict."""
    lines = []
    for each in questions:
        measured = "" if each.measured is None else f", measured {tenths(each.measured)}"
        width = "" if each.plus_minus is None else f" ± {tenths(each.plus_minus)}"
        where = f"{each.table}: " if with_table else ""
        lines.append(f"  {where}{each.question}: {tenths(each.share)} of {each.of}{measured}{width}; {each.verdict}")
    return lines


def inspect_persons(model: PersonModel) -> PersonReport:
    """Look at a model of persons.

    Guarantee: none is spent; a function of the model, which holds noisy values and public facts.
    """
    evidence = ModelEvidence(model.records)
    return PersonReport(
        card=model.card,
        persons=model.total,
        persons_plus_minus=evidence.widths * evidence.total_sd,
        rows=model.total_rows,
        constant=model.constants,
        time=model.time,
        person_questions=person_questions(model, sample_rows(model)),
        columns=histograms(evidence),
        returns=() if model.steps is None else histograms(ModelEvidence(model.steps.model)),
    )


def _person_sections(reports: list[PersonReport], *, has_cost: bool) -> dict[str, str]:
    """The sections of the page, by what they are linked by."""
    sections = {}
    for number, report in enumerate(reports, start=1):
        sections[f"questions-{number}"] = f"Questions about persons, {report.card.table}"
        sections[f"columns-{number}"] = f"Each column of a person's first row, {report.card.table}"
        if report.returns:
            sections[f"returns-{number}"] = f"From one row to the next, {report.card.table}"
    return sections | ({"cost": "What it cost"} if has_cost else {})


def persons_page(card: ModelCard, reports: list[PersonReport], *, title: str, facts: dict[str, str]) -> str:
    """A page about one table of persons, or about several that share them."""
    return render(
        "synthetic/persons.html",
        title=title,
        card=card,
        facts=facts,
        sections=_person_sections(reports, has_cost=bool(card.shares)),
        shared="the model",
        reports=[
            {
                "table": report.card.table,
                "report": report,
                "columns": [(each.name, histogram_svg.draw_histogram(each)) for each in report.columns],
                "returns": [(each.name, histogram_svg.draw_histogram(each)) for each in report.returns],
            }
            for report in reports
        ],
        near_points=f"{100 * NEAR_POINTS:.0f}",
        formats={"percent": percent, "rounded": rounded, "tenths": tenths, "count": count_noun},
        epsilon=None if card.epsilon is None else exact.show(card.epsilon, up=True),
        delta=exact.show(card.delta, up=True),
        shares={word: percent(float(share)) for word, share in card.shares.items()},
    )
