"""Composition: what many answers cost together, and what happens to noise that is drawn again."""

from __future__ import annotations

from fractions import Fraction

from discreet import exact
from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.console.pages.lessons.lesson import Figure, Lesson
from discreet.lab.attacks.floats import discreet_laplace

EACH, DELTA = Fraction(1, 10), Fraction(1, 10**6)
#: A generated count, asked for again and again.
COUNT, TIMES = 100, (1, 4, 16, 64, 256, 1024)


def make() -> Lesson:
    """A hundred answers of epsilon 0.1, counted two ways; and one answer, asked for again."""
    return Lesson(
        name="composition",
        title="Composition",
        lead="Every answer about the same people costs, and what they cost adds up.",
        paragraphs=(
            "An answer of epsilon 0.1 tells little. A hundred of them about the same people tell at most epsilon 10: "
            "plain addition always holds, and with delta 0 no less can be promised.",
            "With a small delta there is a second way to count. An answer of epsilon costs at most rho = epsilon "
            "squared / 2. The rhos add up, and their sum is turned into one epsilon at the end. A hundred answers of "
            f"0.1 are rho 0.5, and that is epsilon {_converted(100)} at delta 1e-6. For few questions plain addition "
            "is less. Discreet's ledger keeps both sums, and answers as long as one of them stays within the limit.",
            "Questions about different people do not add up: what counts is the person about whom most was told.",
            "And noise that is drawn anew can be averaged away: the mean of 100 answers is about 10 times closer to "
            "the truth than one. So a question that was asked before gets the stored answer, for free, and each new "
            "draw is charged like any other question.",
        ),
        figures=(_sums(), _averages()),
        verb="discreet budget",
        to="/budget",
        there="The budget, and who spent it",
        play={"delta": float(DELTA), "count": COUNT},
    )


def _rho(answers: int) -> Fraction:
    return answers * EACH**2 / 2


def _converted(answers: int) -> str:
    return exact.show(epsilon_from_rho(_rho(answers), DELTA), digits=3, up=True)


def _sums() -> Figure:
    answer_counts = (*range(0, 100, 5), 100)
    plain = [{"x": answers, "value": float(answers * EACH)} for answers in answer_counts]
    rho = [{"x": answers, "value": float(epsilon_from_rho(_rho(answers), DELTA))} for answers in answer_counts]
    rows = [
        (answers, exact.show(answers * EACH, up=True), exact.show(_rho(answers), up=True), _converted(answers))
        for answers in answer_counts
        if answers % 20 == 0
    ]
    series = [{"name": "plain addition", "points": plain}, {"name": "by rho, at delta 1e-6", "points": rho}]
    return Figure(
        chart={
            "chart": "lines",
            "title": "What answers of epsilon 0.1 cost together",
            "series": series,
            "across": "answers",
            "up": "epsilon in all",
        },
        caption="The lines cross where the second way to count begins to pay.",
        columns=("answers", "plain addition", "rho", "epsilon by rho at delta 1e-6"),
        rows=tuple(rows),
    )


def _averages() -> Figure:
    draws = discreet_laplace(COUNT, 10.0, TIMES[-1])
    bars, rows = [], []
    for times in TIMES:
        mean = float(draws[:times].mean())
        bars.append({"label": f"{times:,} times", "value": mean, "text": f"{mean:.1f}"})
        rows.append((times, round(mean, 2), round(abs(mean - COUNT), 2), float(times * EACH)))
    return Figure(
        chart={"chart": "bars", "title": f"The mean of answers to one question; the truth is {COUNT}", "bars": bars},
        caption="A generated count under new noise of epsilon 0.1 each time. Noise that is neither stored nor charged "
        "for protects nobody.",
        columns=("asked", "mean", "away from the truth by", "epsilon paid in all"),
        rows=tuple(rows),
    )
