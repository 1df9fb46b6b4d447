"""Rényi arms: every curve against its definition by summation, every conversion against an exact hockey stick."""

import itertools
import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from discreet.accounting import renyi
from discreet.accounting.events import (
    ComposedEvent,
    ExponentialEvent,
    ForgottenEvent,
    GaussianEvent,
    LaplaceEvent,
    PermuteAndFlipEvent,
    ReservationEvent,
    ThresholdEvent,
    TopKEvent,
    from_data,
    loss,
    to_data,
)
from discreet.accounting.filter import ARMS, Cost, Segment, decide
from discreet.accounting.guarantee import ORDER_SHARE, ZCDP_SHARE, Guarantee
from discreet.accounting.region import Region
from discreet.accounting.renyi import ORDERS, conversion_cost, laplace_loss, pure_loss
from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.exact import RHO_UNITS
from tiers import size

EPSILONS = [Fraction(text) for text in ("1/1000", "1/10", "1/2", "1", "3", "20")]


def divergence(one: list[Decimal], other: list[Decimal], order: int) -> Decimal:
    """By its definition, 80 digits."""
    total = sum((p**order * q ** (1 - order) for p, q in zip(one, other, strict=True) if p), Decimal(0))
    return total.ln() / (order - 1)


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def covers(bound: Fraction, truth: Decimal, *, slack: str = "1e-30") -> bool:
    return decimal(bound) >= truth - Decimal("1e-60") and decimal(bound) <= truth + Decimal(slack)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_randomized_response_costs_exactly_this(epsilon, order):
    with localcontext() as context:
        context.prec = 80
        weight = decimal(epsilon).exp()
        truth = divergence([weight / (1 + weight), 1 / (1 + weight)], [1 / (1 + weight), weight / (1 + weight)], order)
        assert covers(pure_loss(epsilon, order), truth)


def test_no_pure_mechanism_costs_more():
    """Random laws on five outcomes whose ratios are within e^epsilon: at most the curve, and some come near to it."""
    source = random.Random(8)
    nearest = 0.0
    for _ in range(size(300, 5000)):
        epsilon, order = source.choice([0.1, 0.5, 1.0, 2.0]), source.choice(ORDERS)
        weights = [source.choice([source.random(), 1e-3, 1.0]) for _ in range(5)]
        signs = [source.choice([-1, 1, 1 - 2 * source.random()]) for _ in range(5)]
        other = [weight / sum(weights) for weight in weights]
        tilted = [q * math.exp(epsilon / 2 * sign) for q, sign in zip(other, signs, strict=True)]
        one = [p / sum(tilted) for p in tilted]
        assert max(abs(math.log(p / q)) for p, q in zip(one, other, strict=True)) <= epsilon + 1e-12
        truth = math.log(sum(q * math.exp(order * math.log(p / q)) for p, q in zip(one, other, strict=True)))
        bound = float(pure_loss(Fraction(epsilon), order))
        assert truth / (order - 1) <= bound * (1 + 1e-9)
        nearest = max(nearest, truth / (order - 1) / bound)
    assert nearest > 0.5


def laplace_divergence(scale: Fraction, shift: int, order: int) -> Decimal:
    """Of discrete Laplace noise and the same moved by `shift`, by summation: geometric beyond both ends."""
    ratio = (-1 / decimal(scale)).exp()
    reach = shift + math.ceil(200 * scale)

    def mass(k: int) -> Decimal:
        return (1 - ratio) / (1 + ratio) * ratio ** abs(k)

    places = range(-reach, reach + shift + 1)
    return divergence([mass(k) for k in places], [mass(k - shift) for k in places], order)


@pytest.mark.thin(12)
@pytest.mark.parametrize(("scale", "l1"), [("1/2", 1), ("2", 1), ("2", 3), ("7/3", 7), ("5", 2), ("1/3", 4)])
@pytest.mark.parametrize("order", ORDERS)
def test_discrete_laplace_costs_exactly_this(scale, l1, order):
    with localcontext() as context:
        context.prec = 80
        truth = laplace_divergence(Fraction(scale), l1, order)
        assert covers(laplace_loss(Fraction(scale), l1, order), truth, slack="1e-25")


@pytest.mark.parametrize("order", ORDERS[:2])
def test_one_number_that_moves_by_all_of_it_is_the_worst(order):
    with localcontext() as context:
        context.prec = 60
        alone = {shift: laplace_divergence(Fraction(3), shift, order) for shift in range(1, 7)}
        for parts in itertools.chain.from_iterable(
            itertools.combinations_with_replacement(range(1, 6), count) for count in (2, 3)
        ):
            if sum(parts) <= 6:
                assert sum(alone[part] for part in parts) <= decimal(laplace_loss(Fraction(3), sum(parts), order))


