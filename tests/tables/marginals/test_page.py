"""The page about marginals: what it shows runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import discreet
from discreet.cli.main import call

PAGE = (Path(__file__).parents[3] / "docs" / "tables" / "marginals.md").read_text()
TOML = """
[tables.visits]
source = "visits.csv"
budget = { epsilon = 50, delta = 1e-6 }
[tables.visits.columns]
sex = { type = "category", values = ["F", "M"], closed = true }
ward = { type = "category", values = ["cardio", "maternity", "surgery"] }
age = { type = "integer", low = 0, high = 99, bins = 5 }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    lines = [f"{'FM'[n % 2]},{('cardio', 'maternity', 'surgery')[n % 3]},{n % 100}" for n in range(300)]
    (tmp_path / "visits.csv").write_text("\n".join(["sex,ward,age", *lines]) + "\n")
    (tmp_path / "discreet.toml").write_text(TOML)
    discreet.init(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_its_commands_run(folder, capsys):
    lines = [line.split("#")[0] for block in blocks("") for line in block.splitlines() if line.startswith("discreet ")]
    assert len(lines) >= 5
    for line in lines:
        assert call(shlex.split(line)[1:]) == 0, line
    assert len(list((folder / "out").iterdir())) == 6
    assert "±" in capsys.readouterr().out


def test_its_python_runs(folder, capsys):
    (block,) = blocks("python")
    exec(block, {"clinic": discreet.open(folder)})
    assert capsys.readouterr().out.count("[") >= 6
