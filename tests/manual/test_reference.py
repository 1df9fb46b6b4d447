"""The reference is what the code says: nothing is missing, nothing outlives its key, and both have been seen to fail."""

import re
from types import ModuleType

import pytest
import typer
import typer.main
from manual.words import Undocumented, agree

from discreet.accounting import events
from discreet.cli.main import app
from discreet.ledger.chain import KINDS
from discreet.schema import project_file as toml
from manual import answers, faults, happenings, settings, verbs
from manual.pages import ROOT

PAGES = {path.stem: path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md")}
VERBS = dict(verbs.verbs(typer.main.get_command(app)))


@pytest.mark.parametrize("name", ["verbs", "settings", "errors", "events"])
def test_the_committed_pages_are_the_generated_ones(name):
    made = {"verbs": verbs, "settings": settings, "errors": faults, "events": happenings}[name].text()
    assert made == PAGES[name], "renew it: ./do docs --write"


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_the_page_of_json_is_what_verbs_print():
    assert answers.text() == PAGES["json"], "renew it: ./do docs --write"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_and_flag_is_documented(verb):
    section = PAGES["verbs"].partition(f"\n## discreet {verb}\n")[2].partition("\n## ")[0]
    assert section
    for parameter in VERBS[verb].params:
        for flag in () if parameter.hidden else parameter.opts:
            everywhere = flag in verbs.EVERYWHERE or flag in ("--help", "-h")
            assert everywhere or not flag.startswith("-") or re.search(rf"(?<![\w-]){flag}(?![\w-])", section), flag


@pytest.mark.parametrize("flag", sorted(verbs.EVERYWHERE))
def test_every_verb_takes(flag):
    for command in VERBS.values():
        assert any(flag in parameter.opts for parameter in command.params)


def test_every_setting_error_event_and_row_is_documented():
    for key in toml._TABLE | toml._BUDGET | set().union(*toml._KEYS.values()) | set(toml._KEYS):
        assert f"`{key}`" in PAGES["settings"], key
    for kind in faults.errors():
        assert f"| `{kind.__name__}` | {kind.exit_code} |" in PAGES["errors"]
    for kind in [*events._KINDS, "together", *KINDS]:
        assert f"| `{kind}` |" in PAGES["events"]


def test_a_planted_verb_is_missed():
    planted = typer.Typer()

    @planted.command()
    def init() -> None:
        """Known."""

    @planted.command()
    def plant() -> None:
        """Nobody wrote about this one."""

    with pytest.raises(Undocumented, match="plant"):
        verbs.text(typer.main.get_command(planted))


def test_a_planted_flag_is_seen_and_needs_help(monkeypatch):
    command = typer.Typer()

    @command.command()
    def version(*, planted: bool = typer.Option(False, "--planted", help="Planted.")) -> None:
        """Print the version."""

    made = typer.main.get_command(command).params
    command = VERBS["version"]
    monkeypatch.setattr(command, "params", [*command.params, *made])
    text = verbs.text(typer.main.get_command(app))
    assert "`--planted`" in text and text != PAGES["verbs"]
    monkeypatch.setattr(made[0], "help", None)
    with pytest.raises(Undocumented, match="--planted"):
        verbs.text(typer.main.get_command(app))


def test_a_planted_key_is_missed(monkeypatch):
    monkeypatch.setattr(toml, "_TABLE", toml._TABLE | {"planted"})
    with pytest.raises(Undocumented, match="planted"):
        settings.text()


def test_keys_are_found_wherever_a_reader_checks_them(monkeypatch):
    source = """
_KEYS = {"one": {"of_one"}, "two": {"of_two"}}
NAMED = {"named"}
def read(self, data, type_):
    local = ("of_local",)
    refuse_unknown_keys(data, {"inline", *NAMED}, where="x")
    refuse_unknown_keys(data, local, where="x")
    refuse_unknown_keys(data, _KEYS[type_], where="x")
    match data:
        case {"matched": str()}:
            pass
"""
    module = ModuleType("reader")
    exec(source, vars(module))
    monkeypatch.setattr(settings.inspect, "getsource", lambda _: source)
    found = settings.keys_in(module)
    assert found == {"inline", "named", "of_local", "of_one", "of_two", "matched"}


def test_planted_errors_events_and_rows_are_missed(monkeypatch):
    from discreet.errors import DiscreetError

    silent = type("Silent", (DiscreetError,), {"__doc__": None})
    with pytest.raises(Undocumented, match="Silent"):
        faults.text([silent])
    monkeypatch.setattr(happenings, "KINDS", KINDS | {"planted"})
    with pytest.raises(Undocumented, match="planted"):
        happenings.text()


def test_planted_json_keys_are_missed():
    keys = {"known": "Known.", "query: known": "Of query.", "query: rows[].known": "Of rows."}
    assert answers._meaning("query", "rows[].known", keys)[0] == "Of rows."
    assert answers._meaning("query", "known", keys)[0] == "Of query."
    assert answers._meaning("budget", "a.known", keys)[0] == "Known."
    with pytest.raises(Undocumented, match="planted"):
        answers._meaning("query", "rows[].planted", keys)
    data = {"tables": {"mine": {"limit": 1}}, "rows": [{"a": [{"b": 1}]}]}
    assert list(answers.paths(data, {"tables"})) == [
        "tables",
        "tables.NAME",
        "tables.NAME.limit",
        "rows",
        "rows[].a",
        "rows[].a[].b",
    ]


def test_words_that_outlive_their_key_are_missed():
    agree({"a"}, {"a"}, what="keys", where="there")
    with pytest.raises(Undocumented, match="without documentation: b"):
        agree({"a", "b"}, {"a"}, what="keys", where="there")
    with pytest.raises(Undocumented, match="does not have: c"):
        agree({"a"}, {"a", "c"}, what="keys", where="there")
