"""What a randomizer is made from: whole numbers within bounds, and text that can be encoded."""

from __future__ import annotations

from discreet.errors import UsageError

#: A label or a salt, in characters.
MOST_TEXT = 200


def check_whole(value: object, *, name: str, low: int, high: int) -> int:
    """A whole number within its bounds. True, 2.0 and "2" are none: each would have a second spelling."""
    if type(value) is not int or not low <= value <= high:
        raise UsageError(f"{name} must be a whole number from {low:,} to {high:,}, not {str(value)[:40]}.")
    return value


def check_label(value: object, *, name: str) -> str:
    """A public text that names hash functions."""
    if not isinstance(value, str) or len(value) > MOST_TEXT or not is_encodable(value):
        raise UsageError(f"{name} must be text of at most {MOST_TEXT} characters; it is public.")
    return value


def is_encodable(text: str) -> bool:
    """No half of a character (a lone surrogate), which has no UTF-8."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def non_default(**options: tuple[int, int]) -> dict[str, int]:
    """Those of (found, usual) that are not as usual.

    Devices that ship use the usual ones, and parameters do not name them. Tests use others, so that all that can be
    drawn can be listed; then parameters name them, and `read` makes the same again.

    >>> non_default(planes=(4, 4), slide=(3, 262144))
    {'slide': 3}
    """
    return {name: actual for name, (actual, usual) in options.items() if actual != usual}
