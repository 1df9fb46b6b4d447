"""Two coins: randomized response, in a class."""

from __future__ import annotations

from discreet.console.pages.lessons.lesson import Figure, Lesson, LessonQuestion
from discreet.lab.evidence import percent
from discreet.local import RandomizedResponse

#: Generated classes, of which two in five would say yes.
SIZES, SHARE = (30, 300, 3_000), 0.4


def make() -> Lesson:
    """Classes of three sizes flip their coins."""
    return Lesson(
        name="two-coins",
        title="Two coins",
        lead="Ask a class something that nobody would admit, and learn the share of yes without learning who.",
        paragraphs=(
            "Each person flips a coin that nobody else sees. On tails they tell the truth. On heads they flip again "
            "and say yes on heads and no on tails, whatever is true.",
            "A person whose true answer is yes then says yes 3 times in 4; a person whose true answer is no says yes "
            "1 time in 4. So a yes is at most 3 times as likely from one person as from another. That factor is e to "
            "the power of epsilon: epsilon is ln 3, about 1.1, for each answer.",
            "If a share a of the class says yes, then 2a - 1/2 estimates the true share. It is right on average. From "
            "few people it is rough, and it can be below 0 or above 1; an interval says how rough. To halve the "
            "interval, ask about four times as many people.",
            "Nobody has to be trusted here: the noise is added before an answer is given. The price is that "
            "this needs many more people than a trusted party that adds noise once, to the total.",
        ),
        figures=(_figure(),),
        verb='discreet survey new "Have you ever …?" --choices yes,no --epsilon 1.1',
        to="/survey",
        there="Make a survey",
        task="Let a hundred classes flip. How far apart are their estimates, and is any of them below 0% or above "
        "100%?",
        question=LessonQuestion(
            text="Of 400 people, 160 say yes after flipping two coins. How many percent would truly say yes?",
            answer=30,
            near=0.5,
            solution="160 of 400 is a share of 0.4, and 2 × 0.4 - 0.5 = 0.3: about 30%. Nobody knows which of the 160 "
            "said yes because of a coin.",
        ),
        play={"people": SIZES[0]},
    )


def _figure() -> Figure:
    coins = RandomizedResponse.two_coins()
    bars, rows = [], []
    for people in SIZES:
        truly = round(SHARE * people)
        estimate = coins.estimate(coins.randomize_all(["yes"] * truly + ["no"] * (people - truly)))
        share, (low, high) = estimate.shares["yes"], estimate.interval(0.95)["yes"]
        text = f"{percent(share)} ({percent(low)} to {percent(high)})"
        bars.append({"label": f"{people:,} people", "value": 100 * share, "low": 100 * low, "high": 100 * high})
        rows.append((people, percent(SHARE), text))
    return Figure(
        chart={"chart": "bars", "title": "Percent of yes, estimated from two coins", "bars": bars},
        caption=f"Generated classes in which {percent(SHARE)} would truly say yes, and the estimates from two coins, "
        "with 95% confidence intervals.",
        columns=("people", "true share of yes", "estimate, with 95% confidence interval"),
        rows=tuple(rows),
    )
