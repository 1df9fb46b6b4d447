"""The one thing the fast samplers assume: numpy's log and exp are right to 2^-48, on this machine.

The proofs need a relative error of at most 2^-48 (16 units in the last place). Measured here at
random points and where implementations are weakest; the test asks for 2^-50, four times better.
"""

from decimal import Context, Decimal

import numpy as np
import pytest

from noise.source import FixedBits

ALLOWED = 2.0**-50
DIGITS = Context(prec=40)


def random_odds(count):
    """Whole numbers as the sampler makes them, of all sizes."""
    words = FixedBits(11).words(2 * count)
    return ((words[:count] >> (np.uint64(1) + words[count:] % np.uint64(60))) | np.uint64(1)).view(np.int64)


def awkward_odds():
    """Near powers of two, near 1, near 2^63, and just around the halves of a table of logarithms."""
    near = [2**e + d for e in range(1, 63) for d in (-3, -1, 1, 3)] + [1, 3, 5, 7, 2**63 - 1, 2**63 - 513]
    tables = [2**62 + 2**55 * step + d for step in range(128) for d in (-1, 1)]
    return np.array([n for n in near + tables if 0 < n < 2**63], dtype=np.int64)


def log_error(numbers):
    """The largest relative error of np.log over these numbers."""
    values = numbers.astype(np.float64)
    worst = 0.0
    for value, found in zip(values.tolist(), np.log(values).tolist(), strict=True):
        true = Decimal(value).ln(DIGITS)
        if true == 0:
            assert found == 0
            continue
        worst = max(worst, float(abs(DIGITS.divide(DIGITS.subtract(Decimal(found), true), true))))
    return worst


def exp_error(values):
    """The largest relative error of np.exp, and the largest absolute one where it underflows."""
    worst = 0.0
    for value, found in zip(values.tolist(), np.exp(values).tolist(), strict=True):
        true = Decimal(value).exp(DIGITS)
        if true < Decimal("1e-300"):
            assert abs(Decimal(found) - true) < Decimal("1e-300")
            continue
        worst = max(worst, float(abs(DIGITS.divide(DIGITS.subtract(Decimal(found), true), true))))
    return worst


@pytest.mark.parametrize("numbers", [random_odds(4000), awkward_odds()], ids=["random", "awkward"])
def test_log(numbers):
    assert log_error(numbers) < ALLOWED


def test_exp():
    uniforms = FixedBits(12).words(4000).astype(np.float64) / 2.0**64
    assert exp_error(-50 * uniforms) < ALLOWED
    assert exp_error(-(2.0 ** (60 * uniforms - 52))) < ALLOWED
    steps = np.arange(1, 500) * np.log(2) / 16  # where tables of powers of two meet
    assert exp_error(-np.concatenate([steps, np.nextafter(steps, 0), np.nextafter(steps, 1000)])) < ALLOWED
    assert exp_error(np.array([-0.0, -5e-324, -1e-300, -708.0, -745.0, -746.0, -2000.0, -1e15])) < ALLOWED


def test_short_and_unaligned_arrays():
    """Ends of arrays take another path through the processor than their middles."""
    numbers = random_odds(400)
    for start, stop in ((0, 1), (1, 3), (2, 7), (3, 12), (5, 22), (7, 40), (1, 130)):
        assert log_error(numbers[start:stop]) < ALLOWED
        assert exp_error(-(numbers[start:stop] / 2.0**58)) < ALLOWED


def test_the_measurement_can_fail(monkeypatch):
    true_log, true_exp = np.log, np.exp
    monkeypatch.setattr(np, "log", lambda x: true_log(x) * (1 + 2.0**-49))
    monkeypatch.setattr(np, "exp", lambda x: true_exp(x) * (1 - 2.0**-49))
    assert log_error(awkward_odds()) > ALLOWED
    assert exp_error(-np.arange(1.0, 20.0)) > ALLOWED
