"""What a refinement costs: the difference in the pure arm, and at the orders what the worst first answer makes of it."""

import itertools
from fractions import Fraction
from math import exp, log

import pytest

from discreet.accounting import renyi
from discreet.accounting.events import (
    ComposedEvent,
    GaussianEvent,
    LaplaceEvent,
    RefinedEvent,
    by_itself,
    from_data,
    is_refinement,
    loss,
    refinement_of,
    to_data,
)
from discreet.accounting.filter import Balance, Cost, Segment, decide
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Region
from discreet.accounting.renyi import ORDERS
from discreet.exact import EPSILON_UNITS, RHO_UNITS


def mass(q, k):
    return (1 - q) / (1 + q) * q ** abs(k)


def rest_mass(q1, q2, k):
    weight = (1 - q1) ** 2 * q2 / ((1 - q2) ** 2 * q1)
    return (weight if k == 0 else 0) + (1 - weight) * mass(q1, k)


def worst_divergence(s1, s2, moves, order):
    """The largest divergence of the second answer given any first one, summed over all second ones.

    `moves`: how far each of several numbers moves. Given the first answer they are independent.
    """
    q1, q2 = exp(-1 / s1), exp(-1 / s2)
    far = int(12 * s1) + 10

    def given(y1, x):
        weights = [mass(q2, y - x) * rest_mass(q1, q2, y1 - y) for y in range(-far, far)]
        return [weight / sum(weights) for weight in weights]

    def divergence(y1, move):
        pairs = zip(given(y1, 0), given(y1, move), strict=True)
        return log(sum(p * (p / q) ** (order - 1) for p, q in pairs if p > 1e-25)) / (order - 1)

    return sum(max(divergence(y1, move) for y1 in range(-3 * move, 4 * move + 1)) for move in moves)


@pytest.mark.thin(15)
@pytest.mark.parametrize(("s1", "s2"), [(4, 2), (3, Fraction(5, 2)), (8, 1)])
@pytest.mark.parametrize("order", [8, 24])
@pytest.mark.parametrize("moves", [(1,), (2,), (3,), (1, 1), (-1, 2)])
def test_no_first_answer_makes_the_second_cost_more(s1, s2, order, moves):
    moves = [abs(move) for move in moves]  # the law is symmetric
    bound = float(renyi.refined_loss(Fraction(s1), Fraction(s2), sum(moves), order))
    worst = worst_divergence(s1, s2, moves, order)
    assert worst <= bound * (1 + 1e-9)
    if moves == [1]:
        assert worst == pytest.approx(bound, rel=1e-6)  # and one does cost so much


def test_a_curve_that_is_too_low_would_be_seen():
    """The difference of the two curves, which non-adaptive refinement costs, is too little given the first answer."""
    s1, s2 = Fraction(4), Fraction(2)
    difference = renyi.laplace_loss(s2, 1, 8) - renyi.laplace_loss(s1, 1, 8)
    assert worst_divergence(4, 2, [1], 8) > float(difference)


@pytest.mark.parametrize("l1", [1, 2, 5, 32, 33, 1000])
def test_bounds_at_orders_hold_together(l1):
    s1, s2 = Fraction(7 * l1), Fraction(3 * l1)
    for order in ORDERS:
        cost = renyi.refined_loss(s1, s2, l1, order)
        assert cost <= order * (l1 / s2) ** 2 / 2 * Fraction(1000001, 1000000) or l1 > 32
        assert cost <= l1 / s2 + l1 / s1
        assert cost <= renyi.refined_loss(s1, s2, l1 + 1, order) * Fraction(11, 10)
        # Both together lose at least what the second loses by itself.
        assert renyi.laplace_loss(s1, l1, order) + cost >= renyi.laplace_loss(s2, l1, order)
    assert loss(RefinedEvent(earlier=s1, scale=s2, l1=l1)).orders <= tuple(
        order * (l1 / s2) ** 2 / 2 for order in ORDERS
    )


