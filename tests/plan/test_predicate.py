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
    Allowed,
    Box,
    Region,
    hull,
)
from discreet.plan.predicate import FALSE, TRUE, Every, Member, Some, every, holds, member, region, some, to_data

#: Two small columns of numbers and one of text: every record can be tried.
DOMAINS = {
    "a": Allowed.interval(0, 5) | ONLY_NULL,
    "b": Allowed.interval(0, 3),
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
        equal = Allowed.of([self.literal])
        below, above = Allowed.interval(None, self.literal), equal.runs[0][1]
        true = {
            "=": equal,
            "<>": equal.complement() & NOT_NULL,
            "<": below,
            "<=": below | equal,
            ">": Allowed.interval(above, None),
            ">=": Allowed.interval(self.literal, None),
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
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_normal_form_means_what_sql_means(connection, tree):
    found = {number for (number,) in connection.execute(f"SELECT n FROM r WHERE {sql_of(tree)}").fetchall()}
    form = form_of(tree)
    assert found == {number for number, record in enumerate(RECORDS) if holds(form, record)}


@given(tree=trees)
@settings(max_examples=200, deadline=None)
def test_the_region_is_exactly_the_predicate_while_boxes_are_few(tree):
    form = form_of(tree)
    found = region(form)
    for record in RECORDS:
        assert (record in found) == holds(form, record)


def parity(columns):
    """x1 and x2 agree, and x3 and x4, and so on: 2 ** (columns / 2) boxes, no two of which merge."""
    pairs = [(f"x{place}", f"x{place + 1}") for place in range(0, columns, 2)]
    free = {name: Allowed.interval(0, 2) for pair in pairs for name in pair}
    same = [
        some([every([Member(one, Allowed.of([bit])), Member(two, Allowed.of([bit]))]) for bit in (0, 1)], free)
        for one, two in pairs
    ]
    return every(same), [name for pair in pairs for name in pair]


def test_a_region_of_too_many_boxes_is_wider_never_narrower():
    exact, names = parity(12)
    assert len(region(exact).boxes) == MOST_BOXES
    wide, names = parity(14)
    found = region(wide)
    assert len(found.boxes) <= MOST_BOXES
    narrower = 0
    for number in range(2 ** len(names)):
        record = {name: number >> place & 1 for place, name in enumerate(names)}
        if holds(wide, record):
            assert record in found
        narrower += record in found and not holds(wide, record)
    assert narrower > 0  # it did have to widen


points = st.sets(st.integers(0, 4))
values = st.builds(lambda some, null: Allowed.of(some) | (ONLY_NULL if null else NOTHING), points, st.booleans())
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
@settings(max_examples=200, deadline=None)
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
@settings(max_examples=100, deadline=None)
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
    assert member("a", Allowed.interval(-9, 9) | ONLY_NULL, DOMAINS["a"]) == TRUE
    assert member("a", Allowed.interval(9, 99), DOMAINS["a"]) == FALSE
