"""`project.add(df, name=...)`: a data frame becomes a file of the project's, and a table."""

import os
import stat

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.errors import UsageError
from discreet.project import frame_source

ROWS = {"age": [30, 40, None], "city": ["Bern", "Zürich", None]}


class Stream:
    """Anything with the Arrow C stream."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(ROWS).__arrow_c_stream__(requested_schema)


FRAMES = {
    "pandas": lambda: pd.DataFrame(ROWS).convert_dtypes(),
    "pandas, filtered": lambda: (
        pd.DataFrame({**ROWS, "x": [1, 2, 3]}).convert_dtypes().sort_values("x")[["age", "city"]]
    ),
    "pandas, by age": lambda: pd.DataFrame(ROWS).convert_dtypes().set_index("age"),
    "polars": lambda: pl.DataFrame(ROWS),
    "Arrow": lambda: pa.table(ROWS),
    "a batch": lambda: pa.RecordBatch.from_pydict(ROWS),
    "a reader": lambda: pa.table(ROWS).to_reader(),
    "a stream": Stream,
}


@pytest.fixture
def project(tmp_path):
    return discreet.init(tmp_path / "p", epsilon=5)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_kept_and_declared(project, kind):
    table = project.add(FRAMES[kind](), name="people")
    file = project.folder / "sources" / "people.parquet"
    assert table.source == "sources/people.parquet"
    assert {column.name: column.type for column in table.schema.columns if column.name == "age"} == {"age": "integer"}
    assert pq.read_table(file).to_pydict() == ROWS
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [each.name for each in file.parent.iterdir()] == ["people.parquet"]
    assert project.refresh("people")[1].exact_rows == 3


def test_the_same_rows_again_and_others(project):
    project.add(pl.DataFrame(ROWS), name="people")
    project.remove("people")
    assert (project.folder / "sources" / "people.parquet").exists()
    project.add(pl.DataFrame(ROWS), name="people")
    project.remove("people")
    with pytest.raises(UsageError, match=r"sources/people\.parquet exists and has other rows"):
        project.add(pl.DataFrame({"age": [1]}), name="people")
    assert pq.read_table(project.folder / "sources" / "people.parquet").num_rows == 3


def test_a_frame_that_is_not_declared_is_not_kept(project, monkeypatch):
    with pytest.raises(UsageError, match="there is no column 'id'"):
        project.add(pl.DataFrame(ROWS), name="people", person="id")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(UsageError, match="No space left"):
            project.add(pl.DataFrame(ROWS), name="people")
    assert list((project.folder / "sources").iterdir()) == []


@pytest.mark.parametrize("name", [None, "", "../x", "a/b", ".x", "a*b", "x" * 200, "a\nb"])
def test_names(project, name):
    with pytest.raises(UsageError, match="name"):
        project.add(pl.DataFrame(ROWS), name=name)
    assert not (project.folder / "sources").exists()


def test_indexes_and_mixed_columns(project):
    frame = pd.DataFrame({"x": [1, "a", None]}, index=pd.MultiIndex.from_tuples([(1, 2)] * 3, names=["k", None]))
    project.add(frame, name="mixed")
    assert pq.read_table(project.folder / "sources" / "mixed.parquet").to_pydict() == {
        "k": [1] * 3,
        "x": ["1", "a", None],
    }
    with pytest.raises(UsageError, match="an index and a column"):
        project.add(pd.DataFrame({"k": [1]}, index=pd.Index([1], name="k")), name="twice")
    with pytest.raises(UsageError, match="two columns of the data frame"):
        project.add(pd.DataFrame([[1, 2]], columns=["a", "a"]), name="twice")


@pytest.mark.parametrize(
    ("frame", "says"), [(pl.LazyFrame(ROWS), "collect"), (pd.Series([1]), "to_frame"), (3, "no table")]
)
def test_what_is_no_frame(project, frame, says):
    with pytest.raises(UsageError) as caught:
        project.add(frame, name="people")
    assert says in f"{caught.value} {caught.value.hint}"


def test_a_project_shows_itself(project):
    assert repr(project) == f"<Project {project.folder}: no tables yet>"
    project.add(pl.DataFrame(ROWS), name="people")
    assert repr(project).endswith(": people>") and list(project.tables) == ["people"]
    assert project.releases == []
    release = project.sql("SELECT count(*) FROM people").ask(epsilon=1)
    assert [each.charge.id for each in project.releases] == [release.id]


def test_a_planted_bug_is_caught(project, monkeypatch):
    """A frame that replaces another without a word."""
    monkeypatch.setattr(frame_source, "_holds", lambda file, table: True)
    with pytest.raises(BaseException, match="DID NOT RAISE"):
        test_the_same_rows_again_and_others(project)
