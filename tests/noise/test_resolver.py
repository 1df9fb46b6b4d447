"""The lanes that float64 leaves open: decided exactly, by the right law, with fresh bits only."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms import bernoulli, geometric, laplace, uniform
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import DiscreteLaplace
from noise.checks import LEAST_P, gaussian_p, laplace_p
from noise.source import FixedBits, Script
from tiers import size

DIGITS = Context(prec=80)
SCALES = [Fraction(1, 2), Fraction(3), Fraction(10**9, 123456789), Fraction(1000), Fraction(10**6), Fraction(2**24)]


@pytest.fixture
def doubtful(monkeypatch):
    """Every lane is decided in exact arithmetic."""
    monkeypatch.setattr(geometric, "LOG_MARGIN", 1e9)
    monkeypatch.setattr(uniform, "BELOW_MARGIN", 2.0)


def threshold(scale, k):
    """2 exp(-k/s) / (1 + exp(-1/s)) to 80 digits: the draw is at least k where U is at most this."""
    unit = DIGITS.divide(Decimal(scale.denominator), Decimal(scale.numerator))
    power = DIGITS.multiply(unit, Decimal(k)).copy_negate().exp(DIGITS)
    return DIGITS.divide(DIGITS.multiply(2, power), DIGITS.add(1, unit.copy_negate().exp(DIGITS)))


@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: f"{float(scale):g}")
def test_each_cell_begins_at_exactly_its_threshold(scale):
    """Words on both sides of a threshold, and the word that holds it, whose next bits must decide."""
    law = Geometric(scale=scale, folded=True)
    for k in sorted({*range(1, 30), max(1, int(scale)), int(10 * scale) + 1, int(30 * scale) + 1}):
        exact = Fraction(threshold(scale, k)) * 2**62
        prefix = int(exact)
        if prefix < 4 * scale:  # so far out that one word spans several cells
            continue
        after = int((exact - prefix) * 2**64)
        for words, least in (
            ([prefix - 1], True),
            ([prefix + 1], False),
            ([prefix - 1 - (prefix >> 38)], True),  # just beyond what float64 decides
            ([prefix + 1 + (prefix >> 38)], False),
            ([prefix, after - 1], True),
            ([prefix, after + 1], False),
        ):
            script = Script(*words[1:])
            found = law.magnitudes(np.array([words[0] << 2], dtype=np.uint64), bits=script)[0]
            assert (found >= k) == least, (k, words)
            assert script.left == 0


def test_an_undecided_lane_asks_again_and_again():
    """Bits that follow a threshold for 256 digits' worth are still decided, by the bit that parts."""
    bits = [int(Fraction(threshold(Fraction(3), 1)) * 2 ** (62 + 64 * n)) % 2**64 for n in (1, 2)]
    prefix = int(Fraction(threshold(Fraction(3), 1)) * 2**62)
    for last, found in ((0, 1), (2**64 - 1, 0)):
        script = Script(bits[0], bits[1], last)
        assert Geometric(scale=Fraction(3), folded=True).resolve(prefix << 2, bits=script) == found
        assert script.left == 0


def test_no_tail_is_cut_off():
    """Sixty-two zero bits are not the end: U may be smaller still."""
    law = Geometric(scale=Fraction(10), folded=True)
    assert law.magnitudes(np.array([0], dtype=np.uint64), bits=Script(0, 0, 2**63))[0] >= 10 * 0.693 * 190
    tiny = DiscreteLaplace(scale=Fraction(1, 1000))
    assert tiny.draw(1, bits=Script(0, *[0] * 21, 2**63))[0] == 0
    assert tiny.draw(1, bits=Script(1, *[0] * 22, 2**63))[0] == -1


def test_small_uniforms_read_on():
    """Of a small U the unread bits matter: five hundred thousandths of it are many cells at scale 10^6."""
    law = Geometric(scale=Fraction(10**6), folded=True)
    found = []
    for following in (0, 2**63, 2**64 - 1):
        script = Script(following)
        found.append(law.magnitudes(np.array([100_000 << 2], dtype=np.uint64), bits=script)[0])
        assert script.left == 0
    assert found[0] - found[1] == pytest.approx(5, abs=1)
    assert found[1] - found[2] == pytest.approx(5, abs=1)


@pytest.mark.thin(4)
@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: f"{float(scale):g}")
@pytest.mark.parametrize("folded", [True, False])
def test_exact_and_float_agree_on_the_same_bits(scale, folded, monkeypatch):
    words = FixedBits(1).words(size(500, 2000))
    law = Geometric(scale=scale, folded=folded)
    quick = law.magnitudes(words, bits=FixedBits(2))
    with monkeypatch.context() as patch:
        patch.setattr(geometric, "LOG_MARGIN", 1e9)
        source = FixedBits(2)
        assert np.array_equal(law.magnitudes(words, bits=source), quick)
    assert source.taken <= 2  # more than 62 bits are hardly ever needed


