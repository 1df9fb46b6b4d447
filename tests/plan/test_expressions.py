"""Expressions: their bounds hold and are reached, they are what they say, and they have limits."""

import json
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.region import ValueSet
from discreet.errors import Refused
from discreet.plan import algebra, interval, like_pattern
from discreet.plan.calendar import FIRST_DAY, LAST_DAY, first_of_year, first_start, part_of, start_of
from discreet.plan.evaluate import substr, trim, value, values
from discreet.plan.expression_facts import MOST_BOUND, MOST_DEPTH, MOST_SIZE
from discreet.plan.expressions import (
    Absolute,
    Choose,
    Code,
    First,
    Greatest,
    Least,
    Length,
    Like,
    Lookup,
    Member,
    Null,
    Number,
    Over,
    Part,
    Plus,
    Remainder,
    Start,
    Substr,
    Test,
    Times,
    Whole,
    columns,
    to_data,
    walk,
)
from discreet.plan.interval import IntegerInterval
from plan.trees import NUMBERS, TEXT, Trees
from tiers import examples

X, Y = Code("x", -4, 6, null=True), Code("y", -3, 2, null=False)
POSITIVE = Code("p", 2, 5, null=False)
DAY = Code("d", FIRST_DAY, LAST_DAY, null=True)


def check(expression, found):
    """The claims of an expression against its values."""
    for each in found:
        if each is None:
            assert expression.null, expression
        elif isinstance(each, int):
            assert expression.low is None or expression.low <= each, expression
            assert expression.high is None or each <= expression.high, expression


@settings(max_examples=examples(400))
@given(seed=st.integers(0, 2**32))
def test_bounds_contain_every_value(seed):
    trees = Trees(seed)
    rows = [trees.record() for _ in range(12)]
    whole = trees.number(5)
    for expression in walk(whole):
        if isinstance(expression, Number):
            check(expression, values(expression, rows))
            assert expression.reach >= max(abs(end) for end in (expression.low, expression.high, 1) if end is not None)


#: Over all values of x and y these reach their claimed bounds.
TIGHT = [
    Plus(X, Y), Times(X, Y), Times(X, X), Times(X, Whole(-3)), algebra.minus(X, Y), Over(X, Whole(3)),
    Over(X, Whole(3), "zero"), Over(X, Whole(2), "nearest"), Over(X, Y), Over(X, Y, "zero"), Over(X, POSITIVE),
    Remainder(X, Whole(4)), Remainder(X, Whole(-4)), Absolute(X), Absolute(POSITIVE), Least((X, Y)), Greatest((X, Y)),
    Least((X, Whole(2))), Greatest((X, Whole(2))), First((X, Y)), Choose(((Member("x", ValueSet.of([1])), Whole(9)),), Y),
    Lookup(Y, (3, None, 7, 1, 0, -9), -3), algebra.power(X, 2), algebra.power(Y, 4),
]  # fmt: skip


@pytest.mark.parametrize("expression", TIGHT, ids=lambda expression: str(to_data(expression)))
def test_bounds_are_reached(expression):
    rows = [{"x": x, "y": y, "p": p} for x in [None, *range(-4, 7)] for y in range(-3, 3) for p in range(2, 6)]
    found = values(expression, rows)
    check(expression, found)
    given_ = [each for each in found if each is not None]
    assert (min(given_), max(given_)) == (expression.low, expression.high)
    assert (None in found) == expression.null


small = st.integers(-6, 6)
intervals = st.tuples(small, small).map(lambda ends: IntegerInterval(min(ends), max(ends)))


@given(left=intervals, right=intervals)
def test_interval_arithmetic_is_the_hull_of_all_pairs(left, right):
    ones, twos = range(left.low, left.high + 1), range(right.low, right.high + 1)
    pairs = [(one, two) for one in ones for two in twos]

    def hull(found):
        return IntegerInterval(min(found), max(found)) if found else None

    assert interval.plus(left, right) == hull([one + two for one, two in pairs])
    assert interval.times(left, right) == hull([one * two for one, two in pairs])
    assert interval.square(left) == hull([one * one for one in ones])
    assert interval.absolute(left) == hull([abs(one) for one in ones])
    for rounding in ("down", "zero", "nearest"):
        quotients = [interval.quotient(one, two, rounding) for one, two in pairs if two]
        assert interval.over(left, right, rounding) == hull(quotients)
    remainders = [interval.remainder(one, two) for one, two in pairs if two]
    claimed = interval.remainders(left, right)
    assert (claimed is None) == (not remainders)
    assert not remainders or (claimed.low <= min(remainders) and max(remainders) <= claimed.high)


@given(left=st.integers(-(10**6), 10**6), right=st.integers(-100, 100).filter(bool))
def test_quotients_and_remainders(left, right):
    exact = left / right  # well within what a float holds exactly, up to the halves below
    assert interval.quotient(left, right, "down") == left // right
    assert interval.quotient(left, right, "zero") == int(exact)
    nearest = interval.quotient(left, right, "nearest")
    assert abs(2 * (nearest * right - left)) <= abs(right)
    if 2 * left % right == 0 and left % right:  # a half
        assert abs(nearest) > abs(exact)
    rest = interval.remainder(left, right)
    assert rest == left - right * int(exact)
    assert rest == 0 or (rest < 0) == (left < 0)