def test_a_loss_at_an_order_is_never_above_what_epsilon_and_rho_imply():
    events = [
        LaplaceEvent(scale=Fraction(7, 2), l1=3),
        GaussianEvent(sigma2=Fraction(50), l2_squared=3),
        ExponentialEvent(epsilon=Fraction(1, 3)),
        PermuteAndFlipEvent(epsilon=Fraction(1, 3)),
        ThresholdEvent(scale=Fraction(3), l1=2, delta=Fraction(1, 10**7)),
        TopKEvent(choices=3, epsilon=Fraction(1, 5), delta=Fraction(1, 10**7)),
        ReservationEvent(epsilon=Fraction(1), rho=Fraction(1, 2), delta=Fraction(0)),
        ReservationEvent(epsilon=None, rho=Fraction(1, 7), delta=Fraction(0)),
    ]
    for event in [*events, ComposedEvent(events=tuple(events))]:
        lost = loss(event)
        for order, each in zip(ORDERS, lost.orders, strict=True):
            assert 0 < each <= order * lost.rho
            assert lost.epsilon is None or each <= lost.epsilon
    together = loss(ComposedEvent(events=tuple(events)))
    assert together.orders == tuple(map(sum, zip(*(loss(event).orders for event in events), strict=True)))


def test_what_was_forgotten_is_kept_and_read_back():
    event = ForgottenEvent(
        epsilon=None, rho=Fraction(1, 9), delta=Fraction(0), orders=tuple(Fraction(1, n) for n in (4, 3, 2, 1))
    )
    assert from_data(to_data(event)) == event
    assert loss(event).orders == tuple(map(min, event.orders, (order * Fraction(1, 9) for order in ORDERS)))
    with pytest.raises(ValueError, match="positive"):
        ForgottenEvent(epsilon=None, rho=Fraction(1), delta=Fraction(0), orders=(Fraction(1),))


# -- conversions ---------------------------------------------------------------------------------


def responses_delta(epsilon: float, times: int, at: float) -> float:
    """The exact delta at `at` of so many randomized responses: a sum over how many of them say the truth."""
    truth = 1 / (1 + math.exp(-epsilon))
    total = 0.0
    for right in range(times + 1):
        lost = epsilon * (2 * right - times)
        chance = math.comb(times, right) * truth**right * (1 - truth) ** (times - right)
        total += max(0.0, chance * -math.expm1(at - lost)) if lost > at else 0.0
    return total


@pytest.mark.parametrize("times", [1, 10, 100, 300])
@pytest.mark.parametrize("delta", [Fraction(1, 10**2), Fraction(1, 10**6), Fraction(1, 16 * 10**6)])
@pytest.mark.parametrize("order", ORDERS)
def test_a_converted_loss_covers_an_exact_hockey_stick(order, delta, times):
    each = Fraction(1, 5)
    epsilon = times * pure_loss(each, order) + conversion_cost(order, delta)
    assert responses_delta(float(each), times, max(0.0, float(epsilon))) <= float(delta)


def test_shares_of_delta_add_up_to_delta():
    """A mutant that gives an arm more than its share, or forgets to count one, breaks this sum."""
    for keys in (None, Fraction(0), Fraction(1, 10**7)):
        limit = Guarantee(epsilon=Fraction(2), delta=Fraction(1, 10**6), delta_keys=keys)
        assert limit.keys + limit.delta_rho + len(ORDERS) * limit.delta_order == limit.delta
    assert ZCDP_SHARE + len(ORDERS) * ORDER_SHARE == 1
    for accounting in ("either", "zcdp"):
        old = Guarantee(epsilon=Fraction(2), delta=Fraction(1, 10**6), accounting=accounting)
        assert (old.delta_order, old.keys + old.delta_rho) == (0, old.delta)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(10)])
def test_each_limit_implies_the_guarantee_and_one_unit_more_does_not(epsilon):
    limit = Guarantee(epsilon=epsilon, delta=Fraction(1, 10**6))
    for order, most in zip(ORDERS, limit.limits.orders, strict=True):
        extra = conversion_cost(order, limit.delta_order)
        if most is None:
            assert extra >= epsilon
        else:
            assert Fraction(most, RHO_UNITS) + extra <= epsilon < Fraction(most + 1, RHO_UNITS) + extra


# -- the filters ---------------------------------------------------------------------------------


def spent(limit: Guarantee, events) -> Fraction:
    """What is spent after these, everybody touched, each accepted."""
    segments = {}
    for event in events:
        cost = Cost.of(loss(event))
        decision = decide(segments, "t", region=Region.whole(), cost=cost, delta_spent=0, limits=limit.limits)
        assert decision.accepted
        segments.setdefault("t", Segment()).book(Region.whole(), cost, decision.balance)
    total = segments["t"].balance
    return limit.implied_epsilon(pure=total.pure, rho=total.rho, orders=total.orders)


def laplace(epsilon: str):
    return LaplaceEvent(scale=1 / Fraction(epsilon), l1=1)


def gaussian(rho: str):
    return GaussianEvent(sigma2=1 / (2 * Fraction(rho)), l2_squared=1)


#: Histories, and what was spent by a prototype (six orders) and by two arms, at delta 1e-6.
MIXES = [
    ([laplace("1")] * 3 + [gaussian("0.0228")], 4.06, 9.94),
    ([laplace("1"), gaussian("0.000297")], 1.11, 5.22),
    ([laplace("0.1")] * 100, 5.28, 5.22),
    ([laplace("0.2")] * 20 + [gaussian("0.0228")] * 3, 4.98, 5.03),
    ([gaussian("0.5")], 5.28, 5.22),
]


