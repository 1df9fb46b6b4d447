"""The talk of `add`: every question, every wrong line, what writes and what does not; and on a real terminal."""

import re
import sqlite3
from contextlib import closing

import duckdb
import pytest
import xlsxwriter

import discreet
from cli.on_terminal import Terminal
from clinic import run, say
from discreet.cli.add_talk import AddTalk, ask_sheet
from discreet.errors import UsageError

ROWS = "Patient ID,age,sex,smoker,my notes\n" + "".join(f"{n // 3},{n % 90},{n % 2 + 1},yes,x\n" for n in range(60))


@pytest.fixture
def project(tmp_path):
    (tmp_path / "visits.csv").write_text(ROWS)
    return discreet.init(tmp_path, epsilon=900)


def talk(project, lines, *, file="visits.csv", answered=(), **more):
    """Feed lines to the talk; return the draft, what was printed, and the prompts."""
    printed, prompts, lines = [], [], list(lines)

    def read(prompt):
        prompts.append(prompt)
        if not lines:
            raise EOFError
        return lines.pop(0)

    asked = AddTalk(
        draft=project.draft(project.folder / file, **more),
        folder=project.folder,
        inherited=project.file.budget,
        answered=answered,
        read=read,
        say=printed.append,
    )
    try:
        draft = asked.run()
    except UsageError as problem:
        draft = problem
    assert not lines, "not all lines were asked for"
    return draft, "\n".join(printed), prompts


def test_five_typed_inputs_for_a_usual_file(project):
    draft, printed, prompts = talk(
        project, ["", "3", "", "age: 0..120", "sex: 1=female, 2=male", "smoker: yes/no", "my notes: skip", "", "yes"]
    )
    assert draft.settings == {"source": "visits.csv", "person": "Patient ID", "rows_per_person": 3}
    assert draft.declared_columns == {
        "age": {"type": "integer", "low": 0, "high": 120},
        "sex": {"type": "category", "values": ["1", "2"], "labels": {"1": "female", "2": "male"}},
        "smoker": {"type": "boolean"},
    }
    for words in (
        "visits.csv: 5 columns, divided by commas",
        "types were read from the first 20,000 rows of the data",
        "bounds and words are never read",
        "which columns repeat was read from the first 20,000 rows of the data",
        "0  each row is a different person",
        "1  rows with the same 'Patient ID' are one person's: its name says so, and its values repeat in the rows looked "
        "at (read from the data)",
        "Rows with the same Patient ID belong to one person; at most 3 rows of each person count.",
        "All answers about them together may spend epsilon 900, as the project says.",
        "sex: one of 1 (female), 2 (male); anything else counts as missing",
        "not declared, so nobody can ask about them: my notes",
    ):
        assert words in printed, words
    assert any("[900, the project's]" in each for each in prompts)
    project.add_draft(draft)
    sql = "select sex, avg(age) a from visits group by sex"
    assert [round(row[1]) for row in project.sql(sql).ask(epsilon=800).rows[:2]] == [29, 30]


@pytest.mark.parametrize(
    ("typed", "person"),
    [("0", None), ("1", "Patient ID"), ("", "Patient ID"), ("SMOKER", "smoker"), ("'my notes'", "my notes")],
)
def test_whose_row_it_is(project, typed, person):
    limit = [] if person is None else ["2"]
    draft, _, _ = talk(project, [typed, *limit, "", "", "y"])
    assert draft.settings.get("person") == person


def test_wrong_lines_get_a_sentence_and_are_asked_again(project):
    lines = [
        "7",
        "nobody",
        "1",
        "x",
        "0",
        "2",
        "-1",
        "5",
        "age 3",
        "age: 9..1",
        "agee: 0..1",
        "age: 0..9",
        "",
        "what",
        "y",
    ]
    draft, printed, _ = talk(project, lines)
    for words in (
        "there is no column '7'",
        "there is no column 'nobody'",
        "'x' is not a whole number from 1 on",
        "'0' is not a whole number from 1 on",
        "epsilon must be",
        "'age 3' has no colon after its columns",
        "low is above high",
        "there is no column 'agee'\n  try: did you mean 'age'?",
    ):
        assert words in printed, words
    assert draft.settings["rows_per_person"] == 2 and draft.settings["budget"]["epsilon"] == 5
    assert draft.columns["age"] == {"type": "integer", "low": 0, "high": 9}


