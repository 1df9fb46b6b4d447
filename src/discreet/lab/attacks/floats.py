"""Noise made of floats names its input: the attack of Mironov (2012) on a single output.

A sampler turns a number on a grid into noise by a logarithm and adds it to the value. Between two floats there are
outputs that value 0 can produce and value 1 cannot, and the other way round; the mathematics of real numbers knows
of no such outputs. Two readers try it here. One knows how the noise is made and asks whether any point of the grid
leads to the output. The other knows nothing, looks at the lowest bits of outputs, and learns from some of them.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError, Flag, Message, UsageError
from discreet.lab.evidence import Evidence, best_under, clopper_pearson, percent
from discreet.lab.pictures import bars

Outputs = NDArray[Any]
#: So many outputs of noise of a scale on a value: (value, scale, size).
Sampler = Callable[[float, float, int], Outputs]

#: numpy's uniform numbers are multiples of 2^-53; so many on either side of the likeliest are tried.
_GRID, _WINDOW = 2.0**53, 2
_logarithm = np.frompyfunc(math.log, 1, 1)
MOST_OUTPUTS = 10_000_000
#: Whole numbers that leave room for noise in 64 bits; numbers whose differences are still floats.
_MOST_WHOLE, _MOST = 2**62, 1e300
#: A sampler that keeps its promise is called broken less than once in ten thousand times.
CONFIDENCE = 0.9999


def numpy_laplace(value: float, scale: float, size: int) -> Outputs:
    """value + Laplace noise, as it is usually written."""
    return value + np.random.default_rng().laplace(0.0, scale, size)


def discreet_laplace(value: float, scale: float, size: int) -> Outputs:
    """The noise that Discreet adds: whole numbers, from the operating system's randomness."""
    from discreet.mechanisms.bits import system
    from discreet.mechanisms.laplace import DiscreteLaplace

    if value != int(value) or abs(value) > _MOST_WHOLE:
        raise UsageError("Discreet adds noise to whole numbers only, up to 2^62", hint=Message(Flag("values", (0, 1))))
    law = DiscreteLaplace(scale=Fraction(str(scale)))
    return law.add_noise(np.full(size, int(value), dtype=np.int64), l1=1, bits=system())[0]


SAMPLERS: dict[str, Sampler] = {"numpy": numpy_laplace, "discreet": discreet_laplace}


def sampler_of(name: str) -> Sampler:
    """One of `SAMPLERS`, or the function that `module:function` names: your own code, which is run."""
    if name in SAMPLERS:
        return SAMPLERS[name]
    module, colon, function = name.partition(":")
    if not colon or not module or not function:
        raise UsageError(f"{name!r} is not a sampler", hint="numpy, discreet, or module:function")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)  # a script's own folder is on the path, a command's is not
    try:
        sampler: Sampler = getattr(import_module(module), function)
    except AttributeError:
        raise UsageError(f"there is no {function!r} in {module!r}") from None
    except Exception as problem:  # the user's own code: whatever it raises is theirs to read
        raise UsageError(f"the module {module!r} cannot be imported ({type(problem).__name__}: {problem})") from None
    if not callable(sampler):
        raise UsageError(f"{name!r} is not a function", hint="def noisy(value, scale, size): ...")
    return sampler


def reachable(outputs: Outputs, value: float, scale: float) -> NDArray[np.bool_]:
    """Whether value + Laplace noise, made of a uniform multiple of 2^-53 as numpy makes it, can be exactly each output.

    Going back from an output, a few multiples could have led to it; often none does, and `value` is ruled out.
    The arithmetic, roundings included, is numpy's: log(2U) below the value and -log(2 - U - U) above it, where 2 - U
    is rounded already. The logarithm is the C library's; numpy's own vectors differ from it now and then.
    """
    places = outputs.astype(np.float64)
    distance = places - value
    folded = np.rint(np.exp(-np.abs(distance) / scale) * (_GRID / 2))
    above, is_reachable = distance > 0, np.zeros(len(places), dtype=np.bool_)
    for step in range(-_WINDOW, _WINDOW + 1):
        uniform = np.where(above, _GRID - folded + step, np.maximum(folded + step, 1.0)) / _GRID
        chance = np.where(above, 2.0 - uniform - uniform, uniform + uniform)
        noise = scale * _logarithm(np.clip(chance, 2 / _GRID, 1.0)).astype(np.float64)
        is_reachable |= value + np.where(above, -noise, noise) == places
    return is_reachable


