"""A small project on which every verb with --json is really run, so that the page of JSON lists what programs see."""

from __future__ import annotations

import io
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

DECLARED = """\
[project]
budget = { epsilon = 500, delta = 1e-6 }

[tables.patients]
source = "patients.csv"

[tables.patients.columns.age]
type = "integer"
low = 0
high = 99
bins = 5

[tables.patients.columns.sex]
type = "category"
values = ["F", "M"]
labels = { F = "women", M = "men" }

[tables.patients.columns.ward]
type = "category"
values = ["a", "b", "c", "d"]

[tables.visits]
source = "visits.csv"
person = "patient"
rows_per_person = 3

[tables.visits.columns.cost]
type = "integer"

[tables.friends]
source = "friends.csv"
ends = ["from", "to"]
rows_per_person = 6

[tables.links]
source = "links.csv"

[tables.links.columns.from]
type = "text"

[tables.links.columns.to]
type = "text"

[tables.places]
source = "places.csv"
public = true

[tables.places.columns.house]
type = "text"

[tables.places.columns.ward]
type = "text"

[tables.people]
source = "people.csv"
public = true

[tables.people.columns.name]
type = "text"

[tables.people.columns.city]
type = "text"
"""
PLAN = """\
table = "patients"
attributes = ["sex"]

[hierarchy]
column = "ward"
levels = ["house", "ward"]
from = "places"
root = "clinic"
"""
TABLES = """\
[[tables]]
columns = ["sex", "ward"]
variance = 100
cells = [["F", "a", 50], ["F", "b", 60], ["M", "a", 70], ["M", "b", -5]]
"""
#: Every verb that prints JSON, and how it is called; several calls of one verb are told together. Words in capitals are
#: what was printed last under that key. A verb that serves prints none.
CALLS = [
    ("init", "init --project other"),
    ("init", "init --practice --project practice"),
    ("add", "add more.csv --public"),
    ("remove", "remove more --yes"),
    ("add", "add one.csv two.csv --public"),
    ("refresh", "refresh patients"),
    ("refresh", "refresh friends"),
    ("refresh", "refresh visits --check"),
    ("explain", "explain 'SELECT avg(age) FROM patients' --within 50%"),
    ("query", "query 'SELECT avg(age) FROM patients' --within 50% --at-most 50"),
    ("explain", "explain 'SELECT ward, count(*) FROM patients GROUP BY ward' --epsilon 1"),
    ("query", "query 'SELECT ward, count(*) AS n FROM patients GROUP BY ROLLUP(ward)' --epsilon 1"),
    ("query", "query 'SELECT ward, count(*) AS n FROM patients GROUP BY ward' --epsilon 1"),
    ("explain", "explain 'SELECT count(*) FROM patients' --within 10"),
    ("explain", "explain 'SELECT \"from\", count(*) FROM links GROUP BY 1' --epsilon 1 --delta 1e-7"),
    ("rehearse", "rehearse 'SELECT ward, count(*) FROM patients GROUP BY ward' --epsilon 1"),
    ("again", "again RELEASE --epsilon 1"),
    ("explain", "explain -f batch.sql --epsilon 1"),
    ("query", "query -f batch.sql --epsilon 1"),
    ("budget show", "budget"),
    ("tables", "tables"),
    ("releases", "releases"),
    ("describe", "describe visits --epsilon 50 --plan"),
    ("describe", "describe visits --epsilon 50"),
    ("histogram", "histogram patients sex --epsilon 1"),
    ("ranges", "ranges patients age --epsilon 1 --plan"),
    ("ranges", "ranges patients age --epsilon 1 --between 20..59 --quantile 0.5"),
    ("ranges", "ranges patients age --epsilon 1 --by sex --between 20..59"),
    ("stream start", "stream start visits daily --epsilon 1 --horizon 10 --plan"),
    ("stream start", "stream start visits daily --epsilon 1 --horizon 10"),
    ("stream next", "stream next visits daily monday"),
    ("stream show", "stream show visits daily --between monday.."),
    ("stream list", "stream list visits"),
    ("marginals", "marginals patients sex ward --epsilon 1 --plan"),
    ("marginals", "marginals patients sex ward --epsilon 1"),
    ("publish", "publish plan.toml --epsilon 1 --plan"),
    ("publish", "publish plan.toml --epsilon 1 -o out"),
    ("query", "query 'SELECT count(*) FROM patients' --epsilon 1"),
    ("release write", "release write RELEASE -o bundle"),
    ("release card", "release card RELEASE"),
    ("release verify", "release verify bundle"),
    ("release key", "release key"),
    ("reconcile", "reconcile patients --whole"),
    ("infer", "infer tables.toml"),
    ("infer", "infer tables.toml --rows 3"),
    ("bounds", "bounds visits cost --epsilon 50"),
    ("bounds", "bounds visits --report --epsilon 50"),
    ("forget", "forget visits 7 --yes"),
    ("graph stats", "graph stats links --nodes people --key name --by city --epsilon 1 --plan"),
    ("graph stats", "graph stats friends --epsilon 50"),
    ("graph stats", "graph stats links --nodes people --key name --by city --epsilon 50"),
    ("graph stats", "graph stats links --nodes people --key name --by city --epsilon 50 --only homophily"),
    (
        "graph synth",
        "graph synth links --nodes people --key name --by city --epsilon 50 -o edges.csv --model network.json",
    ),
    ("graph spread", "graph spread network.json --runs 2 --seed 1"),
    ("synth fit", "synth fit visits --epsilon 50"),
    ("synth sample", "synth sample --persons 5 -o persons.csv"),
    ("synth fit", "synth fit patients --epsilon 50 --model privbayes -o model.json"),
    ("synth sample", "synth sample -n 5 -o rows.csv"),
    ("synth inspect", "synth inspect -o page.html --graph network.svg"),
    ("synth inspect", "synth inspect model.json model.json"),
    ("survey new", "survey new 'Did you?' --choices yes,no --epsilon 1 --minimum 1"),
    ("survey answer", "survey answer SURVEY yes --dry-run --device device"),
    ("survey answer", "survey answer SURVEY yes --device device"),
    ("survey estimate", "survey estimate SURVEY"),
    ("survey list", "survey list"),
    ("survey card", "survey card SURVEY"),
    ("survey close", "survey close SURVEY"),
    ("survey new", "survey new 'How many?' --low 0 --high 10 --step 1 --epsilon 1 --minimum 1 --tokens"),
    ("survey tokens", "survey tokens SURVEY -n 1"),
    ("survey new", "survey new 'Did you today?' --choices yes,no --epsilon 1 --minimum 1 --every day --donations 2"),
    ("survey answer", "survey answer SURVEY"),
    ("survey answer", "survey answer SURVEY yes --device device --lifetime 100"),
    ("survey estimate", "survey estimate SURVEY --by period"),
    ("people add", "people add anna --role owner --password-stdin"),
    ("people add", "people add ben --password-stdin"),
    ("people list", "people list"),
    ("people role", "people role ben owner"),
    ("people password", "people password ben --password-stdin"),
    ("people token", "people token ben --label laptop"),
    ("people tokens", "people tokens"),
    ("people revoke", "people revoke 1"),
    ("people disable", "people disable ben"),
    ("people enable", "people enable ben"),
    ("ledger verify", "ledger verify"),
    ("ledger show", "ledger show"),
    ("ledger export", "ledger export -o rows.jsonl"),
    ("ledger backup", "ledger backup -o copy.db"),
    ("attack reconstruction", "attack reconstruction --n 50"),
    ("anonymize", "anonymize patients.csv --quasi age,sex --sensitive ward --k 5 -o anonymous.csv"),
    ("anonymize", "anonymize patients.csv --quasi age,sex --k 5 --method suppression -o starred.csv"),
    ("check", "check patients.csv --quasi age,sex --sensitive ward"),
    ("audit neighbours", "audit neighbours --table patients --questions batch.sql --tries 1"),
    ("retire", "retire links --yes"),
    ("sample-data", "sample-data"),
    ("sample-data", "sample-data network --rows 20 -o samples"),
    ("version", "version"),
]
#: Failures, which have JSON too.
FAILURES = [
    ("a refusal", "query 'SELECT age FROM patients' --epsilon 1"),
    ("a budget refusal", "query 'SELECT count(*) FROM patients WHERE age > 3' --epsilon 900"),
    ("any other error", "query 'SELECT count(*) FROM patients'"),
]


