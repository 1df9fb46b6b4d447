"""Whoever was forgotten comes into no network that is declared later, and back out of no network into a table."""

import pytest

import discreet

POPULATION = "[populations.all]\nbudget = { epsilon = 400, delta = 1e-6 }\n"
MEMBERS = """
[tables.members]
source = "members.csv"
person = "id"
population = "all"
[tables.members.columns.colour]
type = "text"
"""
TIES = """
[tables.{name}]
source = "{name}.csv"
ends = ["from", "to"]
rows_per_person = 40
population = "all"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "members.csv").write_text("id,colour\n" + "".join(f"p{n},red\n" for n in range(20)))
    star = "from,to\n" + "".join(f"p0,p{n}\n" for n in range(1, 20))
    (tmp_path / "ties.csv").write_text(star)
    (tmp_path / "calls.csv").write_text(star.replace("p0,p1\n", "p0,p1\np1,p2\n"))
    return tmp_path


def declared(folder, *parts):
    (folder / "discreet.toml").write_text("".join((POPULATION, *parts)))
    return discreet.open(folder)


@pytest.mark.parametrize("first", [MEMBERS, TIES.format(name="ties")])
def test_a_network_that_is_declared_later_has_nobody_who_was_forgotten(folder, first):
    (folder / "discreet.toml").write_text(POPULATION + first)
    project = discreet.init(folder)
    name = "members" if first == MEMBERS else "ties"
    project.refresh(name)
    project.forget(name, ["p0"])
    made = declared(folder, first, TIES.format(name="calls")).refresh("calls")[1]
    assert made.exact_rows == 1 and made.exact_persons == 2  # p1 and p2


def test_a_table_that_is_declared_later_has_nobody_who_was_forgotten_in_a_network(folder):
    ties = TIES.format(name="ties")
    (folder / "discreet.toml").write_text(POPULATION + ties)
    project = discreet.init(folder)
    project.refresh("ties")
    project.forget("ties", ["p0"])
    made = declared(folder, ties, MEMBERS).refresh("members")[1]
    assert made.exact_rows == 19 and made.exact_persons == 19
