"""docs/graphs.md: its declaration, its data and its commands run as they stand."""

import re
from pathlib import Path

import pytest

import discreet
from discreet.cli.main import call
from discreet.graph.shape import NAMES, WEIGHTS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "graphs.md").read_text()


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("python")[0], "graphs.md", "exec"), {})
    (tmp_path / "discreet.toml").write_text(blocks("toml")[0])
    discreet.init(tmp_path)
    lines = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    assert len(lines) >= 5
    for line in lines:
        assert call(line.split()[1:]) == 0, capsys.readouterr().err
    given = {"discreet": discreet}
    exec(compile(blocks("text")[0], "graphs.md", "exec"), given)
    assert given["found"].cached is False and given["found"].statistics == ("edges", "mixing")


@pytest.mark.parametrize("name", NAMES)
def test_every_statistic_is_named(name):
    assert f"`{name}`" in PAGE


def test_the_shares_are_those_of_the_code():
    told = {name: int(number) for name, number in re.findall(r"`(\w+)` (\d)", PAGE)}
    assert told and all(WEIGHTS[name] == number for name, number in told.items())
    assert WEIGHTS["triangles"] == WEIGHTS["wedges"] == 4
