"""`add --through`: a table whose rows refer to rows of another one, without a line of TOML."""

from __future__ import annotations

import pytest

import discreet
from clinic import run

POPULATION = "\n[populations.people]\nbudget = { epsilon = 20, delta = 1e-6 }\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "visits.csv").write_text("visit,who,cost\n1,a,5\n2,a,7\n3,b,9\n")
    (tmp_path / "drugs.csv").write_text("visit,drug\n1,x\n1,y\n3,x\n")
    discreet.init(tmp_path)
    with (tmp_path / "discreet.toml").open("a") as stream:
        stream.write(POPULATION)
    discreet.open(tmp_path).add(tmp_path / "visits.csv", person="who", rows_per_person=2, population="people")
    return tmp_path


def add(capsys, folder, *more):
    return run(capsys, folder, "add", str(folder / "drugs.csv"), *more)


def test_rows_belong_to_the_persons_of_another_table(folder, capsys):
    code, _, err = add(capsys, folder, "--person", "visit", "--through", "visits", "--rows-per-person", "4")
    assert code == 0, err
    project = discreet.open(folder)
    table = project.table("drugs")
    assert (table.schema.unit.through, table.schema.unit.on, table.population) == ("visits", ("visit",), "people")
    assert project.sql("SELECT count(*) FROM drugs").ask(epsilon=15).rows[0][0] == pytest.approx(3, abs=12)  # 45 scales


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--through", "visits"], "needs the column by which rows refer to visits"),
        (["--through", "visit", "--person", "visit", "--population", "people"], "which is not declared"),
        (["--through", "visits", "--person", "vist"], "there is no column 'vist'"),
    ],
)
def test_what_does_not_lead_to_persons_is_refused(folder, capsys, more, says):
    before = (folder / "discreet.toml").read_text()
    code, told, _ = add(capsys, folder, *more)
    assert code == 2 and says in str(told)
    assert (folder / "discreet.toml").read_text() == before
