"""LIKE patterns in one normal form: % is any characters, _ is one character, a backslash takes the next as it is.

A pattern is a constant of the question, so it is read once, and what an engine gets cannot be malformed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

#: A character to be matched as it is, or what a wildcard stands for.
Token = str | Literal[0, 1]
#: Any characters, none too; exactly one character.
ANY: Literal[0] = 0
ONE: Literal[1] = 1


def tokens(pattern: str, *, escape: str | None) -> list[Token] | None:
    """The pieces of a pattern as a question has it; None where it ends in the middle of an escape."""
    pieces: list[Token] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            taken = next(letters, None)
            if taken is None:
                return None
            pieces.append(taken)
        else:
            pieces.append(ANY if letter == "%" else ONE if letter == "_" else letter)
    return pieces


def normal_form(pieces: Iterable[Token]) -> str:
    """The normal form: equal patterns are written alike.

    >>> normal_form(["a", ANY, ONE, ANY, "%"])
    'a_%\\\\%'
    """
    text = ""
    waiting = False
    for piece in pieces:
        if piece == ANY:
            waiting = True
        elif piece == ONE:
            text += "_"
        else:
            text += ("%" if waiting else "") + (f"\\{piece}" if str(piece) in "%_\\" else str(piece))
            waiting = False
    return text + ("%" if waiting else "")


def matcher(pattern: str) -> Callable[[str], bool]:
    """What tells whether a text matches a pattern in the normal form.

    >>> [matcher("a_%")(text) for text in ("a", "ab", "abc", "ba")]
    [False, True, True, False]
    """
    pieces = tokens(pattern, escape="\\")
    if pieces is None:
        raise ValueError("the pattern ends in the middle of an escape")
    parts = wildcard_runs(pieces)
    return lambda text: _matches(parts, text)


def wildcard_runs(pieces: Iterable[Token]) -> list[list[Token]]:
    """What stands between the places where any characters may be."""
    pieces_between: list[list[Token]] = [[]]
    for piece in pieces:
        if piece == ANY:
            pieces_between.append([])
        else:
            pieces_between[-1].append(piece)
    return pieces_between


def _matches(runs: list[list[Token]], text: str) -> bool:
    """The first run at the start, the last at the end, the others between, each as early as it can be:
    a later place never leaves more room. So it takes no longer than the text and the pattern are long together,
    times one another; a regular expression could take for ever."""
    first, *rest = runs
    if not rest:
        return len(text) == len(first) and _stands(first, text, 0)
    *between, last = rest
    end = len(text) - len(last)
    place = len(first)
    if place > end or not _stands(first, text, 0) or not _stands(last, text, end):
        return False
    for run in between:
        while not _stands(run, text, place):
            place += 1
            if place + len(run) > end:
                return False
        place += len(run)
    return place <= end


def _stands(run: list[Token], text: str, place: int) -> bool:
    letters = text[place : place + len(run)]
    return len(letters) == len(run) and all(piece in (ONE, letter) for piece, letter in zip(run, letters, strict=True))
