"""Scales that are very close: the geometric draw of their difference may not fit 64 bits, and must not become noise."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.refinement import Refinement


@pytest.mark.parametrize("difference", [Fraction(1, 10**17), Fraction(1, 10**19), Fraction(1, 10**21)])
def test_draws_beyond_64_bits_are_not_kept(difference):
    earlier = Fraction(10**12)
    law = DiscreteLaplace(scale=1 / (1 / earlier + difference))
    with np.errstate(invalid="raise"):  # how a float beyond 64 bits is cast depends on the processor
        drawn = Refinement(earlier=DiscreteLaplace(scale=earlier), law=law).draw(
            np.full(4000, -5, dtype=np.int64), bits=system()
        )
    assert np.abs(drawn).max() < 10**14