def test_exact_and_float_coins_agree_on_the_same_bits(monkeypatch):
    gaps = FixedBits(1).words(2000).view(np.int64) % 50 + 50
    for rate in (Fraction(1, 49), Fraction(10**8, 123456789012), Fraction(2)):
        quick = bernoulli.exp_minus(gaps, rate, bits=FixedBits(2))
        with monkeypatch.context() as patch:
            patch.setattr(uniform, "BELOW_MARGIN", 2.0)
            assert np.array_equal(bernoulli.exp_minus(gaps, rate, bits=FixedBits(2)), quick)


@pytest.mark.thin(1)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(1000), Fraction(2**24 + 1)], ids=str)
@pytest.mark.usefixtures("doubtful")
def test_the_law_where_every_lane_is_doubtful(scale):
    drawn = DiscreteLaplace(scale=scale).draw(size(2_000, 4_000), bits=FixedBits(6))
    assert laplace_p(drawn, float(scale)) > LEAST_P
    assert laplace_p(drawn, 0.8 * float(scale)) < LEAST_P
    drawn = DiscreteGaussian(sigma2=scale**2).draw(size(1_000, 2_000), bits=FixedBits(7))
    assert gaussian_p(drawn, float(scale)) > LEAST_P
    assert gaussian_p(drawn, 0.8 * float(scale)) < LEAST_P


def around(chance):
    """Words on both sides of a chance (to 80 digits), from next to it to just beyond what float64 decides;
    and the word that holds it, whose next word must decide. Each with what U < chance then is."""
    word = int(chance * 2**64)
    after = int((chance * 2**64 - word) * 2**64)
    for step in (1, 2**10, 2**18, 2**19, 2**30):
        for first, found in ((word - step, True), (word + step, False)):
            if 0 <= first < 2**64:
                yield [first], found
    if 0 < after < 2**64 - 1:
        yield [word, after - 1], True
        yield [word, after + 1], False


def exp_minus(value):
    """exp(-value) to 80 digits."""
    near = DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    return Fraction(near.copy_negate().exp(DIGITS))


@pytest.mark.parametrize("rate", [Fraction(1, 49), Fraction(10**8, 123456789012), Fraction(1, 10**15)], ids=str)
def test_exponential_coins_at_their_thresholds(rate):
    for gap in (1, 2, 7, int(1 / rate), int(3 / rate), int(20 / rate) + 1):
        for words, found in around(exp_minus(gap * rate)):
            script = Script(*words)
            assert bernoulli.exp_minus(np.array([gap]), rate, bits=script)[0] == found, (gap, words)
            assert script.left == 0


@pytest.mark.parametrize(
    "sigma2", [Fraction(1, 3), Fraction(7), Fraction(10**9, 123456789), Fraction(10**12) / 7], ids=str
)
def test_gaussian_proposals_are_accepted_at_their_thresholds(sigma2):
    law = DiscreteGaussian(sigma2=sigma2)
    t = math.isqrt(math.floor(sigma2)) + 1
    for k in sorted({0, 1, t // 2, t, 3 * t, 5 * t + 1}):
        low = Fraction(threshold(Fraction(t), k + 1))
        proposal = int((low + min(Fraction(1), Fraction(threshold(Fraction(t), k)))) / 2 * 2**62) << 2
        chance = exp_minus((k - sigma2 / t) ** 2 / (2 * sigma2))
        for words, found in around(chance):
            script = Script(proposal, *words)
            assert law._accepted(1, script).tolist() == ([k] if found else []), (k, words)
            assert script.left == 0


def test_a_coin_is_decided_by_the_bit_that_parts():
    third = int(Fraction(2**64, 3))
    for chance, words, found in (
        (Fraction(1, 3), [third - 1], True),
        (Fraction(1, 3), [third + 1], False),
        (Fraction(1, 3), [third, third, third - 1], True),
        (Fraction(1, 3), [third, third, third + 1], False),
        (Fraction(1), [2**64 - 1], True),
        (Fraction(0), [0], False),
    ):
        script = Script(*words)
        assert bernoulli.bernoulli(lambda digits, chance=chance: (chance, chance), 1, bits=script)[0] == found
        assert script.left == 0


def test_minus_zero_is_drawn_again_at_wide_scales():
    wide = Fraction(2**30)
    nought = 2**64 - 4  # U next to 1: magnitude 0 in the high part; low bits say the sign
    low_part = [0, 0]  # low part 0, kept
    script = Script(nought | 1, *low_part, nought, *low_part)
    assert laplace.apply_signs(*laplace.magnitudes(wide, 1, script)).tolist() == [0]
    assert script.left == 0
