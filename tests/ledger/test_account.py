from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.accounting.events import loss
from discreet.accounting.filter import FULL, Balance, Cost
from discreet.accounting.guarantee import ZCDP_SHARE, Guarantee
from discreet.accounting.region import Region
from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.errors import UsageError
from discreet.exact import UNBOUNDED
from discreet.ledger.account import Account, Amount, check_balance_step, larger_guarantee
from discreet.ledger.chain import canonical_json
from ledger.ledgers import WHOLE, gaussian, guarantee, laplace, people
from tiers import size

SMALL = Fraction(1, 10**6)


def spend(account: Account, event: object, region: Region = WHOLE, table: str = "t") -> bool:
    cost = Cost.of(loss(event))
    decision = account.decide((table, 1), region=region, cost=cost)
    if decision.accepted:
        account.book(
            (table, 1),
            region=canonical_json(region.to_data()),
            cost=cost,
            inside=decision.inside,
            balance=decision.balance,
            used=decision.used,
            seq=1,
        )
    return decision.accepted


def test_nothing_spent():
    standing = Account(name="p", guarantee=guarantee(3, SMALL)).status()
    assert standing.spent == Amount(epsilon=Fraction(0), delta=Fraction(0))
    assert standing.remaining == standing.limit == Amount(epsilon=Fraction(3), delta=SMALL)


def test_spent_by_the_pure_sum_needs_no_delta():
    account = Account(name="p", guarantee=guarantee(3, SMALL))
    assert spend(account, laplace(1))
    assert account.status().spent == Amount(epsilon=Fraction(1), delta=Fraction(0))


def test_spent_by_rho_needs_the_deltas_share():
    account = Account(name="p", guarantee=guarantee(3, SMALL))
    assert spend(account, gaussian("0.01"))
    half = SMALL / 2
    share = half * ZCDP_SHARE
    assert account.status().spent == Amount(epsilon=epsilon_from_rho(Fraction(1, 100), share), delta=half)


def test_remaining_is_never_below_nothing():
    account = Account(name="p", guarantee=guarantee(1))
    cost = Cost(pure=5 * 10**9, rho=10**12, delta=7)
    balance = Balance.of(cost.arms, cost.arms)
    account.book(
        ("t", 1), region=canonical_json(WHOLE.to_data()), cost=cost, inside=Balance(), balance=balance, used=FULL, seq=1
    )
    assert account.status().remaining == Amount(epsilon=Fraction(0), delta=Fraction(0))
    assert account.remaining_by_arm().pure == 0


def test_many_small_laplace_questions_go_on_by_rho():
    account = Account(name="p", guarantee=guarantee(3, SMALL))
    asked = 0
    while spend(account, laplace(size("0.04", "0.02"))):
        asked += 1
    assert asked > 3 / size(0.04, 0.02)
    assert account.status().remaining.epsilon < Fraction(1, 100)


def test_across_tables_maxima_add():
    account = Account(name="p", guarantee=guarantee(1))
    assert spend(account, laplace("0.6"), people(0), "t")
    assert not spend(account, laplace("0.6"), people(1), "u")
    assert spend(account, laplace("0.6"), people(1), "t")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Balance(pure=5, rho=5, pure_sum=5, rho_sum=5), Balance(pure=4, rho=6, pure_sum=7, rho_sum=6)),
        (Balance(pure=5, rho=5, pure_sum=5, rho_sum=5), Balance(pure=8, rho=6, pure_sum=7, rho_sum=6)),
        (Balance(pure=5, rho=5, pure_sum=5, rho_sum=5), Balance(pure=7, rho=4, pure_sum=7, rho_sum=6)),
        (Balance(pure=5, rho=5, pure_sum=5, rho_sum=5), Balance(pure=7, rho=7, pure_sum=7, rho_sum=6)),
        (Balance(pure=5, rho=5, pure_sum=5, rho_sum=5), Balance(pure=7, rho=6, pure_sum=6, rho_sum=6)),
        (Balance(pure=5, rho=5, pure_sum=5, rho_sum=5), Balance(pure=7, rho=6, pure_sum=7, rho_sum=5)),
    ],
)
def test_balances_that_do_not_follow_are_refused(old: Balance, new: Balance):
    with pytest.raises(ValueError, match="does not follow"):
        check_balance_step(old, Cost(pure=2, rho=1, delta=0), Balance(pure=old.pure, rho=old.rho), new)


