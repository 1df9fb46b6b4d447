"""What the command line adds to Typer: default verbs, old spellings that help does not list, completion, an alias."""

import pytest
import typer
from manual.verbs import verbs

from clinic import make, run
from discreet.cli.main import app, call
from discreet.cli.verb_app import OLD_OUTPUTS, OLD_PICTURE, DefaultVerbGroup

VERBS = dict(verbs(typer.main.get_command(app)))
COUNT = "select count(*) from patients"


def parsed(words):
    """The verb and the parameters that words are parsed as."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="discreet")
    path = []
    while hasattr(command, "commands"):
        inner = command.make_context(path[-1] if path else "discreet", list(words), parent=context if path else None)
        name, command, words = command.resolve_command(inner, [*inner._protected_args, *inner.args])
        context = inner
        path.append(name)
    return " ".join(path), command.make_context(path[-1], list(words), parent=context).params


ATTACKS = [name for name, verb in VERBS.items() if name.startswith("attack ") and name not in OLD_OUTPUTS]
WITH_PICTURE = [name for name in ATTACKS if any("--output" in option.opts for option in VERBS[name].params)]
#: What a verb cannot do without.
NEEDED = {
    "anonymize": ["t.csv", "--quasi", "a", "--k", "2"],
    "check": ["t.csv", "--quasi", "a"],
    "publish": ["plan.toml"],
    "release write": ["r-1"],
}


@pytest.mark.parametrize("verb", [*OLD_OUTPUTS, *WITH_PICTURE])
def test_an_old_spelling_is_the_output(verb, capsys):
    old = OLD_OUTPUTS.get(verb, OLD_PICTURE)
    words = [*verb.split(), *NEEDED.get(verb, [])]
    path, params = parsed([*words, old, "out.svg"])
    assert path == verb
    assert str(params["output" if "output" in params else "plot" if "plot" in params else "report"]) == "out.svg"
    assert parsed([*words, "-o", "out.svg"])[1] == parsed([*words, f"{old}=out.svg"])[1] == params
    assert call([*verb.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"{old} " not in shown and "-o, --output" in shown


def test_an_old_spelling_belongs_to_its_verb(capsys):
    for words in (
        ["query", COUNT, "--to", "x"],
        ["query", COUNT, "--plot", "x"],
        ["check", "t.csv", "--quasi", "a", "--html", "x"],
    ):
        assert call(words) == 2
        assert "No such option" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        (["release", "r-1", "--to", "out"], "release write"),
        (["release", "--to", "out", "r-1"], "release write"),
        (["release", "-o", "verify", "r-1"], "release write"),
        (["release", "--name", "key", "r-1", "-o", "out"], "release write"),
        (["release", "verify", "out"], "release verify"),
        (["release", "--key", "write", "verify", "out"], "release verify"),
        (["release", "key"], "release key"),
        (["budget"], "budget show"),
        (["budget", "--json"], "budget show"),
        (["budget", "--project", "grant"], "budget show"),
        (["budget", "--project=grant"], "budget show"),
        (["budget", "grant", "grant", "--epsilon", "1"], "budget grant"),
    ],
)
def test_the_first_word_that_is_no_flag_decides(words, verb):
    assert parsed(words)[0] == verb


def test_help_of_a_group_with_a_default_lists_its_verbs(capsys):
    groups = [group for group in app.registered_groups if group.typer_instance.info.cls is DefaultVerbGroup]
    assert {group.name for group in groups} == {"audit", "budget", "release"}
    for flag in ("-h", "--help"):
        assert call(["budget", flag]) == 0
        assert "grant  Raise" in capsys.readouterr().out
    assert call(["budget", "patients", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: discreet budget show")
    assert call(["release"]) == 2
    assert "verify  Check" in capsys.readouterr().out


def test_no_hidden_flag_or_argument_is_in_help(capsys):
    for verb, flags in (
        ("query", ("--csv", "--parquet")),
        ("ranges", ("--stream", "--next", "--horizon", "--contributions", "--csv")),
        ("ledger export", ("[file]", "FILE")),
    ):
        assert call([*verb.split(), "--help"]) == 0
        shown = capsys.readouterr().out
        assert not [flag for flag in flags if flag in shown]


def test_ask_is_query(capsys, tmp_path):
    make(tmp_path)
    code, asked, _ = run(capsys, tmp_path, "ask", COUNT, "--epsilon", "0.5")
    assert code == 0 and not asked["cached"]
    code, again, _ = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.5")
    assert code == 0 and again["cached"] and again["rows"] == asked["rows"]
    assert call(["ask", "--bogus"]) == 2
    assert "try: discreet ask --help" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("discreet bud", {"budget"}),
        ("discreet budget ", {"show", "grant"}),
        ("discreet budget gr", {"grant"}),
        ("discreet budget grant patients --eps", {"--epsilon"}),
        ("discreet budget patients --js", {"--json"}),
        ("discreet query --o", {"--output", "--overwrite"}),
        ("discreet stream ", {"start", "next", "show", "list"}),
        ("discreet a", {"add", "again", "anonymize", "audit", "attack"}),  # not ask, which is query
    ],
)
def test_completion(line, offered, capsys, monkeypatch):
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - (not line.endswith(" "))))
    monkeypatch.setenv("_DISCREET_COMPLETE", "complete_bash")
    assert call([]) == 0
    assert set(capsys.readouterr().out.split()) == offered


def test_the_script_for_completion_can_be_shown(capsys, monkeypatch):
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: "bash")
    assert call(["--show-completion"]) == 0
    assert "complete -o default -F _discreet_completion discreet" in capsys.readouterr().out
