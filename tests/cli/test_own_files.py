"""From an awkward file to the first right answer: what `add` detects is enough, and the numbers are pandas'."""

import json

import pandas as pd
import pytest
import xlsxwriter

import discreet
from clinic import run, say

ROWS = [(f"p{place}", 20 + place % 50, ("Zürich", "Genf", "Bern")[place % 3]) for place in range(90)]
NAMES = ["person id", "age (years)", 'the "city"']
TEXT = 'person id;age (years);"the ""city"""\r\n' + "".join(f"{a};{b};{c}\r\n" for a, b, c in ROWS)


def excel(file):
    book = xlsxwriter.Workbook(file)
    sheet = book.add_worksheet("Sheet 1")
    for place, row in enumerate([["A title"], [], NAMES, *ROWS]):
        sheet.write_row(place, 0, row)
    book.close()


SHAPES = {
    "title.csv": lambda file: file.write_text("Übersicht, 2026\n\n" + TEXT, encoding="utf-8"),
    "utf16.csv": lambda file: file.write_bytes(("Titel\r\n" + TEXT).encode("utf-16")),
    "windows.csv": lambda file: file.write_bytes(TEXT.encode("cp1252")),
    "book.xlsx": excel,
    "lines.jsonl": lambda file: file.write_text(
        "\n".join(json.dumps(dict(zip(NAMES, row, strict=True))) for row in ROWS), encoding="utf-8"
    ),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", SHAPES)
def test_from_a_file_to_the_right_answer(tmp_path, capsys, name):
    SHAPES[name](tmp_path / name)
    discreet.init(tmp_path, epsilon=3000)
    words = ["add", str(tmp_path / name), "--name", "people", "--person", "person id", "--rows-per-person", "1"]
    code, _, err = say(capsys, tmp_path, *words)
    assert code == 0, err
    sql = 'SELECT count(*) AS n FROM people WHERE "age (years)" >= 40 AND "the ""city""" = \'Zürich\''
    code, data, text = run(capsys, tmp_path, "query", sql, "--epsilon", "1000")
    assert code == 0, (data, text)
    frame = pd.DataFrame(ROWS, columns=NAMES)
    assert data["rows"][0][0] == len(frame[(frame[NAMES[1]] >= 40) & (frame[NAMES[2]] == "Zürich")])


def test_what_is_typed_is_kept(tmp_path, capsys):
    (tmp_path / "t.csv").write_bytes(b"title\na b\n1 2\n")
    discreet.init(tmp_path, epsilon=3)
    words = ("--encoding", "latin-1", "--delimiter", " ", "--skip-rows", "1")
    code, _, err = say(capsys, tmp_path, "add", str(tmp_path / "t.csv"), *words)
    assert code == 0 and "written to discreet.toml" not in err
    layout = discreet.open(tmp_path).tables["t"].layout
    assert (layout.encoding, layout.delimiter, layout.skip_rows) == ("latin-1", " ", 1)
    (tmp_path / "u.csv").write_bytes(b"a\tb\n1\t2\n")
    assert say(capsys, tmp_path, "add", str(tmp_path / "u.csv"), "--delimiter", "tab")[0] == 0
    assert discreet.open(tmp_path).tables["u"].layout.delimiter == "\t"
    code, _, err = say(capsys, tmp_path, "add", str(tmp_path / "u.csv"), "--encoding", "ebcdic")
    assert code == 2 and "utf-8, utf-16, cp1252, latin-1" in err
    (tmp_path / "v.jsonl").write_text('{"a": 1, "b": {"c": 2}}\n')
    code, _, err = say(capsys, tmp_path, "add", str(tmp_path / "v.jsonl"))
    assert code == 0 and "left out of v.jsonl, because their values are nested or bytes: 'b'" in " ".join(err.split())