def floats(
    sampler: Sampler, *, values: tuple[float, float] = (0, 1), scale: float = 10, n: int = 20_000, name: str = "sampler"
) -> Evidence:
    """Guess from each single output which of two neighbouring values it came from, with `n` outputs of each value.

    The claim is epsilon = |difference| / scale. Guesses are counted only on outputs that were not used for learning.
    """
    _check(values, scale, n)
    start = time.process_time()
    left, right = (_draw_outputs(sampler, value, scale, n) for value in values)
    learn, choose = n // 3, 2 * n // 3
    named = _named_by_support((left, right), values, scale)
    readers = {
        "support": _guess_by_support(named),
        "lowest bits": _guess_by_label(left, right, learn, _lowest_bits),
        "value": _guess_by_label(left, right, learn, lambda outputs: _ranks(outputs, left[:learn], right[:learn])),
    }
    # A reader learns on the first third and is chosen on the second, so that the last one is an honest trial.
    best = max(readers, key=lambda each: sum(int(side[learn:choose].sum()) for side in readers[each]))
    tested = [side[choose:] for side in readers[best]]
    trials = sum(len(side) for side in tested)
    right_guesses = sum(int(side.sum()) for side in tested)
    sure, wrong = (sum(int(side[place].sum()) for side in named) / (2 * n) for place in (0, 1))
    epsilon = abs(values[1] - values[0]) / scale
    low, high = clopper_pearson(right_guesses, trials, CONFIDENCE)
    return Evidence(
        attack="floats",
        success=right_guesses / trials,
        chance=0.5,
        bound=best_under(epsilon),
        n=trials,
        seconds=time.process_time() - start,
        interval=(low, high),
        confidence=CONFIDENCE,
        story=_story(name, values, scale, (sure, wrong), broken=low > best_under(epsilon)),
        details={
            "sampler": name,
            "values": list(values),
            "scale": scale,
            "claimed_epsilon": epsilon,
            "reader": best,
            "certain_and_right": sure,
            "certain_and_wrong": wrong,
            "readers": {each: _share(sides, choose) for each, sides in readers.items()},
        },
        picture=lambda: bars(
            f"{name}: share of outputs whose input is guessed right",
            {each: _share(sides, choose) for each, sides in readers.items()},
            marks={"chance": 0.5, "allowed": best_under(epsilon)},
        ),
    )


def demo() -> Evidence:
    """numpy's Laplace noise of scale 10 on a count of 0 or of 1."""
    return floats(numpy_laplace, values=(0, 1), scale=10, n=20_000, name="numpy")


def _check(values: tuple[float, float], scale: float, n: int) -> None:
    if len(values) != 2 or values[0] == values[1] or not all(abs(value) <= _MOST for value in values):
        raise UsageError(
            f"the attack needs two different values, up to {_MOST:g} each", hint=Message(Flag("values", (0, 1)))
        )
    if not 1 / _MOST <= scale <= _MOST or not math.isfinite((values[1] - values[0]) / scale):
        raise UsageError(
            f"the scale must be above 0 and fit the values (between {1 / _MOST:g} and {_MOST:g}), not {scale:g}",
            hint=Message(Flag("scale", 10)),
        )
    if not 10 <= n <= MOST_OUTPUTS:
        raise UsageError(f"the attack needs 10 to {MOST_OUTPUTS:,} outputs of each value, not {n:,}")


