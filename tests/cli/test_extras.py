"""Verbs whose optional packages are missing say in one line what to install, and nothing else changes."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from clinic import run, say
from discreet.cli.extras import EXTRAS

ROOT = Path(__file__).parents[2]
NEEDS = [
    ("console", ["serve"]),
    ("console", ["people", "list"]),
    ("console", ["people", "add", "ann", "--role", "analyst"]),
    ("survey", ["survey", "serve"]),
]

#: What packages are imported as, where that is another name.
MODULES = {"argon2-cffi": "argon2", "markdown-it-py": "markdown_it"}


@pytest.fixture
def hide(monkeypatch):
    def hidden(extra):
        for name in EXTRAS[extra]:
            for loaded in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
                monkeypatch.delitem(sys.modules, loaded)
            monkeypatch.setitem(sys.modules, name, None)

    return hidden


@pytest.mark.parametrize(
    ("extra", "words"), NEEDS, ids=lambda value: value if isinstance(value, str) else " ".join(value)
)
def test_a_verb_without_its_extra_says_what_to_install(extra, words, hide, tmp_path, capsys):
    say(capsys, tmp_path, "init")
    hide(extra)
    code, _, err = say(capsys, tmp_path, *words)
    assert code == 2 and f"pip install 'discreet[{extra}]'" in err and err.count("\n") == 2
    code, data, _ = run(capsys, tmp_path, *words)
    assert code == 2 and data["hint"] == f"pip install 'discreet[{extra}]'" and EXTRAS[extra][0] in data["reason"]


def test_one_missing_package_is_enough(monkeypatch, tmp_path, capsys):
    say(capsys, tmp_path, "init")
    monkeypatch.setitem(sys.modules, "argon2", None)
    code, _, err = say(capsys, tmp_path, "serve")
    assert code == 2 and "argon2" in err and "uvicorn" not in err


def test_the_extras_are_those_of_the_package():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, names in EXTRAS.items():
        packages = {MODULES.get(name, name) for each in declared[extra] for name in [each.partition(">")[0]]}
        assert packages == set(names)


def test_the_engine_needs_no_extra(tmp_path):
    """In a process where none of the optional packages can be imported, a table is declared, asked and budgeted."""
    hidden = sorted({name for names in EXTRAS.values() for name in names})
    (tmp_path / "t.csv").write_text("a\n" + "1\n2\n" * 50)
    program = f"""
import sys
sys.modules.update(dict.fromkeys({hidden!r}))
from discreet.cli.main import call
for words in (["init"], ["add", "t.csv", "--epsilon", "1"], ["query", "SELECT count(*) FROM t", "--epsilon", "0.5"],
              ["budget"], ["ledger", "verify"], ["survey", "new", "Ever?", "--choices", "yes,no", "--epsilon", "1"], ["survey", "list"]):
    assert call([*words, "--project", {str(tmp_path)!r}]) == 0, words
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
