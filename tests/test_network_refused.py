"""Of a network with ends nothing but graph statistics can be asked: every other verb refuses, free, and says why."""

import csv
from types import SimpleNamespace

import pytest

import discreet
from discreet.cli.main import app, call
from discreet.engines.keyed_hashes import person_tag
from discreet.errors import Refused, SchemaError, UsageError
from discreet.kernel.erasure import person_keys
from discreet.project.project import Project

FILE = """
[populations.people]
budget = { epsilon = 5, delta = 1e-6 }
[tables.friends]
source = "friends.csv"
population = "people"
ends = ["from", "to"]
rows_per_person = 3
[tables.persons]
source = "persons.csv"
population = "people"
person = "id"
[tables.persons.columns.age]
type = "integer"
low = 0
high = 9
"""
REASON = "'friends' has ends"


@pytest.fixture(params=[False, True], ids=["no version yet", "refreshed"])
def project(request, tmp_path):
    found = make(tmp_path)
    if request.param:
        found.refresh("friends")
    return found


def make(folder):
    (folder / "discreet.toml").write_text(FILE)
    (folder / "friends.csv").write_text("from,to\na,b\nb,c\nc,a\nd,d\n,a\na,b\n")
    (folder / "persons.csv").write_text("id,age\na,1\nb,2\nc,3\ne,4\n")
    return discreet.init(folder)


#: A model that says it is of the network, and a plan of tables of it.
OF_FRIENDS = SimpleNamespace(card=SimpleNamespace(table="friends"))
PLAN = {"table": "friends", "attributes": ["from"]}

#: Every verb that takes a table and reads rows of it.
VERBS = {
    "sql": lambda project: project.sql("select count(*) from friends"),
    "batch": lambda project: project.batch("select count(*) from persons; select count(*) from friends", epsilon=1),
    "explain_batch": lambda project: project.explain_batch("select count(*) from friends", epsilon=1),
    "histogram": lambda project: project.histogram("friends", "from"),
    "ranges": lambda project: project.ranges("friends", "from", epsilon=1),
    "plan_ranges": lambda project: project.plan_ranges("friends", "from", epsilon=1),
    "describe": lambda project: project.describe("friends", epsilon=1),
    "describe_plan": lambda project: project.describe_plan("friends", epsilon=1),
    "marginals": lambda project: project.marginals("friends", ["from", "to"], epsilon=1),
    "plan_marginals": lambda project: project.plan_marginals("friends", ["from", "to"], epsilon=1),
    "synthesize": lambda project: project.synthesize("friends", epsilon=1),
    "compare": lambda project: project.compare(OF_FRIENDS, epsilon=1),
    "publish": lambda project: project.publish(PLAN, epsilon=1),
    "plan_publish": lambda project: project.plan_publish(PLAN, epsilon=1),
    "bounds": lambda project: project.bounds("friends", ["rows_per_person"], epsilon=1),
    "bias": lambda project: project.bias("friends", ["rows_per_person"], epsilon=1),
    "reconcile": lambda project: project.reconcile("friends"),
    "stream": lambda project: project.stream("friends", "month", epsilon=1, horizon=4),
    "version": lambda project: project.version("friends"),
    "peek_version": lambda project: project.peek_version("friends"),
}

#: Others: acts of the owner, budgets, what was released or is public; graphs; and `about`, which takes what `sql` read.
OTHERS = {
    "declare_described",
    *(
        "acknowledge",
        "add",
        "add_draft",
        "add_drafts",
        "adopt",
        "again",
        "asker",
        "budget",
        "curator",
        "draft",
        "draft_text",
        "edited_places",
        "find",
        "forget",
        "grant",
    ),
    *(
        "graph",
        "guarantee",
        "ledger",
        "ledger_path",
        "ledger_table",
        "make",
        "owns_file",
        "private",
        "remove",
        "retire",
    ),
    *(
        "public",
        "recall",
        "refresh",
        "release",
        "changed_sources",
        "is_up_to_date",
        "reread",
        "settle_query",
        "stored_statement_reader",
        "source_changed",
        "table",
        "tables",
        "releases",
        "verify",
        "versions",
    ),
    "warnings",
}


def test_every_verb_of_a_project_was_thought_of():
    assert {name for name in dir(Project) if not name.startswith("_")} == set(VERBS) | OTHERS


