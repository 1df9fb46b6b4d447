"""Noise intervals: between what the exact value of a formula lies, given the law of the noise.

    a linear formula        value ± the half width of its noise, whose law is known
    a ratio of two          by inverting a test (fieller.py)
    anything else           its linear parts and ratios are enclosed first, at levels whose misses add to what
                            is allowed (a union bound); then interval arithmetic, and what is known of
                            the exact value

Each speaks of the noise alone, not of sampling or of how the data were collected, and holds "the same
formula of the exact statistics" with at least the confidence asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.laplace import error_probability
from discreet.mechanisms.noise_combination import CombinedNoise, NoiseLaw, half_widths
from discreet.mechanisms.repeated_noise import RepeatedNoise
from discreet.mechanisms.weighted_sum import chernoff_half_width
from discreet.mechanisms.weighted_sum import half_width as summed_half_width
from discreet.plan.formula import interval_arithmetic
from discreet.plan.formula.fallbacks import Choices, coalesces, possible_arguments
from discreet.plan.formula.fieller import Fan, enclose, fan
from discreet.plan.formula.formula_nodes import Call, Formula, FormulaConstant, children, references
from discreet.plan.formula.formula_values import ends, evaluate
from discreet.plan.formula.linear import Linear, Ratio, linear, ratio
from discreet.plan.formula.shares import weigh

#: Noise on whole numbers is never finer than its grain. By its variance alone, noise of a large epsilon would make
#: directions of a ratio that float64 cannot tell apart.
_GRAIN = 1 / 12

Law = NoiseLaw | CombinedNoise | RepeatedNoise
Floats = NDArray[np.float64]
Interval = tuple[Floats, Floats]


def interval(
    formula: Formula,
    values: Sequence[NDArray[Any]],
    laws: Sequence[Law],
    confidence: Fraction,
    *,
    choices: Choices | None = None,
) -> Interval:
    """The ends of each group's interval. They always hold the value shown, and are infinite where nothing is known.

    `laws[i]` is the law of the noise in every number of `values[i]`. `choices`: the arguments of `coalesce` that
    each group takes, so that the interval is of those alone; without it, of any that it could take.
    """
    choices = choices or {}
    floats = [np.asarray(value).astype(np.float64) for value in values]
    atom_intervals = {
        atom: _atom(atom, floats, laws, level) for atom, level in _levels(formula, confidence, choices).items()
    }
    low, high = _enclosed(formula, atom_intervals, choices)
    value = evaluate(formula, values, given_values={call: taken.values for call, taken in choices.items()})
    return np.fmin(low, value), np.fmax(high, value)


def bounds(formula: Formula) -> tuple[float, float] | None:
    """Between what a formula lies whatever the statistics are, known before anything is measured; None where it may be
    anything. It holds what `coalesce` takes where there is nobody to compute a mean from."""
    intervals = _anything(formula)
    with np.errstate(all="ignore"):
        for call in coalesces(formula):
            intervals[call] = interval_arithmetic.hull(
                [interval_arithmetic.enclosing_interval(part, intervals) for part in possible_arguments(call.arguments)]
            )
        low, high = (float(end) for end in interval_arithmetic.enclosing_interval(formula, intervals))
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def limits(formula: Formula, choices: Choices) -> Interval:
    """`bounds` in each group, by the arguments of `coalesce` that it takes; infinite where it may be anything."""
    low, high = _enclosed(formula, _anything(formula), choices)
    finite = np.isfinite(low) & np.isfinite(high)
    return np.where(finite, low, -np.inf), np.where(finite, high, np.inf)


def _anything(formula: Formula) -> dict[Formula, Interval]:
    """Every statistic of a formula as one that may be anything."""
    return {reference: (np.array(-np.inf), np.array(np.inf)) for reference in references(formula)}


def _enclosed(formula: Formula, intervals: dict[Formula, Interval], choices: Choices) -> Interval:
    """The interval of a formula in which `coalesce` is the argument that each group takes."""
    with np.errstate(all="ignore"):
        for call in coalesces(formula):
            if call in choices:
                lows, highs = zip(
                    *(interval_arithmetic.enclosing_interval(part, intervals) for part in call.arguments), strict=True
                )
                intervals[call] = choices[call].of(lows), choices[call].of(highs)
        return interval_arithmetic.enclosing_interval(formula, intervals)


def least(formula: Formula, *, never_negative: frozenset[int]) -> float:
    """The least number that a formula can be, where these statistics are never negative."""
    intervals: dict[Formula, Interval] = {
        reference: (np.array(0.0 if reference.index in never_negative else -np.inf), np.array(np.inf))
        for reference in references(formula)
    }
    with np.errstate(all="ignore"):
        return float(interval_arithmetic.enclosing_interval(formula, intervals)[0])


def _levels(formula: Formula, confidence: Fraction, choices: Choices) -> Mapping[Formula, Fraction]:
    """A confidence for each part that is enclosed by itself; their misses add to that of the whole.

    A part gets the more of the miss the more it matters. For noise with exponential tails the width is
    spread * ln(1 / miss), and the least sum of widths has misses proportional to spreads.
    """
    doubt = error_probability(confidence)
    weights = weigh(formula, _atom_need)
    spreads = {part: Fraction(math.ceil(1000 * math.sqrt(need)), 1000) for part, need in weights.items()}
    whole = sum(spreads.values(), start=Fraction(0))
    if choices:
        whole = min(whole, _most_taken(formula, spreads))
    whole = whole or Fraction(1)
    return {part: 1 - doubt * spread / whole for part, spread in spreads.items()}


def _most_taken(formula: Formula, spreads: Mapping[Formula, Fraction]) -> Fraction:
    """At least the sum of the spreads that one group's interval is made of: it takes one argument of `coalesce`."""
    if formula in spreads:
        return spreads[formula]
    parts = [_most_taken(part, spreads) for part in children(formula)]
    if isinstance(formula, Call) and formula.name == "coalesce":
        return max(parts)
    return sum(parts, start=Fraction(0))


