"""The order of the suite: its lists name files that there are, and Spark's files are one piece of work."""

from pathlib import Path

import pytest

from order import LONG, SPARK, Scheduling, place

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", [*SPARK, *LONG])
def test_what_is_listed_is_there(name):
    """A file that was renamed would run late, and nobody would know why the suite takes longer."""
    assert (ROOT / name).is_dir() if name.endswith("/") else (ROOT / name).is_file()


def test_spark_first_then_the_longest_then_the_others():
    files = ["tests/test_exact.py", LONG[1], LONG[0], "src/discreet/exact.py", "tests/engines/spark/test_store.py"]
    assert sorted(files, key=place) == [files[4], LONG[0], LONG[1], files[0], files[3]]


def test_files_of_spark_are_one_piece_and_others_one_each():
    split = Scheduling._split_scope
    assert split(None, "tests/engines/spark/test_store.py::test_a[1]") == split(None, "tests/sql/test_spark.py::test_b")
    assert split(None, "tests/manual/test_pages_how_to.py::test_a[docs/how-to/lake-spark.md]") == "spark"
    assert split(None, "tests/test_exact.py::test_a[x::y]") == "tests/test_exact.py"
    assert split(None, "tests/sql/test_spark_questions.py::test_c") == "tests/sql/test_spark_questions.py"
