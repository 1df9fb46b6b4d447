"""The little language: every form, every refusal, and that nothing of it changes what was not named."""

from datetime import date, datetime
from fractions import Fraction

import pytest

from discreet.errors import UsageError
from discreet.project.declaration_language import TYPES, read_line, read_lines, read_words

COLUMNS = {
    "age": {"type": "integer"},
    "height": {"type": "decimal"},
    "sex": {"type": "integer"},
    "smoker": {"type": "text"},
    "notes": {"type": "text"},
    "first, second": {"type": "text"},
    'a "b": c': {"type": "text"},
    "seen": {"type": "date"},
    "at": {"type": "timestamp"},
    "q1": {"type": "text"},
    "q2": {"type": "integer"},
}
BOUNDED = {"type": "integer", "low": 0, "high": 120}


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("age: 0..120", {"age": BOUNDED}),
        ("AGE : 0 .. 120", {"age": BOUNDED}),
        ("age: 0 to 120", {"age": BOUNDED}),
        ("age: 0–120", {"age": BOUNDED}),
        ("age: 0…120", {"age": BOUNDED}),
        ("age: whole 0..120", {"age": BOUNDED}),
        ("age: -5..-1", {"age": {"type": "integer", "low": -5, "high": -1}}),
        ("age: 0..", {"age": {"type": "integer", "low": 0}}),
        ("age: ..9", {"age": {"type": "integer", "high": 9}}),
        ("age: 0..1.5", {"age": {"type": "decimal", "low": 0, "high": Fraction(3, 2)}}),
        ("age: 0..100 bins 10", {"age": {"type": "integer", "low": 0, "high": 100, "bins": 10}}),
        ("height: 0..2 step 0.5", {"height": {"type": "decimal", "low": 0, "high": 2, "step": Fraction(1, 2)}}),
        ("height: 0..0.005", {"height": {"type": "decimal", "low": 0, "high": Fraction(1, 200)}}),
        ("age, height: 0..120", {"age": BOUNDED, "height": {"type": "decimal", "low": 0, "high": 120}}),
        (
            "seen: 2020-01-01..2020-12-31",
            {"seen": {"type": "date", "low": date(2020, 1, 1), "high": date(2020, 12, 31)}},
        ),
        ("at: 2020-01-01 00:00..", {"at": {"type": "timestamp", "low": datetime(2020, 1, 1)}}),
        ("sex: f, m", {"sex": {"type": "category", "values": ["f", "m"]}}),
        ("sex: f | m", {"sex": {"type": "category", "values": ["f", "m"]}}),
        ("sex: category f; m", {"sex": {"type": "category", "values": ["f", "m"]}}),
        ("sex: one to two, three", {"sex": {"type": "category", "values": ["one to two", "three"]}}),
        (
            "sex: 1=male, 2=female",
            {"sex": {"type": "category", "values": ["1", "2"], "labels": {"1": "male", "2": "female"}}},
        ),
        ("smoker: yes/no", {"smoker": {"type": "boolean"}}),
        ("smoker: N/Y", {"smoker": {"type": "boolean"}}),
        ("smoker: boolean", {"smoker": {"type": "boolean"}}),
        ("notes: skip", {"notes": None}),
        ("q*: 1..5", {"q1": {"type": "integer", "low": 1, "high": 5}, "q2": {"type": "integer", "low": 1, "high": 5}}),
        ('"first, second": skip', {"first, second": None}),
        ("'a \"b\": c', age: skip", {'a "b": c': None, "age": None}),
        ("age: number", {"age": {"type": "integer"}}),
        ("notes: number", {"notes": {"type": "decimal"}}),
    ],
)
def test_every_form(line, settings):
    assert read_line(line, COLUMNS) == settings


