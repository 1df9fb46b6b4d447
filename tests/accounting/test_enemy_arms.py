"""An enemy's own harness against the six arms: curves by other arithmetic, decisions and gaps by brute force over small
worlds, and, as expected failures, what it broke."""

import itertools
import json
import math
import random
from copy import deepcopy
from decimal import Context, Decimal
from fractions import Fraction

import pytest

from accounting.test_renyi import responses_delta
from answers.test_audit import VISITS, project
from discreet.accounting.events import (
    ComposedEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PermuteAndFlipEvent,
    ReservationEvent,
    TopKEvent,
    loss,
    to_data,
)
from discreet.accounting.filter import FULL, Cost, Segment, decide
from discreet.accounting.guarantee import FilterLimits, Guarantee
from discreet.accounting.region import Box, Region, ValueSet
from discreet.accounting.renyi import ORDERS, conversion_cost, laplace_loss, pure_loss
from discreet.answers.affordability import largest_question
from discreet.errors import BudgetExceeded
from discreet.exact import RHO_UNITS, UNBOUNDED
from discreet.ledger.account import Account
from discreet.ledger.charge_data import account_totals, cost_data, cost_of, decision_data, replay_charge
from discreet.ledger.gap import forgotten_charges
from discreet.ledger.refusal import charge_refusal
from discreet.tables.table_reservation import ReservationTerms

#: 300 digits, each step rounded by this context alone.
FINE = Context(prec=300, Emin=-(10**9), Emax=10**9)
TINY = Decimal("1e-250")
KEY = ("t", 1)


def laplace(epsilon):
    return LaplaceEvent(scale=1 / Fraction(epsilon), l1=1)


def gaussian(rho):
    return GaussianEvent(sigma2=1 / (2 * Fraction(rho)), l2_squared=1)


def group(*values):
    return Region.of([Box({"g": ValueSet.of(values)})])


def charge(account, event, region=None, key=KEY):
    """Decide and, where accepted, book; whether it was, and what it cost the budget."""
    region, cost = region or Region.whole(), Cost.of(loss(event))
    decision = account.decide(key, region=region, cost=cost)
    moved = account.epsilon_moved(key, decision)
    if decision.accepted:
        account.book(
            key,
            region=json.dumps(region.to_data()),
            cost=cost,
            inside=decision.inside,
            balance=decision.balance,
            used=min(FULL, decision.used),
            seq=1,
        )
    return decision.accepted, moved


# -- curves and conversions, by other arithmetic -----------------------------------------------------


def fine(value: Fraction) -> Decimal:
    return FINE.divide(Decimal(value.numerator), Decimal(value.denominator))


def true_response(epsilon: Fraction, order: int) -> Decimal:
    """ln of (w^a + w^(1 - a)) / (1 + w), w = e^epsilon, over a - 1."""
    weight = FINE.exp(fine(epsilon))
    moment = FINE.add(FINE.power(weight, order), FINE.power(weight, 1 - order))
    return FINE.divide(FINE.ln(FINE.divide(moment, FINE.add(1, weight))), order - 1)


def true_laplace(scale: Fraction, shift: int, order: int) -> Decimal:
    """Below both centres, between them, above both: three geometric series."""
    ratio = FINE.exp(FINE.minus(fine(1 / scale)))
    rest, inner = FINE.subtract(1, ratio), FINE.power(ratio, 2 * order - 1)
    below = FINE.divide(FINE.power(ratio, (1 - order) * shift), rest)
    above = FINE.divide(FINE.power(ratio, order * shift), rest)
    falls = FINE.divide(FINE.subtract(inner, FINE.power(inner, shift)), FINE.subtract(1, inner))
    between = FINE.multiply(FINE.power(ratio, (1 - order) * shift), falls)
    total = FINE.add(FINE.add(below, above), between)
    return FINE.divide(FINE.ln(FINE.multiply(FINE.divide(rest, FINE.add(1, ratio)), total)), order - 1)


