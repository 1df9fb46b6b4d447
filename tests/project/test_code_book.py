"""Code books: every heading by every name, every way to be wrong, one book for many tables."""

from datetime import date
from fractions import Fraction

import pytest

import discreet
from clinic import run, say
from discreet.errors import UsageError
from discreet.project.code_book import CodeBook
from discreet.project.code_book_reader import SYNONYMS
from discreet.project.table_draft import TableDraft

DRAFT = TableDraft(
    name="visits",
    settings={"source": "visits.csv"},
    columns={
        "Patient ID": {"type": "integer"},
        "age": {"type": "integer"},
        "price": {"type": "decimal"},
        "sex": {"type": "integer"},
        "seen": {"type": "date"},
        "note": {"type": "text"},
    },
    source_columns=("Patient ID", "age", "price", "sex", "seen", "note"),
)


def book(folder, text, name="book.csv"):
    (folder / name).write_text(text)
    return CodeBook.read(folder / name)


def applied(folder, text, name="book.csv", draft=DRAFT):
    return book(folder, text, name).apply(draft)


def test_a_line_for_each_column(tmp_path):
    draft = applied(
        tmp_path,
        "column,type,low,high,values,label,unit,person,rows_per_person\n"
        "patient id,,,,,,,yes,12\n"
        "age,number,0,120,,age in years,years,,\n"
        "price,,0,99.5,,,EUR,no,\n"
        "sex,integer,,,1=Male;2=Female,,,,\n"
        "seen,,2020-01-01,2020-12-31,,,,,\n"
        "\n",
    )
    assert draft.settings == {"source": "visits.csv", "person": "Patient ID", "rows_per_person": 12}
    assert draft.declared_columns == {
        "age": {"type": "integer", "low": 0, "high": 120},
        "price": {"type": "decimal", "low": 0, "high": Fraction(199, 2)},
        "sex": {"type": "category", "values": ["1", "2"], "labels": {"1": "Male", "2": "Female"}},
        "seen": {"type": "date", "low": date(2020, 1, 1), "high": date(2020, 12, 31)},
        "note": {"type": "text"},
    }
    assert "book.csv describes 5 of 6 columns; what it says becomes public" in draft.public_facts[0]


def test_a_line_for_each_code(tmp_path):
    draft = applied(tmp_path, "Variable;Code;Meaning\nsex;1;Male\n;2;Female\nnote;a;\nnote;b;\n")
    assert draft.columns["sex"] == {
        "type": "category", "values": ["1", "2"], "labels": {"1": "Male", "2": "Female"},
    }  # fmt: skip
    assert draft.columns["note"] == {"type": "category", "values": ["a", "b"]}
    assert draft.columns["age"] == DRAFT.columns["age"]


CELLS = {
    "type": ("integer", "type", "integer"), "low": ("3", "low", 3), "high": ("9", "high", 9), "bins": ("2", "bins", 2),
}  # fmt: skip