def _atom_need(formula: Formula) -> dict[Formula, Fraction] | None:
    """What is enclosed by itself: a linear formula, which needs nothing if no noise is left in it, or a ratio."""
    linear_form = None if isinstance(formula, FormulaConstant) else linear(formula)
    if linear_form is not None:
        return {formula: Fraction(1 if linear_form.weights else 0)}
    return None if ratio(formula) is None else {formula: Fraction(1)}


def _atom(formula: Formula, values: Sequence[Floats], laws: Sequence[Law], confidence: Fraction) -> Interval:
    alone = linear(formula)
    if alone is not None:
        middle, width = _value(alone, values), _width(alone.weights, _laws(alone, laws), confidence)
        return middle - width, middle + width
    ratio_form = ratio(formula)
    assert ratio_form is not None
    used = {cell: laws[cell] for side in (ratio_form.above, ratio_form.below) for cell, _ in side.weights}
    sides = _value(ratio_form.above, values), _value(ratio_form.below, values)
    by_cell = tuple(sorted(used.items(), key=lambda pair: pair[0]))
    if any(isinstance(law, RepeatedNoise) and law.draws > 1 for law in used.values()):
        ratio_form = _narrowed(ratio_form, enclose(*sides, _fan(ratio_form, by_cell, confidence, rough=True)))
    return enclose(*sides, _fan(ratio_form, by_cell, confidence))


def _narrowed(form: Ratio, rough: Interval) -> Ratio:
    """The ratio between the ends of intervals by wider noise: beyond them no width needs to be computed."""
    low, high = float(np.min(rough[0])), float(np.max(rough[1]))
    if not (math.isfinite(low) and math.isfinite(high)):
        return form
    slack = 1e-6 * max(high - low, abs(high), abs(low), 1e-100)
    return replace(form, low=Fraction(low - slack), high=Fraction(high + slack))


