"""The fictional block of seven people from Garfinkel, Abowd and Martindale (2018), as it was published.

Fourteen statistics; a cell of fewer than three people is suppressed, and that is itself a statistic. Means are rounded
to one digit, married people are 15 or over, adults 18 or over. Nobody in it ever lived.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.lab.attacks.census.published_block import (
    BlockColumn,
    BlockFact,
    CensusBlock,
    Group,
    GroupCondition,
    PublishedStatistic,
)
from discreet.lab.attacks.census.published_range import PublishedRange, round_half_up

AGE = BlockColumn(name="age", low=0, high=125)
SEX = BlockColumn(name="sex", values=("female", "male"))
RACE = BlockColumn(name="race", values=("black", "white"))
MARITAL = BlockColumn(name="marital", values=("single", "married"))

_FEMALE = GroupCondition(column="sex", intervals=((0, 0),))
_MALE = GroupCondition(column="sex", intervals=((1, 1),))
_BLACK = GroupCondition(column="race", intervals=((0, 0),))
_WHITE = GroupCondition(column="race", intervals=((1, 1),))
_SINGLE = GroupCondition(column="marital", intervals=((0, 0),))
_MARRIED = GroupCondition(column="marital", intervals=((1, 1),))


def _aged(low: int, high: int = 125) -> GroupCondition:
    return GroupCondition(column="age", intervals=((low, high),))


#: Name, title, group, and count, median and mean as published; None is a cell marked (D).
_PUBLISHED: tuple[tuple[str, str, Group, tuple[int, int, str] | None], ...] = (
    ("1A", "everybody", (), (7, 30, "38")),
    ("2A", "female", (_FEMALE,), (4, 30, "33.5")),
    ("2B", "male", (_MALE,), (3, 30, "44")),
    ("2C", "black", (_BLACK,), (4, 51, "48.5")),
    ("2D", "white", (_WHITE,), (3, 24, "24")),
    ("3A", "single adults", (_SINGLE, _aged(18)), None),
    ("3B", "married adults", (_MARRIED, _aged(18)), (4, 51, "54")),
    ("4A", "black female", (_BLACK, _FEMALE), (3, 36, "36.7")),
    ("4B", "black male", (_BLACK, _MALE), None),
    ("4C", "white male", (_WHITE, _MALE), None),
    ("4D", "white female", (_WHITE, _FEMALE), None),
    ("5A", "under 5", (_aged(0, 4),), None),
    ("5B", "under 18", (_aged(0, 17),), None),
    ("5C", "64 or over", (_aged(64),), None),
)


def seven_people(*, mean_rounding: Fraction = Fraction(1, 10), suppressed_below: int = 3) -> CensusBlock:
    """The block. Its means are rounded to `mean_rounding`, halves up; cells below `suppressed_below` are marked (D)."""
    return CensusBlock(
        columns=(AGE, SEX, RACE, MARITAL),
        people=(1, 12),
        statistics=tuple(_statistic(*row, mean_rounding, suppressed_below) for row in _PUBLISHED),
        facts=(BlockFact(name="married people are 15 or over", when=(_MARRIED,), then=(_aged(15),)),),
        title="a block of seven people",
    )


def _statistic(
    name: str, title: str, group: Group, published: tuple[int, int, str] | None, rounding: Fraction, below: int
) -> PublishedStatistic:
    if published is None:
        few = PublishedRange(low=Fraction(0), high=Fraction(below - 1), published_text=f"suppressed, so below {below}")
        return PublishedStatistic(name=name, title=title, group=group, count=few)
    count, median, mean = published
    return PublishedStatistic(
        name=name,
        title=title,
        group=group,
        of="age",
        count=PublishedRange.rounded(Fraction(count)),
        median=PublishedRange.rounded(Fraction(median)),
        mean=PublishedRange.rounded(round_half_up(Fraction(mean), rounding), rounding, way="half-up"),
    )
