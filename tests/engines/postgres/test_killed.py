"""A making that is killed between its COMMIT and the ledger's row leaves tables that no ledger names.

The engine does not know the ledger, so it sweeps nothing. What docs/engines/postgres.md tells the owner to do finds
and drops these tables, and no other.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import discreet
from clinic import say
from discreet.engines.keyed import person_tag
from engines.postgres.server import execute, new_name

DOCS = Path(__file__).parents[3] / "docs/engines/postgres.md"

KILLED = """
import os, sys, discreet
from discreet.ledger.ledger import Ledger
Ledger.add_version = lambda *given, **how: os._exit(9)
discreet.open(sys.argv[1]).refresh("visits")
"""


def of_docs():
    """The statement and the command of the section that an owner follows."""
    section = DOCS.read_text(encoding="utf-8").partition("## What lies where")[2].partition("\n## ")[0]
    sql, command = re.findall(r"```(?:sql)?\n(.*?)\n```", section, flags=re.DOTALL)
    return sql, command


def holding(address, tables, tag):
    """Those of these tables that hold somebody."""
    sql = "SELECT count(*) FROM discreet.\"{}-tags\" WHERE tag = decode('{}', 'hex')"
    return [name for name in tables if execute(address, sql.format(name, tag.hex())) == [(1,)]]


def test_what_was_left_is_found_by_what_the_docs_say(tmp_path, postgres_address, capsys):
    people = f"public.{new_name('people')}"
    execute(
        postgres_address,
        f"CREATE TABLE {people} AS SELECT 'p' || g AS pid, g AS age FROM generate_series(0, 19) AS g",
    )
    sql, command = of_docs()
    listed = lambda: {name for (name,) in execute(postgres_address, sql)}  # noqa: E731
    project = discreet.init(tmp_path / "project")
    project.add(people, name="visits", person="pid", rows_per_person=1, epsilon=1, engine=postgres_address)
    project = discreet.open(project.folder)
    project.refresh("visits")
    others = listed() - {project.ledger.refresh().versions["visits"][1].file}  # of other tests
    killed = subprocess.run([sys.executable, "-c", KILLED, str(project.folder)], env=os.environ, check=False)
    assert killed.returncode == 9
    project = discreet.open(project.folder)
    project.refresh("visits")
    assert project.forget("visits", ["p7"]).exact_versions == 2

    assert command == "discreet ledger show --json | jq -r '.entries[].body.file // empty'"
    code, out, _ = say(capsys, project.folder, "ledger", "show", "--json")
    named = {entry["body"]["file"] for entry in json.loads(out)["entries"] if entry["body"].get("file")}
    assert (code, len(named), named <= listed()) == (0, 2, True)
    left = listed() - others - named
    tag = person_tag(("p7",), project.curator.keys.tags)
    assert holding(postgres_address, named | left, tag) == [*left], "forgetting does not reach it, as the docs say"
    (name,) = left
    execute(postgres_address, f'DROP TABLE discreet."{name}", discreet."{name}-tags"')
    assert listed() - others == named
