"""The normal form says what SQL's three-valued logic says, and its region never says less."""

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.accounting.region import (
    ANYTHING,
    MOST_BOXES,
    NOT_NULL,
    NOTHING,
    ONLY_NULL,
    Box,
    Region,
    ValueSet,
    hull,
)
from discreet.errors import Refused
from discreet.plan import evaluate
from discreet.plan.evaluate import holds_for_each, value
from discreet.plan.expressions import (
    Absolute,
    Code,
    Length,
    Lookup,
    Lower,
    Over,
    Part,
    Plus,
    Start,
    TextCode,
    Times,
    Whole,
    columns,
)
from discreet.plan.predicate import (
    FALSE,
    MOST_TRIED,
    TRUE,
    Every,
    Member,
    Some,
    Test,
    every,
    holds,
    member,
    negation,
    region,
    some,
    span,
    to_data,
    within,
)
from plan.trees import DOMAINS as TREE_DOMAINS
from plan.trees import Trees
from tiers import examples

#: Two small columns of numbers and one of text: every record can be tried.
DOMAINS = {
    "a": ValueSet.interval(0, 5) | ONLY_NULL,
    "b": ValueSet.interval(0, 3),
    "t": ANYTHING,
}
TEXTS = [None, "", "a", "a\0", "ab", "b"]
RECORDS = [{"a": a, "b": b, "t": t} for a in (None, 0, 1, 2, 3, 4) for b in (0, 1, 2) for t in TEXTS]


class Comparison:
    """`column operator literal`, as SQL and as the sets for which it is TRUE and FALSE."""

    def __init__(self, column, operator, literal):
        self.column, self.operator, self.literal = column, operator, literal

    def __repr__(self):
        return self.sql()

    def sql(self):
        if self.operator == "IS NULL":
            return f"{self.column} IS NULL"
        return f"{self.column} {self.operator} {repr(self.literal) if self.literal is not None else 'NULL'}"

    def sets(self):
        if self.operator == "IS NULL":
            return ONLY_NULL, NOT_NULL
        if self.literal is None:
            return NOTHING, NOTHING
        equal = ValueSet.of([self.literal])
        below, above = ValueSet.interval(None, self.literal), equal.runs[0][1]
        true = {
            "=": equal,
            "<>": equal.complement() & NOT_NULL,
            "<": below,
            "<=": below | equal,
            ">": ValueSet.interval(above, None),
            ">=": ValueSet.interval(self.literal, None),
        }[self.operator]
        return true, true.complement() & NOT_NULL


operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "IS NULL"])
comparisons = st.one_of(
    st.builds(Comparison, st.sampled_from(["a", "b"]), operators, st.one_of(st.integers(-1, 6), st.none())),
    st.builds(Comparison, st.just("t"), operators, st.sampled_from(["", "a", "ab", "b", None])),
)
trees = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(st.just("NOT"), inner),
        st.tuples(st.sampled_from(["AND", "OR"]), st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=8,
)


def sql_of(tree):
    match tree:
        case Comparison():
            return tree.sql()
        case ("NOT", inner):
            return f"NOT ({sql_of(inner)})"
        case (word, parts):
            return "(" + f" {word} ".join(sql_of(part) for part in parts) + ")"


def form_of(tree, wanted=True):
    """The normal form of a tree, as the reader of SQL builds it."""
    match tree:
        case Comparison():
            return member(tree.column, tree.sets()[0 if wanted else 1], DOMAINS[tree.column])
        case ("NOT", inner):
            return form_of(inner, not wanted)
        case (word, parts):
            forms = [form_of(part, wanted) for part in parts]
            return every(forms) if (word == "AND") == wanted else some(forms, DOMAINS)


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE r (n INTEGER, a INTEGER, b INTEGER, t VARCHAR)")
        connection.executemany(
            "INSERT INTO r VALUES (?, ?, ?, ?)", [[n, *record.values()] for n, record in enumerate(RECORDS)]
        )
        yield connection


