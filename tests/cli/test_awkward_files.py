"""Ten awkward files, each from the file to the first right answer with at most five typed inputs beyond its name.

A typed input is a line with something in it in the talk of `add`, or a flag with its value (`--yes`, too); the query
counts as one. Enter alone, which takes what is proposed, is counted apart. Every number is what pandas says.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xlsxwriter

import discreet
from cli.on_terminal import Terminal
from clinic import run, say

ROWS = 300
MOST_TYPED = 5
EPSILON = 1000

_draw = np.random.default_rng(23)
PEOPLE = pd.DataFrame(
    {
        "age": _draw.integers(18, 90, ROWS),
        "sex": _draw.choice(["F", "M"], ROWS),
        "pay": np.round(_draw.uniform(100, 900, ROWS), 2),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(_draw.integers(0, 366, ROWS), unit="D"),
        "smoker": _draw.choice(["yes", "no"], ROWS),
        "insured": _draw.choice(["Y", "N"], ROWS),
        "patient": _draw.integers(1000, 1150, ROWS),
        "ward": _draw.choice(["Äußere", "L'Hôpital"], ROWS),
    }
)
MARKED = PEOPLE[["patient", "age", "sex", "pay"]].astype(str).copy()
for _column, _marks in {"patient": ["NA", "-", ".", "N/A"], "age": ["NA"], "sex": ["N/A"], "pay": ["-", "."]}.items():
    _places = _draw.choice(ROWS, 30, replace=False)
    MARKED.loc[_places, _column] = _draw.choice(_marks, 30)
READ_MARKED = MARKED.replace(["NA", "-", ".", "N/A"], None).astype({"age": float, "pay": float})
READ_MARKED = READ_MARKED[READ_MARKED["patient"].notna()]
SURVEY = pd.DataFrame({f"q{item}": _draw.integers(1, 6, ROWS) for item in range(1, 57)})
SURVEY = pd.concat(
    [PEOPLE[["age", "sex"]], SURVEY, pd.DataFrame({"town": "x", "remark": "y"}, index=SURVEY.index)], axis=1
)
NAMED = PEOPLE.rename(columns={"age": "Größe (cm)", "ward": 'the "best" ward', "pay": "Lohn, netto"})
NAMED.insert(0, "Patient ID", range(ROWS))

BOUNDS = {"age": (0, 120), "pay": (0, 1000), "Größe (cm)": (0, 250), "Lohn, netto": (0, 1000), "double": (0, 2000)}
BOUNDS |= {f"q{item}": (1, 5) for item in range(1, 57)}
WORDS = {"sex": ["F", "M"], "ward": ["Äußere", "L'Hôpital"], 'the "best" ward': ["Äußere", "L'Hôpital"]}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A file; what is typed about its columns; the flags that it needs; and two queries with what pandas says."""

    file: str
    write: Callable[[Path], object]
    line: str
    described: list[str]
    frame: pd.DataFrame
    group: str = "sex"
    number: str = "pay"
    condition: tuple[str, object] = ("age >= 40", lambda frame: frame["age"] >= 40)
    flags: dict[str, str] = field(default_factory=dict)
    person: str | None = None
    rows_per_person: int = 1


def text(file, frame, *, above="", encoding="utf-8", **how):
    file.write_bytes((above + frame.to_csv(index=False, **how)).encode(encoding))


def workbook(file):
    """Two sheets; a title and an empty row above the header; dates as Excel stores them; a formula."""
    book = xlsxwriter.Workbook(file)
    book.add_worksheet("Read me").write(0, 0, "made by the office")
    sheet, form = book.add_worksheet("Stays"), book.add_format({"num_format": "dd/mm/yyyy"})
    sheet.write(0, 0, "Stays of 2024")
    sheet.write_row(2, 0, ["age", "sex", "day", "pay", "double"])
    for place, row in enumerate(PEOPLE.itertuples(), start=3):
        sheet.write_row(place, 0, [row.age, row.sex])
        sheet.write_datetime(place, 2, row.day.to_pydatetime(), form)
        sheet.write_number(place, 3, row.pay)
        sheet.write_formula(place, 4, f"=D{place + 1}*2", None, row.pay * 2)
    book.close()


