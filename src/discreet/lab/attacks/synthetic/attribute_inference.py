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
from discreet.lab.attacks.synthetic.coded_tables import NULL, CodedTables, Codes
from discreet.lab.attacks.synthetic.control import CONFIDENCE, ControlledRate, SuccessRate, evidence_with_control
from discreet.lab.attacks.synthetic.row_distance import distance_blocks
from discreet.lab.evidence import Evidence, percent

#: A guess of a number with more values than this is right if no more than this share of people lies between.
_FEW_VALUES = 20
_NEAR = 0.05

Columns = Sequence[int]


def inference(
    coded: CodedTables,
    *,
    secret: str | None = None,
    known_columns: Sequence[str] | None = None,
    attacks: int = 500,
    confidence: float = CONFIDENCE,
    epsilon: float | None = None,
    delta: float = 0.0,
    seed: int = 0,
) -> Evidence | None:
    """Guess `secret` from `known_columns`, which are all other columns unless said. None where nothing can be guessed.

    `epsilon`: what the synthetic table claims, which bounds guesses about its people by those about others.

    Without a secret every column takes its turn as the secret of some of the targets.
    """
    start, generator = process_time(), np.random.default_rng(seed)
    secrets = [coded.place(secret)] if secret is not None else list(range(len(coded.names)))
    given = (
        [coded.place(name) for name in known_columns] if known_columns is not None else list(range(len(coded.names)))
    )
    if secret is not None and known_columns is not None and secret in known_columns:
        raise UsageError(f"{secret!r} is the secret column and cannot also be a known column")
    attacked_columns = [
        (column, columns)
        for column in secrets
        if (columns := [each for each in given if each != column]) and (coded.synthetic[column] != NULL).any()
    ]
    if not attacked_columns:
        return None
    turns = [
        attacks // len(attacked_columns) + (turn < attacks % len(attacked_columns))
        for turn in range(len(attacked_columns))
    ]
    right = [_guesses(coded, *each, turn, generator) for each, turn in zip(attacked_columns, turns, strict=True)]
    success = _success_rate([own for own, _, _ in right])
    if not success.n:
        return None
    blind = [other if coded.has_control else mode for _, other, mode in right]
    return evidence_with_control(
        "attribute inference",
        ControlledRate(success=success, control=_success_rate(blind), confidence=confidence),
        seconds=process_time() - start,
        story=(_story(coded, [column for column, _ in attacked_columns], success, _success_rate(blind)),),
        details={
            "by_column": {
                coded.names[column]: {
                    "success": _success_rate([own]).share,
                    "control": _success_rate([other]).share,
                    "n": len(own),
                }
                for (column, _), (own, _, _), other in zip(attacked_columns, right, blind, strict=True)
            },
            "known": [coded.names[column] for column in given if column not in secrets or len(secrets) > 1],
        },
        claim=None if epsilon is None or not coded.has_control else (epsilon, delta),
        judged=coded.has_control,
    )


def _story(coded: CodedTables, secrets: Columns, success: SuccessRate, control: SuccessRate) -> str:
    what = repr(coded.names[secrets[0]]) if len(secrets) == 1 else "a hidden column (each in turn)"
    sentence = f"{what} is guessed right for {percent(success.share)} of the people in the original"
    if coded.has_control:
        return f"{sentence} and {percent(control.share)} of those in the control table."
    return (
        f"{sentence}, and for {percent(control.share)} by the most common value. Whether this is a leak cannot be "
        "judged: a good model also guesses well about people it never saw, and only a control table shows how well."
    )


def _success_rate(right: Sequence[NDArray[np.bool_]]) -> SuccessRate:
    return SuccessRate(successes=sum(int(each.sum()) for each in right), n=sum(map(len, right)))


def _guesses(
    coded: CodedTables, secret: int, known_columns: Columns, targets: int, generator: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which guesses are right: about the original, about the control, and about the original by the commonest value."""
    table = coded.synthetic[:, coded.synthetic[secret] != NULL]
    own, others = (_targets(rows, secret, targets, generator) for rows in (coded.original, coded.control))
    commonest = np.full(own.shape[1], np.bincount(table[secret]).argmax())
    return (
        _is_right(coded, secret, own[secret], _guess(coded, secret, known_columns, own, table)),
        _is_right(coded, secret, others[secret], _guess(coded, secret, known_columns, others, table)),
        _is_right(coded, secret, own[secret], commonest),
    )


def _targets(table: Codes, secret: int, count: int, generator: np.random.Generator) -> Codes:
    """People whose secret is known to whoever judges the guesses."""
    (rows,) = np.nonzero(table[secret] != NULL)
    return table[:, generator.permutation(rows)[:count]]


def _guess(coded: CodedTables, secret: int, known_columns: Columns, targets: Codes, table: Codes) -> Codes:
    """The commonest secret among the synthetic rows that are nearest."""
    guesses = np.zeros(targets.shape[1], np.int32)
    for part, apart in distance_blocks(coded, targets, table, known_columns):
        nearest = apart <= apart.min(axis=1, keepdims=True) + 1e-6
        for place, row in enumerate(nearest, part.start):
            guesses[place] = np.bincount(table[secret, row]).argmax()
    return guesses


def _is_right(coded: CodedTables, secret: int, true: Codes, guessed: Codes | NDArray[np.int64]) -> NDArray[np.bool_]:
    if not coded.ordered[secret] or coded.sizes[secret] <= _FEW_VALUES:
        return np.asarray(true == guessed)
    places = coded.places[secret]
    return np.asarray(np.abs(places[true] - places[guessed]) <= _NEAR)