def test_the_text_is_shown_on_request(project):
    draft, printed, _ = talk(project, ["0", "", "", "toml", "yes"])
    assert draft.toml() in printed


@pytest.mark.parametrize("lines", [["0", "", "", ""], ["0", "", "", "no"], ["0", "", ""], ["0"], []])
def test_nothing_is_written_without_a_yes(project, lines):
    before = (project.folder / "discreet.toml").read_text()
    refused, _, _ = talk(project, lines)
    assert isinstance(refused, UsageError) and "nothing was written" in refused.reason
    assert (project.folder / "discreet.toml").read_text() == before


def test_what_flags_say_is_not_asked(project):
    more = {"person": "Patient ID", "rows_per_person": 3, "epsilon": 5}
    _, printed, prompts = talk(project, ["", "y"], answered=("person", "epsilon"), **more)
    assert len(prompts) == 2 and "Whose row" not in printed and "epsilon 5" in printed
    _, printed, prompts = talk(project, ["", "y"], public=True)
    assert len(prompts) == 2 and "The table is public" in printed


def workbook(file, *names):
    with xlsxwriter.Workbook(file) as book:
        for name in names:
            book.add_worksheet(name).write_row(0, 0, [f"{name} a", "b"])


def sheet_of(file, lines):
    printed, lines = [], list(lines)

    def read(_):
        if not lines:
            raise EOFError
        return lines.pop(0)

    return ask_sheet(file, read=read, say=printed.append), "\n".join(printed)


@pytest.mark.parametrize(
    ("lines", "sheet"), [([""], "One"), (["2"], "Two"), (["3"], "3"), (["Two"], "Two"), (["9", "no", "1"], "One")]
)
def test_which_sheet_is_asked_where_there_are_several(tmp_path, lines, sheet):
    workbook(tmp_path / "w.xlsx", "One", "Two", "3", "Four\x0b"[:4])
    chosen, printed = sheet_of(tmp_path / "w.xlsx", lines)
    assert chosen == sheet and "w.xlsx has 4 sheets:\n  1  One\n  2  Two" in printed
    assert printed.count("there is no") == len(lines) - 1


def test_one_sheet_and_other_files_are_not_asked_about(project):
    workbook(project.folder / "w.xlsx", "One")
    (project.folder / "broken.xlsx").write_bytes(b"PK\x03\x04")
    for name in ("w.xlsx", "visits.csv", "broken.xlsx", "not there.xlsx", "*.csv"):
        assert sheet_of(project.folder / name, []) == (None, "")
    workbook(project.folder / "w.xlsx", "One", "Two")
    with pytest.raises(UsageError, match="nothing was written"):
        sheet_of(project.folder / "w.xlsx", [])


def test_tables_of_databases_are_asked_about(tmp_path):
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as file:
        file.executescript("create table t (a); create table u (a)")
    assert sheet_of(tmp_path / "s.sqlite", ["u"])[0] == "u"
    with duckdb.connect(tmp_path / "s.duckdb") as file:
        file.execute("create table t (a int)")
        file.execute("create table u (a int)")
    assert sheet_of(tmp_path / "s.duckdb", ["2"])[0] == "u"


def test_the_talk_begins_with_the_sheet(project, capsys, monkeypatch):
    workbook(project.folder / "w.xlsx", "One", "Two")
    lines = ["2", "0", "", "", "yes", "n"]
    monkeypatch.setattr("discreet.cli.add_talk.can_talk", lambda: True)
    monkeypatch.setattr("builtins.input", lambda prompt="": lines.pop(0))
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    for function in (ask_sheet, AddTalk.__init__):
        defaults = function.__kwdefaults__
        monkeypatch.setitem(defaults, "read", lambda prompt="": lines.pop(0))
    code, out, err = say(capsys, project.folder, "add", str(project.folder / "w.xlsx"))
    assert code == 0, out + err
    raw = discreet.open(project.folder).file.raw["w"]
    assert raw["sheet"] == "Two" and list(raw["columns"]) == ["Two a", "b"]


