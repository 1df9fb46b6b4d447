"""Sketches and RAPPOR: a word among many phones, counted without learning whose it is."""

from __future__ import annotations

import math

from discreet.console.pages.lessons.lesson import Figure, Lesson, LessonQuestion
from discreet.lab.evidence import percent
from discreet.local import CountMeanSketch, Rappor

#: What people answer, and in how many of a hundred phones.
WORDS = {"tears of joy": 40, "red heart": 25, "thumbs up": 15, "crying": 10, "fire": 6, "unicorn": 4}
PHONES, EPSILON = 20_000, 4
#: One phone that reports daily for this epsilon, and after how many days somebody guesses.
DAILY, DAYS = 1, (1, 7, 28, 91)
BITS = 16


def make() -> Lesson:
    """Twenty thousand phones, two protocols; and one phone, day after day."""
    flipped = 1 / (1 + math.exp(EPSILON / 2))
    return Lesson(
        name="phones",
        title="A word among phones",
        lead="Learn the favourite emoji of millions of people, although no phone reveals its own.",
        paragraphs=(
            "Two coins work for yes and no. A favourite emoji, or a word that was typed, has thousands of "
            "possibilities, and nobody can list them all beforehand.",
            "A sketch sends every word to one of a few places, by a hash function. The phone writes a row of zeros "
            "with "
            "a single one at its word's place and then flips each bit with probability 1 / (1 + e^(epsilon / 2)): at "
            f"epsilon {EPSILON} that is {percent(flipped)} of them. Apple collects emoji this way. "
            "One row reveals almost nothing. "
            "But among many rows, the place of a common word has more ones than other places. "
            "The expected number of flips can be subtracted.",
            "The attack is to wait. New noise each day averages out: after 28 reports of the same "
            "answer, "
            "the value that a bit has most often is usually the true one. "
            "So each donation has its own price, and a phone "
            "must limit its donations per day and in total.",
            "RAPPOR has another defence. The phone flips its bits once, keeps this row forever, and adds a second "
            "noise to each report. All its reports together then reveal no more than the row that it kept. But such "
            "reports "
            "can be recognized as coming from one phone.",
            "Epsilon must be public here, too. When researchers analysed Apple's software, the noise itself did not "
            "worry them. What worried them was a large epsilon that Apple had not published.",
        ),
        figures=(_words(), _days()),
        verb='discreet survey new "What is your favourite emoji?" --words --epsilon 4',
        to="/survey",
        there="Make a survey",
        task="From how many phones on is the estimate within two points of the truth? Then halve epsilon and find "
        "out again.",
        question=LessonQuestion(
            text="A phone flips each bit with probability 1 / (1 + e^(epsilon / 2)). How many percent of bits does "
            "it flip "
            "at epsilon 2?",
            answer=26.9,
            near=0.5,
            solution="1 / (1 + e) = 1 / 3.718 = 26.9%. At epsilon 0 it would be 50%, and the row would be coin flips.",
        ),
        play={"bits": BITS},
    )


def _words() -> Figure:
    """Both protocols estimate the same phones' words."""
    spoken = [word for word, share in WORDS.items() for _ in range(share * PHONES // 100)]
    bars, rows = [], []
    protocols: dict[str, CountMeanSketch | Rappor] = {
        "sketch": CountMeanSketch(epsilon=EPSILON, functions=32, wide=128),
        "RAPPOR": Rappor(epsilon=EPSILON, cohorts=8, wide=64),
    }
    shown: dict[str, list[str]] = {word: [] for word in WORDS}
    for name, protocol in protocols.items():
        estimate = protocol.estimate(protocol.randomize_all(spoken), list(WORDS))
        for word, share in estimate.shares.items():
            low, high = estimate.interval(0.95)[word]
            shown[word].append(f"{percent(share)} ({percent(low)} to {percent(high)})")
            if name == "sketch":
                bars.append({"label": word, "value": 100 * share, "low": 100 * low, "high": 100 * high,
                             "text": percent(share)})  # fmt: skip
    rows = [(word, f"{share}%", *shown[word]) for word, share in WORDS.items()]
    return Figure(
        chart={"chart": "bars", "title": "Percent of phones with each word, estimated from a sketch", "bars": bars},
        caption=f"{PHONES:,} generated phones at epsilon {EPSILON}, with 95% confidence intervals. "
        "The table also shows RAPPOR's estimates for the same phones.",
        columns=("word", "true share", "sketch", "RAPPOR"),
        rows=tuple(rows),
    )


def _days() -> Figure:
    """How often the majority of a phone's reports of one bit is the truth."""
    honest = 1 - 1 / (1 + math.exp(DAILY / 2))
    fresh = [{"x": days, "value": 100 * majority(days, honest)} for days in DAYS]
    kept = [{"x": days, "value": 100 * honest} for days in DAYS]
    return Figure(
        chart={
            "chart": "lines",
            "title": "How often somebody who sees one bit of every report guesses it, in percent",
            "series": [
                {"name": "new noise each day", "points": fresh},
                {"name": "noise that is kept", "points": kept},
            ],
            "across": "days",
            "up": "percent right",
        },
        caption=f"One phone reports the same answer each day at epsilon {DAILY}. With new noise all reports "
        "together cost "
        "as many epsilons as there are days.",
        columns=("days", "new noise each day", "noise that is kept", "epsilon of all reports, new noise"),
        rows=tuple((days, percent(majority(days, honest)), percent(honest), days * DAILY) for days in DAYS),
    )


def majority(times: int, honest: float) -> float:
    """How likely most of so many reports are right; a draw is right half of the time.

    >>> round(majority(1, 0.75), 4), round(majority(3, 0.75), 4), majority(2, 0.5)
    (0.75, 0.8438, 0.5)
    """
    right = [math.comb(times, k) * honest**k * (1 - honest) ** (times - k) for k in range(times + 1)]
    return sum(right[times // 2 + 1 :]) + (right[times // 2] / 2 if times % 2 == 0 else 0.0)