def test_balances_that_follow():
    old = Balance.of([5] * 6, [5] * 6)
    cost = Cost(pure=2, rho=1, delta=0, orders=(2, 2, 2, 2))
    sums = [7, 6, 7, 7, 7, 7]
    for inside, pure, rho in ((0, 5, 5), (4, 6, 5), (5, 7, 6), (9, 7, 6)):
        check_balance_step(old, cost, Balance.of([inside] * 6), Balance.of([pure, rho, *[pure] * 4], sums))
    for arm in range(6):  # booked at nothing in one arm, though the region was full
        booked = [7, 6, 7, 7, 7, 7]
        booked[arm] = 5
        with pytest.raises(ValueError, match="does not follow"):
            check_balance_step(old, cost, Balance.of([5] * 6), Balance.of(booked, sums))
    endless = Balance.of([UNBOUNDED, 6, 7, 7, 7, 7], [UNBOUNDED, 6, 7, 7, 7, 7])
    check_balance_step(old, Cost(pure=UNBOUNDED, rho=1, delta=0, orders=(2,) * 4), Balance.of([5] * 6), endless)


def test_the_larger_of_two_guarantees_part_by_part():
    one = Guarantee(epsilon=Fraction(3), delta=Fraction(3, 10), delta_keys=Fraction(1, 10))
    other = Guarantee(epsilon=Fraction(2), delta=Fraction(3, 10), delta_keys=Fraction(2, 10))
    both = larger_guarantee(one, other)
    assert (both.epsilon, both.keys, both.delta_noise) == (Fraction(3), Fraction(2, 10), Fraction(2, 10))


# -- sealed --------------------------------------------------------------------------------------


def test_a_sealed_account_has_nothing_left_and_a_grant_opens_a_filter_on_top():
    account = Account(name="p", guarantee=guarantee(3, SMALL))
    spend(account, laplace(1))
    account.seal(account.guarantee)
    assert account.status().remaining == Amount(epsilon=Fraction(0), delta=Fraction(0))
    assert not spend(account, laplace("0.001"))
    account.raise_to(guarantee(5, 2 * SMALL))
    assert account.status().spent == Amount(epsilon=Fraction(3), delta=SMALL)
    assert account.open_guarantee == Guarantee(epsilon=Fraction(2), delta=SMALL, delta_keys=SMALL / 2)
    assert spend(account, laplace(2))
    assert not spend(account, laplace("0.001"))
    assert account.status().remaining.epsilon == 0


def test_a_sealed_history_may_have_ended_in_either_arm():
    """Booking the remaining pure and rho instead would let the pure arm go on after a grant, though forgotten
    questions may have passed it by long before; the sealed account has the whole old guarantee behind it."""
    account = Account(name="p", guarantee=guarantee(3, SMALL))
    account.seal(account.guarantee)
    account.raise_to(guarantee("3.5", SMALL))
    assert account.open_guarantee is not None
    assert account.open_guarantee.delta_rho == 0
    assert not spend(account, gaussian("0.0001"))
    assert not spend(account, laplace("0.51"))
    assert spend(account, laplace("0.5"))


def test_a_zcdp_account_needs_delta_on_top():
    account = Account(name="p", guarantee=guarantee(3, SMALL, "zcdp"))
    account.seal(account.guarantee)
    account.raise_to(guarantee(5, SMALL, "zcdp"))
    assert account.open_guarantee is None
    assert account.status().remaining.epsilon == 0
    account.raise_to(guarantee(5, 2 * SMALL, "zcdp"))
    assert spend(account, gaussian("0.001"))


def test_no_more_can_be_sealed_than_was_granted():
    with pytest.raises(UsageError):
        Account(name="p", guarantee=guarantee(3)).seal(guarantee(4))


def test_what_analysts_paid_is_exact():
    """Prices of ledgers before 0.2 are no whole units; rounding them up does not add up to more than was paid."""
    account = Account(name="p", guarantee=guarantee(3, SMALL))
    prices = [Fraction(1, 3)] * 5 + [Fraction(1, 7), Fraction(1, 10), Fraction(3, 10**9)]
    for who in ("ann", "Ann", "bob"):
        for price in prices if who == "ann" else prices[5:]:
            account.pay(who, price)
    assert account.by_analyst() == {"ann": sum(prices), "Ann": sum(prices[5:]), "bob": sum(prices[5:])}
    assert account.paid_by("ANN") == sum(prices) + sum(prices[5:])
    assert account.paid["bob"] == 142857143 + 10**8 + 3
    account.rounded_up.clear()  # planted: what was rounded counts as paid
    assert account.by_analyst()["ann"] > sum(prices)