@pytest.mark.thin(12)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_of_a_project_refuses(project, verb):
    with pytest.raises(Refused, match=REASON) as caught:
        VERBS[verb](project)
    assert "graph stats friends" in caught.value.hint
    assert project.ledger.refresh().charges == {}


@pytest.mark.thin(6)
@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from friends",
        "select count(distinct person) from friends",
        "select count(*) from persons join friends on persons.person = friends.person",
        "select avg(n) from (select person, count(*) n from friends group by person) group by 1",
        "with f as (select * from friends) select count(*) from f",
        "select count(*) from persons where age > 3 union all select count(*) from friends",
    ],
)
def test_no_question_in_sql_reaches_an_edge(project, sql):
    with pytest.raises(Refused):
        project.sql(sql).ask(epsilon=1)
    assert project.ledger.refresh().charges == {}


#: The command line's, with the words that follow.
WORDS = {
    "explain": ["select count(*) from friends", "--epsilon", "1"],
    "query": ["select count(*) from friends", "--epsilon", "1"],
    "rehearse": ["select count(*) from friends", "--epsilon", "1"],
    "ask": ["select count(*) from friends", "--epsilon", "1"],
    "histogram": ["friends", "from", "--epsilon", "1"],
    "ranges": ["friends", "from", "--epsilon", "1"],
    "marginals": ["friends", "from", "to", "--epsilon", "1"],
    "bounds": ["friends", "rows_per_person", "--epsilon", "1"],
    "describe": ["friends", "--epsilon", "1"],
    "synth fit": ["friends", "--epsilon", "1"],
    "stream start": ["friends", "daily", "--epsilon", "1", "--horizon", "3"],
    "reconcile": ["friends"],
    "publish": ["plan.toml", "--epsilon", "1", "--to", "out"],
}
NOT_ABOUT_ROWS = {
    *("init", "add", "refresh", "again", "forget", "demo", "version", "serve", "anonymize"),
    *("check", "tables", "releases", "remove", "retire", "sample-data", "infer"),
}


def test_every_verb_of_the_command_line_was_thought_of():
    """Of groups `synth` and `stream` alone ask a declared table; `graph` may."""
    named = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert named | {"synth fit", "stream start"} == set(WORDS) | NOT_ABOUT_ROWS
    groups = {"budget", "release", "stream", "ledger", "synth", "survey", "people", "attack", "graph", "audit"}
    assert {group.name for group in app.registered_groups} == groups


@pytest.mark.thin(8)
@pytest.mark.parametrize("verb", WORDS)
def test_every_verb_of_the_command_line_refuses(project, verb, capsys, monkeypatch):
    monkeypatch.chdir(project.folder)
    (project.folder / "plan.toml").write_text('table = "friends"\nattributes = ["from"]\n')
    where = ["--project", str(project.folder)]
    assert call([*verb.split(), *WORDS[verb], *where]) == 3
    assert REASON in capsys.readouterr().err
    assert project.ledger.refresh().charges == {}


def test_plans_that_are_free_refuse_too(project, capsys):
    for wanted in (["ranges", "friends", "from"], ["marginals", "friends", "from", "to"]):
        assert call([*wanted, "--plan", "--epsilon", "1", "--project", str(project.folder)]) == 3
        assert REASON in capsys.readouterr().err


def test_a_network_too_large_or_unreadable_says_so_at_a_refresh_alone(tmp_path, monkeypatch):
    """No question makes the first version: whether it can be made would tell how many edges there are."""
    project = make(tmp_path)
    with pytest.raises(UsageError, match="'friends' has no version yet"):
        project.versions.newest("friends")
    monkeypatch.setattr("discreet.engines.network.network_size.MOST_EDGES", 3)
    with pytest.raises(UsageError, match="has 3 distinct edges"):
        project.refresh("friends")
    assert project.ledger.refresh().versions == {}
    assert not list((tmp_path / ".discreet" / "tables").glob("*.parquet"))


def test_forgotten_in_one_is_forgotten_in_both(tmp_path):
    project = make(tmp_path)
    project.refresh("friends")
    project.refresh("persons")
    assert project.forget("friends", ["b"]).tables == ("friends", "persons")
    assert edges(project) == 1
    assert project.forget("persons", ["c"]).tables == ("persons", "friends")
    assert edges(project) == 0
    _, making = project.refresh("friends", force=True)
    assert (making.exact_rows, making.exact_persons) == (0, 0)
    assert project.refresh("persons", force=True)[1].exact_persons == 2
    with pytest.raises(UsageError, match="one value"):
        project.forget("friends", ["a", "b"])