def test_curves_and_conversions_are_bounds_and_close():
    source = random.Random(22)
    for _ in range(60):
        order = source.choice(ORDERS)
        epsilon = Fraction(source.randint(1, 10**6), 10 ** source.choice([4, 5, 6, 9, 12, 30, 60]))
        scale = Fraction(source.randint(1, 10**4) * 10 ** source.choice([0, 0, 20, 48, 52]), source.choice([1, 7, 100]))
        shift = source.choice([1, 2, 3, 30, 1000])
        delta = Fraction(source.randint(1, 99), 10 ** source.choice([2, 5, 9, 18]))
        tail = FINE.subtract(FINE.minus(FINE.ln(fine(delta))), FINE.ln(Decimal(order - 1)))
        tail = FINE.add(tail, FINE.multiply(order, FINE.ln(fine(Fraction(order - 1, order)))))
        for bound, truth in (
            (pure_loss(epsilon, order), true_response(epsilon, order)),
            (conversion_cost(order, delta), FINE.divide(tail, order - 1)),
            *([(laplace_loss(scale, shift, order), true_laplace(scale, shift, order))] if shift < 100 * scale else []),
        ):
            over = FINE.subtract(fine(bound), truth)
            assert -TINY < over < Decimal("1e-42") * max(1, abs(truth)), (order, epsilon, scale, shift, delta)


def test_costs_in_whole_units_are_never_below_the_losses():
    for event in (laplace("1/7"), gaussian("1/7"), ExponentialEvent(epsilon=Fraction(2, 7)), laplace("1/1000003")):
        lost, cost = loss(event), Cost.of(loss(event))
        assert all(Fraction(units, RHO_UNITS) >= each for units, each in zip(cost.orders, lost.orders, strict=True))


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(2)])
def test_permute_and_flip_costs_what_any_pure_choice_does(epsilon):
    """The independent checker knows no such event, so nothing else holds this curve."""
    assert (
        loss(PermuteAndFlipEvent(epsilon=epsilon)).orders
        == loss(ReservationEvent(epsilon=epsilon, rho=epsilon**2 / 2, delta=Fraction(0))).orders
    )


@pytest.mark.parametrize("order", ORDERS)
def test_a_conversion_is_nearly_tight_so_that_one_a_little_lower_is_seen(order):
    """Two laws on two outcomes for which the proof loses almost nothing: one has a probability of order * delta, and is
    likelier by e^3 * order / (order - 1) than under the other law."""
    delta = 1 / 1000
    one = order * delta
    other = one * math.exp(-3) * (order - 1) / order
    moment = other * (one / other) ** order + (1 - other) * ((1 - one) / (1 - other)) ** order
    at = math.log(moment) / (order - 1) + float(conversion_cost(order, Fraction(1, 1000)))
    assert 0.99 * delta < one - math.exp(at) * other <= delta * (1 + 1e-9)


# -- decisions, by brute force -----------------------------------------------------------------------

COLUMNS = {"a": [0, 1, 2, None], "b": ["", "x", "xx", None], "c": [-1, 5, None]}
RECORDS = [dict(zip(COLUMNS, values, strict=True)) for values in itertools.product(*COLUMNS.values())]


def any_values(source, column):
    chosen = [value for value in COLUMNS[column] if value is not None and source.random() < 0.5]
    values, kind = ValueSet.of(chosen), source.random()
    if kind < 0.3:
        return values.complement()
    return ValueSet(values.runs, null=True) if kind < 0.5 else values


def any_region(source):
    if source.random() < 0.08:
        return Region.whole()
    boxes = [
        Box(
            {column: any_values(source, column) for column in source.sample(list(COLUMNS), source.choice([1, 2, 2, 3]))}
        )
        for _ in range(source.choice([1, 1, 1, 2, 3]))
    ]
    return Region.of(boxes) if source.random() < 0.8 else Region(tuple(boxes))


def any_cost(source, unit):
    """Any loss that may be: at an order at most epsilon, and at most order * rho."""
    rho = source.randint(1, 60) * unit
    pure = UNBOUNDED if source.random() < 0.25 else source.randint(1, 40) * source.choice([1, unit])
    most = [min(UNBOUNDED if pure >= UNBOUNDED else pure * 1000, order * rho) for order in ORDERS]
    return Cost(pure=pure, rho=rho, delta=0, orders=tuple(source.randint(1, each) for each in most))


