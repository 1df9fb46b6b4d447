"""Noise intervals: how wrong an answer may be, and how often the interval is."""

from __future__ import annotations

from fractions import Fraction

from discreet.console.pages.lessons.lesson import Figure, Lesson, LessonQuestion
from discreet.lab.attacks.floats import discreet_laplace
from discreet.mechanisms.laplace import DiscreteLaplace

COUNT, EPSILON, ANSWERS = 1_000, Fraction(1, 5), 20


def make() -> Lesson:
    """Twenty answers to the same question, each with its interval."""
    law = DiscreteLaplace(scale=1 / EPSILON)
    half = law.half_width(Fraction(95, 100))
    return Lesson(
        name="intervals",
        title="Confidence intervals",
        lead="A noisy answer is useful if it says how wrong it may be.",
        paragraphs=(
            "The noise is drawn in secret, but its distribution is public. So every answer can have an interval that "
            "contains the number without noise with a given probability: at epsilon 0.2, a count is within "
            f"{half} of its answer with a probability of at least 95%.",
            "Of 100 such intervals about 5 miss the exact number, and nobody can tell from the answers which ones. If "
            "you read many answers at once, expect a few intervals to miss, or ask for wider intervals.",
            "This confidence interval covers the added noise only. In statistics, a confidence interval usually "
            "covers which people happened to be sampled. If you need that as well, take both into account. "
            "Neither covers what clamping values to their bounds or leaving out rows has changed.",
            "A number that is no larger than its noise is below the noise: treat it as unknown. Such numbers are grey "
            "here. A dash means that the noise is too large to show a number, such as the average of a small group.",
        ),
        figures=(_figure(half),),
        verb='discreet query "select count(*) from patients" --within 15',
        to="/ask",
        there="Ask for a number with the precision that you need",
        task="Ask for a thousand answers at 95%. How many intervals missed? Then set the confidence to 99% and look "
        "at the width.",
        question=LessonQuestion(
            text="A report has 200 numbers, each with a 95% confidence interval. In how many of them do you expect the "
            "exact number to be outside?",
            answer=10,
            solution="5% of 200 is 10, on average. To be sure of all 200 at once, ask for wider intervals.",
        ),
        play={"count": COUNT},
    )


def _figure(half: int) -> Figure:
    answers = [int(answer) for answer in discreet_laplace(COUNT, float(1 / EPSILON), ANSWERS)]
    bars, rows = [], []
    for place, answer in enumerate(answers, 1):
        low, high = answer - half, answer + half
        is_covered = low <= COUNT <= high
        verdict = "contains it" if is_covered else "misses it"
        bars.append({"label": f"answer {place}", "value": answer - COUNT, "low": low - COUNT, "high": high - COUNT,
                     "text": verdict})  # fmt: skip
        rows.append((place, answer, low, high, verdict))
    return Figure(
        chart={
            "chart": "bars",
            "title": "How far twenty answers are from the truth, with their intervals",
            "bars": bars,
        },
        caption=f"Twenty answers to one query that counts {COUNT:,} generated people. An interval that "
        "crosses the line at 0 contains the true count; on average 19 of 20 do.",
        columns=("answer", "number", "from", "to", f"the true count, {COUNT:,}"),
        rows=tuple(rows),
    )
