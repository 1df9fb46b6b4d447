from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.filter import Balance
from discreet.exact import UNBOUNDED
from discreet.ledger.gap import forgotten_loss

GROUPS = 3
#: A history on three groups of people: whom a charge touches, its pure loss (None: no bound), its rho.
CHARGES = st.lists(
    st.tuples(
        st.sets(st.integers(0, GROUPS - 1), min_size=1),
        st.one_of(st.none(), st.integers(1, 9)),
        st.integers(1, 9),
    ),
    max_size=8,
)
Charge = tuple[set[int], int | None, int]


def losses(charges: list[Charge]) -> list[tuple[int, int]]:
    """What each group has lost."""
    return [
        (
            min(UNBOUNDED, sum(UNBOUNDED if pure is None else pure for who, pure, _ in charges if group in who)),
            sum(rho for who, _, rho in charges if group in who),
        )
        for group in range(GROUPS)
    ]


def balance(charges: list[Charge]) -> Balance:
    lost = losses(charges)
    return Balance(
        pure=max(pure for pure, _ in lost),
        rho=max(rho for _, rho in lost),
        pure_sum=min(UNBOUNDED, sum(UNBOUNDED if pure is None else pure for _, pure, _ in charges)),
        rho_sum=sum(rho for _, _, rho in charges),
    )


def covers(bound: tuple[int, int] | None, forgotten: list[Charge]) -> bool:
    pure, rho = (bound or (0, 0))[:2]
    return all(lost_pure <= pure and lost_rho <= rho for lost_pure, lost_rho in losses(forgotten))


def difference_of_maxima(head: Balance, before: Balance) -> tuple[int, int]:
    """The tempting mistake."""
    return head.pure - before.pure, head.rho - before.rho


@given(CHARGES, CHARGES)
def test_the_bound_covers_every_record(kept: list[Charge], forgotten: list[Charge]):
    assert covers(forgotten_loss(balance(kept + forgotten), balance(kept)), forgotten)


@given(CHARGES, CHARGES)
def test_the_bound_is_no_worse_than_the_head(kept: list[Charge], forgotten: list[Charge]):
    head = balance(kept + forgotten)
    bound = forgotten_loss(head, balance(kept))
    if bound is None:
        assert not forgotten
    else:
        assert bound[0] <= head.pure
        assert bound[1] <= head.rho


def test_charging_it_brings_every_maximum_back():
    """So acknowledging never leaves more than there was: kept maximum + bound >= head maximum."""
    parts: list[Charge] = [({0}, 4, 3), ({1}, 2, 9), ({0, 1}, None, 1), ({2}, 7, 7)]
    for kept_count, order in itertools.product(range(4), itertools.permutations(parts)):
        kept, forgotten = list(order[:kept_count]), list(order[kept_count:])
        head, before = balance(kept + forgotten), balance(kept)
        bound = forgotten_loss(head, before)
        assert bound is not None
        assert before.pure + bound[0] >= head.pure
        assert before.rho + bound[1] >= head.rho


def test_the_difference_of_maxima_is_caught():
    """A mutant: men lost 1 and stay, women lost 1 and are forgotten; the maxima do not differ."""
    kept: list[Charge] = [({0}, 1, 1)]
    forgotten: list[Charge] = [({1}, 1, 1)]
    head, before = balance(kept + forgotten), balance(kept)
    assert difference_of_maxima(head, before) == (0, 0)
    assert not covers(difference_of_maxima(head, before), forgotten)
    assert covers(forgotten_loss(head, before), forgotten)


@pytest.mark.parametrize("kept", [[], [({0}, None, 1)]])
def test_sums_that_have_no_bound_are_not_subtracted(kept: list[Charge]):
    forgotten: list[Charge] = [({1}, None, 2)]
    assert forgotten_loss(balance(kept + forgotten), balance(kept))[:2] == (UNBOUNDED, 2)
