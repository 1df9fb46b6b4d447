"""Whole numbers that still agree.

Numbers without a relation are rounded to the nearest whole number; every other one is a whole combination of them, so
identities hold exactly, by construction. Where that breaks a constraint (a number below 0, parts that are more than
their whole), single steps of 1 mend it, the nearest first. What cannot be mended, or has relations in fractions, is
left as it was, and said so: a half that agrees is worth more than a whole that does not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.inference.reconcile.column_axes import Flags, Floats, Integers
from discreet.inference.reconcile.measured_number import ROWS
from discreet.inference.reconcile.part_constraints import PartConstraint, PartConstraints
from discreet.inference.reconcile.reconciliation import NumberFamily, Reconciliation

#: Beyond this a float does not tell whole numbers apart.
LARGEST = 2.0**52

#: Steps to mend with, and rounds in which constraints come in.
MOST_STEPS = 4000
MOST_ROUNDS = 40

#: A step is not taken back within so many others.
MEMORY = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeAnswers:
    """`values`: in the order of the measured numbers, whole where `rounded` says so."""

    values: tuple[float, ...]
    rounded: tuple[bool, ...]


def round_answers(
    reconciliation: Reconciliation,
    values: Sequence[float],
    *,
    families: Collection[str] = (ROWS,),
    nonnegative: Collection[str] = (ROWS,),
) -> WholeAnswers:
    """Round numbers that agree, such as `positive(known).values`, so that they agree still.

    `nonnegative`: the families whose numbers are not negative and whose parts are no more than their wholes; keep it.
    """
    rounded_values, rounded = np.array(values, dtype=np.float64), np.zeros(len(values), dtype=np.bool_)
    for name in families:
        if name in reconciliation.families:
            _round(reconciliation.families[name], rounded_values, rounded, constrained=name in nonnegative)
    return WholeAnswers(values=tuple(rounded_values.tolist()), rounded=tuple(rounded.tolist()))


def _round(family: NumberFamily, values: Floats, rounded: Flags, *, constrained: bool) -> None:
    number, given = family.geometry.number, family.given
    rounded[given[number < 0]] = True  # nobody's number is 0
    there = number >= 0
    target = np.zeros(len(family.noisy))
    target[number[there]] = values[given[there]]
    rounding = _Rounding(family, target)
    if constrained and not rounding.mend(PartConstraints(family.geometry)):
        return
    whole = rounding.can_round[number[there]]
    rounded[given[there]] = whole
    values[given[there]] = np.where(whole, rounding.values()[number[there]], values[given[there]])


class _Rounding:
    """Whole numbers for the free regions (`steps`), and what they give for all. `able`: regions that can be rounded."""

    def __init__(self, family: NumberFamily, target: Floats) -> None:
        self.target = target
        self.can_round = _able(family, target)
        self.weights = 1.0 / family.variances
        free = np.flatnonzero(family.fit.place >= 0)
        self.expand = np.zeros((len(target), len(free)))
        self.expand[free, np.arange(len(free))] = 1.0
        column = dict(zip(free.tolist(), range(len(free)), strict=True))
        for relation in family.geometry.relations:
            if self.can_round[relation.dependent]:
                for place, numerator in relation.numerators:
                    self.expand[relation.dependent, column[place]] = numerator
        self.steps: Floats = np.where(self.can_round, np.rint(target), 0.0)[free]

    def values(self) -> Floats:
        """Sums of whole numbers below 2^52, exact in floats; unrounded regions keep what they had."""
        return np.where(self.can_round, self.expand @ self.steps, self.target)

    def mend(self, constraints: PartConstraints) -> bool:
        """Step until every constraint between rounded numbers holds; False if that fails."""
        working: dict[PartConstraint, None] = {}
        for _ in range(MOST_ROUNDS):
            violations = constraints.violated_by(self.values())
            fresh = [one for one in violations if self.can_round[[one.whole, *one.parts]].all()]
            if not fresh:
                return True
            working |= dict.fromkeys(fresh)
            if not self._mended(list(working)):
                return False
        return False

    def _mended(self, working: list[PartConstraint]) -> bool:
        """Take the step that mends most of the worst constraint's trouble, and is nearest to what is wanted."""
        gains = np.array([self.expand[one.whole] - self.expand[list(one.parts)].sum(axis=0) for one in working])
        slack = gains @ self.steps
        taken: dict[tuple[int, float], int] = {}
        for step in range(MOST_STEPS):
            short = np.maximum(-slack, 0.0)
            if not short.any():
                return True
            columns, signs = self._candidates(gains[int(short.argmax())], taken, step)
            if len(columns) == 0:
                return False
            after = np.maximum(-(slack[:, None] + gains[:, columns] * signs), 0.0).sum(axis=0)
            best = int(np.lexsort((self._cost(columns, signs), after))[0])
            column, sign = int(columns[best]), float(signs[best])
            self.steps[column] += sign
            slack += sign * gains[:, column]
            taken[column, -sign] = step
        return False

    def _candidates(self, gain: Floats, taken: dict[tuple[int, float], int], step: int) -> tuple[Integers, Floats]:
        columns = np.flatnonzero(gain)
        signs = np.sign(gain[columns])
        late = [
            taken.get((int(column), float(sign)), -MEMORY) + MEMORY <= step
            for column, sign in zip(columns, signs, strict=True)
        ]
        return columns[late], signs[late]

    def _cost(self, columns: Integers, signs: Floats) -> Floats:
        """How much each step adds to the squared distance to what is wanted."""
        moves = self.expand[:, columns] * signs
        off = self.values() - self.target
        return np.asarray(2.0 * (self.weights * off) @ moves + self.weights @ (moves * moves))


def _able(family: NumberFamily, target: Floats) -> Flags:
    """Regions whose group has whole coefficients only, and numbers that floats tell apart."""
    able = np.abs(target) < LARGEST / (1.0 + len(target))
    for relation in family.geometry.relations:
        able[relation.dependent] &= relation.denominator == 1
    bad = np.unique(family.fit.group[~able])
    return np.asarray(~np.isin(family.fit.group, bad))
