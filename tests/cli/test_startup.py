"""What starting a verb loads. Times are benchmarks/bench_startup.py's; here is only what must not be there."""

import subprocess
import sys

import pytest

from clinic import make
from tiers import DEEP

HEAVY = (
    *(
        "duckdb",
        "numpy",
        "pandas",
        "polars",
        "pyarrow",
        "pydantic",
        "pyspark",
        "scipy",
        "sqlglot",
        "starlette",
        "tomlkit",
    ),
    *("discreet.answers.sql", "discreet.inference", "discreet.sql.spark_dialect", "discreet.tables", "discreet.synth"),
)
COUNT = "SELECT count(*) FROM patients"


def loaded(words, folder):
    """The heavy modules that a process has loaded after these words."""
    program = f"""
import sys
from discreet.cli.main import call
code = call({[*words]!r})
print(code, *(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder)
    code, *names = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return set(names)


@pytest.mark.thin(2)
@pytest.mark.parametrize("words", [["--help"], ["query", "--help"], ["serve", "--help"], ["--version"]], ids=" ".join)
def test_help_loads_no_engine(words, tmp_path):
    assert loaded(words, tmp_path) == set()


def test_a_budget_is_shown_without_an_engine_and_without_a_parser(tmp_path):
    make(tmp_path)
    assert loaded(["budget"], tmp_path) <= {"numpy"}


def test_a_query_loads_what_it_needs_and_nothing_of_the_console(tmp_path):
    make(tmp_path)
    first = loaded(["query", COUNT, "--epsilon", "0.1"], tmp_path)
    assert first >= {"numpy", "duckdb", "pyarrow", "sqlglot"}  # these checks see
    assert "pandas" not in first  # which Arrow loads where it is installed, to compare a column with a plain number
    repeated = loaded(["query", COUNT, "--epsilon", "0.1"], tmp_path)
    assert repeated <= {"numpy", "duckdb", "sqlglot", "discreet.answers.sql"}
    if not DEEP:
        return
    assert loaded(["query", COUNT, "--epsilon", "0.1", "--fresh"], tmp_path) == repeated
    explained = loaded(["explain", COUNT, "--within", "5"], tmp_path)
    assert explained >= {"discreet.inference", "discreet.sql.spark_dialect"}


def test_a_verb_ends_with_its_ledger_closed_and_without_a_word(tmp_path):
    """`run` tunes the collector. Were all frozen at the end, the log would stay, and DuckDB would tell of leaks."""
    project = make(tmp_path)
    project.refresh("patients")  # else the first query says that it made a version
    project.ledger.close()
    program = "from discreet.cli import run; run()"
    for words in (["query", COUNT, "--epsilon", "0.1"], ["budget"]):
        done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert not list((tmp_path / ".discreet").glob("ledger.db-*"))  # the last to close removes the log


def test_the_package_itself_loads_nothing(tmp_path):
    program = f"import sys, discreet; print(*(name for name in {(*HEAVY, 'typer', 'rich')!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.split() == []
