"""Prices: what is charged is what was asked, whom it touches, what is answered by the way, and numbers by what they are."""

from fractions import Fraction
from itertools import permutations

import pytest

from discreet.accounting import events
from discreet.accounting.region import ValueSet
from discreet.plan.cell_statistics import DistinctCount, PersonCount, RowCount, Sum
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code, Member, TextCode
from discreet.plan.inquiry import Inquiry, Quantile
from discreet.plan.predicate import TRUE
from discreet.plan.price import Discover, Measure, cheapest_epsilon, price, region_of
from discreet.plan.query_sensitivity import reach
from discreet.plan.relation import Filter, Scan
from discreet.schema.project_file import read_table

EPSILON, DELTA = Fraction(1, 2), Fraction(1, 10**7)
AGE, SEX, NOTE, WORD = Code("age", 0, 99, null=True), Code("sex", 0, 1, null=False), TextCode("note"), TextCode("word")
WOMEN = Member("sex", ValueSet.interval(0, 1))
SEXES = Axis(of=SEX, edges=(0, 1, 2), null=False, labels=("F", "M"))
AGES = Axis(of=AGE, edges=(0, 50, 100), null=True, labels=("young", "old", None))
MEDIAN = Quantile(axis=Axis(of=AGE, edges=tuple(range(101)), null=False, labels=()), fraction=Fraction(1, 2))


def reached(*, rows: int, plan=None):
    columns = {
        "age": {"type": "integer", "low": 0, "high": 99},
        "sex": {"type": "category", "values": ["F", "M"], "closed": True, "constant": True},
        "note": {"type": "text"},
        "word": {"type": "text"},
    }
    schema = {"source": "t.csv", "columns": columns}
    schema |= {"person": "id", "rows_per_person": rows} if rows else {}
    return reach(plan or SCAN, {"t": read_table("t", schema).schema})


SCAN = Scan(table="t", version=1)


def inquiry(*statistics, **more) -> Inquiry:
    return Inquiry(**({"plan": SCAN, "sets": ((),)} | more), statistics=statistics)


INQUIRIES = [
    inquiry(RowCount()),
    inquiry(RowCount(), Sum(of=AGE), PersonCount(), DistinctCount(of=AGE)),
    inquiry(Sum(of=AGE, centre=49), RowCount(), sets=((SEXES, AGES), (SEXES,), ())),
    inquiry(RowCount(), quantiles=(MEDIAN,), sets=((SEXES,),)),
    inquiry(quantiles=(MEDIAN,)),
    inquiry(RowCount(), Sum(of=AGE), keys=(NOTE,)),
    inquiry(PersonCount(), keys=(NOTE, WORD)),
]


#: Each inquiry about persons of one and of several rows, and about rows, which are no persons.
CASES = [
    (asked, rows) for asked in INQUIRIES for rows in (0, 1, 7) if rows or not {PersonCount()} & set(asked.statistics)
]


@pytest.mark.parametrize(("asked", "rows"), CASES)
def test_what_is_asked_is_what_is_charged(asked, rows):
    """Not more, which would be a lie; and not less, which would be noise for nothing."""
    delta = DELTA if asked.keys else Fraction(0)
    found = price(asked, reached(rows=rows), needs={}, epsilon=EPSILON, delta=delta)
    loss = events.loss(found.event)
    assert loss.epsilon == EPSILON and loss.delta <= delta and loss.rho <= EPSILON**2 / 2
    found = price(asked, reached(rows=rows), needs={}, epsilon=EPSILON, delta=delta, gaussian=True)
    loss = events.loss(found.event)
    assert loss.rho <= EPSILON**2 / 2
    # The three choices of a quantile cost less rho than noise of their epsilon would: 3 / 32 of it.
    assert loss.rho > EPSILON**2 / 2 * (Fraction(9, 100) if asked.quantiles else Fraction(999_999, 1_000_000))


def test_a_region_is_narrowed_by_every_filter_together():
    women, men = RowCount(where=WOMEN), RowCount(where=Member("sex", ValueSet.interval(1, 2)))
    own = reached(rows=7)
    assert not region_of(inquiry(women), own).is_whole
    assert {"sex": 1} not in region_of(inquiry(women), own) and {"sex": 0} in region_of(inquiry(women), own)
    assert {"sex": 1} in region_of(inquiry(women, men), own)
    assert {"sex": 1} in region_of(inquiry(women, Sum(of=AGE)), own)
    assert {"sex": 1} in region_of(inquiry(women, quantiles=(MEDIAN,)), own)


def test_discovered_keys_touch_everybody_whatever_is_filtered():
    """A key is found by all the persons who have it: FILTER says what is measured of it, not who is looked at."""
    own = reached(rows=7)
    assert region_of(inquiry(RowCount(where=WOMEN), keys=(NOTE,)), own).is_whole
    found = price(inquiry(RowCount(where=WOMEN), keys=(NOTE,)), own, needs={}, epsilon=EPSILON, delta=DELTA)
    assert found.region.is_whole
    plan = Filter(source=SCAN, where=WOMEN)  # WHERE does say who
    narrow = region_of(inquiry(RowCount(), plan=plan, keys=(NOTE,)), reached(rows=7, plan=plan))
    assert {"sex": 0} in narrow and {"sex": 1} not in narrow


