"""Sources that change while a version is made, or whose names mean another column once files were added."""

import pytest

import discreet
from discreet.engines.duckdb import DuckDBEngine
from discreet.lab.neighbours.engine_site import read_parquet
from project.test_version_growth import ROWS, THROUGH


def make(folder, text, **files):
    (folder / "visits").mkdir()
    (folder / "discreet.toml").write_text(text)
    (folder / "orders.csv").write_text("who,number\np,1\nq,2\n")
    for name, content in files.items():
        write(folder, name, content)
    return discreet.init(folder)


def write(folder, name, content):
    (folder / "visits" / f"{name}.csv").write_text(content)


def ages(project, version):
    record = project.ledger.refresh().versions["visits"][version]
    return sorted(row["age"] for row in read_parquet(project.folder / ".discreet" / "tables" / record.file))


@pytest.fixture
def before_making(monkeypatch):
    """What happens once, after the sources were looked at and before they are read."""
    acts = []

    def listen(name):
        real = getattr(DuckDBEngine, name)

        def act_first(self, *arguments, **named):
            while acts:
                acts.pop()()
            return real(self, *arguments, **named)

        monkeypatch.setattr(DuckDBEngine, name, act_first)

    listen("declare")
    listen("extend")
    return acts


def test_a_file_that_lands_while_a_version_is_made_is_in_the_next_one_once(tmp_path, before_making):
    """In the first version it stands already: as an added file its rows would stand twice, and each count for two."""
    project = make(tmp_path, ROWS, first="age\n1\n2\n")
    before_making.append(lambda: write(tmp_path, "second", "age\n50\n"))
    project.refresh("visits")
    assert ages(project, 1) == [1, 2, 50]
    project.refresh("visits")
    assert ages(project, 2) == [1, 2, 50]
    before_making.append(lambda: write(tmp_path, "fourth", "age\n70\n"))
    write(tmp_path, "third", "age\n60\n")
    project.refresh("visits")
    assert ages(project, 3) == [1, 2, 50, 60, 70]
    write(tmp_path, "fifth", "age\n80\n")
    assert project.refresh("visits")[1].exact_added is None
    assert ages(project, 4) == [1, 2, 50, 60, 70, 80]
    write(tmp_path, "sixth", "age\n90\n")
    assert project.refresh("visits")[1].exact_added == 1


def test_a_file_that_was_other_while_a_version_was_made_is_not_known_again(tmp_path, before_making):
    project = make(tmp_path, ROWS, first="age\n1\n")
    before_making.append(lambda: write(tmp_path, "first", "age\n9\n"))
    project.refresh("visits")
    assert ages(project, 1) == [9]
    write(tmp_path, "first", "age\n1\n")
    write(tmp_path, "second", "age\n50\n")
    project.refresh("visits")
    assert ages(project, 2) == [1, 50]


def test_a_way_that_changes_while_a_version_is_made_reads_the_source(tmp_path, before_making):
    project = make(tmp_path, THROUGH, first="number,age\n1,10\n2,20\n")
    project.refresh("visits")
    write(tmp_path, "second", "number,age\n1,30\n")
    before_making.append(lambda: (tmp_path / "orders.csv").write_text("who,number\nr,1\n"))
    assert project.refresh("visits")[1].exact_added is None
    assert ages(project, 2) == [10, 30]
    write(tmp_path, "third", "number,age\n1,40\n")
    assert project.refresh("visits")[1].exact_added is None  # what was read of the way is not what was digested


@pytest.mark.parametrize("name", ["a", "z"])
def test_a_name_that_stands_twice_in_a_file_may_mean_another_column_later(tmp_path, name):
    project = make(tmp_path, ROWS, m="age,Age\n1,2\n")
    project.refresh("visits")
    assert ages(project, 1) == [1]
    write(tmp_path, name, "Age\n7\n")
    assert project.refresh("visits")[1].exact_added is None
    assert ages(project, 2) == [2, 7]
    project.refresh("visits", force=True)
    assert ages(project, 3) == [2, 7]