SIMPLE = ["age", "sex", "pay"]
SHAPES = {
    "title rows": Shape(
        file="titles.csv",
        write=lambda file: text(file, PEOPLE[SIMPLE], above="Report of the clinic\nmade on 2026-01-05\n\n"),
        line="age: 0..120; sex: F, M; pay: 0..1000",
        described=SIMPLE,
        frame=PEOPLE,
    ),
    "decimal comma": Shape(
        file="comma.csv",
        write=lambda file: text(file, PEOPLE[SIMPLE], sep=";", decimal=","),
        line="age: 0..120; sex: F, M; pay: 0..1000",
        described=SIMPLE,
        frame=PEOPLE,
    ),
    "dd.mm.yyyy": Shape(
        file="days.csv",
        write=lambda file: text(file, PEOPLE[[*SIMPLE, "day"]], date_format="%d.%m.%Y"),
        line="age: 0..120; sex: F, M; pay: 0..1000; day: 2024-01-01..2024-12-31",
        described=SIMPLE,
        frame=PEOPLE,
        condition=("day >= DATE '2024-07-01'", lambda frame: frame["day"] >= "2024-07-01"),
    ),
    "NA marks": Shape(
        file="marks.csv",
        write=lambda file: text(file, MARKED),
        line="age: 0..120; sex: F, M; pay: 0..1000",
        described=SIMPLE,
        frame=READ_MARKED,
        person="patient",
        rows_per_person=12,
    ),
    "UTF-16": Shape(
        file="wide.txt",
        write=lambda file: text(file, PEOPLE[["age", "ward", "pay"]], sep="\t", encoding="utf-16"),
        line="age: 0..120; ward: Äußere, L'Hôpital; pay: 0..1000",
        described=["age", "ward", "pay"],
        frame=PEOPLE,
        group="ward",
    ),
    "a workbook": Shape(
        file="stays.xlsx",
        write=workbook,
        line="age: 0..120; sex: F, M; day: 2024-01-01..2024-12-31; pay: 0..1000; double: 0..2000",
        described=[*SIMPLE, "double"],
        frame=PEOPLE.assign(double=PEOPLE["pay"] * 2),
        number="double",
        condition=("day < DATE '2024-03-01'", lambda frame: frame["day"] < "2024-03-01"),
        flags={"sheet": "Stays"},
    ),
    "repeated ids": Shape(
        file="visits.csv",
        write=lambda file: text(file, PEOPLE[["patient", *SIMPLE]]),
        line="age: 0..120; sex: F, M; pay: 0..1000",
        described=SIMPLE,
        frame=PEOPLE,
        person="patient",
        rows_per_person=12,
    ),
    "60 columns": Shape(
        file="survey.csv",
        write=lambda file: text(file, SURVEY),
        line="q*: 1..5; age: 0..120; sex: F, M; town, remark: skip",
        described=list(SURVEY.columns[:-2]),
        frame=SURVEY,
        number="q56",
    ),
    "yes and no": Shape(
        file="answers.csv",
        write=lambda file: text(file, PEOPLE[[*SIMPLE, "smoker", "insured"]]),
        line="sex: F, M; pay: 0..1000",
        described=SIMPLE,
        frame=PEOPLE,
        condition=("smoker AND NOT insured", lambda frame: (frame["smoker"] == "yes") & (frame["insured"] == "N")),
    ),
    "spaces, quotes and umlauts": Shape(
        file="Größen 'neu'.csv",
        write=lambda file: text(file, NAMED[["Patient ID", "Größe (cm)", 'the "best" ward', "Lohn, netto"]]),
        line='größe (cm): 0..250; the "best" ward: Äußere, L\'Hôpital; "Lohn, netto": 0..1000',
        described=["Größe (cm)", 'the "best" ward', "Lohn, netto"],
        frame=NAMED,
        group='the "best" ward',
        number="Lohn, netto",
        condition=('"Größe (cm)" >= 40', lambda frame: frame["Größe (cm)"] >= 40),
        person="Patient ID",
    ),
}
KINDS = pytest.mark.parametrize("kind", SHAPES)


@pytest.fixture
def folder(tmp_path):
    discreet.init(tmp_path, epsilon=10 * EPSILON)
    return tmp_path


def check_answers(capsys, folder, shape):
    """A count, a sum and an average for each group, and a count with a condition."""
    (table,) = discreet.open(folder).tables
    quote = '"' + shape.group.replace('"', '""') + '"'
    sql = (
        f'SELECT {quote}, count(*) AS n, sum("{shape.number}") AS s, avg("{shape.number}") AS a FROM {table} GROUP BY 1'
    )
    code, data, err = run(capsys, folder, "query", sql, "--epsilon", str(EPSILON))
    assert code == 0, (data, err)
    answered = {row[0]: row[1:] for row in data["rows"]}
    expected = shape.frame.groupby(shape.group)[shape.number].agg(["size", "sum", "mean"])
    assert len(expected) == 2
    scale = shape.rows_per_person * BOUNDS[shape.number][1] / EPSILON  # of the noise, if all of epsilon were a sum's
    for word, (rows, total, average) in expected.iterrows():
        assert answered[word][0] == rows
        assert answered[word][1] == pytest.approx(total, abs=60 * scale)
        assert answered[word][2] == pytest.approx(average, abs=120 * scale / rows)
    condition, chosen = shape.condition
    sql = f"SELECT count(*) AS n FROM {table} WHERE {condition}"
    code, data, err = run(capsys, folder, "query", sql, "--epsilon", str(EPSILON))
    assert code == 0, (data, err)
    assert data["rows"][0][0] == int(chosen(shape.frame).sum())


