"""Reconstruction: many answers with too little noise are the table itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.console.pages.lessons.lesson import Figure, Lesson, LessonQuestion
from discreet.lab.attacks.reconstruction.answer_noise import AnswerNoise
from discreet.lab.attacks.reconstruction.count_attack import reconstruct
from discreet.lab.evidence import best_under, percent

PEOPLE, QUESTIONS, TURNS = 40, 160, 25
#: The largest error of an answer, in roots of the number of people.
NOISES = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


def make() -> Lesson:
    """Forty generated people, 160 counts about them, and how many of their secrets come out."""
    private = _share(AnswerNoise(epsilon=Fraction(1)))
    return Lesson(
        name="reconstruction",
        title="Reconstruction",
        lead="Too many answers that are too precise reveal everybody's secret.",
        paragraphs=(
            "Forty people each have a secret: yes or no. A server reveals no names. It tells you how many people in "
            "any group that you choose have a yes, and adds a small error to each answer.",
            "Ask about many groups drawn at random, write each answer as an equation with forty unknowns, solve them "
            "all at once, and round. If the error is well below the square root of the number of people and you ask "
            "enough, you learn nearly every secret. This is a theorem (Dinur and Nissim, 2003), and statistical "
            "offices have seen it happen with their own tables.",
            "More queries help the attacker, and more noise helps the people. Noise that does not grow with the number "
            "of queries loses in the end.",
            "If all answers together cost epsilon 1, no secret is guessed right more often than "
            f"{percent(best_under(1.0))} of the time, by this attack or any other: the noise of each answer then "
            "grows with the number of answers, or the ledger refuses the rest.",
        ),
        figures=(_figure(private),),
        verb="discreet attack reconstruction --n 40 --queries 160 --noise 0.25",
        to="/lab/reconstruction",
        there="Run the attack in the lab",
        task="Find the largest error at which the attacker still gets 36 of the 40 secrets. Then double the number "
        "of queries.",
        question=LessonQuestion(
            text="A table has 10,000 people. Errors below about how many people are too small, if enough counts of "
            "random groups are answered?",
            answer=100,
            near=1,
            solution="About the square root of the number of people: 100. With smaller errors, nearly every secret "
            "can be computed.",
        ),
        play={"people": PEOPLE},
    )


def _share(noise: AnswerNoise) -> float:
    """How many secrets come out, on average over generated classes."""
    chance, right = np.random.default_rng(), 0
    for _ in range(TURNS):
        secret = chance.random(PEOPLE) < 0.5
        solution = reconstruct(secret, queries=QUESTIONS, noise=noise, method="squares", chance=chance)
        right += int(np.count_nonzero(solution.bits == secret))
    return right / (TURNS * PEOPLE)


def _figure(private: float) -> Figure:
    shares = [_share(AnswerNoise(multiple=each)) for each in NOISES]
    points = [{"x": noise, "value": 100 * share} for noise, share in zip(NOISES, shares, strict=True)]
    flat = [{"x": noise, "value": 100 * private} for noise in (NOISES[0], NOISES[-1])]
    rows = [(f"{noise:g} × square root of n", percent(share)) for noise, share in zip(NOISES, shares, strict=True)]
    return Figure(
        chart={
            "chart": "lines",
            "title": f"Secrets learned from {QUESTIONS} answers about {PEOPLE} people",
            "series": [{"name": "this noise", "points": points}, {"name": "epsilon 1 in total", "points": flat}],
            "across": "largest error of an answer, in square roots of n",
            "up": "percent of secrets",
        },
        caption="Guessing gets 50% of them right. Least squares on generated people, 25 runs for each point.",
        columns=("largest error", "secrets learned"),
        rows=(*rows, ("epsilon 1 for all answers", percent(private))),
    )