def edges(project):
    version = project.versions.newest("friends")
    engine = project.curator.engine
    place = engine.place(version.file, folder=project.curator.folder)
    return len(engine.graph(place, None, directed=False).exact_from)


@pytest.mark.deep
def test_declared_from_the_command_line(tmp_path, capsys):
    where = ["--project", str(tmp_path)]
    with (tmp_path / "e.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["src", "dst", "weight"], ["a", "b", "1"], ["b", "b", "2"]])
    assert call(["init", "--epsilon", "2", *where]) == 0
    add = ["add", str(tmp_path / "e.csv"), *where]
    for wrong, reason in (
        (["--ends", "src"], "two different columns"),
        (["--ends", "src,SRC"], "two different columns"),
        (["--ends", "src,dts"], "there is no column 'dts'"),
        (["--ends", "src,dst", "--person", "src"], "--ends cannot be combined with"),
        (["--ends", "src,dst", "--public"], "--ends cannot be combined with"),
        (["--ends", "src,dst", "--rows-per-person", "60000000"], "below 50,000,000"),
    ):
        capsys.readouterr()
        assert call([*add, *wrong]) == 2
        assert reason in capsys.readouterr().err
    assert "tables" not in (tmp_path / "discreet.toml").read_text()
    assert call([*add, "--ends", "src,dst", "--rows-per-person", "5"]) == 0
    table = discreet.open(tmp_path).table("e")
    assert (table.schema.unit.ends, table.schema.unit.limit, table.schema.columns) == (("src", "dst"), 5, ())
    capsys.readouterr()
    assert call(["refresh", "e", *where]) == 0
    said = capsys.readouterr().out
    assert "1 edge from a person to themselves was left out" in said
    assert call(["budget", *where]) == 0


def test_a_row_that_is_an_edge_is_told_of(tmp_path, capsys):
    (tmp_path / "e.csv").write_text("source,target\na,b\n")
    assert call(["init", "--epsilon", "2", "--project", str(tmp_path)]) == 0
    assert call(["add", str(tmp_path / "e.csv"), "--project", str(tmp_path)]) == 0
    assert "--ends source,target" in capsys.readouterr().out
    assert call(["refresh", "e", "--project", str(tmp_path)]) == 0
    assert 'write ends = ["source", "target"]' in capsys.readouterr().err


def test_headers_are_told_before_anything_is_made(tmp_path):
    project = make(tmp_path)
    (tmp_path / "friends.csv").write_text("from,too\na,b\n")
    with pytest.raises(SchemaError, match="has no column 'to'"):
        project.refresh("friends")


def test_a_page_of_made_up_rows_shows_both_ends(tmp_path):
    from discreet.rehearse import look_alike

    project = make(tmp_path)
    assert look_alike(project.file.tables, "friends", rows=50).column_names == ["from", "to"]


def test_the_last_line_stands_by_itself(tmp_path):
    """Whoever forgets to refuse finds that no plan over such a table has a sensitivity."""
    from discreet.plan.query_sensitivity import reach
    from discreet.plan.relation import Scan

    schema = make(tmp_path).table("friends").schema
    for scan in (Scan(table="friends", version=1), Scan(table="friends", version=1, roster=True)):
        with pytest.raises(Refused, match=REASON):
            reach(scan, {"friends": schema})


def test_what_was_broken_off_is_finished_by_a_second_run(tmp_path, monkeypatch):
    """Between its two files: the table without the person's edges, the side file as it was."""
    import os

    project = make(tmp_path)
    project.refresh("friends")
    (file,) = [
        each for each in (tmp_path / ".discreet" / "tables").glob("friends-*.parquet") if "persons" not in each.name
    ]
    done = []

    def replace(old, new, replace=os.replace):
        if done:
            raise OSError(28, "No space left on device")
        done.append(new)
        replace(old, new)

    engine = project.curator.engine
    tag = person_tag(["b"], person_keys(project.ledger, project.curator.folder).tags)
    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(UsageError, match="cannot be written"):
        engine.erase(file, [tag])
    monkeypatch.undo()
    assert edges(project) == 1
    assert len(engine.persons(file).exact_rows) == 3
    assert engine.erase(file, [tag]) == 1
    assert (edges(project), engine.persons(file).exact_rows.tolist()) == (1, [1, 1])
    assert engine.erase(file, [tag]) == 0