@pytest.mark.thin(1)
@KINDS
def test_by_the_talk_on_a_terminal(folder, capsys, kind):
    shape = SHAPES[kind]
    shape.write(folder / shape.file)
    flags = [word for flag, value in shape.flags.items() for word in (f"--{flag}", value)]
    screen, lines = Terminal(folder, "add", shape.file, *flags), [shape.line, ""]
    while prompt := screen.prompt():
        if prompt.startswith("rows per person"):
            screen.type("" if shape.rows_per_person == 1 else str(shape.rows_per_person))
        elif prompt == "> ":
            screen.type(lines.pop(0))
        else:
            screen.type("yes" if prompt.endswith("[no]: ") else "")
    assert screen.leave() == 0 and "made version 1" in screen.seen, screen.seen
    assert "next: discreet query 'SELECT count(*) AS n FROM " in screen.seen
    (table,) = discreet.open(folder).tables.values()
    assert table.schema.unit.person == (() if shape.person is None else (shape.person,))
    query = 1
    typed = [line for line in screen.typed if line]
    assert len(typed) + len(shape.flags) + query <= MOST_TYPED
    assert len(screen.typed) - len(typed) <= 5  # Enter alone
    check_answers(capsys, folder, shape)


@pytest.mark.thin(3)
@KINDS
def test_by_flags_without_a_terminal(folder, capsys, kind):
    shape = SHAPES[kind]
    shape.write(folder / shape.file)
    flags = {**shape.flags, "column": shape.line} | ({"person": shape.person} if shape.person else {})
    if shape.rows_per_person > 1:
        flags["rows-per-person"] = str(shape.rows_per_person)
    query = 1
    assert len(flags) + query <= MOST_TYPED
    words = [word for flag, value in flags.items() for word in (f"--{flag}", value)]
    code, _, err = say(capsys, folder, "add", str(folder / shape.file), *words)
    assert code == 0, err
    check_answers(capsys, folder, shape)


@pytest.mark.thin(2)
@KINDS
def test_by_a_code_book(folder, capsys, kind):
    shape = SHAPES[kind]
    shape.write(folder / shape.file)
    with (folder / "book.csv").open("w", newline="", encoding="utf-8") as stream:
        book = csv.writer(stream)
        book.writerow(["column", "low", "high", "values", "person", "rows_per_person"])
        if shape.person:
            book.writerow([shape.person, "", "", "", "yes", shape.rows_per_person])
        for name in shape.described:
            book.writerow([name, *BOUNDS.get(name, ("", "")), "|".join(WORDS.get(name, ())), "", ""])
    flags = {**shape.flags, "codebook": str(folder / "book.csv")}
    query, yes = 1, 1
    assert len(flags) + yes + query <= MOST_TYPED
    words = [word for flag, value in flags.items() for word in (f"--{flag}", value)]
    code, _, err = say(capsys, folder, "add", str(folder / shape.file), *words, "--yes")
    assert code == 0, err
    check_answers(capsys, folder, shape)


@pytest.mark.deep
def test_sixty_columns_fit_on_a_screen(folder):
    SHAPES["60 columns"].write(folder / "survey.csv")
    screen = Terminal(folder, "add", "survey.csv")
    while (prompt := screen.prompt()) and prompt != "> ":
        screen.type("")
    screen.type("q*: 1..5")
    screen.prompt()
    assert "  q1 to q56 (56 columns): whole numbers from 1 to 5" in screen.seen
    assert len(screen.seen.splitlines()) < 40
    screen.type("")
    screen.answer("[no]: ", "no")
    assert screen.leave() == 2 and "nothing was written" in screen.seen


def test_a_column_of_yes_and_no_is_not_proposed_as_the_person(folder):
    SHAPES["yes and no"].write(folder / "answers.csv")
    draft = discreet.open(folder).draft(folder / "answers.csv")
    assert "insured" not in [candidate.column for candidate in draft.person_candidates]


def test_a_column_with_the_name_of_a_keyword(folder, capsys):
    (folder / "t.csv").write_text("Alter\n40\n")
    assert say(capsys, folder, "add", str(folder / "t.csv"), "--column", "alter: 0..120")[0] == 0
    code, _, err = say(capsys, folder, "query", "SELECT sum(Alter) AS s FROM t", "--epsilon", "1")
    assert code == 3 and 'try: if Alter is a column, write its name in double quotes: "Alter"' in err
    code, data, err = run(capsys, folder, "query", 'SELECT sum("Alter") AS s FROM t', "--epsilon", "1000")
    assert code == 0 and data["rows"][0][0] == pytest.approx(40, abs=4), err
