"""The two-filter rule on small worlds, against the definition by brute force."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.events import GaussianEvent, LaplaceEvent, loss
from discreet.accounting.filter import ARMS, FULL, Cost, Segment, decide
from discreet.accounting.guarantee import FilterLimits, Guarantee
from discreet.accounting.region import Box, Region, ValueSet
from discreet.accounting.renyi import ORDERS
from discreet.errors import UsageError
from discreet.exact import EPSILON_UNITS, UNBOUNDED
from tiers import examples

WHOLE = Region.whole()
MALE = Region((Box({"sex": ValueSet.of([1])}),))
FEMALE = Region((Box({"sex": ValueSet.of([0])}),))
OLDER = Region((Box({"age": ValueSet.interval(21, None)}),))
REGIONS = [WHOLE, MALE, FEMALE, OLDER]
RECORDS = [{"sex": sex, "age": age} for sex in (0, 1, None) for age in (10, 30, None)]


def pure_cost(epsilon):
    return Cost.of(loss(LaplaceEvent(scale=1 / Fraction(epsilon), l1=1)))


def charge(segments, key, region, cost, limits, delta=0):
    decision = decide(segments, key, region=region, cost=cost, delta_spent=delta, limits=limits)
    if decision.accepted:
        segments.setdefault(key, Segment()).book(region, cost, decision.balance)
    return decision


def test_the_four_questions_of_the_lecture_cost_one_in_any_order():
    """All 0.5; Male 0.2; Female 0.25; age > 20 0.25: the fullest record pays 1.0, not 1.2."""
    questions = [(WHOLE, "0.5"), (MALE, "0.2"), (FEMALE, "0.25"), (OLDER, "0.25")]
    limits = Guarantee(epsilon=Fraction(1)).limits
    for order in itertools.permutations(questions):
        segments = {}
        for region, epsilon in order:
            assert charge(segments, "t", region, pure_cost(epsilon), limits).accepted
        assert segments["t"].balance.pure == EPSILON_UNITS
        assert not charge(segments, "t", FEMALE, pure_cost("0.000000001"), limits).accepted
        assert charge(segments, "t", MALE, pure_cost("0.05"), limits).accepted


def test_versions_add_their_maxima():
    limits = Guarantee(epsilon=Fraction(1)).limits
    segments = {}
    assert charge(segments, ("t", 1), MALE, pure_cost("0.6"), limits).accepted
    assert charge(segments, ("t", 1), FEMALE, pure_cost("0.6"), limits).accepted
    assert not charge(segments, ("t", 2), FEMALE, pure_cost("0.5"), limits).accepted
    assert charge(segments, ("t", 2), FEMALE, pure_cost("0.4"), limits).accepted
    assert charge(segments, ("t", 2), MALE, pure_cost("0.4"), limits).accepted


def test_delta_of_keys_is_a_third_sum():
    limits = FilterLimits(pure=10**12, rho=None, delta_keys=5)
    cost = Cost(pure=1, rho=1, delta=3)
    segments = {}
    assert charge(segments, "t", WHOLE, cost, limits, delta=0).accepted
    assert not charge(segments, "t", WHOLE, cost, limits, delta=3).accepted


def test_a_gaussian_ends_the_pure_arm_where_it_touches():
    limits = Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**6)).limits
    segments = {}
    gaussian = Cost.of(loss(GaussianEvent(sigma2=Fraction(1000), l2_squared=1)))
    assert gaussian.pure == UNBOUNDED
    assert charge(segments, "t", MALE, gaussian, limits).arm == "rho"
    assert not charge(segments, "t", MALE, pure_cost("0.95"), limits).accepted
    assert charge(segments, "t", FEMALE, pure_cost("0.9"), limits).arm == "pure"
    # Everybody: men hold by rho, women by rho no more; each record by its own arm. By an order all of them do.
    two_arms = FilterLimits(pure=limits.pure, rho=limits.rho, delta_keys=0)
    assert decide(segments, "t", region=WHOLE, cost=pure_cost("0.05"), delta_spent=0, limits=two_arms).arm == "joint"
    assert charge(segments, "t", WHOLE, pure_cost("0.05"), limits).arm == "order 216"


def test_one_open_arm_other_than_the_pure_is_searched_too():
    limits = FilterLimits(pure=None, rho=10, delta_keys=0)
    segments = {}
    cost = Cost(pure=UNBOUNDED, rho=6, delta=0)
    assert charge(segments, "t", MALE, cost, limits).arm == "rho"
    assert charge(segments, "t", FEMALE, cost, limits).arm == "rho"
    assert not charge(segments, "t", FEMALE, cost, limits).accepted


ROOMS = st.none() | st.integers(0, 12)
costs = st.builds(
    lambda pure, rho, orders: Cost(pure=pure, rho=rho, delta=0, orders=orders),
    st.integers(1, 6) | st.just(UNBOUNDED),
    st.integers(1, 6),
    st.tuples(*[st.integers(1, 6)] * 4),
)
charges = st.lists(st.tuples(st.sampled_from(REGIONS), costs), min_size=1, max_size=8)


@settings(max_examples=examples(300))
@given(charges, ROOMS, ROOMS, st.just((None,) * 4) | st.tuples(ROOMS, st.none(), ROOMS, st.none()))
def test_one_segment_follows_the_definition(asked, pure, rho, orders):
    limits = FilterLimits(pure=pure, rho=rho, delta_keys=0, orders=orders)
    segments, history = {}, []
    for region, cost in asked:
        trial = [*history, (region, cost)]
        allowed = all(within(trial, record, limits) for record in RECORDS if record in region)
        decision = charge(segments, "t", region, cost, limits)
        assert decision.accepted == allowed
        if allowed:
            history = trial
            fullest = max(min(UNBOUNDED, sums(history, record)[0]) for record in RECORDS)
            assert decision.balance.pure == fullest  # small worlds are solved exactly
            assert decision.balance.rho == max(sums(history, record)[1] for record in RECORDS)
            for arm, most in enumerate(decision.balance.arms):  # a bound in every arm, whether it is used or not
                assert most >= max(min(UNBOUNDED, sums(history, record)[arm]) for record in RECORDS)
            assert decision.used <= FULL


def sums(history, record):
    inside = [cost.arms for region, cost in history if record in region]
    return tuple(map(sum, zip(*inside, strict=True))) or (0,) * len(ARMS)


def within(history, record, limits):
    return any(
        limit is not None and loss <= limit for loss, limit in zip(sums(history, record), limits.arms, strict=True)
    )


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(REGIONS), costs), min_size=1, max_size=8))
def test_two_segments_need_one_arm_for_the_sum_of_maxima(asked):
    limits = FilterLimits(pure=10, rho=10, delta_keys=0)
    segments, history = {}, {"a": [], "b": []}
    for key, region, cost in asked:
        decision = charge(segments, key, region, cost, limits)
        if not decision.accepted:
            continue
        history[key].append((region, cost))
        if history["a"] and history["b"]:
            most = [
                sum(max(sums(history[name], record)[arm] for record in RECORDS) for name in history) for arm in (0, 1)
            ]
            assert min(most) <= 10


@pytest.mark.parametrize(
    "bad",
    [{"epsilon": Fraction(0)}, {"epsilon": Fraction(-1)}, {"epsilon": Fraction(10**7)}, {"delta": Fraction(1)},
     {"delta": Fraction(-1)}, {"accounting": "magic"}, {"accounting": "zcdp"}, {"delta": Fraction(1, 10), "delta_keys": Fraction(1, 5)}],
)  # fmt: skip
def test_a_guarantee_makes_sense_from_birth(bad):
    with pytest.raises(UsageError):
        Guarantee(**({"epsilon": Fraction(1)} | bad))


def test_limits_of_each_accounting():
    both = Guarantee(epsilon=Fraction(3), delta=Fraction(1, 10**6), accounting="either")
    assert both.delta_rho == both.keys == Fraction(1, 2 * 10**6)
    assert both.limits.orders == (None,) * len(ORDERS)
    every = Guarantee(epsilon=Fraction(3), delta=Fraction(1, 10**6))
    assert None not in every.limits.arms
    assert every.limits.rho < both.limits.rho
    pure = Guarantee(epsilon=Fraction(3), delta=Fraction(1, 10**6), accounting="pure")
    assert (pure.limits.rho, pure.keys) == (None, pure.delta)
    zcdp = Guarantee(epsilon=Fraction(3), delta=Fraction(1, 10**6), accounting="zcdp")
    assert zcdp.limits.pure is None and zcdp.limits.rho == both.limits.rho
    assert Guarantee.from_data(both.to_data()).limits == both.limits
