"""Deliberately broken samplers: the same checks that pass the true ones catch every one of them.

A sampler is a function of (scale, size, bits). `release` adds its noise to integers.
"""

import json
import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms import laplace
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import DiscreteLaplace
from noise import checks
from noise.source import FixedBits


def faults(sampler, release=np.add, *, gaussian=False):
    """What the checks hold against a sampler of discrete Laplace (or Gaussian) noise, one after another."""
    beyond = checks.gaussian_beyond if gaussian else checks.laplace_beyond
    p_value = checks.gaussian_p if gaussian else checks.laplace_p
    bits = FixedBits(31)
    for scale in (Fraction(1, 2), Fraction(3), Fraction(10), Fraction(10**6)):
        drawn = sampler(scale, checks.N, bits)
        if p_value(drawn, float(scale)) < checks.LEAST_P:
            yield f"law at scale {scale}"
        yield from checks.far_tail(drawn, lambda k, s=float(scale): beyond(s, k), float(scale))
        yield from checks.independence(drawn, sampler(scale, checks.N, bits))
        yield from checks.porous(drawn, float(scale))
    for value in (0, 2**60 + 128):  # the second lies where float64 rounds by hundreds
        sides = [
            release(np.full(checks.N, side), sampler(Fraction(1000), checks.N, bits)) for side in (value, value + 1)
        ]
        yield from checks.distinguisher(*sides, (1.6 if gaussian else 1.0) / 1000)


def true_laplace(scale, size, bits):
    return DiscreteLaplace(scale=scale).draw(size, bits=bits)


def true_gaussian(scale, size, bits):
    return DiscreteGaussian(sigma2=scale**2).draw(size, bits=bits)


def too_little(scale, size, bits):
    return true_laplace(scale * Fraction(9, 10), size, bits)


def too_much(scale, size, bits):
    return true_laplace(scale * Fraction(11, 10), size, bits)


def off_by_one(scale, size, bits):
    drawn = true_laplace(scale, size, bits)
    return drawn + np.sign(drawn)


def not_centred(scale, size, bits):
    return true_laplace(scale, size, bits) + 1


def cut_tail(scale, size, bits):
    most = math.ceil(7 * scale)
    return np.clip(true_laplace(scale, size, bits), -most, most)


def no_sign(scale, size, bits):
    return np.abs(true_laplace(scale, size, bits))


def zero_twice(scale, size, bits):
    """A one-sided magnitude with a sign: minus zero was not drawn again."""
    words = bits.words(size)
    if scale > 2**24:
        return true_laplace(scale, size, bits)
    return laplace.apply_signs(Geometric(scale=scale, folded=False).magnitudes(words, bits=bits), words)


def one_coin_short(scale, size, bits):
    """A sign that depends on the magnitude: both from the same bits."""
    words = bits.words(size)
    found = Geometric(scale=min(scale, Fraction(2**24)), folded=True).magnitudes(words, bits=bits)
    return np.where(found % 2 == 1, -found, found).astype(np.int64)


def biased_coin(scale, size, bits):
    """A remainder modulo 5, the lower two of which are taken for minus."""
    return np.where(bits.words(size) % np.uint64(5) < 2, -1, 1) * np.abs(true_laplace(scale, size, bits))


def reused(scale, size, bits):
    return np.repeat(true_laplace(scale, -(-size // 2), bits), 2)[:size]


def replayed(scale, size, bits):
    return true_laplace(scale, size, FixedBits(32))


def rounded_float(scale, size, bits):
    return np.rint(np.random.default_rng(int(bits.words(1)[0])).laplace(0, float(scale), size)).astype(np.int64)


def sixteen_bits(scale, size, bits):
    uniforms = ((bits.words(size) >> np.uint64(48)).astype(float) + 0.5) / 2**16
    return (np.floor(-float(scale) * np.log(uniforms)) * np.where(bits.words(size) & np.uint64(1), 1, -1)).astype(int)


def through_float(exact, noise):
    return (exact.astype(float) + noise).astype(np.int64)


def never_rejects(scale, size, bits):
    return true_laplace(Fraction(math.floor(scale) + 1), size, bits)


def rounded_normal(scale, size, bits):
    return np.rint(np.random.default_rng(int(bits.words(1)[0])).normal(0, float(scale), size)).astype(np.int64)


def wrong_sigma(scale, size, bits):
    return true_gaussian(Fraction(math.floor(scale) + 1) if scale < 100 else scale * Fraction(9, 10), size, bits)


def test_the_true_samplers_pass():
    assert list(faults(true_laplace)) == []
    assert list(faults(true_gaussian, gaussian=True)) == []


@pytest.mark.parametrize(
    "sampler",
    [
        too_little,
        too_much,
        off_by_one,
        not_centred,
        cut_tail,
        no_sign,
        zero_twice,
        one_coin_short,
        biased_coin,
        reused,
        replayed,
        rounded_float,
        sixteen_bits,
    ],
)
def test_broken_laplace(sampler):
    assert any(faults(sampler))


def test_broken_addition():
    assert any(faults(true_laplace, through_float))


@pytest.mark.parametrize("sampler", [never_rejects, rounded_normal, wrong_sigma, too_little])
def test_broken_gaussian(sampler):
    assert any(faults(sampler, gaussian=True))


FORK = """
import json, os, sys
import numpy as np
from fractions import Fraction
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace

law = DiscreteLaplace(scale=Fraction(10**6))
if sys.argv[1] == "true":
    draw = lambda: law.draw(200, bits=system()).tolist()
else:
    generator = np.random.default_rng()
    draw = lambda: generator.laplace(0, 10**6, 200).tolist()
draw()
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.write(writer, json.dumps(draw()).encode())
    os._exit(0)
own = draw()
os.waitpid(child, 0)
print(json.dumps([own, json.loads(os.read(reader, 10**6))]))
"""


def repeated_after_fork(which):
    """How many draws parent and child have in common, in place."""
    done = subprocess.run([sys.executable, "-c", FORK, which], capture_output=True, check=True, timeout=50)
    parent, child = json.loads(done.stdout)
    return sum(one == other for one, other in zip(parent, child, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_nothing_is_shared_after_a_fork():
    assert repeated_after_fork("true") <= 2  # by chance: about 200 / 4e6
    assert repeated_after_fork("broken") == 200