@pytest.mark.thin(50)
@pytest.mark.parametrize(("heading", "synonym"), [(each, word) for each, words in SYNONYMS.items() for word in words])
def test_every_heading_by_every_name(tmp_path, heading, synonym):
    spelled = [synonym, synonym.upper(), f" {synonym.replace('_', ' ').title()} ", synonym.replace("_", "-")]
    for spelling in spelled:
        if heading == "column":
            assert book(tmp_path, f"{spelling},low\nage,1\n").content.entries[0].column == "age"
        elif heading == "table":
            assert book(tmp_path, f"{spelling},column\nvisits,age\n").content.entries[0].table == "visits"
        elif heading == "values":
            assert applied(tmp_path, f"column,{spelling}\nsex,1|2\n").columns["sex"]["values"] == ["1", "2"]
        elif heading == "value":
            assert applied(tmp_path, f"column,{spelling}\nsex,1\n").columns["sex"]["values"] == ["1"]
        elif heading == "label":
            draft = applied(tmp_path, f"column,value,{spelling}\nsex,1,Male\n")
            assert draft.columns["sex"]["labels"] == {"1": "Male"}
        elif heading == "person":
            assert applied(tmp_path, f"column,{spelling}\nPatient ID,x\n").settings["person"] == "Patient ID"
        elif heading == "rows_per_person":
            draft = applied(tmp_path, f"column,person,{spelling}\nPatient ID,x,7\n")
            assert draft.settings["rows_per_person"] == 7
        elif heading in CELLS:
            cell, key, value = CELLS[heading]
            text = f"column,{spelling}{',low,high' if heading == 'bins' else ''}\nage,{cell},0,9\n"
            assert (
                applied(tmp_path, text.replace(",0,9", "") if heading != "bins" else text).columns["age"][key] == value
            )
        elif heading == "":
            assert applied(tmp_path, f"column,{spelling}\nage,whatever\n").columns == DRAFT.columns
        else:  # settings that are passed on as they are
            assert heading in book(tmp_path, f"column,{spelling}\nage,x\n").content.entries[0].settings


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "book.csv is empty"),
        ("column,low\n", "describes no column"),
        ("low,high\n1,2\n", "line 1: no heading names the columns"),
        ("column,lwo\nage,1\n", "line 1: 'lwo' is no heading"),
        ("column,min,low\nage,1,1\n", "line 1: two headings mean 'low'"),
        ("column,value,values\nage,1,1\n", "line 1: both 'value' and 'values'"),
        ("column,low\nage,1\nagee,2\n", "line 3: 'visits' has no column 'agee'"),
        ("column,low\nage,1\n,2\n", "line 3 names no column"),
        ("column,low\nage,1\nAGE,2\n", "line 3: column 'AGE' is described already in book.csv, line 2"),
        ("column,low,high\nage,9,1\n", "line 2: column 'age': low is above high"),
        ("column,low\nage,x\n", "line 2: the bound 'x' of 'age' is no number"),
        ("column,low\nage,1,2\n", "line 2 has 3 fields"),
        ("column,type\nage,intger\n", "line 2: 'intger' is no type"),
        ("column,type,low\nage,text,1\n", "line 2: column 'age' has bounds, but its type is text"),
        ("column,low,values\nage,1,a|b\n", "line 2: column 'age' has both values and bounds"),
        ("column,type,values\nage,date,a|b\n", "line 2: column 'age' has values, but its type is date"),
        ("column,type\nsex,category\n", "line 2: column 'sex' is a category without values"),
        ("column,values\nsex,a|a\n", "line 2: 'a' is listed twice"),
        ("column,values\nsex,1=a|2=a\n", "line 2: column 'sex': two values are called 'a'"),
        ("column,value,label\nsex,1,a\nsex,1,b\n", "line 3: the value '1' of 'sex' is listed already"),
        ("column,type,value\nsex,text,1\nsex,integer,2\n", "line 3: type of 'sex' is not what book.csv, line 2 says"),
        ("column,person\nage,perhaps\n", "line 2: person is 'perhaps'"),
        ("column,person,rows_per_person\nage,yes,0\n", "line 2: rows_per_person is '0'"),
        ('column,label\nage,"x\n', "line 2: "),
        ("table,column\npatients,age\n", "book.csv does not describe a table 'visits'"),
    ],
)
def test_a_wrong_book_is_refused_by_its_line(tmp_path, text, reason):
    with pytest.raises(UsageError) as caught:
        applied(tmp_path, text)
    assert reason in caught.value.reason


def test_what_a_flag_says_is_not_overruled(tmp_path):
    other = DRAFT.replace(settings={"person": "age"})
    with pytest.raises(UsageError, match="line 2: person is Patient ID, but age was given"):
        applied(tmp_path, "column,person\nPatient ID,yes\n", draft=other)
    with pytest.raises(UsageError, match="public or has ends"):
        applied(tmp_path, "column,person\nPatient ID,yes\n", draft=DRAFT.replace(settings={"public": True}))