@given(tree=trees)
@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
def test_the_normal_form_means_what_sql_means(connection, tree):
    found = {number for (number,) in connection.execute(f"SELECT n FROM r WHERE {sql_of(tree)}").fetchall()}
    form = form_of(tree)
    assert found == {number for number, record in enumerate(RECORDS) if holds(form, record)}


@given(tree=trees)
@settings(max_examples=examples(200), deadline=None)
def test_the_region_is_exactly_the_predicate_while_boxes_are_few(tree):
    form = form_of(tree)
    found = region(form)
    for record in RECORDS:
        assert (record in found) == holds(form, record)


def parity(columns):
    """x1 and x2 agree, and x3 and x4, and so on: 2 ** (columns / 2) boxes, no two of which merge."""
    pairs = [(f"x{place}", f"x{place + 1}") for place in range(0, columns, 2)]
    free = {name: ValueSet.interval(0, 2) for pair in pairs for name in pair}
    same = [
        some([every([Member(one, ValueSet.of([bit])), Member(two, ValueSet.of([bit]))]) for bit in (0, 1)], free)
        for one, two in pairs
    ]
    return every(same), [name for pair in pairs for name in pair]


def test_a_region_of_too_many_boxes_is_wider_never_narrower():
    exact, names = parity(12)
    assert len(region(exact).boxes) == MOST_BOXES
    wide, names = parity(14)
    found = region(wide)
    assert len(found.boxes) <= MOST_BOXES
    records = [{name: number >> place & 1 for place, name in enumerate(names)} for number in range(2 ** len(names))]
    narrower = 0
    for record, holds_ in zip(records, holds_for_each(wide, records), strict=True):
        if holds_:
            assert record in found
        narrower += record in found and not holds_
    assert narrower > 0  # it did have to widen


points = st.sets(st.integers(0, 4))
values = st.builds(lambda some, null: ValueSet.of(some) | (ONLY_NULL if null else NOTHING), points, st.booleans())
boxes = st.dictionaries(st.sampled_from("abc"), values, max_size=3).map(Box)


@given(several=st.lists(boxes, min_size=1, max_size=5))
def test_a_hull_holds_its_boxes(several):
    around = hull(several)
    for a in (None, 0, 2, 4):
        for b in (None, 1, 3):
            record = {"a": a, "b": b, "c": b}
            if any(record in box for box in several):
                assert record in around
    assert Region.of(several) == Region.of([*several, *several])


@given(tree=trees)
@settings(max_examples=examples(200), deadline=None)
def test_spelling_does_not_matter(tree):
    """Turned around, doubled, doubly negated: the same form, so the same question."""
    assert form_of(turned(tree)) == form_of(tree)
    assert to_data(form_of(("NOT", ("NOT", tree)))) == to_data(form_of(tree))
    assert form_of(("AND", [tree, tree])) == form_of(tree)
    assert form_of(("OR", [tree, tree])) == form_of(tree)


def turned(tree):
    match tree:
        case Comparison():
            return tree
        case ("NOT", inner):
            return ("NOT", turned(inner))
        case (word, parts):
            return (word, [turned(part) for part in reversed(parts)])


@given(tree=trees)
@settings(max_examples=examples(100), deadline=None)
def test_the_form_is_normal(tree):
    """One set a column in each AND and OR, no double, no empty set, no nesting of like in like."""

    def normal(form):
        match form:
            case Member(column=column, allowed=allowed):
                assert not allowed.empty
                assert allowed != DOMAINS[column]
            case Every(parts=parts) | Some(parts=parts):
                assert len(parts) != 1
                assert not any(type(part) is type(form) for part in parts)
                names = [part.column for part in parts if isinstance(part, Member)]
                assert names == sorted(set(names))
                for part in parts:
                    normal(part)
                    assert part not in (TRUE, FALSE)

    form = form_of(tree)
    if form not in (TRUE, FALSE):
        normal(form)