@pytest.mark.parametrize(("events", "prototype", "two_arms"), MIXES)
def test_mixed_histories_cost_what_they_should(events, prototype, two_arms):
    limit = Guarantee(epsilon=Fraction(20), delta=Fraction(1, 10**6), delta_keys=Fraction(0))
    assert float(spent(limit, events)) <= prototype * 1.01
    old = Guarantee(epsilon=Fraction(20), delta=Fraction(1, 10**6), delta_keys=Fraction(0), accounting="either")
    assert float(spent(old, events)) == pytest.approx(two_arms, rel=0.05)


def adaptive_delta(limit: Guarantee, epsilon: Fraction, steps) -> float:
    """The exact delta at epsilon of an adaptive analyst who asks randomized responses until the filter refuses.

    `steps(transcript)` names the next epsilon, or None. Both worlds' chances are followed through every transcript.
    """

    def follow(transcript: tuple[int, ...], segments, p: float, q: float) -> float:
        asked = steps(transcript)
        if asked is not None:
            cost = Cost.of(loss(LaplaceEvent(scale=1 / asked, l1=1)))
            decision = decide(segments, "t", region=Region.whole(), cost=cost, delta_spent=0, limits=limit.limits)
            if decision.accepted:
                here = segments.get("t") or Segment()
                overlap = here.overlap.copy()
                overlap.add(Region.whole(), cost.arms)
                after = {"t": Segment(balance=decision.balance, overlap=overlap)}
                truth = 1 / (1 + math.exp(-float(asked)))
                return follow((*transcript, 1), after, p * truth, q * (1 - truth)) + follow(
                    (*transcript, 0), after, p * (1 - truth), q * truth
                )
        return max(0.0, p - math.exp(float(epsilon)) * q)

    return follow((), {}, 1.0, 1.0)


def greedy(transcript):
    """Ask for much after a telling answer, for little after a misleading one: what a filter must withstand."""
    if len(transcript) >= 9:
        return None
    return Fraction(1, 3) if sum(transcript) * 2 >= len(transcript) else Fraction(1, 20)


@pytest.mark.parametrize("accounting", ["renyi", "either", "pure", "zcdp"])
def test_an_adaptive_analyst_learns_no_more_than_the_limit(accounting):
    limit = Guarantee(epsilon=Fraction(1), delta=Fraction(1, 20), delta_keys=Fraction(0), accounting=accounting)
    assert adaptive_delta(limit, limit.epsilon, greedy) <= float(limit.delta)


def test_an_analyst_without_a_filter_learns_more():
    """The test above can fail: with a limit that was raised in secret the same analyst passes delta."""
    loose = Guarantee(epsilon=Fraction(9), delta=Fraction(1, 20), delta_keys=Fraction(0))
    assert adaptive_delta(loose, Fraction(1), greedy) > 1 / 20


# -- mutants -------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_a_curve_that_is_too_low_is_caught(order, monkeypatch):
    honest = pure_loss
    monkeypatch.setattr(renyi, "pure_loss", lambda epsilon, each: honest(epsilon, each) * Fraction(99, 100))
    with localcontext() as context:
        context.prec = 80
        weight = Decimal(1).exp()
        truth = divergence([weight / (1 + weight), 1 / (1 + weight)], [1 / (1 + weight), weight / (1 + weight)], order)
        assert not covers(renyi.pure_loss(Fraction(1), order), truth)


def test_a_conversion_without_its_delta_is_caught():
    """Every arm at the whole delta instead of its share: the converted epsilon falls, and shares no longer add up."""
    limit = Guarantee(epsilon=Fraction(2), delta=Fraction(1, 10**6), delta_keys=Fraction(0))
    for order in ORDERS:
        assert conversion_cost(order, limit.delta) < conversion_cost(order, limit.delta_order)
    assert epsilon_from_rho(Fraction(1, 10), limit.delta) < epsilon_from_rho(Fraction(1, 10), limit.delta_rho)


def test_arms_that_are_added_instead_of_chosen_are_caught():
    """The mutant pays one event in one arm and the next in another: each arm stays within, the record does not."""
    limit = Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**6), delta_keys=Fraction(0))
    pure, noisy = Cost.of(loss(laplace("0.95"))), Cost.of(loss(gaussian("0.018")))
    assert pure.pure <= limit.limits.pure and noisy.rho <= limit.limits.rho  # the mutant accepts both
    segments = {}
    first = decide(segments, "t", region=Region.whole(), cost=pure, delta_spent=0, limits=limit.limits)
    segments["t"] = Segment()
    segments["t"].book(Region.whole(), pure, first.balance)
    second = decide(segments, "t", region=Region.whole(), cost=noisy, delta_spent=0, limits=limit.limits)
    assert first.accepted and not second.accepted
    assert len(ARMS) == 2 + len(ORDERS)
