"""What a batch says of its statements in comments: a title, and how much each matters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from discreet import exact
from discreet.errors import Flag, Message, UsageError

#: The longest title that is shown.
_LONGEST = 80
#: A message spells out the weights of no more statements than this.
_MOST_HINTED = 20
#: No weight is larger, or smaller than one part of it.
MOST_WEIGHT = Fraction(10**6)

#: A comment at the start of a statement: to the end of its line, or between /* and */.
_COMMENT = re.compile(r"\s*(?:--[ \t]*([^\n\r]*)(?:[\n\r]|$)|/\*(.*?)\*/)", re.DOTALL)
_WEIGHT = re.compile(r"weight[ \t]*:[ \t]*(.*)", re.IGNORECASE)


def leading_comments(text: str) -> list[str]:
    """The comments before a statement.

    >>> leading_comments("-- Adults\\n-- weight: 3\\nselect count(*) from t -- all")
    ['Adults', 'weight: 3']
    >>> leading_comments("/* Adults,\\n by sex */ select 1")
    ['Adults, by sex']
    """
    comments, start = [], 0
    while (comment_match := _COMMENT.match(text, start)) is not None and comment_match.end() > start:
        comments.append(" ".join((comment_match[1] or comment_match[2] or "").split()))
        start = comment_match.end()
    return comments


def statement_title(text: str) -> str:
    """What a statement is called: the first comment before it, else its own text on one line.

    >>> statement_title("-- weight: 2\\nselect count(*)\\n  from t")
    'select count(*) from t'
    """
    named = [comment for comment in leading_comments(text) if comment and not _WEIGHT.fullmatch(comment)]
    if named:
        line = named[0]
    else:
        body, start = text, 0
        while (comment_match := _COMMENT.match(text, start)) is not None and comment_match.end() > start:
            start = comment_match.end()
            body = text[start:]
        line = " ".join(body.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def statement_weights(texts: Sequence[str], given: object = None) -> tuple[Fraction, ...] | None:
    """How much a squared error of each statement matters: as given, one for each, else by the comments before them.

    None where all matter alike.

    >>> statement_weights(["select 1", "-- weight: 3\\nselect 2"])
    (Fraction(1, 1), Fraction(3, 1))
    """
    if given is not None:
        parts = given.split(",") if isinstance(given, str) else list(given) if isinstance(given, Sequence) else [given]
        weights = [_weight(part) for part in parts]
        if len(weights) != len(texts):
            were = "1 weight was" if len(weights) == 1 else f"{len(weights)} weights were"
            one_each = ["1"] * len(texts) if len(texts) <= _MOST_HINTED else ["1", "3", "…"]
            raise UsageError(
                f"the batch has {len(texts)} statements, but {were} given: it needs one for each",
                hint=Message(Flag("weight", ",".join(one_each), python=f"weights={one_each}".replace("'", ""))),
            )
    else:
        weights = [_comment_weight(text) for text in texts]
    return None if len(set(weights)) <= 1 else tuple(weights)


def _comment_weight(text: str) -> Fraction:
    named = [
        comment_match[1]
        for comment in leading_comments(text)
        if (comment_match := _WEIGHT.fullmatch(comment)) is not None
    ]
    return _weight(named[-1].strip()) if named else Fraction(1)


def _weight(value: object) -> Fraction:
    weight = exact.positive(value.strip() if isinstance(value, str) else value, name="a weight", most=MOST_WEIGHT)
    if weight < 1 / MOST_WEIGHT:
        raise UsageError(f"a weight must be at least {exact.show(1 / MOST_WEIGHT)}")
    return weight