def test_nothing_and_everything():
    assert every([]) == TRUE
    assert some([], {}) == FALSE
    assert every([TRUE, FALSE]) == FALSE
    assert some([TRUE, FALSE], {}) == TRUE
    assert region(TRUE) == Region.whole()
    assert region(FALSE).boxes == ()
    assert member("a", ValueSet.interval(-9, 9) | ONLY_NULL, DOMAINS["a"]) == TRUE
    assert member("a", ValueSet.interval(9, 99), DOMAINS["a"]) == FALSE


AGE, SIGNED = Code("age", 0, 120, null=True), Code("n", -60, 60, null=False)
COST, NOTE = Code("cost", -10_000, 2_000_000, null=True), TextCode("note")


@settings(max_examples=examples(300))
@given(seed=st.integers(0, 2**32))
def test_a_condition_holds_for_the_same_records_in_whichever_form(seed):
    trees = Trees(seed)
    of = trees.words() if trees.random.random() < 0.2 else trees.number(3)
    allowed = trees.allowed(of)
    form = within(of, allowed, TREE_DOMAINS)
    rows = [trees.record() for _ in range(25)]
    assert holds_for_each(form, rows) == [found in allowed for found in evaluate.values(of, rows)]
    inside = region(form)
    assert all(record in inside for record, holds_ in zip(rows, holds_for_each(form, rows), strict=True) if holds_)


@settings(max_examples=examples(200))
@given(seed=st.integers(0, 2**32))
def test_negation_is_the_opposite(seed):
    trees = Trees(seed)
    form = trees.predicate()
    rows = [trees.record() for _ in range(25)]
    opposite = negation(form, TREE_DOMAINS)
    assert holds_for_each(opposite, rows) == [not holds_ for holds_ in holds_for_each(form, rows)]
    assert holds_for_each(negation(opposite, TREE_DOMAINS), rows) == holds_for_each(form, rows)


@settings(max_examples=examples(200))
@given(seed=st.integers(0, 2**32))
def test_an_expression_of_one_small_column_becomes_a_set_of_its_values(seed):
    """Exactly: the region of such a condition is the condition."""
    trees = Trees(seed)
    of = trees.number(3)
    small = columns(of) <= {"a"} or columns(of) <= {"b"}
    if not small or of.size > 300:
        of = Absolute(Times(SIGNED, Plus(SIGNED, Whole(trees.random.randint(-50, 50)))))
    form = within(of, trees.allowed(of), TREE_DOMAINS)
    assert not isinstance(form, Test)
    (name,) = columns(of) or {"a"}
    domain = span(SIGNED) if name == "n" else TREE_DOMAINS[name]
    rows = [{name: code} for code in [*range(domain.runs[0][0], domain.runs[0][1]), *([None] if domain.null else [])]]
    assert [record in region(form) for record in rows] == holds_for_each(form, rows)


RISING = [
    lambda draw, inner: Plus(inner, Whole(draw(st.integers(-99, 99)))),
    lambda draw, inner: Times(inner, Whole(draw(st.integers(-9, 9).filter(bool)))),
    lambda draw, inner: Over(inner, Whole(draw(st.integers(1, 40)))),
    lambda draw, inner: Over(inner, Whole(draw(st.integers(1, 40))), "zero"),
    lambda draw, inner: Over(inner, Whole(draw(st.integers(1, 40))), "nearest"),
]


@settings(max_examples=examples(300))
@given(data=st.data())
def test_rising_steps_over_a_large_column_become_a_set_of_its_values(data):
    of = COST
    for kind in data.draw(st.lists(st.sampled_from(RISING), min_size=1, max_size=4)):
        of = kind(data.draw, of)
    ends = st.one_of(st.integers(of.low - 2, of.high + 2), st.integers(-12, 12), st.none())
    low, high, null = data.draw(ends), data.draw(ends), data.draw(st.booleans())
    allowed = ValueSet(ValueSet.interval(low, high).runs, null)
    form = within(of, allowed)
    assert form in (TRUE, FALSE) or isinstance(form, Member)
    runs = form.allowed.runs if isinstance(form, Member) else ()
    near = {end + step for run in runs for end in run if end is not None for step in (-1, 0, 1)}
    codes = [None, *near, -10_000, 2_000_000, *range(-60, 60), data.draw(st.integers(-10_000, 2_000_000))]
    for code in codes:
        if code is None or -10_000 <= code <= 2_000_000:
            record = {"cost": code}
            assert holds(form, record) == (value(of, record) in allowed), (of, code)