def _draw_outputs(sampler: Sampler, value: float, scale: float, n: int) -> Outputs:
    try:
        outputs = np.asarray(sampler(value, scale, n))
    except DiscreetError:
        raise
    except Exception as problem:  # the user's own code: whatever it raises is theirs to read
        raise UsageError(
            f"the sampler failed on ({value:g}, {scale:g}, {n}) with {type(problem).__name__}: {problem}",
            hint="def noisy(value, scale, size): return value + noise",
        ) from None
    if outputs.shape != (n,) or outputs.dtype.kind not in "iuf" or not np.isfinite(outputs).all():
        raise UsageError(
            "the sampler must return a vector of `size` finite numbers",
            hint="def noisy(value, scale, size): return value + noise",
        )
    return outputs


#: For the outputs of each of the two values.
Guesses = tuple[NDArray[np.bool_], NDArray[np.bool_]]
NamedOutputs = list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]


def _guess_by_support(named: NamedOutputs) -> Guesses:
    """Whether the guess is right for each output: the value that alone can produce it, else by a coin."""
    coins = np.random.default_rng()  # a guesser's coin: it protects nobody
    first, second = (np.where(yes | no, yes, coins.random(len(yes)) < 0.5) for yes, no in named)
    return first, second


def _named_by_support(sides: tuple[Outputs, Outputs], values: tuple[float, float], scale: float) -> NamedOutputs:
    """For the outputs of each value, which can have come from it alone, and which from the other alone."""
    named_sides = []
    for own, outputs in enumerate(sides):
        mine, others = reachable(outputs, values[own], scale), reachable(outputs, values[1 - own], scale)
        named_sides.append((mine & ~others, others & ~mine))
    return named_sides


def _guess_by_label(
    left: Outputs, right: Outputs, learn: int, feature: Callable[[Outputs], NDArray[np.int64]]
) -> Guesses:
    """Whether the guess is right for each output: the value that had the same label more often among the first ones."""
    labels = [feature(side) for side in (left, right)]
    least = min(int(side.min()) for side in labels)
    size = 1 + max(int(side.max()) for side in labels) - least
    seen = [np.bincount(side[:learn] - least, minlength=size) for side in labels]
    says_left = seen[0] > seen[1]
    return says_left[labels[0] - least], ~says_left[labels[1] - least]


def _lowest_bits(outputs: Outputs) -> NDArray[np.int64]:
    """The place of the lowest bit that is set: how fine the grid is that an output lies on."""
    if outputs.dtype.kind in "iu":
        whole, exponent = np.abs(outputs.astype(np.int64)), np.zeros(len(outputs), dtype=np.int64)
    else:
        mantissa, power = np.frexp(outputs.astype(np.float64))
        whole, exponent = np.ldexp(np.abs(mantissa), 53).astype(np.int64), power.astype(np.int64) - 53
    lowest = np.frexp((whole & -whole).astype(np.float64))[1].astype(np.int64) - 1
    return np.where(whole == 0, 1100, np.maximum(exponent + lowest, -1100)) + 1100


def _ranks(outputs: Outputs, left: Outputs, right: Outputs) -> NDArray[np.int64]:
    """Outputs by their size, in 32 cells of about as many: what the guarantee itself is about."""
    pooled = np.sort(np.concatenate([left, right]))
    edges = np.unique(pooled[np.linspace(0, len(pooled) - 1, 32).astype(np.int64)])
    return np.searchsorted(edges, outputs).astype(np.int64)


def _share(sides: Guesses, start: int) -> float:
    return float(np.concatenate([side[start:] for side in sides]).mean())


def _story(
    name: str, values: tuple[float, float], scale: float, named: tuple[float, float], *, broken: bool
) -> tuple[str, ...]:
    sentence = (
        f"{name} adds noise of scale {scale:g} to {values[0]:g} or to {values[1]:g}. From a single output, the set of "
        f"reachable floats reveals the true value for {percent(named[0])} of outputs, and suggests the wrong one for "
        f"{percent(named[1])}."
    )
    if broken:
        return sentence, "This noise gives no protection, whatever its scale: floats have gaps, real numbers do not."
    return sentence, "None of these ways to read the outputs does better than the guarantee allows."
