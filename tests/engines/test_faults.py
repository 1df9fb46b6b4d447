"""Where a CSV is no table: the line is named, and no cell."""

import gzip

import pytest

from discreet.engines.csv_faults import first_fault
from discreet.engines.file_source import find
from discreet.engines.text_lines import MOST_ROW_BYTES


def fault(tmp_path, text, name="a.csv"):
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return first_fault(find(name, folder=tmp_path))


@pytest.mark.parametrize(
    ("text", "line", "fields"),
    [
        ("id,age\n1,2\n3\n", 3, 1),
        ("id,age\n1,2,9\n3,4\n", 2, 3),
        ("id,age\n1,2\n3,4\n5,6,7", 4, 3),  # a last line without an end
        ('id,age\n1,"a\nb"\n"c\nd\ne",2,secret\n', 4, 3),  # a row is told by the line at which it begins
        ("id;age\n1;2\n3;4;5\n", 3, 3),
        ("id,age\n\n1,2\n3,4,5\n", 4, 3),  # an empty line is no row
    ],
)
def test_a_row_of_another_length(tmp_path, text, line, fields):
    found = fault(tmp_path, text)
    assert (found.line, found.fields) == (line, fields)
    assert found.reason == f"line {line} of a.csv has {fields} fields, but the header has 2"
    assert "secret" not in found.reason + found.hint


@pytest.mark.parametrize("text", ["id,age\n", "id,age\n1,2\n", "id,age\r\n1,2\r\n", 'id,age\n1,"2,3"\n', "id,age\n1,2"])
def test_nothing_is_wrong(tmp_path, text):
    assert fault(tmp_path, text) is None


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("id,age\r\n1,2\r\n3,4\n", 3, "ends with LF, but the header ends with CR LF"),
        ("id,age\n1,2\r\n", 2, "ends with CR LF, but the header ends with LF"),
    ],
)
def test_a_line_that_ends_otherwise(tmp_path, text, line, words):
    found = fault(tmp_path, text)
    assert (found.line, found.fields) == (line, None) and found.reason == f"line {line} of a.csv {words}"
    assert found.hint == "save the file with one kind of line ending"


def test_of_several_files_the_one_is_named(tmp_path):
    (tmp_path / "a1.csv").write_text("id,age\n1,2\n")
    (tmp_path / "a2.csv").write_text("id,age\n1,2\n1\n")
    assert first_fault(find("a*.csv", folder=tmp_path)).reason.startswith("line 3 of a2.csv has 1 field")
    (tmp_path / "a2.csv").write_text("id,age\n1,2\n")
    assert first_fault(find("a*.csv", folder=tmp_path)) is None


def test_a_compressed_file(tmp_path):
    assert fault(tmp_path, "id,age\n1,2\n3\n", name="a.csv.gz").line == 3


def test_a_field_beyond_what_is_read_is_left_to_the_engine(tmp_path):
    assert fault(tmp_path, "id,age\n1," + "x" * (MOST_ROW_BYTES + 1) + "\n1\n") is None
    assert fault(tmp_path, "id,age\n1," + "x" * 200_000 + "\n1\n").line == 3