@pytest.mark.thin(4)
@pytest.mark.parametrize("build", [
    lambda day: Start("month", day), lambda day: Start("week", day), lambda day: Start("quarter", day),
    lambda day: Start("year", day), lambda day: Part("year", day), lambda day: Times(Start("month", day), Whole(86_400)),
    lambda day: Plus(Part("year", Over(Times(day, Whole(24)), Whole(24))), Whole(-1900)),
])  # fmt: skip
def test_calendar_steps_become_a_set_of_days(build):
    day = Code("day", -25_000, 20_000, null=True)
    of = build(day)
    for code in range(-25_000, 20_000, 1013):
        inner = value(of, {"day": code})
        for allowed in (ValueSet.of([inner]), ValueSet.interval(inner, None), ValueSet.interval(None, inner)):
            form = within(of, allowed)
            assert form in (TRUE, FALSE) or isinstance(form, Member)
            for near in range(max(code - 40, -25_000), min(code + 40, 20_000)):
                assert holds(form, {"day": near}) == (value(of, {"day": near}) in allowed)


def test_forms_of_conditions_on_expressions():
    assert within(Over(AGE, Whole(10)), ValueSet.of([3])) == Member("age", ValueSet.interval(30, 40))
    assert within(Lookup(AGE, (None,) * 60 + (1,) * 61, 0), ONLY_NULL) == Member(
        "age", ValueSet.interval(0, 60) | ONLY_NULL
    )
    assert within(NOTE, ValueSet.of(["a"])) == Member("note", ValueSet.of(["a"]))
    assert within(AGE, ValueSet.interval(-5, 500)) == Member("age", ValueSet.interval(0, 121))
    assert within(AGE, ValueSet.interval(-5, 500) | ONLY_NULL) == TRUE
    assert within(Absolute(SIGNED), ValueSet.interval(99, None)) == FALSE
    assert within(Whole(3), ValueSet.of([3])) == TRUE
    both = Plus(AGE, SIGNED)
    assert within(both, ValueSet.interval(100, None)) == Test(both, ValueSet.interval(100, 181))
    large = Absolute(COST)  # one column, but more codes than are tried, and it does not rise
    assert COST.high - COST.low > MOST_TRIED
    assert within(large, ValueSet.interval(5, None)) == Test(large, ValueSet.interval(5, 2_000_001))


def test_conditions_on_one_expression_are_one():
    both = Plus(AGE, SIGNED)
    low, high = within(both, ValueSet.interval(10, None)), within(both, ValueSet.interval(None, 20))
    assert every([low, high]) == Test(both, ValueSet.interval(10, 20))
    assert some([low, high, within(both, ONLY_NULL)], {}) == TRUE
    assert every([low, within(both, ValueSet.interval(None, 5))]) == FALSE
    assert every([low, low]) == low
    other = within(Lower(NOTE), ValueSet.of(["x"]))
    assert every([other, low]) == every([low, other])
    assert to_data(every([other, low])) == to_data(every([low, other]))


def test_the_region_of_an_expression_is_everything():
    test = within(Plus(AGE, SIGNED), ValueSet.of([3]))
    box = Member("age", ValueSet.interval(0, 9))
    assert region(test) == Region.whole()
    assert region(every([box, test])) == region(box) != Region.whole()
    assert region(some([box, test], {"age": span(AGE)})) == Region.whole()
    assert region(within(Length(NOTE), ValueSet.of([3]))) == Region.whole()


def test_a_predicate_is_bounded():
    both = Plus(AGE, SIGNED)
    with pytest.raises(Refused, match="too complex"):
        within(Times(both, Plus(both, Whole(1))), ValueSet.of(range(0, 9000, 2)))
    with pytest.raises(Refused, match="too complex"):
        every([within(Plus(both, Code(f"c{place}", 0, 9, null=False)), ValueSet.of([1])) for place in range(600)])