def test_the_pure_arm_pays_the_difference_and_instalments_add_up():
    scales = [Fraction(30), Fraction(20), Fraction(7), Fraction(2)]
    paid = loss(LaplaceEvent(scale=scales[0], l1=3)).epsilon
    for earlier, scale in itertools.pairwise(scales):
        paid += loss(RefinedEvent(earlier=earlier, scale=scale, l1=3)).epsilon
    assert paid == loss(LaplaceEvent(scale=scales[-1], l1=3)).epsilon


def test_the_pure_loss_of_a_refinement_implies_nothing_at_an_order():
    lost = loss(RefinedEvent(earlier=Fraction(10), scale=Fraction(9), l1=9))
    assert lost.epsilon == Fraction(1, 10) and max(lost.orders) > lost.epsilon


def test_where_there_is_a_refinement_the_pure_sum_bounds_no_order():
    """A mutant that books what the pure sum implies would let the orders take more than was lost in them."""
    guarantee = Guarantee(epsilon=Fraction(5), delta=Fraction(1, 10**6), delta_keys=Fraction(0))
    segment, whole = Segment(), Region.whole()
    events = [LaplaceEvent(scale=Fraction(10), l1=9), RefinedEvent(earlier=Fraction(10), scale=Fraction(9), l1=9)]
    for event in events:
        cost = Cost.of(loss(event))
        decision = decide({1: segment}, 1, region=whole, cost=cost, delta_spent=0, limits=guarantee.limits)
        assert decision.accepted
        segment.book(whole, cost, decision.balance)
    assert not segment.pure_bounds_orders
    summed = [sum(each) for each in zip(*(Cost.of(loss(event)).orders for event in events), strict=True)]
    assert list(segment.balance.orders) == summed
    assert summed[-1] > segment.balance.pure * (RHO_UNITS // EPSILON_UNITS)
    more = decide(
        {1: segment}, 1, region=whole, cost=Cost(pure=1, rho=1, delta=0), delta_spent=0, limits=guarantee.limits
    )
    assert all(inside >= lost for inside, lost in zip(more.inside.orders, summed, strict=True))
    segment.pure_bounds_orders = True
    wrong = decide(
        {1: segment}, 1, region=whole, cost=Cost(pure=1, rho=1, delta=0), delta_spent=0, limits=guarantee.limits
    )
    assert any(inside < lost for inside, lost in zip(wrong.inside.orders, summed, strict=True))


def test_a_plain_history_keeps_the_bound():
    segment = Segment()
    segment.book(Region.whole(), Cost.of(loss(LaplaceEvent(scale=Fraction(3), l1=2))), Balance())
    assert segment.pure_bounds_orders


def test_refinements_of_events():
    first = LaplaceEvent(scale=Fraction(8), l1=2)
    both = ComposedEvent(events=(first, RefinedEvent(earlier=Fraction(9), scale=Fraction(6), l1=4)))
    refined = refinement_of(both, [Fraction(4), Fraction(5)])
    assert refined == ComposedEvent(
        events=(
            RefinedEvent(earlier=Fraction(8), scale=Fraction(4), l1=2),
            RefinedEvent(earlier=Fraction(6), scale=Fraction(5), l1=4),
        )
    )
    assert from_data(to_data(refined)) == refined
    assert is_refinement(refined) and is_refinement(both) and not is_refinement(first)
    assert by_itself(refined) == ComposedEvent(
        events=(LaplaceEvent(scale=Fraction(4), l1=2), LaplaceEvent(scale=Fraction(5), l1=4))
    )
    assert refinement_of(both, [Fraction(8), Fraction(5)]) is None  # no less noise
    assert refinement_of(both, [Fraction(4)]) is None
    assert refinement_of(GaussianEvent(sigma2=Fraction(4), l2_squared=1), [Fraction(1)]) is None


@pytest.mark.parametrize(
    "bad",
    [
        {"earlier": Fraction(2), "scale": Fraction(2), "l1": 1},
        {"earlier": Fraction(2), "scale": Fraction(3), "l1": 1},
        {"earlier": Fraction(2), "scale": Fraction(0), "l1": 1},
        {"earlier": Fraction(2), "scale": Fraction(1), "l1": 0},
    ],
)
def test_what_is_no_refinement(bad):
    with pytest.raises(ValueError, match="not a refinement"):
        RefinedEvent(**bad)