def seen() -> Iterator[tuple[str, Any]]:
    """Each call's verb, and the JSON that it printed."""
    with _world() as folder:
        last: dict[str, str] = {}
        for verb, line in [*CALLS, *FAILURES]:
            told = _call(line, last)
            if (verb, line) in CALLS and told.get("accepted") is False:
                raise RuntimeError(f"discreet {line} is refused: {told['reason']}")
            for key in ("release", "survey"):
                if isinstance(told.get(key), str):
                    last[key.upper()] = told[key]
            if verb == "init":
                (folder / "discreet.toml").write_text(DECLARED, encoding="utf-8")
                _call("init", last)
            yield verb, told


def _call(line: str, last: dict[str, str]) -> Any:
    import shlex

    from discreet.cli.main import call

    words = [last.get(word, word) for word in shlex.split(line)]
    printed, errors = io.StringIO(), io.StringIO()
    before, sys.stdin = sys.stdin, io.StringIO("correct horse battery\n")
    try:
        with redirect_stdout(printed), redirect_stderr(errors):
            call([*words, "--json"])
    finally:
        sys.stdin = before
    try:
        return json.loads(printed.getvalue().splitlines()[-1])
    except (IndexError, ValueError):
        raise RuntimeError(f"no JSON from discreet {line}: {printed.getvalue()}{errors.getvalue()}") from None


