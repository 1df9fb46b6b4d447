"""Refinement: an answer with discrete Laplace noise, made more precise so that both cost what the second alone does.

With q = exp(-1/scale), noise of a larger scale is noise of a smaller one plus independent noise,

    Laplace(earlier) = Laplace(scale) + M,

where M is 0 with probability (1 - q1)^2 q2 / ((1 - q2)^2 q1) and else Laplace(earlier); q1 is that of `earlier` and q2
that of `scale`. So the second noise can be drawn given the first, and the first answer is the second plus
independent noise: it tells nothing more. docs/proofs/instalments.md has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import events
from discreet.mechanisms import bernoulli, geometric, integer_arrays, laplace
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.laplace import DiscreteLaplace

#: Larger noise is not refined: it practically never occurs, and sums of it might not fit 64 bits.
_MOST_NOISE = 1 << 52


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """Noise of `law` on integers that were released with noise of the larger `earlier`.

    Guarantee: both answers together are (l1 / law.scale)-differentially private, for integers whose total (l1) distance
        between neighbours is at most `l1`, even if the first answer decides whether there is a second; provided that
        the integers are the same, and that an answer is refined only once.
    Because: their joint law is that of the second answer and independent noise (above), drawn exactly (`draw`).
    """

    earlier: DiscreteLaplace
    law: DiscreteLaplace

    def __post_init__(self) -> None:
        if not self.law.scale < self.earlier.scale:
            raise ValueError("a refinement must have less noise than the answer that it refines")

    def event(self, *, l1: int) -> events.RefinedEvent:
        """What it costs beside the earlier answer."""
        return events.RefinedEvent(earlier=self.earlier.scale, scale=self.law.scale, l1=l1)

    def add_noise(
        self, exact: Integers, earlier_noisy: Integers, *, l1: int, bits: Bits
    ) -> tuple[Integers, events.RefinedEvent]:
        """The exact integers with less noise than `earlier_noisy` has, and what that costs beside it."""
        exact = integer_arrays.check_integers(exact)
        if exact.shape != earlier_noisy.shape:
            raise ValueError("an answer is refined cell by cell")
        earlier_noise = [int(noisy) - int(value) for noisy, value in zip(earlier_noisy.flat, exact.flat, strict=True)]
        if any(abs(each) > _MOST_NOISE for each in earlier_noise):
            raise ValueError("noise this large is not that of the answer")
        noise = self.draw(np.array(earlier_noise, dtype=np.int64), bits=bits).reshape(exact.shape)
        return integer_arrays.add_integers(exact, noise), self.event(l1=l1)

    def draw(self, earlier_noise: NDArray[np.int64], *, bits: Bits) -> NDArray[np.int64]:
        """Noise of `law` given noise of `earlier`, one for each.

        Because: with v = q2 / q1 and u = q1 q2 = v q1^2, the weights of the second noise given that the first is n >= 0
            are, up to a common factor,

                v^k at k for 0 <= k <= n,    u^k at -k and v^n u^k at n + k for k >= 1,

            and at n once more, for M = 0, v^n (v - u) / ((1 - v)(1 - u)). Let k be geometric, P(k) proportional to v^k,
            and pick one of these four families by two fair bits; keep the draw with probability

                [k <= n],    [k >= 1] q1^(2k),    [k >= 1] v^n q1^(2k),    v^n (v - u) / (1 - u),

            and else draw anew. (v - u) / (1 - u) is the mean of v^(j + 1) for a geometric j of ratio q1^2. About one
            draw in four is kept, or more. A negative n is the same with the signs reversed.
        """
        drawn = np.zeros(earlier_noise.size, dtype=np.int64)
        again = np.arange(earlier_noise.size)
        while again.size:
            noise, is_kept = self._propose(np.abs(earlier_noise[again]), bits)
            drawn[again[is_kept]] = noise[is_kept]
            again = again[~is_kept]
        return np.where(earlier_noise < 0, -drawn, drawn)

    def most_beyond(self, width: int) -> float:
        """The chance that the noise of `law` is beyond ± width, given the noise of `earlier`, whatever that was.

        Because: by the weights of `draw`, whose sum is 1 / (1 - v) + u / (1 - u) for every n, those beyond are together
            v^(width + 1) / (1 - v) + u^(width + 1) / (1 - u) where n > width, and less where it is not.
        """
        v = exp(-float(1 / self.law.scale - 1 / self.earlier.scale))
        u = exp(-float(1 / self.law.scale + 1 / self.earlier.scale))
        above, below = v ** (width + 1) / (1 - v), u ** (width + 1) / (1 - u)
        return (above + below) / (1 / (1 - v) + u / (1 - u))

    def _propose(self, size: NDArray[np.int64], bits: Bits) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        fall, back = 1 / self.law.scale - 1 / self.earlier.scale, 2 / self.earlier.scale  # v = e^-fall, q1^2 = e^-back
        family = bits.words(size.size) >> np.uint64(62)
        step, rest = _geometric(1 / fall, size.size, bits), _geometric(1 / back, size.size, bits)
        between, below, above, same = (family == number for number in range(4))
        noise = np.select([between, below, above], [step, -step, size + step], default=size)
        outside = below | above
        is_kept = np.where(between, step <= size, ~outside | (step >= 1))
        is_kept &= bernoulli.exp_minus(np.where(outside, step, 0), back, bits=bits)
        at_the_far_end = np.select([above, same], [size, size + rest + 1], default=0)
        is_kept &= bernoulli.exp_minus(at_the_far_end, fall, bits=bits)
        return noise, is_kept


def _geometric(scale: Fraction, size: int, bits: Bits) -> NDArray[np.int64]:
    """Whole numbers k >= 0 with P(k) proportional to exp(-k / scale)."""
    words = bits.words(size)
    if scale <= geometric.MOST_SCALE:
        return Geometric(scale=scale, folded=False).magnitudes(words, bits=bits).astype(np.int64)
    # Two scales may be so close that this one is far beyond any noise; what does not fit 64 bits is cut, and not kept.
    return np.minimum(laplace.wide_magnitudes(scale, words, bits), float(1 << 62)).astype(np.int64)