def test_a_book_in_toml(tmp_path):
    draft = applied(
        tmp_path,
        '[tables.Visits]\nperson = "Patient ID"\nrows_per_person = 3\n'
        '[tables.visits.columns.age]\nlow = 0\nhigh = 120\nlabel = "age in years"\n'
        '[columns.sex]\nvalues = { 1 = "Male", 2 = "Female" }\n[columns.note]\nvalues = "a|b"\n'
        "[columns.seen]\nlow = 2020-01-01\n",
        name="book.toml",
    )
    assert draft.settings["person"] == "Patient ID" and draft.settings["rows_per_person"] == 3
    assert draft.columns["age"] == {"type": "integer", "low": 0, "high": 120}
    assert draft.columns["sex"]["labels"] == {"1": "Male", "2": "Female"}
    assert draft.columns["note"]["values"] == ["a", "b"] and draft.columns["seen"]["low"] == date(2020, 1, 1)
    for text, reason in (
        ("[columns.agee]\nlow = 1\n", "[columns.agee]: 'visits' has no column 'agee'"),
        ("[columns.age]\nlwo = 1\n", "[columns.age] has an unknown key 'lwo'"),
        ("[tables.visits]\nbudget = 1\n", "[tables.visits] has an unknown key 'budget'"),
        ("[columns.age]\nperson = 1\n", "person must be true or false"),
        ("x = 1\n", "unknown key 'x'"),
        ("", "describes no column"),
    ):
        with pytest.raises(UsageError) as caught:
            applied(tmp_path, text, name="book.toml")
        assert reason in caught.value.reason


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_books_of_other_programs(tmp_path, encoding):
    (tmp_path / "book.csv").write_bytes("column\tvalues\r\nnote\tMünchen|Köln\r\n".encode(encoding))
    assert CodeBook.read(tmp_path / "book.csv").apply(DRAFT).columns["note"]["values"] == ["München", "Köln"]


def test_a_book_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        CodeBook.read(tmp_path / "none.csv")


def make_tables(folder, tables=15):
    discreet.init(folder, epsilon=1000)
    lines = ["table,column,type,low,high,values,person,rows_per_person"]
    for table in range(tables):
        (folder / f"Survey {table}.csv").write_text(
            "pid,age,sex,text\n" + "".join(f"{n},{n},{n % 2},t{table}\n" for n in range(40))
        )
        lines += [f"Survey {table}.csv,pid,,,,,yes,2", f"survey_{table},age,,0,{50 + table},,,"]
        lines += [f"survey_{table},sex,,,,0=woman;1=man,,"]
    (folder / "book.csv").write_text("\n".join(lines) + "\n")
    return [str(folder / f"Survey {table}.csv") for table in range(tables)]


def test_fifteen_tables_by_one_book(tmp_path, capsys):
    files = make_tables(tmp_path)
    code, data, _ = run(capsys, tmp_path, "add", *files, "--codebook", str(tmp_path / "book.csv"))
    assert code == 0 and [each["table"] for each in data["tables"]] == [f"survey_{n}" for n in range(15)]
    project = discreet.open(tmp_path)
    for number in range(15):
        schema = project.table(f"survey_{number}").schema
        assert schema.unit.person == ("pid",) and schema.unit.rows == 2
        assert schema.column("age").high == 50 + number
        assert schema.column("sex").labels == (("0", "woman"), ("1", "man"))
    release = project.sql("select sex, avg(age) a from survey_3 group by sex").ask(epsilon=900)
    assert abs(release.rows[0][1] - 19) < 1 and release.cell_text(0, 0) == "woman"


def test_several_files_are_declared_together_or_not_at_all(tmp_path, capsys):
    files = make_tables(tmp_path, tables=3)
    before = (tmp_path / "discreet.toml").read_text()
    book_ = ("--codebook", str(tmp_path / "book.csv"))
    code, _, err = say(capsys, tmp_path, "add", files[0], files[1], files[0], *book_)
    assert code == 2 and "is already declared" in err and (tmp_path / "discreet.toml").read_text() == before
    (tmp_path / "other.csv").write_text("a\n1\n")
    code, _, err = say(capsys, tmp_path, "add", files[0], str(tmp_path / "other.csv"), *book_)
    assert code == 2 and "does not describe a table 'other'" in err
    assert (tmp_path / "discreet.toml").read_text() == before
    for flag in (("--name", "x"), ("--column", "age: 0..1")):
        code, _, err = say(capsys, tmp_path, "add", files[0], files[1], *flag)
        assert code == 2 and f"{flag[0]} is about one table, but 2 files are named" in err
    code, out, _ = say(capsys, tmp_path, "add", *files, *book_)
    assert code == 0 and "declared 3 tables" in out and "becomes public with the declaration" in out


def test_python_takes_a_book_and_a_limit_beside_it(tmp_path):
    (file, *_) = make_tables(tmp_path, tables=1)
    project = discreet.open(tmp_path)
    with pytest.raises(UsageError, match="rows_per_person is 2, but 5 was given"):
        project.draft(file, codebook=tmp_path / "book.csv", rows_per_person=5)
    table = project.add(file, codebook=tmp_path / "book.csv", rows_per_person=2)
    assert table.schema.unit.person == ("pid",) and table.schema.unit.rows == 2