def held(history, number):
    """What a record lost, in every arm."""
    return [sum(each) for each in zip((0,) * 6, *(cost.arms for who, cost in history if number in who), strict=True)]


def fullest(history):
    return [max(each) for each in zip(*(held(history, number) for number in range(len(RECORDS))), strict=True)]


@pytest.mark.thin(8)
@pytest.mark.parametrize("seed", range(16))
def test_no_accepted_charge_leaves_a_record_over_in_every_arm(seed):
    source = random.Random(seed)
    unit = source.choice([1, 1, 1000, 10**13])

    def limit(most):
        return None if source.random() < 0.2 else source.randint(1, min(9 * 10**17, most))

    limits = FilterLimits(
        pure=limit(150 * unit),
        rho=limit(200 * unit),
        delta_keys=0,
        orders=tuple(limit(100 * unit * order) for order in ORDERS),
    )
    names, one_arm = source.choice([1, 1, 1, 2, 3]), source.random() < 0.15
    segments, histories = {}, {}
    for _ in range(source.randint(3, 12)):
        name, region, cost = source.randrange(names), any_region(source), any_cost(source, unit)
        decision = decide(segments, name, region=region, cost=cost, delta_spent=0, limits=limits, one_arm=one_arm)
        who = {number for number, record in enumerate(RECORDS) if record in region}
        history = histories.get(name, [])
        for number in who:
            lost = [min(UNBOUNDED, each) for each in held(history, number)]
            assert all(each <= bound for each, bound in zip(lost, decision.inside.arms, strict=True))
        if not decision.accepted:
            continue
        segments.setdefault(name, Segment()).book(region, cost, decision.balance)
        histories[name] = [*history, (who, cost)]
        maxima = [fullest(each) for each in histories.values()]
        here = [min(UNBOUNDED, each) for each in fullest(histories[name])]
        assert all(each <= bound for each, bound in zip(here, decision.balance.arms, strict=True))
        together = [[sum(each) for each in zip(*maxima, strict=True)]]
        everybody = [held(histories[name], number) for number in who]
        for lost in together if len(maxima) > 1 or one_arm else everybody:
            assert any(most is not None and each <= most for each, most in zip(lost, limits.arms, strict=True))


def any_event(source):
    kind = source.randrange(6)
    if kind == 0:
        return GaussianEvent(sigma2=Fraction(source.randint(1, 5000)), l2_squared=source.randint(1, 9))
    if kind == 1:
        return ExponentialEvent(epsilon=Fraction(source.randint(1, 200), 100))
    if kind == 2:
        return TopKEvent(choices=source.randint(1, 5), epsilon=Fraction(1, 9), delta=Fraction(1, 10**12))
    if kind == 3:
        return ComposedEvent(events=(laplace("1/3"), gaussian("1/70")))
    return LaplaceEvent(scale=Fraction(source.randint(1, 900), source.randint(1, 20)), l1=source.randint(1, 30))


