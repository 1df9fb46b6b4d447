"""Attribute inference: who knows some columns of a person reads another one off the nearest synthetic row.

A good model of everybody guesses well, too, about people it never saw. So the same guesses are made about the people
of a control table, and only what is better on the original is held against the synthetic table. Without a control
nothing is: that a table lets many things be guessed is what good data do.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.lab.evidence import Evidence, percent
from discreet.lab.synthetic.coded import NULL, Coded, Codes
from discreet.lab.synthetic.control import CONFIDENCE, Rate, beside
from discreet.lab.synthetic.distance import blocks

#: A guess of a number with more values than this is right if no more than this share of people lies between.
_FEW_VALUES = 20
_NEAR = 0.05

Columns = Sequence[int]


def inference(
    coded: Coded,
    *,
    secret: str | None = None,
    known: Sequence[str] | None = None,
    attacks: int = 500,
    confidence: float = CONFIDENCE,
    epsilon: float | None = None,
    delta: float = 0.0,
    seed: int = 0,
) -> Evidence | None:
    """Guess `secret` from `known`, which are all other columns unless said. None where nothing can be guessed.

    `epsilon`: what the synthetic table claims, which bounds guesses about its people by those about others.

    Without a secret every column takes its turn as the secret of some of the targets.
    """
    start, generator = process_time(), np.random.default_rng(seed)
    secrets = [coded.place(secret)] if secret is not None else list(range(len(coded.names)))
    given = [coded.place(name) for name in known] if known is not None else list(range(len(coded.names)))
    if secret is not None and known is not None and secret in known:
        raise UsageError(f"{secret!r} is the secret and cannot be known, too")
    held = [
        (column, columns)
        for column in secrets
        if (columns := [each for each in given if each != column]) and (coded.synthetic[column] != NULL).any()
    ]
    if not held:
        return None
    turns = [attacks // len(held) + (turn < attacks % len(held)) for turn in range(len(held))]
    right = [_guesses(coded, *each, turn, generator) for each, turn in zip(held, turns, strict=True)]
    success = _rate([own for own, _, _ in right])
    if not success.n:
        return None
    blind = [other if coded.has_control else mode for _, other, mode in right]
    return beside(
        "attribute inference",
        success,
        _rate(blind),
        seconds=process_time() - start,
        confidence=confidence,
        story=(_told(coded, [column for column, _ in held], success, _rate(blind)),),
        details={
            "by_column": {
                coded.names[column]: {"success": _rate([own]).share, "control": _rate([other]).share, "n": len(own)}
                for (column, _), (own, _, _), other in zip(held, right, blind, strict=True)
            },
            "known": [coded.names[column] for column in given if column not in secrets or len(secrets) > 1],
        },
        claim=None if epsilon is None or not coded.has_control else (epsilon, delta),
        judged=coded.has_control,
    )


def _told(coded: Coded, secrets: Columns, success: Rate, control: Rate) -> str:
    what = repr(coded.names[secrets[0]]) if len(secrets) == 1 else "a hidden column, each in turn,"
    told = f"{what} is guessed right for {percent(success.share)} of the original's people"
    if coded.has_control:
        return f"{told} and {percent(control.share)} of the control's."
    return (
        f"{told} and {percent(control.share)} by the commonest value. Whether that is a leak cannot be judged: a good "
        "model guesses well about people it never saw, too, and only a control shows how well."
    )


def _rate(right: Sequence[NDArray[np.bool_]]) -> Rate:
    return Rate(successes=sum(int(each.sum()) for each in right), n=sum(map(len, right)))


def _guesses(
    coded: Coded, secret: int, known: Columns, targets: int, generator: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which guesses are right: about the original, about the control, and about the original by the commonest value."""
    table = coded.synthetic[:, coded.synthetic[secret] != NULL]
    own, others = (_targets(rows, secret, targets, generator) for rows in (coded.original, coded.control))
    commonest = np.full(own.shape[1], np.bincount(table[secret]).argmax())
    return (
        _is_right(coded, secret, own[secret], _guess(coded, secret, known, own, table)),
        _is_right(coded, secret, others[secret], _guess(coded, secret, known, others, table)),
        _is_right(coded, secret, own[secret], commonest),
    )


def _targets(table: Codes, secret: int, wanted: int, generator: np.random.Generator) -> Codes:
    """People whose secret is known to whoever judges the guesses."""
    (held,) = np.nonzero(table[secret] != NULL)
    return table[:, generator.permutation(held)[:wanted]]


def _guess(coded: Coded, secret: int, known: Columns, targets: Codes, table: Codes) -> Codes:
    """The commonest secret among the synthetic rows that are nearest."""
    found = np.zeros(targets.shape[1], np.int32)
    for part, apart in blocks(coded, targets, table, known):
        nearest = apart <= apart.min(axis=1, keepdims=True) + 1e-6
        for place, row in enumerate(nearest, part.start):
            found[place] = np.bincount(table[secret, row]).argmax()
    return found


def _is_right(coded: Coded, secret: int, true: Codes, guessed: Codes | NDArray[np.int64]) -> NDArray[np.bool_]:
    if not coded.ordered[secret] or coded.sizes[secret] <= _FEW_VALUES:
        return np.asarray(true == guessed)
    places = coded.places[secret]
    return np.asarray(np.abs(places[true] - places[guessed]) <= _NEAR)
