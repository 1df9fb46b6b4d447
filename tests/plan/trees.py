"""Random expressions and predicates over a few columns, and records for them: for the laws that hold for all."""

from hypothesis import strategies as st

from discreet.accounting.region import Allowed
from discreet.errors import Refused
from discreet.plan import algebra
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
    Lower,
    Null,
    Over,
    Part,
    Plus,
    Remainder,
    Start,
    Substr,
    TextCode,
    Times,
    Trim,
    Upper,
    Whole,
)
from discreet.plan.known import MOST_BOUND
from discreet.plan.predicate import every, negation, some, span, within

#: Small ones, ones around 0, one above it, days, 64 bits and more, no bounds, and text.
NUMBERS = [
    Code("a", 0, 5, null=True),
    Code("b", -3, 3, null=False),
    Code("c", -120, 100_000, null=True),
    Code("day", -719_162, 2_932_896, null=True),
    Code("near", -800, 20_000, null=True),
    Code("wide", -(2**60), 2**60, null=True),
    Code("huge", -(2**90), 2**90, null=False),
    Code("open", None, None, null=True),
]
TEXT = TextCode("text")
DOMAINS = {code.column: span(code) for code in (*NUMBERS, TEXT)}
LETTERS = st.sampled_from(["", "a", "A", "b", "%", "_", "\\", "'", " ", "\u00a0", "É", "ß", "İ", "σ", "\0", "😀", "\u0301"])
texts = st.lists(LETTERS, max_size=5).map("".join)


def codes(code):
    """Values of a column, its ends and what is near 0 more often."""
    low = -(2**63) + 2 if code.low is None else code.low
    high = 2**63 - 2 if code.high is None else code.high
    near = [value for value in (-7, -2, -1, 0, 1, 2, 7, 365) if low <= value <= high]
    found = st.one_of(st.sampled_from([low, low + 1, high - 1, high, *near]), st.integers(low, high))
    return st.one_of(st.none(), found) if code.null else found


records = st.fixed_dictionaries(
    {**{code.column: codes(code) for code in NUMBERS}, "text": st.one_of(st.none(), texts)}
)
literals = st.one_of(st.integers(-12, 12), st.sampled_from([60, 365, 10**6, -(2**40), 2**61, 2**64, 2**99]))


def _words(inner):
    return st.one_of(
        st.builds(Lower, inner),
        st.builds(Upper, inner),
        st.builds(Trim, inner, st.sampled_from(["both", "leading", "trailing"]), texts),
        st.builds(Substr, inner, st.sampled_from([-400, -3, -1, 1, 2, 5]), st.sampled_from([None, 0, 1, 3, 400])),
    )


words = st.recursive(st.just(TEXT), _words, max_leaves=4)
patterns = st.lists(st.one_of(st.sampled_from(["%", "_", "\\%", "\\_", "\\\\"]), st.sampled_from("aAbÉ'\0")), max_size=5)
leaves = st.one_of(
    st.sampled_from(NUMBERS),
    literals.map(Whole),
    st.just(Null()),
    st.builds(Length, words),
    st.builds(Like, words, patterns.map("".join)),
)


@st.composite
def attempts(draw, inner):
    """One operator over smaller expressions; what is refused falls back to an operand."""
    one, two = draw(inner), draw(inner)
    three = draw(inner)
    kind = draw(st.sampled_from(KINDS))
    try:
        return kind(draw, one, two, three)
    except Refused:
        return one


def _choose(draw, one, two, three):
    return Choose(((draw(tests(one)), two), (draw(tests(three)), one)), draw(st.sampled_from([three, Null()])))


def _over_literal(draw, one, two, three):
    divisor = Whole(draw(st.one_of(st.integers(1, 12), st.sampled_from([86_400, 2**62, 2**80]))))
    return Over(one, divisor, draw(st.sampled_from(["down", "zero", "nearest"])))


def _lookup(draw, one, two, three):
    small = draw(st.sampled_from(NUMBERS[:2]))
    size = small.high - small.low + 1
    found = st.one_of(st.none(), st.integers(-9, 9), st.just(2**70))
    return Lookup(small, tuple(draw(st.lists(found, min_size=size, max_size=size))), small.low)


KINDS = [
    lambda draw, one, two, three: Plus(one, two),
    lambda draw, one, two, three: algebra.minus(one, two),
    lambda draw, one, two, three: Times(one, two),
    lambda draw, one, two, three: Times(one, one),
    lambda draw, one, two, three: Over(one, two, draw(st.sampled_from(["down", "zero"]))),
    _over_literal,
    lambda draw, one, two, three: Remainder(one, two),
    lambda draw, one, two, three: Absolute(one),
    lambda draw, one, two, three: Least((one, two, three)),
    lambda draw, one, two, three: Greatest((one, two)),
    lambda draw, one, two, three: First((one, two, three)),
    _choose,
    _lookup,
    lambda draw, one, two, three: Part(
        draw(st.sampled_from(["year", "month", "day", "doy", "week", "isoyear"])), _days(one)
    ),
    lambda draw, one, two, three: Start(draw(st.sampled_from(["year", "quarter", "month", "week"])), _days(one)),
]


def _days(number):
    """A number brought into the calendar."""
    return Greatest((Least((number, Whole(2_932_896))), Whole(-719_162)))


def tests(of):
    """Conditions on an expression."""
    low, high = of.low or 0, of.high or 0
    ends = st.one_of(
        st.sampled_from([low, high, 0, 1]), st.integers(max(low, -MOST_BOUND), min(max(high, low), MOST_BOUND)), st.none()
    )
    runs = st.lists(st.tuples(ends, ends), max_size=3).map(
        lambda pairs: Allowed.union(Allowed.interval(low, high) for low, high in pairs)
    )
    return st.builds(lambda allowed, null: within(of, Allowed(allowed.runs, null), DOMAINS), runs, st.booleans())


numbers = st.recursive(leaves, attempts, max_leaves=8)


@st.composite
def predicates(draw):
    """ANDs, ORs and NOTs of conditions."""
    parts = [draw(draw(numbers.map(tests))) for _ in range(draw(st.integers(1, 3)))]
    parts += [draw(_text_tests(draw(words)))]
    joined = every(parts[:2]) if draw(st.booleans()) else some(parts[:2], DOMAINS)
    found = some([joined, *parts[2:]], DOMAINS) if draw(st.booleans()) else every([joined, *parts[2:]])
    return negation(found, DOMAINS) if draw(st.booleans()) else found


def _text_tests(of):
    ends = st.one_of(texts, st.none())
    return st.builds(lambda low, high, null: within(of, Allowed(Allowed.interval(low, high).runs, null)), ends, ends, st.booleans())