@pytest.mark.thin(10)
@pytest.mark.parametrize("old_anchor", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_what_a_rollback_forgot_is_charged_in_every_arm(seed, old_anchor):
    source = random.Random(seed)
    limit = Guarantee(epsilon=Fraction(source.randint(5, 60)), delta=Fraction(1, 10 ** source.randint(3, 9)))
    account = Account(name="p", guarantee=limit)
    shared, forgotten = source.randint(0, 3), []
    common = deepcopy(account)
    for turn in range(shared + source.randint(1, 5)):
        if turn == shared:
            common = deepcopy(account)
        key, region, event = ("t", source.choice([1, 1, 2])), any_region(source), any_event(source)
        accepted, _ = charge(account, event, region, key)
        if accepted and turn >= shared:
            who = {number for number, record in enumerate(RECORDS) if record in region}
            forgotten.append((key, who, Cost.of(loss(event))))
    totals = json.loads(json.dumps(account_totals(account)))
    for *_, data in totals["segments"] if old_anchor else ():
        del data["orders"], data["order_sums"]
    gaps = dict(forgotten_charges(totals, common))
    for key in {key for key, *_ in forgotten}:
        lost = fullest([(who, cost) for name, who, cost in forgotten if name == key])
        bound = Cost.of(loss(gaps[key])).arms
        assert all(min(UNBOUNDED, each) <= most for each, most in zip(lost, bound, strict=True))


@pytest.mark.parametrize("seed", range(8))
def test_the_largest_question_that_is_promised_is_accepted_in_any_form(seed):
    source = random.Random(seed)
    limit = Guarantee(epsilon=Fraction(source.randint(1, 600), source.choice([1, 10])), delta=Fraction(1, 10**6))
    account = Account(name="p", guarantee=limit, invariant=seed % 4 == 3)
    for _ in range(6):
        charge(account, any_event(source), any_region(source), ("t", source.choice([1, 1, 2])))
    epsilon = largest_question(account.remaining_by_arm())
    for event in (
        laplace(epsilon),
        LaplaceEvent(scale=17 / epsilon, l1=17),
        ExponentialEvent(epsilon=epsilon),
        PermuteAndFlipEvent(epsilon=epsilon),
        ComposedEvent(events=(laplace(epsilon / 3), ExponentialEvent(epsilon=2 * epsilon / 3))),
        ReservationEvent(epsilon=epsilon, rho=epsilon**2 / 2, delta=Fraction(0)),
    ):
        assert account.decide(("t", 3), region=Region.whole(), cost=Cost.of(loss(event))).accepted


# -- rows that somebody forged -----------------------------------------------------------------------


def _set(where, at, value):
    where[at] = value


FORGERIES = {
    "a negative bound": lambda cost, decision: _set(decision["inside"], 3, -1),
    "a bound that is no number": lambda cost, decision: _set(decision["inside"], 3, True),
    "a bound in floats": lambda cost, decision: _set(decision["inside"], 3, 0.0),
    "bounds of a few orders": lambda cost, decision: decision["inside"].pop(),
    "bounds of more orders": lambda cost, decision: decision["inside"].append(0),
    "bounds of no orders": lambda cost, decision: _set(decision, "inside", decision["inside"][:2]),
    "a balance too low": lambda cost, decision: _set(decision["balance"]["orders"], 0, 1),
    "a sum too low": lambda cost, decision: _set(decision["balance"]["order_sums"], 0, 1),
    "a sum in floats": lambda cost, decision: _set(decision["balance"]["order_sums"], 0, 1.0),
    "a cost too low": lambda cost, decision: _set(cost["orders"], 0, 1),
    "a cost without a number": lambda cost, decision: _set(cost, "orders", None),
}


@pytest.mark.parametrize("forgery", [None, *FORGERIES])
def test_a_forged_row_is_not_read(forgery):
    account = Account(name="p", guarantee=Guarantee(epsilon=Fraction(10), delta=Fraction(1, 10**6)))
    charge(account, laplace("1"), group(0))
    event, cost = laplace("0.5"), Cost.of(loss(laplace("0.5")))
    decision = decision_data(account.decide(KEY, region=group(1), cost=cost))
    body = {"event": to_data(event), "cost": cost_data(cost), "decision": decision}

    def read():
        replay_charge(account, KEY, body, region=json.dumps(group(1).to_data()), cost=cost_of(body), seq=2)

    if forgery is None:
        read()
    else:
        FORGERIES[forgery](body["cost"], decision)
        with pytest.raises(ValueError, match=r"balance|cost|zip"):
            read()


# -- what was broken ---------------------------------------------------------------------------------


def test_a_sum_that_stopped_is_never_within_a_limit():
    account = Account(
        name="p", guarantee=Guarantee(epsilon=Fraction(10**6), delta=Fraction(9, 10), delta_keys=Fraction(0))
    )
    assert charge(account, gaussian(500_000))[0] and charge(account, gaussian(498_755))[0]
    for _ in range(400):
        charge(account, laplace("1/20"))
    limits, total = account.limits, account.total
    # The true losses at the orders are 8, 24, ... times a million, at a limit of a million.
    assert total.rho <= limits.rho or total.pure <= limits.pure


def test_what_charges_cost_adds_up_to_what_is_spent_where_records_hold_by_different_arms():
    account = Account(name="p", guarantee=Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**6)))
    costs = []
    for event, region in (
        (laplace("0.95"), group(0)),
        (gaussian("0.0075"), group(1)),
        (gaussian("0.0075"), group(1)),
        (laplace("0.95"), group(2)),
    ):
        accepted, moved = charge(account, event, region)
        assert accepted
        costs.append(moved)
    assert sum(costs) == account.status().spent.epsilon


