"""Composition: what many answers cost together, and what happens to noise that is drawn again."""

from __future__ import annotations

from fractions import Fraction

from discreet import exact
from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.console.pages.lessons.lesson import Figure, Lesson, LessonQuestion
from discreet.lab.attacks.floats import discreet_laplace

EACH, DELTA = Fraction(1, 10), Fraction(1, 10**6)
#: A generated count, asked for again and again.
COUNT, TIMES = 100, (1, 4, 16, 64, 256, 1024)


def make() -> Lesson:
    """A hundred answers of epsilon 0.1, counted two ways; and one answer, asked for again."""
    return Lesson(
        name="composition",
        title="Composition",
        lead="Every answer about the same people has a price, and the prices add up.",
        paragraphs=(
            "An answer of epsilon 0.1 reveals little. A hundred of them about the same people cost at most epsilon 10: "
            "plain addition always holds, and with delta 0 nothing less can be guaranteed.",
            "With a small delta there is a second way to count. An answer of epsilon costs at most rho = epsilon "
            "squared / 2. The rhos add up, and their sum is turned into one epsilon at the end. A hundred answers of "
            f"0.1 are rho 0.5, and that is epsilon {_converted(100)} at delta 1e-6. For few queries plain addition "
            "is smaller. Discreet's ledger keeps both sums, and answers as long as one of them stays within the limit.",
            "Queries about different people do not add up: what counts is the person who lost the most.",
            "Noise that is drawn again can be averaged out: the mean of 100 answers is about 10 times closer to "
            "the truth than one answer. So a repeated query gets the stored answer for free, and each new "
            "draw is charged like any other query.",
        ),
        figures=(_sums(), _averages()),
        verb="discreet budget",
        to="/budget",
        there="See the budget, and who spent it",
        task="At epsilon 0.1 for each query, from how many queries on is counting by rho smaller than plain addition?",
        question=LessonQuestion(
            text="Four counts: all people at epsilon 0.5, the men at 0.2, the women at 0.25, and all people older than "
            "20 at 0.25. Plain addition says 1.2. How much does the person lose who loses the most?",
            answer=1,
            solution="A woman older than 20 is in three of the four: 0.5 + 0.25 + 0.25 = 1. Nobody is in the counts of "
            "men and of women, so these two cost their maximum and not their sum.",
        ),
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
            "up": "total epsilon",
        },
        caption="The second way to count is better to the right of the point where the lines cross.",
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
        chart={"chart": "bars", "title": f"The mean of answers to one query; the true count is {COUNT}", "bars": bars},
        caption="A generated count with new noise of epsilon 0.1 each time. Noise protects nobody if answers are "
        "neither stored nor charged.",
        columns=("times asked", "mean", "distance from the truth", "total epsilon paid"),
        rows=tuple(rows),
    )