@pytest.mark.parametrize("word", TYPES)
def test_every_word_for_a_type(word):
    columns = {"x": {"type": "category", "values": ["a"]} if TYPES[word] == "category" else {"type": "text"}}
    settings = read_line(f"x: {word.upper()}", columns)["x"]
    assert settings["type"] == {"number": "decimal"}.get(TYPES[word], TYPES[word])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("age", "no colon"),
        ("age:", "nothing is said about age"),
        (": 0..1", "name is missing"),
        ("age,: 0..1", "name is missing"),
        ("agee: 0..1", "no column 'agee'"),
        ("x*: 0..1", "no column 'x\\*'"),
        ("age: 120..0", "low is above high"),
        ("age: ..", "bounds of 'age' are missing"),
        ("age: a..b", "is no number"),
        ("age: integer 0..1.5", "not a whole number"),
        ("seen: date 01.02.2020..01.03.2020", "is no date"),
        ("age: 0..9 bins x", "is no number"),
        ("age: 0..9 bins 99", "bins must be"),
        ("age: integr", "neither a type nor a list"),
        ("age: text 0..5", "does not say what"),
        ("sex: category", "a category needs its words"),
        ("sex: a, a", "listed twice"),
        ("sex: 1=, 2=b", "no label"),
        ("sex: 1=a, 2=a", "two values are called 'a'"),
        ('"age: 0..1', "quote is not closed"),
        ("age: " + "9" * 500 + "..1", "is no number"),
    ],
)
def test_a_wrong_line_gets_a_sentence(line, reason):
    with pytest.raises(UsageError, match=reason):
        read_line(line, COLUMNS)


def test_what_is_proposed_stays_where_the_type_does():
    column = {"x": {"type": "integer", "low": 5, "high": 6, "bins": 2, "constant": True}}
    assert read_line("x: 0..9", column)["x"] == {"type": "integer", "low": 0, "high": 9, "constant": True}
    assert read_line("x: integer", column)["x"] == column["x"]
    assert read_line("x: text", column)["x"] == {"type": "text"}


def test_a_name_of_two_spellings_is_asked_for():
    columns = {"Age": {"type": "integer"}, "age": {"type": "integer"}}
    assert list(read_line("age: 0..1", columns)) == ["age"]
    with pytest.raises(UsageError, match="means 2 columns"):
        read_line("AGE: 0..1", columns)


def test_two_lines_about_one_column_are_refused():
    assert read_lines(["age: 0..1", "sex: skip"], COLUMNS).keys() == {"age", "sex"}
    with pytest.raises(UsageError, match="'q1' is described twice"):
        read_lines(["q*: 0..1", "q1: skip"], COLUMNS)


@pytest.mark.parametrize(
    ("text", "values", "labels"),
    [
        ("1=Male;2=Female", ["1", "2"], {"1": "Male", "2": "Female"}),
        ("1|2|3", ["1", "2", "3"], {}),
        ("1: Male\n2: Female", ["1", "2"], {"1": "Male", "2": "Female"}),
        ("a, 'b'", ["a", "b"], {}),
        ("1=Yes, of course;2=No", ["1", "2"], {"1": "Yes, of course", "2": "No"}),
    ],
)
def test_lists_of_words(text, values, labels):
    assert read_words(text) == (values, labels)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("age: 0..120; sex: F, M; pay: 0..9", ["age", "sex", "pay"]),
        ("sex: 1=male; 2=female", ["sex"]),
        ("sex: 1: male; 3: female", ["sex"]),
        ("sex: 1=a:b; 3=c:d", ["sex"]),
        ("sex: f; m; d; pay: 0..3", ["sex", "pay"]),
        ('"a; b": 0..3; age: 0..1', ["a; b", "age"]),
        ('age: 0..3; "a; b": 0..1;', ["age", "a; b"]),
        ("it's: 0..3;age: 0..2", ["it's", "age"]),
    ],
)
def test_several_statements_in_a_line(line, names):
    columns = {name: {"type": "integer"} for name in ("age", "sex", "pay", "a; b", "it's")}
    assert list(read_line(line, columns)) == names


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("age: 0..120; sexx: F, M", "there is no column 'sexx'"),
        ("age: 0..3; age: 1..2", "column 'age' is described twice"),
        ("sex: f; m; nope: 0..3", "there is no column 'nope'"),
    ],
)
def test_a_wrong_statement_in_a_line_refuses_all_of_it(line, reason):
    with pytest.raises(UsageError, match=reason):
        read_line(line, {"age": {"type": "integer"}, "sex": {"type": "text"}})