def test_a_release_is_never_reported_as_nothing_spent():
    account = Account(name="p", guarantee=Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**4)))
    assert charge(account, laplace("0.00001"))[0]
    spent = account.status().spent
    assert spent.epsilon > 0 or spent.delta > 0


def test_a_refused_charge_costs_more_than_is_left():
    account = Account(name="p", guarantee=Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**6)))
    charges = [
        ("0.97", 0),
        (gaussian("0.003"), 1),
        ("0.97", 1),
        (gaussian("0.012"), 1),
        (gaussian("0.012"), 2),
        ("0.2", 2),
    ]
    for event, one in charges:
        done = laplace(event) if isinstance(event, str) else event
        accepted, moved = charge(account, done, group(one))
    assert not accepted and moved <= account.status().remaining.epsilon  # no arm's maximum moves
    cost = Cost.of(loss(done))
    refusal = charge_refusal(account, cost, account.decide(KEY, region=group(one), cost=cost), moved)
    assert "some of the people that this request asks about" in refusal.reason
    assert Fraction(refusal.needed["epsilon"]) > Fraction(refusal.remaining["epsilon"])


class _Session:
    """What a reservation's terms ask of a session."""

    def __init__(self, account):
        self.account, self.guarantee = account, account.guarantee

    def preview(self, event, *, region=None, booking=True):
        return self.account.decide(KEY, region=region or Region.whole(), cost=Cost.of(loss(event)), booking=booking)

    def epsilon_moved(self, decision):
        return self.account.epsilon_moved(KEY, decision)


@pytest.mark.parametrize("epsilon", ["1/2", "1"])
def test_a_reservation_takes_the_law_that_costs_the_budget_least(epsilon):
    account = Account(name="p", guarantee=Guarantee(epsilon=Fraction(10), delta=Fraction(1, 10**6)))
    assert charge(account, laplace("1"))[0] and charge(account, gaussian("0.0003"))[0]
    session, wanted = _Session(account), Fraction(epsilon)

    def cost(event):
        return account.epsilon_moved(KEY, session.preview(event))

    chosen = ReservationTerms(epsilon=wanted, delta=None).event(session)
    assert cost(chosen) <= cost(ReservationEvent(epsilon=wanted, rho=wanted**2 / 2, delta=Fraction(0)))


def test_a_batch_beyond_a_quota_is_refused_before_anything_is_charged(tmp_path):
    quotas = "\n[analysts.ann]\nepsilon = 0.1\n[analysts.owner]\nepsilon = 100.0\n"
    found = project(tmp_path, VISITS.replace("rows_per_person = 3", "rows_per_person = 1") + quotas)
    found.sql("select count(*) from v where x <= 4").ask(epsilon=1, analyst="owner")
    text = "select count(*) from v where x >= 6; select count(*) from v where x >= 7"
    with pytest.raises(BudgetExceeded, match="quota"):
        found.batch(text, epsilon=2, analyst="ann")
    assert found.budget("v").events == 1


def test_many_responses_until_the_filter_refuses_stay_within_delta():
    """As the analyst of test_renyi, but so many small steps that it goes far beyond the pure sum."""
    limit = Guarantee(epsilon=Fraction(1), delta=Fraction(1, 1000), delta_keys=Fraction(0))
    account, each, times = Account(name="p", guarantee=limit), Fraction(1, 20), 0
    while charge(account, laplace(each))[0]:
        times += 1
    assert times * each > 2 * limit.epsilon
    assert responses_delta(float(each), times, 1.0) <= float(limit.delta)
    assert responses_delta(float(each), 2 * times, 1.0) > float(limit.delta)
    assert not math.isnan(responses_delta(float(each), times, 1.0))
