"""The census block: a table about seven people fits one set of people only."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import median
from typing import Any

from discreet.console.pages.lessons.lesson import Figure, Lesson, LessonQuestion
from discreet.lab.attacks.census.example_block import seven_people
from discreet.lab.attacks.census.published_block import PublishedStatistic, World
from discreet.lab.attacks.census.table_noise import exact_table, noise_for, noisy_table

#: The only people who fit all fourteen statistics: age, and places in female/male, black/white, single/married.
WORLD: World = ((8, 0, 0, 0), (18, 1, 1, 0), (24, 0, 1, 0), (30, 1, 1, 1), (36, 0, 0, 1), (66, 0, 0, 1), (84, 1, 0, 1))
#: What the solver of `discreet attack census` counts: statistics left out, and how many blocks of people fit the rest.
SOLUTIONS = ((), 1), (("4A",), 2), (("3B",), 22), (("3B", "4A"), 76)
OLDEST, MEN, MEDIAN, MEAN = 125, 3, 30, 44
EPSILON = Fraction(1)


def make() -> Lesson:
    """The fictional block of seven people, as a puzzle."""
    block = seven_people()
    noise = noise_for(block, EPSILON)
    men = _ages_of_men()
    return Lesson(
        name="block",
        title="The census block",
        lead="Seven people, fourteen numbers about them, and one set of people that fits.",
        paragraphs=(
            "A census asks everybody and publishes only tables. The census of 2010 published nearly eight billion "
            "numbers about 308 million people: 25 numbers for each, although each was asked only ten questions.",
            f"Every number rules people out. Take the three men of the invented block below. If they all differ in "
            f"age and are between 1 and {OLDEST} years old, there are {math.comb(OLDEST, MEN):,} possibilities. Their "
            f"median age is {MEDIAN} and their mean age {MEAN}: {len(men)} are left (in one of them, two are 30). "
            "The other numbers leave only one.",
            "As a precaution, cells about fewer than three people are suppressed. A suppressed cell also rules people "
            "out: it says that there are at most two. A computer lists every block that fits and proves that there is "
            "no other. The Census Bureau did this with its own tables of 2010, and changed how it publishes.",
            "The defence is noise. Its scale is set so that one person more or less is hardly noticed in the whole "
            "table. "
            "Then the numbers are no longer consistent. An attacker who allows for the noise is left with very "
            "many possible blocks, and no method does better. For seven people, the table is then useless. This "
            "cannot be avoided: almost every number about seven people reveals something about one of them. "
            "For a county, the same noise "
            "would be too small to matter.",
        ),
        figures=(_remaining(len(men)), _noisy()),
        verb="discreet attack census",
        to="/lab/census",
        there="Run the attack in the lab",
        task="Find as many of the seven people as you can by hand. Then publish with noise: from which epsilon on "
        "do the women and the men add up to everybody most of the time?",
        question=LessonQuestion(
            text="The three men have the median age 30 and the mean age 44. The youngest is 18. How old is the oldest?",
            answer=84,
            solution="Their ages sum to 3 × 44 = 132. The median is the one in the middle, 30. So the oldest is "
            "132 - 18 - 30 = 84.",
        ),
        play={
            "statistics": [_statistic_data(each) for each in block.statistics],
            "world": [[age, sex * 4 + race * 2 + marital] for age, sex, race, marital in WORLD],
            "scales": [float(noise.count_law.scale), float(noise.sum_law.scale)],
        },
    )


def _ages_of_men() -> list[tuple[int, int, int]]:
    """The ages of three men with the published median and mean."""
    total = MEN * MEAN
    return [(low, MEDIAN, total - MEDIAN - low) for low in range(1, MEDIAN + 1) if total - MEDIAN - low <= OLDEST]


def _statistic_data(statistic: PublishedStatistic) -> dict[str, Any]:
    """A statistic for the page's script: its group as one condition for age, sex, race and marital status."""
    group = {condition.column: condition.intervals[0] for condition in statistic.group}
    data: dict[str, Any] = {
        "name": statistic.name,
        "title": statistic.title,
        "age": list(group.get("age", (0, OLDEST))),
        **{name: group[name][0] if name in group else -1 for name in ("sex", "race", "marital")},
    }
    if statistic.median is None:
        return {**data, "below": 3}
    exact_ages = [record[0] for record in WORLD if seven_people().is_in_group(record, statistic.group)]
    mean = Fraction(sum(exact_ages), len(exact_ages))
    return {
        **data,
        "count": len(exact_ages),
        "median": median(exact_ages),
        "mean": math.floor(mean * 10 + Fraction(1, 2)) / 10,
    }


def _remaining(men: int) -> Figure:
    """How many sets of people are left."""
    steps = [
        ("three men of different ages", math.comb(OLDEST, MEN)),
        ("with median 30 and mean 44", men),
        *(
            (f"all seven, without {' and '.join(left_out)}" if left_out else "all seven, all 14 statistics", solutions)
            for left_out, solutions in reversed(SOLUTIONS)
        ),
    ]
    bars = [
        {"label": label, "value": round(math.log10(number) + 0.1, 2), "text": f"{number:,}"} for label, number in steps
    ]
    return Figure(
        chart={"chart": "bars", "title": "Possibilities that are left (the bar's length is the number of digits)",
               "bars": bars},
        caption="4A is the black women, 3B the married adults. To leave out one statistic helps less than it seems.",
        columns=("published", "possibilities"),
        rows=tuple(steps),
    )  # fmt: skip


def _noisy() -> Figure:
    """The counts of the block, exact and as Discreet publishes them for `EPSILON`."""
    block = seven_people()
    noise, exact = noise_for(block, EPSILON), exact_table(block, WORLD)
    published = noisy_table(exact, noise)
    half = noise.count_law.half_width(Fraction(95, 100))
    bars, rows = [], []
    for statistic, count, noisy in zip(block.statistics, exact.counts, published.counts, strict=True):
        label = f"{statistic.name} {statistic.title}"
        bars.append({"label": label, "value": noisy, "low": noisy - half, "high": noisy + half,
                     "drowned": abs(noisy) <= half})  # fmt: skip
        rows.append((label, count, noisy, f"± {half}"))
    return Figure(
        chart={"chart": "bars", "title": "The same counts with noise for epsilon 1", "bars": bars},
        caption="One draw of Discreet's noise: half of epsilon is for the counts, half for sums of ages. The noise is "
        "larger than the counts.",
        columns=("statistic", "exact count", "published count", "95% within"),
        rows=tuple(rows),
    )