def test_names_that_no_terminal_should_print_are_marked(project):
    (project.folder / "x.csv").write_text("id\x1b[2J,b\n1,2\n")
    _, printed, prompts = talk(project, ["0", "", "", "y"], file="x.csv")
    assert "\x1b" not in printed + "".join(prompts) and "id\ufffd[2J" in printed


def test_flags_say_the_same_to_scripts(project, capsys):
    words = (
        "--column",
        "age: 0..120",
        "--column",
        "sex: 1=f, 2=m",
        "--column",
        "my notes: skip",
        "--person",
        "Patient ID",
    )
    code, data, _ = run(capsys, project.folder, "add", str(project.folder / "visits.csv"), *words)
    assert code == 0 and data["columns"] == {"age": "integer", "sex": "category", "smoker": "text"}
    assert discreet.open(project.folder).table("visits").schema.column("sex").labels == (("1", "f"), ("2", "m"))
    (project.folder / "b.csv").write_text("a,b\n1,2\n")
    code, _, err = say(capsys, project.folder, "add", str(project.folder / "b.csv"), "--column", "c: 1..2")
    assert code == 2 and "there is no column 'c'" in err


def test_add_says_why_values_will_not_fit(project, capsys):
    """Before the table is made, in the words of `refresh`: a code book says what a column is, not how it is written."""
    cells = "".join(f"{'about' if n % 3 else n},5;n.a.;ja\n" for n in range(9))
    (project.folder / "b.csv").write_text("price;mark;flag\n" + cells)
    book = "column,type,low,high\nprice,decimal,0,100\nmark,integer,0,9\nflag,boolean,,\n"
    (project.folder / "book.csv").write_text(book)
    words = ("--codebook", str(project.folder / "book.csv"))
    code, _, err = say(capsys, project.folder, "add", str(project.folder / "b.csv"), *words)
    assert code == 0
    for sentence in (
        'note: price: 3 of 9 values that do not fit have a decimal comma: decimal = ","',
        'note: mark: 9 of 9 values that do not fit are marks of missing values: null = ["n.a."]',
        'note: flag: 9 of 9 values that do not fit are words for true or false: true = ["ja"], false = ["nein"]',
    ):
        assert sentence in err, err


def test_add_says_nothing_where_all_values_fit(project, capsys):
    _, out, err = say(capsys, project.folder, "add", str(project.folder / "visits.csv"), "--column", "age: 0..120")
    assert "fit" not in err and "do not fit" not in out


def test_without_a_terminal_nothing_is_asked(project, capsys):
    code, out, _ = say(capsys, project.folder, "add", str(project.folder / "visits.csv"))
    assert code == 0 and "Whose row" not in out and "Now declare in discreet.toml" in out


def test_on_a_real_terminal(project):
    screen = Terminal(project.folder, "add", "visits.csv")
    screen.answer("another column [1]: ", "1")
    screen.answer("[1]: ", "3")
    screen.answer("the project's]: ", "")
    screen.answer("> ", "age: 0..120")
    screen.answer("> ", "")
    screen.answer("[no]: ", "yes")
    screen.answer("[Y/n]: ", "")
    assert screen.leave() == 0, screen.seen
    assert re.search(r"made version 1 of 'visits' from 60 rows", screen.seen)
    assert discreet.open(project.folder).table("visits").schema.column("age").high == 120


def test_interrupting_it_writes_nothing(project):
    before = (project.folder / "discreet.toml").read_text()
    screen = Terminal(project.folder, "add", "visits.csv")
    screen.answer("another column [1]: ", "1")
    screen.until("[1]: ")
    screen.interrupt()
    assert screen.leave() == 130, screen.seen
    assert "stopped" in screen.seen
    assert (project.folder / "discreet.toml").read_text() == before


@pytest.mark.parametrize("flag", ["--yes", "--json"])
def test_a_terminal_that_asks_for_no_questions_gets_none(project, capsys, monkeypatch, flag):
    monkeypatch.setattr("discreet.cli.add_talk.can_talk", lambda: True)
    monkeypatch.setattr("builtins.input", lambda prompt: pytest.fail(prompt))
    code, out, _ = say(capsys, project.folder, "add", str(project.folder / "visits.csv"), flag)
    assert code == 0 and "Whose row" not in out
    assert "visits" in discreet.open(project.folder).file.tables
