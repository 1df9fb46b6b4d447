"""Help that fits its lines, and hints that lead to help that there is."""

import pytest

from discreet.cli.main import app, call

GROUPS = [group.name for group in app.registered_groups]


def listed(capsys, monkeypatch, *words):
    """The verbs that a help text lists, on a terminal of usual width."""
    monkeypatch.setenv("COLUMNS", "80")
    assert call([*words, "--help"]) == 0
    return capsys.readouterr().out.partition("Commands:\n")[2].splitlines()


@pytest.mark.parametrize("words", [(), ("ledger",), ("synth",)])
def test_no_description_is_cut(words, capsys, monkeypatch):
    lines = listed(capsys, monkeypatch, *words)
    assert len(lines) >= 3 and all(line.startswith("  ") and len(line.split()) > 2 for line in lines)
    assert [line for line in lines if line.endswith("...") or line[2] == " "] == []  # neither cut nor wrapped


def test_the_help_of_a_verb_says_all_of_it(capsys):
    for verb, words in (("refresh", "an act of the owner"), ("again", "Charged."), ("release", "Free.")):
        assert call([verb, "--help"]) == 0
        assert words in " ".join(capsys.readouterr().out.split())
    assert call(["ledger", "acknowledge", "--help"]) == 0
    assert "charged anew" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("group", GROUPS)
def test_a_verb_that_a_group_has_not_leads_to_the_groups_help(group, capsys):
    assert call([group, "nonsense"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].strip() == f"try: discreet {group} --help"
    assert call([group, "--help"]) == 0


def test_a_verb_that_a_group_has_leads_to_its_own(capsys):
    for words in (["ledger", "backup"], ["synth", "fit"], ["people", "add"], ["survey", "new"], ["graph", "stats"]):
        assert call(words) == 2
        assert capsys.readouterr().err.splitlines()[-1].strip() == f"try: discreet {' '.join(words)} --help"
