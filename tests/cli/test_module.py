"""`python -m discreet`."""

import runpy
import sys

import pytest

import discreet


def test_it_is_the_command_line(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["discreet", "--version"])
    with pytest.raises(SystemExit) as left:
        runpy.run_module("discreet", run_name="__main__")
    assert left.value.code == 0 and capsys.readouterr().out.strip() == discreet.__version__