SHORTENED = [
    lambda one, two: (algebra.plus(one, two), Plus(one, two)),
    lambda one, two: (algebra.plus(one, Whole(0)), Plus(one, Whole(0))),
    lambda one, two: (algebra.plus(Whole(3), algebra.plus(one, Whole(-3))), one),
    lambda one, two: (algebra.times(one, two), Times(one, two)),
    lambda one, two: (algebra.times(algebra.times(one, Whole(6)), Whole(-1)), Times(one, Whole(-6))),
    lambda one, two: (algebra.over(one, two), Over(one, two)),
    lambda one, two: (algebra.over(algebra.over(one, Whole(3)), Whole(4)), Over(one, Whole(12))),
    lambda one, two: (algebra.remainder(one, two), Remainder(one, two)),
    lambda one, two: (algebra.absolute(one), Absolute(one)),
    lambda one, two: (algebra.least([one, two, one, Null()]), Least((one, two))),
    lambda one, two: (algebra.greatest([two, one]), Greatest((one, two))),
    lambda one, two: (algebra.first([Null(), one, one, two, Whole(1)]), First((one, two, Whole(1)))),
    lambda one, two: (algebra.power(one, 3), Times(one, Times(one, one))),
]


@settings(max_examples=examples(150))
@given(seed=st.integers(0, 2**32), turn=st.sampled_from(range(len(SHORTENED))))
def test_the_shortest_form_has_the_same_values(seed, turn):
    trees = Trees(seed)
    try:
        short, plain = SHORTENED[turn](trees.number(2), trees.number(2))
    except Refused:
        return
    rows = [trees.record() for _ in range(20)]
    assert list(values(short, rows)) == list(values(plain, rows))


def test_equal_things_are_spelt_alike():
    assert algebra.plus(X, Y) == algebra.plus(Y, X)
    assert algebra.times(X, Y) == algebra.times(Y, X)
    assert algebra.plus(algebra.plus(X, Whole(2)), Whole(3)) == Plus(X, Whole(5))
    assert algebra.least([X, Y, X]) == algebra.least([Y, X])
    assert algebra.lookup(Y, [5, -3, -2, -1, 0, 1, 2, 7], first=-4) == Y
    assert algebra.lookup(Y, [None] * 6, first=-3) == Null()
    assert algebra.choose([(Test(X, ValueSet.of([1])), Y)], Y) == Y
    assert algebra.plus(Whole(2), Whole(3)) == Whole(5)
    assert algebra.over(Whole(-7), Whole(2)) == Whole(-4)
    assert algebra.over(X, Whole(0)) == algebra.remainder(X, Whole(0)) == Null()


@settings(max_examples=examples(200))
@given(one=st.integers(0, 2**32), two=st.integers(0, 2**32))
def test_data_tells_expressions_apart(one, two):
    left, right = Trees(one).number(), Trees(two).number()
    written = [json.dumps(to_data(each), sort_keys=True) for each in (left, right)]
    assert (written[0] == written[1]) == (left == right)
    assert json.loads(written[0]) == to_data(left)


def test_columns():
    choose = Choose(((Member("s", ValueSet.of([1])), Length(TEXT)), (Test(X, ValueSet.of([2])), Y)), Null())
    assert columns(choose) == {"s", "text", "x", "y"}
    assert columns(Whole(3)) == frozenset()


UNBOUNDED = [
    lambda open_: Plus(open_, Whole(1)), lambda open_: Times(Whole(2), open_), lambda open_: Over(open_, Whole(2)),
    lambda open_: Remainder(open_, Whole(2)), lambda open_: Absolute(open_), lambda open_: Part("year", open_),
    lambda open_: Plus(Least((open_, Whole(3))), Whole(1)), lambda open_: Over(First((open_, X)), Whole(3)),
]  # fmt: skip


@pytest.mark.parametrize("build", UNBOUNDED)
def test_nothing_is_computed_from_what_has_no_bounds(build):
    with pytest.raises(Refused, match="no declared bounds") as refused:
        build(Code("weight", None, None, null=True))
    assert refused.value.hint == "declare low and high of 'weight'"


def test_what_has_no_bounds_can_be_cut_and_chosen():
    open_ = Code("o", None, None, null=False)
    cut = Greatest((Least((open_, Whole(9))), Whole(0)))
    assert (cut.low, cut.high, cut.null) == (0, 9, False)
    assert (Length(TEXT).low, Length(TEXT).high) == (0, None)
    assert First((open_, X)).high is None
    with pytest.raises(Refused, match="any length"):
        Plus(Length(TEXT), Whole(1))


