"""Laplace noise and epsilon: what an answer tells about you."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.console.pages.lessons.lesson import Figure, Lesson, LessonQuestion
from discreet.lab.evidence import best_under, percent
from discreet.mechanisms.laplace import DiscreteLaplace

#: How many there are without you.
COUNT = 100
EPSILONS = ("0.1", "0.5", "1", "2", "4")


def make() -> Lesson:
    """The two densities at epsilon 1, and what other epsilons mean."""
    return Lesson(
        name="laplace",
        title="Laplace noise and epsilon",
        lead="If an answer is about as likely with you as without you, it tells nobody whether you are in the data.",
        paragraphs=(
            "A count of people changes by at most 1 when one person is added or removed. Discreet adds Laplace noise "
            "of scale 1 / epsilon to it: with every step away from the true count, an answer becomes less likely by a "
            "factor of e to the power of epsilon.",
            "So every answer is at most e^epsilon times as likely with you as without you. "
            "Somebody who thinks that both are equally likely, and sees the answer, guesses right at most e^epsilon / "
            "(1 + e^epsilon) of the time: 73% at epsilon 1, 52.5% at 0.1. This holds whatever else they know.",
            "A smaller epsilon is more private and noisier: 95% of answers are within about 3 / epsilon of the truth. "
            "The noise does not grow with the number of people, so large counts stay useful.",
            "Discreet draws this noise exactly, as whole numbers and with whole-number arithmetic only. This page "
            "uses floating-point numbers, which are good enough to play with and for nothing else: "
            "in the lab, one output of such noise reveals its input.",
        ),
        figures=(_densities(), _widths()),
        verb='discreet explain "select count(*) from patients" --epsilon 1',
        to="/ask",
        there="Ask, and see the price and the noise before you pay",
        task="Somebody is 90% sure that you are in the table. Which epsilon keeps them below 95%, whatever the "
        "answer is?",
        question=LessonQuestion(
            text="Somebody thinks it equally likely that you are in the table or not, and sees one answer of epsilon "
            "1. How many percent of the time do they guess right, at most?",
            answer=73.1,
            near=0.6,
            solution="e / (1 + e) = 2.718 / 3.718 = 73.1%. At epsilon 0.1 it is 52.5%, hardly better than a coin.",
        ),
        play={"count": COUNT},
    )


def _densities() -> Figure:
    laws = [
        {"kind": "laplace", "centre": COUNT, "scale": 1.0, "name": f"without you: {COUNT}"},
        {"kind": "laplace", "centre": COUNT + 1, "scale": 1.0, "name": f"with you: {COUNT + 1}"},
    ]
    rows = []
    for answer in range(COUNT - 3, COUNT + 5):
        without, within = (math.exp(-abs(answer - centre)) / 2 for centre in (COUNT, COUNT + 1))
        rows.append((answer, round(without, 4), round(within, 4), round(within / without, 3)))
    return Figure(
        chart={
            "chart": "distribution",
            "title": "How likely each answer is, without you and with you, at epsilon 1",
            "densities": laws,
            "across": "answer",
        },
        caption="At every answer one curve is at most e = 2.718 times as high as the other.",
        columns=("answer", "density without you", "density with you", "with / without"),
        rows=tuple(rows),
    )


def _widths() -> Figure:
    bars, rows = [], []
    for text in EPSILONS:
        epsilon = Fraction(text)
        half = DiscreteLaplace(scale=1 / epsilon).half_width(Fraction(95, 100))
        guessed = best_under(float(epsilon))
        bars.append({"label": f"epsilon {text}", "value": half, "text": f"± {half}"})
        rows.append((text, half, round(math.exp(float(epsilon)), 3), percent(guessed)))
    return Figure(
        chart={"chart": "bars", "title": "How far 95% of answers are from the true count, at most", "bars": bars},
        caption="The noise of a count, and how often somebody who thinks it equally likely that you are in the table "
        "or not guesses right, at most.",
        columns=("epsilon", "95% of answers are within", "likelihood ratio, at most", "guessed right, at most"),
        rows=tuple(rows),
    )
