"""Discreet's own draws for `./do bench noise`, the integer-only reference, and numpy's unsafe floats: one a process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from drawing import serve

from discreet.mechanisms import reference_sampler
from discreet.mechanisms.bits import system
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace


def discreet(law: str, scale: int, draws: int) -> Callable[[], object]:
    exact = Fraction(scale)
    mechanism = DiscreteLaplace(scale=exact) if law == "Laplace" else DiscreteGaussian(sigma2=exact**2)
    mechanism.draw(1000, bits=system())  # what is made once for a scale is made now
    return lambda: mechanism.draw(draws, bits=system())


def integers(law: str, scale: int, draws: int) -> Callable[[], object]:
    draw = reference_sampler.laplace if law == "Laplace" else reference_sampler.gaussian
    parameter = Fraction(scale) if law == "Laplace" else Fraction(scale) ** 2
    return lambda: [draw(parameter, bits=system()) for _ in range(draws)]


def floats(law: str, scale: int, draws: int) -> Callable[[], object]:
    generator = np.random.default_rng()
    draw = generator.laplace if law == "Laplace" else generator.normal
    return lambda: draw(0, scale, draws)


if __name__ == "__main__":
    serve({"discreet": discreet, "reference": integers, "numpy": floats}[sys.argv[1]])
