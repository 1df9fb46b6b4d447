"""Tables that have columns of the same names: a column is of the table that the text names before it."""

import json

import pytest

import discreet
from discreet.bundle import bundle_files
from verify.conftest import state_in
from verify.forger import forged
from verify.forging import verdicts, worst
from verify.test_own_key import measured_again, says

COLUMNS = """
[tables.{name}]
source = "{name}.csv"
person = "id"
rows_per_person = 2
population = "people"
[tables.{name}.columns.cost]
type = "integer"
low = 0
high = 50
[tables.{name}.columns.ward]
type = "category"
values = ["a", "b"]
[tables.{name}.columns.town]
type = "text"
"""
FROM = "FROM v JOIN s AS other ON v.id = other.id"
#: Columns of one table, and what the same text would be of the other one.
TEXTS = {
    "sum": f"SELECT sum(other.cost) AS x {FROM}",
    "average": f"SELECT avg(other.cost) AS x {FROM}",
    "median": f"SELECT median(other.cost) AS x {FROM}",
    "count": f"SELECT count(other.cost) AS x {FROM}",
    "different": f"SELECT count(DISTINCT other.cost) AS x {FROM}",
    "some": f"SELECT count(*) FILTER (WHERE other.cost > 3) AS x {FROM}",
    "key": f"SELECT other.ward AS w, count(*) AS x {FROM} GROUP BY other.ward",
    "discovered": f"SELECT other.town AS t, count(*) AS x {FROM} GROUP BY other.town",
    "two keys": f"SELECT other.ward AS w, v.ward AS u, count(*) AS x {FROM} GROUP BY w, u",
    "difference": f"SELECT sum(v.cost) - sum(other.cost) AS x {FROM}",
    "renamed": "SELECT sum(t.cost) AS x FROM v JOIN (SELECT id, cost FROM s WHERE cost > 1) t ON v.id = t.id",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder, state = tmp_path_factory.mktemp("several") / "p", tmp_path_factory.mktemp("state") / "here"
    with state_in(state):
        discreet.init(folder)
        for name in ("v", "s"):
            rows = [f"p{who},{who % 50},{'ab'[who % 2]},{name}{who % 3}" for who in range(600)]
            (folder / f"{name}.csv").write_text("\n".join(["id,cost,ward,town", *rows]) + "\n")
        budget = "[populations.people]\nbudget = { epsilon = 900.0, delta = 1e-4 }\n"
        path = folder / "discreet.toml"
        path.write_text(path.read_text() + budget + "".join(COLUMNS.format(name=name) for name in ("v", "s")))
        project = discreet.open(folder)
        yield {
            name: bundle_files.make_bundle(project, project.sql(text).ask(epsilon=9).id) for name, text in TEXTS.items()
        }


def exchanged(documents):
    """The same of the other table, in whatever is measured, wherever both have it."""
    question = documents["proof"]["question"]
    for name in ("statistics", "quantiles", "sets", "keys"):
        words = json.dumps(question[name])
        for column in ("cost", "ward", "town"):
            words = words.replace(f'"discreet:1.{column}"', '"@"').replace(f'"{column}"', f'"discreet:1.{column}"')
            words = words.replace('"@"', f'"{column}"')
        question[name] = json.loads(words)
    measured_again(documents)


@pytest.mark.parametrize("name", TEXTS)
def test_a_column_is_of_the_table_that_the_text_names(name, made):
    assert worst(forged(made[name], lambda _: None)) == "proved"
    words = TEXTS[name]
    other = words.replace("v.", "@").replace("other.", "v.").replace("t.cost", "v.cost").replace("@", "other.")
    other = other.replace("other.id = v.id", "v.id = other.id").replace("other.id = t.id", "v.id = t.id")
    assert other != words and verdicts(forged(made[name], says(other)))["names"] in ("open", "broken")
    if name not in ("two keys", "difference"):  # of which both are measured, whichever is which
        assert verdicts(forged(made[name], exchanged))["names"] in ("open", "broken")


def test_a_text_names_the_tables_that_were_counted(made):
    """Without the join, or with another table in its place."""
    for words in (
        "SELECT count(*) FILTER (WHERE cost > 3) AS x FROM v",
        "SELECT count(*) FILTER (WHERE other.cost > 3) AS x FROM v JOIN u AS other ON v.id = other.id",
    ):
        assert verdicts(forged(made["some"], says(words)))["names"] == "broken"
