"""What the lab reads: types without loss, and clear refusals that quote no cell."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import UsageError
from discreet.lab.table_reader import parse_names, read, select_columns


def written(tmp_path, text, name="a.csv"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path / name


def test_a_number_is_one_only_where_no_digit_is_lost(tmp_path):
    table = read(
        written(
            tmp_path,
            "zip,age,cost,born,long,word,none\n02138, 3,NA,1945-09-14,12345678901234567890,NA,\n02139,4,2.5,,1,b,\n",
        )
    )
    assert table["zip"].to_pylist() == ["02138", "02139"]
    assert table["age"].to_pylist() == [3, 4]
    assert table["cost"].to_pylist() == [None, 2.5]
    assert str(table["born"][0]) == "1945-09-14" and table["born"][1].as_py() is None
    assert table["long"].to_pylist() == ["12345678901234567890", "1"]
    assert table["word"].to_pylist() == ["NA", "b"]
    assert table["none"].null_count == 2


def test_delimiters_marks_and_quotes(tmp_path):
    table = read(written(tmp_path, '\ufeff"a b";c\n"x;\ny";1\n'))
    assert table.to_pylist() == [{"a b": "x;\ny", "c": 1}]


def test_parquet_with_dictionaries(tmp_path):
    pq.write_table(pa.table({"sex": pa.array(["F", "M", "F"]).dictionary_encode()}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet")["sex"].to_pylist() == ["F", "M", "F"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n", "has no rows"),
        ("a,a\n1,2\n", "same name"),
        ("a,\n1,2\n", "same name"),
        ("", "does not start with the names"),
        ("a,b\n1,secret\n1\n", "cannot be read as CSV"),
        (b"a,b\n1,\x81\x8d\n", "cannot be read as CSV"),
    ],
)
def test_what_cannot_be_read(tmp_path, text, told):
    with pytest.raises(UsageError, match=told) as problem:
        read(written(tmp_path, text))
    assert "secret" not in str(problem.value)


def test_no_file_and_no_column(tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        read(tmp_path / "nothing.csv")
    with pytest.raises(UsageError, match="voters has no column 'zpi'") as problem:
        select_columns(pa.table({"zip": [1], "sex": [2]}), ["zpi"], of="voters")
    assert "did you mean 'zip'" in str(problem.value)
    assert select_columns(pa.table({"zip": [1], "sex": [2]}), ["sex"]).column_names == ["sex"]


def test_names():
    for text in ("", "a,,b", "a,b,a"):
        with pytest.raises(UsageError):
            parse_names(text)
