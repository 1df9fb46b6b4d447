"""Events: exact losses, and a stored form that is read back or refused."""

from fractions import Fraction

import pytest

from discreet.accounting import events
from discreet.accounting.events import (
    ComposedEvent,
    ExponentialEvent,
    GapEvent,
    GaussianEvent,
    LadderEvent,
    LaplaceEvent,
    Loss,
    PermuteAndFlipEvent,
    ThresholdEvent,
    WeightedThresholdEvent,
    loss,
)
from discreet.errors import LedgerFault

HALF = Fraction(1, 2)
EXAMPLES = [
    (LaplaceEvent(scale=Fraction(6), l1=3), Loss(epsilon=HALF, rho=Fraction(1, 8))),
    (GaussianEvent(sigma2=Fraction(8), l2_squared=4), Loss(epsilon=None, rho=Fraction(1, 4))),
    (ExponentialEvent(epsilon=HALF), Loss(epsilon=HALF, rho=Fraction(1, 32))),
    (PermuteAndFlipEvent(epsilon=HALF), Loss(epsilon=HALF, rho=Fraction(1, 8))),
    (
        LadderEvent(decay=Fraction(5, 12), step=1, floor=12),
        Loss(epsilon=Fraction(1941685, 4002252), rho=Fraction(25, 288)),
    ),
    (
        ThresholdEvent(scale=Fraction(2), l1=1, delta=Fraction(1, 10**7)),
        Loss(epsilon=HALF, rho=Fraction(1, 8), delta=Fraction(1, 10**7)),
    ),
    (
        WeightedThresholdEvent(
            sigma2=Fraction(8),
            l2_squared=4,
            epsilon=Fraction(3),
            delta=Fraction(1, 10**7),
            noise_delta=Fraction(1, 10**8),
        ),
        Loss(epsilon=Fraction(3), rho=Fraction(1, 4), delta=Fraction(1, 10**7)),
    ),
    (
        WeightedThresholdEvent(
            sigma2=Fraction(8), l2_squared=4, epsilon=None, delta=Fraction(1, 10**7), noise_delta=Fraction(0)
        ),
        Loss(epsilon=None, rho=Fraction(1, 4), delta=Fraction(1, 10**7)),
    ),
    (GapEvent(epsilon=None, rho=HALF, delta=Fraction(0)), Loss(epsilon=None, rho=HALF)),
    (
        ComposedEvent(events=(LaplaceEvent(scale=Fraction(2), l1=1), ExponentialEvent(epsilon=HALF))),
        Loss(epsilon=Fraction(1), rho=Fraction(5, 32)),
    ),
    (
        ComposedEvent(events=(LaplaceEvent(scale=Fraction(2), l1=1), GaussianEvent(sigma2=Fraction(4), l2_squared=1))),
        Loss(epsilon=None, rho=Fraction(1, 4)),
    ),
]


@pytest.mark.parametrize(("event", "cost"), EXAMPLES)
def test_losses_are_exact(event, cost):
    counted = loss(event)
    assert (counted.epsilon, counted.rho, counted.delta) == (cost.epsilon, cost.rho, cost.delta)
    assert all(order <= implied for order, implied in zip(counted.orders, cost.orders, strict=True))


@pytest.mark.parametrize(("event", "_"), EXAMPLES)
def test_an_event_survives_storage(event, _):
    assert events.from_data(events.to_data(event)) == event


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "magic", "epsilon": "1/2"},
        {"kind": "laplace", "scale": "1/2"},
        {"kind": "laplace", "scale": "0/1", "l1": 1},
        {"kind": "laplace", "scale": "-1/2", "l1": 1},
        {"kind": "laplace", "scale": 0.5, "l1": 1},
        {"kind": "laplace", "scale": "nan", "l1": 1},
        {"kind": "laplace", "scale": "1/2", "l1": 0},
        {"kind": "laplace", "scale": "1/2", "l1": True},
        {"kind": "laplace", "scale": "1/2", "l1": 1, "extra": 1},
        {"kind": "gaussian", "sigma2": "1/2", "l2_squared": -1},
        {"kind": "threshold", "scale": "1/2", "l1": 1, "delta": "2/1"},
        "laplace",
        None,
        {},
    ],
)
def test_what_makes_no_sense_is_refused(data):
    with pytest.raises(LedgerFault):
        events.from_data(data)


@pytest.mark.parametrize("bad", [{"epsilon": Fraction(0)}, {"epsilon": Fraction(-1)}, {"rho": Fraction(0)}])
def test_a_loss_is_positive(bad):
    with pytest.raises(ValueError, match="positive"):
        Loss(**({"epsilon": Fraction(1), "rho": Fraction(1)} | bad))
