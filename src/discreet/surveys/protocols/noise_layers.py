"""Two layers of noise on bits: one that is drawn once and kept, and one that is drawn for each report."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import UsageError
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.coins import Coin

BitMatrix = NDArray[np.bool_]


def lie_coin(grown: Fraction, *, planes: int) -> Coin:
    """The rarest lie about a bit that makes a report at most `grown` times as likely for one bit as for the other."""
    lie = Coin(heads=coins.heads_for(1 / (1 + grown), planes=planes), planes=planes)
    if 2 * lie.heads >= lie.sides:
        raise UsageError(coins.EPSILON_TOO_SMALL)
    return lie


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseLayers:
    """Two layers of noise on bits: `lie` for good; then a kept 1 is sent as 1 by `one`, a kept 0 by `zero`.

    Guarantee: where two answers set at most h bits each, everything that is ever sent of one answer is
        2h ln((1 - lie) / lie)-differentially private, and a single report h ln(q (1 - p) / (p (1 - q))), where q and p
        are the chances of a 1 from a set bit and an unset one, through both layers. k reports of one kept answer
        cost at most k times what one costs, too.
    Because: bits are independent. Two answers differ in at most 2h of them, and in at most h each way; all reports are
        made of the kept bits alone, whose likelihoods differ by (1 - lie) / lie at most for each bit. As for k of them:
        let u be the sum of the logarithms ln(P(sent bit | kept 1) / P(sent bit | kept 0)). The log-likelihood
        ratio of a set bit against an unset one is g(u) = ln((a e^u + 1 - a) / ((1 - a) e^u + a)), a = 1 - lie, which is
        odd, rises, and bends down for u > 0 (its slope is a difference of two logistic densities). So g of a
        sum is between the sum of its smallest terms and that of its largest, and each of those is a single report's.
    """

    lie: Coin
    one: Coin
    zero: Coin

    @classmethod
    def of(cls, epsilon: Fraction, once: Fraction, *, functions: int, planes: int) -> NoiseLayers:
        """The least noise that keeps both promises."""
        lie = lie_coin(coins.likelihood_bound(epsilon / (2 * functions)), planes=planes)
        grown = coins.likelihood_bound(once / functions)
        one = Coin(heads=min(max(2, int(_best_one(lie.chance, grown) * lie.sides)), lie.sides), planes=planes)

        def fits(zero: int) -> bool:
            # Holds from some number on: a greater `zero` is a smaller one whose report was noised once more.
            sent, other = cls(lie=lie, one=one, zero=Coin(heads=zero, planes=planes)).chances
            return sent * (1 - other) <= grown * other * (1 - sent)

        # Where no fewer heads will do than those of `one`, the ratio is 1, and `once` refuses it.
        zero = Coin(heads=coins.least_heads(fits, one.heads), planes=planes)
        return cls(lie=lie, one=one, zero=zero)

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """A 1 is sent: where the answer sets the bit, and where it does not."""
        lie, gap = self.lie.chance, self.one.chance - self.zero.chance
        return self.one.chance - lie * gap, self.zero.chance + lie * gap

    @property
    def ratio(self) -> Fraction:
        """How much likelier a single report can be made by two bits of which one is set."""
        one, zero = self.chances
        return one * (1 - zero) / (zero * (1 - one))

    def epsilon(self, requested_epsilon: Fraction, *, functions: int) -> Fraction:
        """What everything that is ever sent of one answer costs."""
        return coins.cost(1 / self.lie.chance - 1, requested_epsilon, times=2 * functions)

    def once(self, requested_epsilon: Fraction, *, functions: int) -> Fraction:
        """What a single report costs."""
        return coins.cost(self.ratio, requested_epsilon, times=functions)

    def draw_permanent_bits(self, true: BitMatrix, *, bits: Bits) -> BitMatrix:
        """Draws: one flip of `lie` for each bit."""
        return true ^ self.lie.flips(true.size, bits=bits).reshape(true.shape)

    def draw_sent_bits(self, kept: BitMatrix, *, bits: Bits) -> BitMatrix:
        """Draws: one flip of `one` for each bit, then one of `zero` for each; the kept bit says which one counts."""
        one = self.one.flips(kept.size, bits=bits).reshape(kept.shape)
        zero = self.zero.flips(kept.size, bits=bits).reshape(kept.shape)
        return np.where(kept, one, zero)

    def numbers(self) -> dict[str, int]:
        return {"lie": self.lie.heads, "one": self.one.heads, "zero": self.zero.heads, "planes": self.lie.planes}


def _best_one(lie: Fraction, grown: Fraction) -> Fraction:
    """The chance of a kept 1 to be sent as 1 that makes the estimate least noisy.

    Because: of all laws with the same ratio, a set bit that is sent as a fair coin has the least variance (as in
        OptimisedUnary), if a chance `zero` of at least 0 can still bring it about; else `zero` is as good as 0.
    """
    other = 1 / (1 + grown)
    gap = (Fraction(1, 2) - other) / (1 - 2 * lie)
    if other >= lie * gap:
        return other + (1 - lie) * gap
    return (grown * lie - (1 - lie)) / (lie * (1 - lie) * (grown - 1))


def check_both_epsilons(epsilon: object, once: object) -> tuple[Fraction, Fraction]:
    """The two epsilons that were asked for; a single report's is half the lifetime's unless it is named."""
    requested_epsilon = coins.check_epsilon(epsilon)
    if once is None:
        return requested_epsilon, requested_epsilon / 2
    single = parse_fraction(once, name="once")
    if not 0 < single <= requested_epsilon:
        raise UsageError(
            f"A single report cannot cost more than all reports together: at most {exact.show(requested_epsilon)}, "
            f"not {exact.show(single)}."
        )
    return requested_epsilon, single


def parse_fraction(value: object, *, name: str) -> Fraction:
    """A number as `exact.write` wrote it, or as a person does."""
    if isinstance(value, str) and "ln" in value:
        return exact.epsilon(value, name=name, most=exact.MAX_BUDGET_EPSILON)
    if not isinstance(value, str) or "/" not in value:
        return exact.number(value, name=name)
    try:
        return exact.read(value)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"{name} must be a plain number such as 0.5.") from None