def test_limits_on_size_depth_and_bounds():
    with pytest.raises(Refused, match="30 digits"):
        Times(Code("a", 0, 2**60, null=False), Code("b", 0, 2**60, null=False))
    with pytest.raises(Refused, match="30 digits"):
        Whole(MOST_BOUND + 1)
    deep = grown(X, lambda inner: Plus(Over(inner, Whole(2)), X))
    assert deep.depth in (MOST_DEPTH, MOST_DEPTH - 1)
    large = grown(Y, lambda inner: Remainder(Plus(inner, inner), Whole(3)))
    assert MOST_SIZE / 2 - 4 < large.size <= MOST_SIZE
    with pytest.raises(Refused, match="no declared bounds"):
        Plus(Code("half", 0, None, null=True), X)


def grown(expression, grow):
    """The last expression before one is refused."""
    for _ in range(10_000):
        try:
            expression = grow(expression)
        except Refused as refused:
            assert "too complex" in refused.reason
            return expression
    raise AssertionError("no end")


def test_reach_knows_what_an_engine_may_take_together():
    """(x * c) * (y * c): 0 where x is, and yet the constants are multiplied first."""
    zero = Code("z", 0, 0, null=False)
    product = Times(Times(zero, Whole(2**40)), Times(zero, Whole(2**40)))
    assert (product.low, product.high, product.reach) == (0, 0, 2**80)
    with pytest.raises(Refused, match="30 digits"):
        Times(Times(product, Whole(2**40)), Whole(2**9))


def test_what_makes_no_sense_is_never_made():
    for make in (
        lambda: Code("x", 3, 2, null=False),
        lambda: Over(X, Y, "nearest"),
        lambda: Over(X, Whole(-2), "nearest"),
        lambda: Lookup(X, (1, 2), 0),
        lambda: Like(TEXT, "a\\"),
        lambda: Substr(TEXT, 0),
        lambda: Substr(TEXT, 1, -1),
        lambda: Least(()),
        lambda: First(()),
        lambda: IntegerInterval(2, 1),
    ):
        with pytest.raises(ValueError):
            make()


def test_the_calendar_must_hold_a_day():
    for day in (Code("d", FIRST_DAY - 1, 0, null=False), Code("d", 0, LAST_DAY + 1, null=False)):
        for build in (lambda day: Part("year", day), lambda day: Start("week", day)):
            with pytest.raises(Refused, match="years 1 to 9999") as refused:
                build(day)
            assert refused.value.hint == "declare low and high of 'd'"
    assert (Part("year", DAY).low, Part("year", DAY).high) == (1, 9999)


@given(day=st.one_of(st.integers(FIRST_DAY, LAST_DAY), st.sampled_from([FIRST_DAY, LAST_DAY, -1, 0, 1, 365])))
def test_periods_start_where_they_start(day):
    found = date(1970, 1, 1) + timedelta(days=day)
    assert part_of("year", day) == found.year
    assert part_of("doy", day) == int(found.strftime("%j"))
    assert start_of("week", day) == day - found.weekday()
    assert date(1970, 1, 1) + timedelta(days=start_of("quarter", day)) == date(
        found.year, (found.month - 1) // 3 * 3 + 1, 1
    )
    for unit in ("year", "quarter", "month", "week"):
        start, first = start_of(unit, day), first_start(unit, day)
        assert start <= day <= first
        assert start == start_of(unit, start) and (first == LAST_DAY + 1 or start_of(unit, first) == first)
        assert first == day if start == day else start_of(unit, first - 1) == start
    assert first_of_year(found.year) == start_of("year", day)
    assert first_of_year(10_000) == LAST_DAY + 1 and first_of_year(-5) == FIRST_DAY


tokens = st.lists(st.sampled_from([like_pattern.ANY, like_pattern.ONE, "a", "b", "%", "_", "\\"]), max_size=6)


@settings(max_examples=examples(300))
@given(pieces=tokens, text=st.text("ab%_\\", max_size=6))
def test_patterns_match_as_they_are_read(pieces, text):
    def matches(pieces, text):
        if not pieces:
            return not text
        if pieces[0] == like_pattern.ANY:
            return matches(pieces[1:], text) or (bool(text) and matches(pieces, text[1:]))
        return bool(text) and (pieces[0] in (like_pattern.ONE, text[0])) and matches(pieces[1:], text[1:])

    written = like_pattern.normal_form(pieces)
    assert like_pattern.matcher(written)(text) == matches(pieces, text)
    assert like_pattern.normal_form(like_pattern.tokens(written, escape="\\")) == written


def test_a_pattern_takes_no_time():
    """A regular expression would take for ever."""
    assert not like_pattern.matcher("%a" * 30 + "%b")("a" * 2000)


def test_functions_of_text():
    assert trim("  a ", "both", "") == "  a "
    assert trim("xxaxx", "leading", "x") == "axx"
    assert substr("abc", -5, 3) == "a"
    assert value(Like(TEXT, "a\\%"), {"text": "a%"}) == 1
    with pytest.raises(TypeError):
        value(TEXT, {"text": 3})
    with pytest.raises(TypeError):
        value(X, {"x": "3"})
    assert [code.column for code in NUMBERS][:2] == ["a", "b"]
