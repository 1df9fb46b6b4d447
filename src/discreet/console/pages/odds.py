"""What an epsilon means for one person, as odds: for whoever grants one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet import exact

#: Above this a limit is granted only by whoever says that they have read what it means.
LARGEST_PLAIN_EPSILON = Fraction(5)

#: Beyond this, odds are beyond words.
_MOST = Fraction(30)
_BEYOND = "more than 99.999999"


def epsilon_meaning(epsilon: Fraction, delta: Fraction = Fraction(0), *, changes: bool = False) -> dict[str, Any]:
    """The most that anybody could come to believe about one person, who began at even odds.

    `changes`: exact totals of these people were published, so that presence is not protected, only what they are like.

    Because: but for a chance of delta no answer moves the odds between two neighbours by more than a factor of e to the
        epsilon; from 1 to 1 that is e^epsilon to 1, a probability of e^epsilon / (1 + e^epsilon).

    >>> epsilon_meaning(Fraction(1))["words"]
    'An attacker who is 50 percent sure that a person is among these people can be at most 74 percent sure afterwards.'
    """
    odds = exact.exp(min(epsilon, _MOST), up=True)
    percent = _percent(odds / (1 + odds)) if epsilon <= _MOST else _BEYOND
    what = "has one value rather than another" if changes else "is among these people"
    if percent == _BEYOND:
        sure = f"can become all but certain ({percent} percent sure): a limit this large hardly protects anybody."
    else:
        but = f", except with probability {exact.show(delta, up=True)}" if delta else ""
        sure = f"can be at most {percent} percent sure afterwards{but}."
    return {
        "epsilon": exact.as_float(epsilon, up=True),
        "percent": percent,
        "grave": epsilon > LARGEST_PLAIN_EPSILON,
        "words": f"An attacker who is 50 percent sure that a person {what} {sure}",
    }


def _percent(sure: Fraction) -> str:
    """Rounded up, with as many nines as it takes: 100 percent would be a lie."""
    for digits in (0, 1, 2, 4, 6):
        scaled = -((-sure * 100 * 10**digits) // 1)
        if scaled < 100 * 10**digits:
            return exact.show(Fraction(scaled, 10**digits), digits=12)
    return _BEYOND
