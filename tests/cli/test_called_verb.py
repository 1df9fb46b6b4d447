"""A command line with one verb, or with the list of all, behaves as the whole one does."""

import pytest
import typer

from discreet.cli.main import app, call
from discreet.cli.verb_app import app_for

WHOLE = typer.main.get_command(app)
CALLED = [
    "--help",
    "nonsense",
    "querry",
    "--json",
    "",
    "-- version",
    "version",
    "budget --help",
    "ledger",
    "ledger --help",
]


def names(part):
    return list(typer.main.get_command(part).commands)


def test_one_verb_is_read_alone():
    assert names(app_for(app, ["query", "select 1"])) == ["query"]
    assert names(app_for(app, ["ledger", "verify"])) == ["ledger"]
    assert names(app_for(app, ["--", "query"])) == ["query"]


def test_where_no_verb_is_named_all_are_listed():
    for words in ([], ["--help"], ["nonsense"], ["--help", "query"]):
        assert names(app_for(app, words)) == list(WHOLE.commands)


def test_a_verb_keeps_its_flags():
    for name, command in WHOLE.commands.items():
        alone = typer.main.get_command(app_for(app, [name])).commands[name]
        assert [each.opts for each in alone.params] == [each.opts for each in command.params]
        assert list(getattr(alone, "commands", ())) == list(getattr(command, "commands", ()))


def test_what_a_shell_completes_is_the_whole(monkeypatch):
    monkeypatch.setenv("_DISCREET_COMPLETE", "complete_bash")
    assert app_for(app, ["query"]) is app


@pytest.mark.parametrize("said", CALLED)
def test_it_says_what_the_whole_would_say(said, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, printed = call(said.split()), capsys.readouterr()
    monkeypatch.setattr("discreet.cli.main.app_for", lambda whole, _: whole)
    assert (call(said.split()), capsys.readouterr()) == (code, printed)