@contextmanager
def _world() -> Iterator[Path]:
    """A folder with small generated files, which is the current one, and a state folder of its own."""
    from discreet.ledger.filesystem import use_state_folder

    chance = random.Random(3)  # noqa: S311 - sample data, not noise
    home = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="discreet-reference-") as name, use_state_folder(Path(name) / "state"):
        folder = Path(name) / "project"
        (folder / "other").mkdir(parents=True)
        rows = [f"{chance.randrange(100)},{chance.choice('FM')},{chance.choice('abcd')}\n" for _ in range(300)]
        (folder / "patients.csv").write_text("age,sex,ward\n" + "".join(rows))
        rows = [f"{chance.randrange(100)},{chance.randrange(1000)}\n" for _ in range(300)]
        (folder / "visits.csv").write_text("patient,cost\n" + "".join(rows))
        (folder / "people.csv").write_text("name,city\n" + "".join(f"p{n},{'NS'[n % 2]}\n" for n in range(100)))
        for name in ("friends.csv", "links.csv"):
            rows = [f"p{chance.randrange(100)},p{chance.randrange(100)}\n" for _ in range(200)]
            (folder / name).write_text("from,to\n" + "".join(rows))
        (folder / "places.csv").write_text("house,ward\nnorth,a\nnorth,b\nsouth,c\nsouth,d\n")
        (folder / "more.csv").write_text("a,b\n1,2\n")
        (folder / "one.csv").write_text("c,d\n1,2\n")
        (folder / "two.csv").write_text("e,f\n1,2\n")
        (folder / "plan.toml").write_text(PLAN)
        (folder / "tables.toml").write_text(TABLES)
        (folder / "batch.sql").write_text(
            "SELECT count(*) FROM patients; SELECT sex, count(*) FROM patients GROUP BY sex"
        )
        try:
            os.chdir(folder)
            yield folder
        finally:
            os.chdir(home)
