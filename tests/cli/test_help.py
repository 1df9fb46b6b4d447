"""Help that fits its lines, and hints that lead to help that there is."""

import pytest
import typer

from discreet.cli.main import app, call
from discreet.cli.verb_app import DefaultVerbGroup

GROUPS = [group.name for group in app.registered_groups]
#: Groups where a word that is no verb belongs to the first verb.
WITH_DEFAULT = [group.name for group in app.registered_groups if group.typer_instance.info.cls is DefaultVerbGroup]


def listings(typed):
    """Every group of a command line, the whole one first: its words, the names of its verbs, and how it lists them."""

    def inside(command, context, words):
        verbs = getattr(command, "commands", None)
        if verbs is None:
            return
        lines = command.get_help(context).partition("Commands:\n")[2].splitlines()
        yield words, [name for name, verb in verbs.items() if not verb.hidden], lines
        for name, verb in verbs.items():
            yield from inside(verb, typer.Context(verb, info_name=name, parent=context), (*words, name))

    whole = typer.main.get_command(typed)
    return list(inside(whole, typer.Context(whole, info_name="discreet"), ()))


def cut(typed):
    """The lines of all listings that do not tell a verb by a whole sentence on one line."""
    return [
        line
        for _, names, lines in listings(typed)
        for line in lines
        if not line.endswith(".") or line.endswith("...") or line[:2] != "  " or line.split()[0] not in names
    ]


@pytest.mark.parametrize("columns", [80, 100])
def test_no_description_is_cut(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    found = listings(app)
    assert {words for words, _, _ in found} >= {(), *((group,) for group in GROUPS)}
    assert all(len(lines) == len(names) for _, names, lines in found)  # a line for each verb, and none is wrapped
    assert cut(app) == []


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("Tell at great length what this verb does and to whom, and then what it costs. Free.", id="cut"),
        pytest.param("", id="untold"),
    ],
)
def test_a_description_that_is_cut_would_be_found(said, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    planted, inner = typer.Typer(rich_markup_mode=None), typer.Typer(rich_markup_mode=None)
    inner.command("short", help="Do one thing. Then another, of which a list says nothing.")(lambda: None)
    inner.command("long", help=said)(lambda: None)
    assert len(cut(inner)) == 1
    planted.add_typer(inner, name="inner", help="Verbs.")
    assert [line.split()[0] for line in cut(planted)] == ["long"]


def test_help_lists_what_the_walk_reads(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for words, _, lines in listings(app):
        assert call([*words, "--help"]) == 0
        assert capsys.readouterr().out.partition("Commands:\n")[2].splitlines() == lines


def test_the_help_of_a_verb_says_all_of_it(capsys):
    for verb, words in (("refresh", "For the owner."), ("again", "Charged."), ("release write", "Free.")):
        assert call([*verb.split(), "--help"]) == 0
        assert words in " ".join(capsys.readouterr().out.split())
    assert call(["ledger", "acknowledge", "--help"]) == 0
    assert "charged again" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("group", [group for group in GROUPS if group not in WITH_DEFAULT])
def test_a_verb_that_a_group_has_not_leads_to_the_groups_help(group, capsys):
    assert call([group, "nonsense"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].strip() == f"try: discreet {group} --help"
    assert call([group, "--help"]) == 0


def test_a_verb_that_a_group_has_leads_to_its_own(capsys):
    for words in (["ledger", "backup"], ["synth", "fit"], ["people", "add"], ["survey", "new"], ["graph", "stats"]):
        assert call(words) == 2
        assert capsys.readouterr().err.splitlines()[-1].strip() == f"try: discreet {' '.join(words)} --help"
