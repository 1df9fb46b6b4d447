"""A budget as a game: two useful counts, and an attacker who subtracts them and asks again."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.console.pages.lessons.lesson import Figure, Lesson, LessonQuestion
from discreet.lab.attacks.floats import discreet_laplace
from discreet.lab.evidence import best_under, percent
from discreet.mechanisms.laplace import DiscreteLaplace

#: The lecture notes' articles: rich families in March, with John, and in April, without him.
MARCH, APRIL = 202, 201
STUDENTS = (3_005, 3_004)
#: What the owner allows; how exact both counts should be; and what the attacker may reach.
BUDGET, WIDTH, MOST = Fraction(1), 10, 0.6
EPSILONS = ("0.1", "0.2", "0.3", "0.5", "1", "2")
REPEATS, ATTACKS = (1, 4, 16, 64), 4_000

Floats = NDArray[np.float64]


def make() -> Lesson:
    """Two articles about one class, and how to publish them."""
    return Lesson(
        name="game",
        title="Spend a budget well",
        lead="You own the data and a budget. Publish two useful counts, and keep the attacker close to blind guessing.",
        paragraphs=(
            f"In March a professor writes that {MARCH} of {STUDENTS[0]:,} first-year students come from families "
            "that earn "
            f"more than a million. In April another one writes {APRIL} of {STUDENTS[1]:,}. "
            "Neither number is about one person. But John left at the end of March. Anybody who knows this "
            "subtracts the two numbers, and learns that John's family earns more than a million.",
            "The first attack is differencing, and noise stops it: each count moves by at most 1 because of "
            "John, and noise of scale 1 / epsilon hides that. The second attack asks again. New noise each time "
            "averages out, so each new answer must be paid for.",
            "The ledger is the defence against both. It adds up what was spent and refuses what is beyond the limit, "
            "whoever asks. And it stores answers: the same question gets the same answer, free, and averaging "
            "copies of one number says nothing new.",
            "Spend where it helps. A count needs no more precision than its use: within ± 10, for a number near 200, "
            "costs epsilon 0.3, and everything that is not spent is left for next year's questions. "
            "To divide the same epsilon among many answers is a waste: "
            "their mean is less exact than one answer.",
        ),
        figures=(_differencing(), _averaging()),
        verb="discreet attack differencing --tale class",
        to="/lab/differencing",
        there="Run the attack in the lab",
        task="Win, with as much epsilon left as possible. Then try to win without a ledger.",
        question=LessonQuestion(
            text="A count is asked 16 times with epsilon 0.25 each, and every answer has new noise. How much "
            "epsilon does "
            "that cost in all?",
            answer=4,
            near=0.001,
            solution="16 × 0.25 = 4, for every person in the data. One answer of epsilon 4 would have been more "
            "exact. If the "
            "answer were stored, all 16 would cost 0.25 together.",
        ),
        play={
            "april": APRIL,
            "budget": float(BUDGET),
            "width": WIDTH,
            "most": MOST,
        },
    )


def attacked(epsilon: Fraction, repeats: int, attacks: int = ATTACKS) -> float:
    """How often the difference of two means names John's family. True half of the time, and drawn anew each time."""
    rich = np.random.default_rng().random(attacks) < 0.5
    march, april = (_means(epsilon, repeats, attacks) for _ in range(2))
    guess = march + rich - april > 0.5
    return float((guess == rich).mean())


def _means(epsilon: Fraction, repeats: int, attacks: int) -> Floats:
    """Means of the noise of so many answers."""
    noise = discreet_laplace(0, float(1 / epsilon), attacks * repeats)
    means: Floats = noise.reshape(attacks, repeats).mean(axis=1)
    return means


def _width(epsilon: Fraction) -> int:
    """Within how much 95% of answers are."""
    return DiscreteLaplace(scale=1 / epsilon).half_width(Fraction(95, 100))


def _differencing() -> Figure:
    bars: list[dict[str, object]] = [{"label": "no noise", "value": 100, "text": "100%"}]
    rows: list[tuple[str, str, str, str]] = [("no noise", "± 0", "100%", "100%")]
    for text in EPSILONS:
        share, most = attacked(Fraction(text), 1), best_under(float(Fraction(text)))
        bars.append({"label": f"epsilon {text}", "value": 100 * share, "text": percent(share)})
        rows.append((f"epsilon {text}", f"± {_width(Fraction(text))}", percent(share), percent(most)))
    return Figure(
        chart={
            "chart": "bars",
            "title": "How often the difference of the two counts reveals John's family",
            "bars": bars,
        },
        caption=f"{ATTACKS:,} attacks each on generated classes, with Discreet's noise for each of the two counts; "
        "50% is "
        "blind guessing. Only March's count includes John.",
        columns=("each count", "95% of counts within", "guessed right", "nobody reaches more than"),
        rows=tuple(rows),
    )


def _averaging() -> Figure:
    """The same epsilon once, or cut into many answers; and as many answers, each for that epsilon."""
    each = Fraction(3, 10)
    bars, rows = [], []
    for repeats in REPEATS:
        anew = attacked(each, repeats, ATTACKS // 4)
        cut = 1.96 * (float(DiscreteLaplace(scale=repeats / each).variance()) / repeats) ** 0.5
        bars.append(
            {
                "label": "asked once" if repeats == 1 else f"asked {repeats} times",
                "value": 100 * anew,
                "text": percent(anew),
            }
        )
        rows.append(
            (repeats, percent(anew), exact.show(repeats * each), f"± {_width(each) if repeats == 1 else round(cut)}")
        )
    return Figure(
        chart={"chart": "bars", "title": "How often the means of repeated answers name John's family", "bars": bars},
        caption="Each answer has new noise of epsilon 0.3, and the ledger would have refused the fourth. The last "
        "column: "
        "epsilon 0.3 in all, cut into as many answers, and how exact their mean is.",
        columns=("times asked", "guessed right", "epsilon spent on a count", "mean, if 0.3 is cut up"),
        rows=tuple(rows),
    )
