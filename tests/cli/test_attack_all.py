"""`discreet attack all`, with attacks that take no time."""

import sys

import pytest

from clinic import run, say
from discreet.errors import MissingPackage, UsageError
from discreet.lab import registry
from discreet.lab.evidence import Evidence
from discreet.lab.registry import AttackEntry


def broken():
    return Evidence(attack="one", success=0.9, chance=0.5, n=9, seconds=0.5, interval=(0.8, 0.95), story=("It fell.",))


def held():
    return Evidence(attack="two", success=0.5, chance=0.5, n=9, seconds=0.5, interval=(0.4, 0.6))


@pytest.fixture
def two(monkeypatch):
    def listed(name):
        return AttackEntry(
            name=name, title=name, falls=f"{name} falls", stands=f"{name} stands", where=f"{__name__}:{name}"
        )

    monkeypatch.setattr(AttackEntry, "run", lambda self: {"broken": broken, "held": held}[self.name]())
    monkeypatch.setattr(registry, "ATTACKS", (listed("broken"), listed("held")))


def test_each_attack_has_a_line_and_the_page_is_written(two, tmp_path, capsys):
    code, told, heard = say(capsys, tmp_path, "attack", "all", "--report", str(tmp_path / "deep" / "report"))
    assert code == 0
    lines = told.splitlines()
    assert "falls" in lines[0] and "90.0%" in lines[0] and "broken falls" in lines[0]
    assert "stands" in lines[1] and "held stands" in lines[1]
    assert "1 of 2 attacks" in lines[2]
    assert "[2/2] held" in heard
    assert "It fell." in (tmp_path / "deep" / "report" / "index.html").read_text()


def test_json_is_evidence_too(two, tmp_path, capsys):
    code, told, _ = run(capsys, tmp_path, "attack", "all")
    assert code == 0
    assert told["attack"] == "all" and told["success"] == 0.5 and told["n"] == 2
    assert told["details"]["attacks"]["broken"]["breaks"] is True


def test_a_folder_that_cannot_be_is_refused_before_the_work(two, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    code, told, _ = run(capsys, tmp_path, "attack", "all", "--report", str(tmp_path / "file" / "report"))
    assert code == 2 and "cannot be created" in str(told)


def test_an_attack_without_its_package_is_left_out_and_named(two, tmp_path, capsys, monkeypatch):
    def lacking():
        raise MissingPackage("this attack needs <OR-tools>", hint="pip install 'discreet[lab]'")

    monkeypatch.setattr(AttackEntry, "run", lambda self: {"broken": lacking, "held": held}[self.name]())
    code, told, heard = say(capsys, tmp_path, "attack", "all", "--report", str(tmp_path / "report"))
    assert code == 0 and "[1/2] broken left out" in heard and "[2/2] held" in heard
    assert "held stands" in told and "0 of 1 attacks" in told
    assert "left out: broken, because this attack needs <OR-tools> (pip install 'discreet[lab]')" in told
    text = (tmp_path / "report" / "index.html").read_text()
    assert "Left out:</strong> broken, because this attack needs &lt;OR-tools&gt;" in text
    code, data, _ = run(capsys, tmp_path, "attack", "all")
    assert (code, data["n"]) == (0, 1)
    reason = {"reason": "this attack needs <OR-tools>", "hint": "pip install 'discreet[lab]'"}
    assert data["details"]["left_out"] == {"broken": reason}


def test_a_fault_of_an_attack_is_not_passed_over(two, tmp_path, capsys, monkeypatch):
    def wrong():
        raise UsageError("something else")

    monkeypatch.setattr(AttackEntry, "run", lambda self: {"broken": wrong, "held": held}[self.name]())
    assert run(capsys, tmp_path, "attack", "all")[0] == 2


def test_the_census_attack_is_one_of_those(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    (census,) = [listed for listed in registry.ATTACKS if listed.name == "census"]
    with pytest.raises(MissingPackage):
        census.run()