@pytest.mark.parametrize(
    ("asked", "rows", "answers"),
    [
        (inquiry(RowCount(), keys=(NOTE,)), 1, RowCount()),
        (inquiry(RowCount(), keys=(NOTE,)), 7, None),
        (inquiry(RowCount(), PersonCount(), keys=(NOTE,)), 7, PersonCount()),
        (inquiry(Sum(of=AGE), PersonCount(), keys=(NOTE,)), 1, PersonCount()),
        (inquiry(PersonCount(where=WOMEN), keys=(NOTE,)), 7, None),
        (inquiry(PersonCount(), keys=(NOTE,), sets=((SEXES,),)), 7, None),
        (inquiry(PersonCount(), keys=(NOTE,), top=3), 7, None),
    ],
)
def test_finding_keys_counts_persons_and_nothing_else(asked, rows, answers):
    """The noisy number of a key's persons is its count of persons; of rows only where nobody has two."""
    found = price(asked, reached(rows=rows), needs={}, epsilon=EPSILON, delta=DELTA)
    (discover,) = (step for step in found.steps if isinstance(step, Discover))
    by_number = dict(zip(asked.order.statistics, asked.statistics, strict=True))
    assert by_number.get(discover.answers) == answers
    measured = [number for step in found.steps if isinstance(step, Measure) for number in step.statistics]
    assert sorted([*measured, *([] if answers is None else [discover.answers])]) == sorted(by_number)


def test_the_noise_of_a_statistic_is_for_how_far_it_moves():
    """Each law belongs to its own sensitivity and share."""
    asked = inquiry(Sum(of=AGE), RowCount(), PersonCount())
    for gaussian in (False, True):
        found = price(asked, reached(rows=7), needs={0: Fraction(8)}, epsilon=EPSILON, gaussian=gaussian)
        (step,) = found.steps
        assert [moves.l1 for moves in step.moves] == [7 * 99, 7, 1]
        assert step.shares[0] > step.shares[1] and sum(step.shares) == 1
        for law, moves, share in zip(step.laws, step.moves, step.shares, strict=True):
            if gaussian:
                assert moves.l2_squared / (2 * law.sigma2) == share * EPSILON**2 / 2
            else:
                assert moves.l1 / law.scale == share * EPSILON


STATISTICS = (RowCount(), Sum(of=AGE), PersonCount(), RowCount(where=WOMEN))


def test_a_question_is_the_same_in_every_order():
    asked = inquiry(*STATISTICS, quantiles=(MEDIAN,), sets=((SEXES,), ()))
    turned = [inquiry(*each, quantiles=(MEDIAN,), sets=((), (SEXES,))) for each in permutations(STATISTICS)]
    assert {each.question() for each in turned} == {asked.question()}
    for each in turned:
        numbers = dict(zip(each.statistics, each.order.statistics, strict=True))
        assert numbers == dict(zip(asked.statistics, asked.order.statistics, strict=True))
        assert each.order.sets == asked.order.sets[::-1]
        (first, *_) = price(each, reached(rows=7), needs={}, epsilon=EPSILON).steps
        stored = dict(zip(first.cells.statistics, first.statistics, strict=True))
        assert stored == numbers


@pytest.mark.parametrize(
    "other",
    [
        inquiry(RowCount(), Sum(of=AGE)),
        inquiry(RowCount(), Sum(of=AGE, centre=1), PersonCount()),
        inquiry(RowCount(), Sum(of=AGE), PersonCount(), PersonCount(where=WOMEN)),
        inquiry(RowCount(), Sum(of=AGE), PersonCount(), quantiles=(MEDIAN,)),
        inquiry(RowCount(), Sum(of=AGE), PersonCount(), sets=((SEXES,),)),
        inquiry(RowCount(), Sum(of=AGE), PersonCount(), sets=((), ())),
        inquiry(RowCount(), Sum(of=AGE), PersonCount(), keys=(NOTE,)),
        inquiry(RowCount(), Sum(of=AGE), PersonCount(), plan=Scan(table="t", version=2)),
        inquiry(RowCount(), Sum(of=AGE), PersonCount(), plan=Filter(source=SCAN, where=WOMEN)),
        inquiry(RowCount(where=WOMEN), Sum(of=AGE), PersonCount()),
    ],
)
def test_another_question_has_another_hash(other):
    asked = inquiry(RowCount(where=TRUE), Sum(of=AGE), PersonCount())
    assert other.question() != asked.question()
    same = (other.plan, other.sets, other.keys) == (asked.plan, asked.sets, asked.keys)
    assert (other.groups() == asked.groups()) == same and other.question().startswith(other.groups())


def test_numbers_within_a_larger_inquiry_are_those_of_the_larger():
    whole = inquiry(*STATISTICS, quantiles=(MEDIAN,), sets=((SEXES,), ()))
    part = inquiry(STATISTICS[3], STATISTICS[1], sets=((), (SEXES,)))
    order = part.order_in(whole)
    assert order.statistics == (whole.order.statistics[3], whole.order.statistics[1])
    assert order.sets == whole.order.sets[::-1] and order.quantiles == ()


@pytest.mark.parametrize("least", [1, 59_313, 5_000_000, 20_000_000])
def test_a_guess_changes_no_price(least):
    """A search that begins at a wrong guess ends where one without a guess does."""
    good = lambda epsilon: epsilon * 10**6 >= least  # noqa: E731
    found = cheapest_epsilon(good, width=Fraction(50))
    assert found == Fraction(least, 10**6)
    for near in (0.0, 1e-9, least / 1e6, 1.00005 * least / 1e6, 0.995 * least / 1e6, 3 * least / 1e6, 1e9):
        assert cheapest_epsilon(good, width=Fraction(50), near=near) == found
