"""The checker's Rényi losses, written apart from the product's: the same to thirty digits, for every kind of event."""

from fractions import Fraction

import pytest

from discreet.accounting import events
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.renyi import ORDERS, conversion_cost
from verify.forger import rules

_, measured = rules()

EVENTS = [
    events.LaplaceEvent(scale=Fraction(7, 2), l1=3),
    events.LaplaceEvent(scale=Fraction(1000), l1=1),
    events.LaplaceEvent(scale=Fraction(1, 400), l1=2),
    events.GaussianEvent(sigma2=Fraction(50), l2_squared=3),
    events.ExponentialEvent(epsilon=Fraction(1, 3)),
    events.ExponentialEvent(epsilon=Fraction(30)),
    events.LadderEvent(decay=Fraction(5, 12), step=2, floor=24),
    events.LadderEvent(decay=Fraction(30), step=1, floor=1),
    events.ThresholdEvent(scale=Fraction(3), l1=2, delta=Fraction(1, 10**7)),
    events.TopKEvent(choices=3, epsilon=Fraction(1, 5), delta=Fraction(1, 10**7)),
    events.WeightedThresholdEvent(
        sigma2=Fraction(900),
        l2_squared=4,
        epsilon=Fraction(1, 4),
        delta=Fraction(1, 10**7),
        noise_delta=Fraction(1, 10**8),
    ),
    events.WeightedThresholdEvent(
        sigma2=Fraction(900), l2_squared=4, epsilon=None, delta=Fraction(1, 10**7), noise_delta=Fraction(0)
    ),
    events.ReservationEvent(epsilon=Fraction(1), rho=Fraction(1, 2), delta=Fraction(0)),
    events.ReservationEvent(epsilon=None, rho=Fraction(1, 7), delta=Fraction(0)),
]


@pytest.mark.parametrize("event", [*EVENTS, events.ComposedEvent(events=tuple(EVENTS))])
def test_both_count_the_same(event):
    ours, theirs = events.loss(event).orders, measured.divergences(events.to_data(event))
    assert measured.ORDERS == ORDERS
    for one, other in zip(ours, theirs, strict=True):
        assert abs(one - other) <= Fraction(1, 10**30) * max(1, one)


@pytest.mark.parametrize("order", ORDERS)
def test_both_convert_the_same(order):
    limit = Guarantee(epsilon=Fraction(2), delta=Fraction(1, 10**6))
    lost = Fraction(3, 2)
    ours = lost + conversion_cost(order, limit.delta_order)
    assert abs(ours - measured.at_order(lost, order, limit.delta_noise / 16)) <= Fraction(1, 10**30)


def test_a_curve_that_is_too_low_is_seen(monkeypatch):
    monkeypatch.setattr(events.renyi, "laplace_loss", lambda scale, l1, order: Fraction(l1) / scale / 2)
    events.loss.cache_clear()  # it remembers what it has counted
    with pytest.raises(AssertionError):
        test_both_count_the_same(EVENTS[0])
    events.loss.cache_clear()
