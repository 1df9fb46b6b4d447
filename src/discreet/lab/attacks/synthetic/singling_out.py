"""Singling out: a condition read off the synthetic table that holds for exactly one person of the original.

European law names it first among the ways in which data are not anonymous. The attacker has the synthetic table alone
and takes conditions that hold for one row of it, hoping that they hold for one person, too (Cohen and Nissim 2020;
Giomi et al. 2023). Some will by luck: a condition of weight 1/n isolates one of n people with probability about 1/e
whatever it says. How much by luck is measured on a control table of other people.

A claimed epsilon carries no bound here. It limits what one person's row can change; whether a condition holds for
exactly one person hangs on everybody's, so that its limit would grow with their number and say nothing.
"""

from __future__ import annotations

from time import process_time

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.lab.attacks.synthetic.coded_tables import CodedTables, Codes
from discreet.lab.attacks.synthetic.control import CONFIDENCE, ControlledRate, SuccessRate, evidence_with_control
from discreet.lab.attacks.synthetic.predicates import ANY, RowConditions, of_one_column, of_several_columns
from discreet.lab.evidence import Evidence, percent

#: Columns in one condition.
_MOST_COLUMNS = 8
#: Synthetic rows that are tried for each condition that is wanted.
_TRIES = 4


def univariate(
    coded: CodedTables, *, attacks: int = 500, confidence: float = CONFIDENCE, seed: int = 0
) -> Evidence | None:
    """Conditions on one column: a value that only one row has, the lowest, the highest. None where there is none.

    Columns take turns, so that one with many different values does not stand for all.
    """
    start, generator = process_time(), np.random.default_rng(seed)
    by_column = [each.select(generator.permutation(len(each))) for each in of_one_column(coded)]
    order = [(turn, column) for column, each in enumerate(by_column) for turn in range(len(each))]
    chosen = [by_column[column].select(slice(turn, turn + 1)) for turn, column in sorted(order)[:attacks]]
    if not chosen:
        return None
    conditions = RowConditions(
        kinds=np.concatenate([each.kinds for each in chosen]), codes=np.concatenate([each.codes for each in chosen])
    )
    return _evidence("singling out, one column", conditions, coded, confidence, start)


def multivariate(
    coded: CodedTables, *, attacks: int = 500, confidence: float = CONFIDENCE, seed: int = 0
) -> Evidence | None:
    """Conditions on two columns or more, grown from synthetic rows until each is alone. None where there is none."""
    if attacks < 1:
        raise UsageError(f"attacks must be at least 1, got {attacks}")
    start, generator = process_time(), np.random.default_rng(seed)
    rows = generator.permutation(coded.synthetic.shape[1])
    most = min(_MOST_COLUMNS, len(coded.names))
    conditions = of_several_columns(coded, rows[:attacks], generator, most=most)
    for more in range(1, _TRIES):
        if len(conditions) >= attacks or more * attacks >= len(rows):
            break
        others = of_several_columns(coded, rows[more * attacks : (more + 1) * attacks], generator, most=most)
        conditions = RowConditions(
            kinds=np.concatenate([conditions.kinds, others.kinds]),
            codes=np.concatenate([conditions.codes, others.codes]),
        )
    if not len(conditions):
        return None
    return _evidence("singling out, several columns", conditions.select(slice(attacks)), coded, confidence, start)


def _evidence(attack: str, conditions: RowConditions, coded: CodedTables, confidence: float, start: float) -> Evidence:
    isolates = conditions.counts(coded.original) == 1
    success = SuccessRate(successes=int(isolates.sum()), n=len(conditions))
    control = _luck_rate(conditions, coded)
    if coded.has_control:
        luck_phrase = f"for as many other people {percent(control.share)} do by luck" + ", at most" * (control.most < 1)
    else:
        luck_phrase = f"by luck at most {percent(control.share)} would, for any set of people"
    many = f"{success.n:,} conditions that hold" if success.n != 1 else "1 condition that holds"
    return evidence_with_control(
        attack,
        ControlledRate(success=success, control=control, confidence=confidence),
        seconds=process_time() - start,
        story=(
            f"Of {many} for exactly one synthetic row, {percent(success.share)} hold for exactly one real person; "
            f"{luck_phrase}.",
        ),
        details={
            "by_column": _by_column(conditions, isolates, coded),
            "examples": [conditions.describe(int(place), coded) for place in np.flatnonzero(isolates)[:3]],
        },
    )


def _luck_rate(conditions: RowConditions, coded: CodedTables) -> SuccessRate:
    """How often the conditions would isolate one of as many other people; a bound where the control has fewer.

    Because: a condition of weight p isolates one of n people with probability n p (1-p)^(n-1), which is at most n/m
        times what it is among m <= n people, and at most what it is for p = 1/n.
    """
    people, others = coded.original.shape[1], coded.control.shape[1]
    if not others:
        return SuccessRate(successes=len(conditions), n=len(conditions), most=luck_bound(people))
    counts = conditions.counts(_sample_rows(coded.control, min(people, others)))
    luck = int((counts == 1).sum())
    if others >= people:
        return SuccessRate(successes=luck, n=len(conditions))
    return SuccessRate(successes=luck, n=len(conditions), times=people / others, most=luck_bound(people))


def luck_bound(people: int) -> float:
    """How often conditions made without knowledge of these people can isolate one of them; about 1/e.

    >>> round(luck_bound(10), 3), round(luck_bound(100_000), 3)
    (0.387, 0.368)
    """
    return float((1 - 1 / people) ** (people - 1))


def _sample_rows(table: Codes, people: int) -> Codes:
    """So many rows of a table, by chance."""
    if people == table.shape[1]:
        return table
    return table[:, np.random.default_rng(people).permutation(table.shape[1])[:people]]


def _by_column(conditions: RowConditions, isolates: NDArray[np.bool_], coded: CodedTables) -> dict[str, dict[str, int]]:
    used = conditions.kinds != ANY
    return {
        name: {"conditions": int(used[:, column].sum()), "isolate": int(isolates[used[:, column]].sum())}
        for column, name in enumerate(coded.names)
        if used[:, column].any()
    }