def _value(form: Linear, values: Sequence[Floats]) -> Floats:
    result = np.full(values[0].shape, float(form.constant))
    for cell, weight in form.weights:
        result += float(weight) * values[cell]
    return result


def _laws(form: Linear, laws: Sequence[Law]) -> tuple[Law, ...]:
    return tuple(laws[cell] for cell, _ in form.weights)


@lru_cache(maxsize=256)
def _width(weights: tuple[tuple[int, Fraction], ...], laws: tuple[Law, ...], confidence: Fraction) -> float:
    """The half width of the noise of a linear formula: exact for one statistic, certified for several."""
    if not weights:
        return 0.0
    if len(weights) == 1:
        return abs(float(weights[0][1])) * float(laws[0].half_width(confidence))
    parts = [
        (weight * share, noise, draws)
        for (_, weight), law in zip(weights, laws, strict=True)
        for share, noise, draws in _parts(law)
    ]
    if any(draws != 1 for _, _, draws in parts):
        return summed_half_width([(float(weight), noise, draws) for weight, noise, draws in parts], confidence)
    return float(CombinedNoise(parts=tuple((weight, noise) for weight, noise, _ in parts)).half_width(confidence))


def _parts(law: Law) -> list[tuple[Fraction, NoiseLaw, int]]:
    """The independent draws that a law is made of: weight, law of one, and how many there are of it."""
    draws = law.draws if isinstance(law, RepeatedNoise) else 1
    one = law.law if isinstance(law, RepeatedNoise) else law
    parts = one.parts if isinstance(one, CombinedNoise) else ((Fraction(1), one),)
    return [(share, noise, draws) for share, noise in parts if draws]


@lru_cache(maxsize=64)
def _fan(form: Ratio, laws: tuple[tuple[int, Law], ...], confidence: Fraction, *, rough: bool = False) -> Fan:
    """The width of the noise of u A - v B in a fan of directions; `rough`: at least that, and quick."""
    above, below = dict(form.above.weights), dict(form.below.weights)
    parts = [(cell, share, noise, draws) for cell, law in laws for share, noise, draws in _parts(law)]
    sides = np.array([[float(share * side.get(cell, 0)) for cell, share, _, _ in parts] for side in (above, below)])
    variances = np.array([draws * max(noise.variance(), _GRAIN) for _, _, noise, draws in parts])
    missed = sum((draws * noise.tail(0) for _, _, noise, draws in parts), start=Fraction(0))
    noiseless = missed <= error_probability(confidence)

    def widths(u: Floats, v: Floats) -> Floats:
        if noiseless:  # each draw is 0 with this confidence (a union bound)
            return np.zeros(len(u))
        weights = np.abs(u[:, None] * sides[0] - v[:, None] * sides[1])
        # Directions that mirror each other have the same width: each is computed once.
        alike = np.round(weights * np.sqrt(variances), 9)
        _, firsts, places = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        distinct_widths = _line_widths(weights[firsts], [part[2:] for part in parts], confidence, rough=rough)
        # Between two directions the widths of discrete noise jump, by less than its finest step.
        return np.asarray(distinct_widths + weights[firsts].min(axis=1))[places.ravel()]

    first, last = (math.sqrt(float(side**2 @ variances)) for side in sides)
    return fan(*ends(form.low, form.high), deviations=(first, last), widths=widths)


def _line_widths(
    weights: Floats, draws: Sequence[tuple[NoiseLaw, int]], confidence: Fraction, *, rough: bool
) -> Floats:
    """For each line of weights, a width that the weighted sum of so many draws of each law stays within."""
    if all(number == 1 for _, number in draws):
        return half_widths(weights, [noise for noise, _ in draws], confidence=confidence)
    width = chernoff_half_width if rough else summed_half_width
    lines = [
        [(weight, noise, number) for weight, (noise, number) in zip(line.tolist(), draws, strict=True)]
        for line in weights
    ]
    return np.array([width(line, confidence) for line in lines])
