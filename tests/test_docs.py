"""The reference knows everything that the code knows, and the README's example is what runs."""

import re
import typing
from pathlib import Path

import click
import pytest
import typer

import discreet
from discreet import errors
from discreet.accounting import events
from discreet.cli.main import app
from discreet.ledger.anchor import AnchorMissing
from discreet.ledger.chain import KINDS
from discreet.schema import file as toml

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = (ROOT / "docs" / "reference.md").read_text()
HOUSEKEEPING = {"--help", "-h"}


def commands(command, path=()):
    if isinstance(command, click.Group) or hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from commands(inner, (*path, name))
    else:
        yield " ".join(path), command


VERBS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_and_flag_is_documented(verb):
    assert f"`discreet {verb}" in REFERENCE
    assert VERBS[verb].help
    for parameter in VERBS[verb].params:
        for flag in parameter.opts:
            if flag.startswith("--") and flag not in HOUSEKEEPING:
                assert flag in REFERENCE, f"{flag} of {verb}"
        assert "--json" in {flag for option in VERBS[verb].params for flag in option.opts}


@pytest.mark.parametrize("flag", ["--json", "--project"])
def test_every_verb_takes(flag):
    for command in VERBS.values():
        assert any(flag in parameter.opts for parameter in command.params)


@pytest.mark.parametrize(
    "key", sorted(toml._TABLE | toml._BUDGET | set().union(*toml._KEYS.values()) | set(toml._KEYS))
)
def test_every_setting_is_documented(key):
    assert key == "columns" or f"`{key}`" in REFERENCE or f"{key} =" in REFERENCE


def test_every_error_event_and_row_is_documented():
    for name, thing in {**vars(errors), "AnchorMissing": AnchorMissing}.items():
        if isinstance(thing, type) and issubclass(thing, Exception):
            assert f"`{name}`" in REFERENCE
    for kind in [*events._KINDS, "together"]:
        assert f"`{kind}`" in REFERENCE
    for kind in KINDS:
        assert f"`{kind}`" in REFERENCE


def test_every_event_kind_can_be_stored():
    """A new event is unsound until storage knows it."""
    stored = {*events._KINDS.values(), events.Together}
    assert set(typing.get_args(events.Event)) == stored


def test_public_names_exist():
    assert all(hasattr(discreet, name) for name in discreet.__all__)
    assert discreet.__all__ == sorted(discreet.__all__)


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]), ids=lambda page: page.name
)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target
    for path in re.findall(r"`((?:src|docs|tests|benchmarks)/[\w./-]+)`", page.read_text()):
        assert (ROOT / path).exists(), path


def test_the_readmes_example_is_what_runs(tmp_path, capsys, monkeypatch):
    """Every console line of the README, in order, in a folder with that file; noise and ids masked."""
    from discreet.cli.demo import write_clinic
    from discreet.cli.main import call

    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```console\n(.*?)```", readme, re.DOTALL)
    toml_block = re.search(r"```toml\n(.*?)```", readme, re.DOTALL)[1]
    write_clinic(tmp_path)
    (tmp_path / "discreet.toml").unlink()
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = step.partition("\n")
            capsys.readouterr()
            assert call(_words(command)[1:]) == 0
            seen = capsys.readouterr().out
            if shown.strip():
                assert masked(shown) == masked(seen)
            if " add " in command:
                text = (tmp_path / "discreet.toml").read_text()
                assert 'columns.disease]\ntype = "text"\n' in text
                for part in re.split(r"\n(?=\[)", toml_block):
                    start = text.index(part.splitlines()[0])
                    end = text.find("\n[", start + 1)
                    end = len(text) if end < 0 else end + 1
                    text = text[:start] + part.strip() + "\n\n" + text[end:]
                (tmp_path / "discreet.toml").write_text(text)


def test_the_readmes_python_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def _words(command):
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', command)]


def masked(text):
    """Digits of noise, what is marked for them, ids and notes do not matter; words, columns and costs do."""
    lines = [line for line in text.strip().splitlines() if not line.startswith("note:")]
    table = [re.sub(r"\s*-?\d+ ± 6( ~)?", " # ± 6", line).rstrip() for line in lines]
    table = [line.replace("; ~ marks numbers no larger than theirs", "") for line in table]
    return [re.sub(r"r-\w+", "r-#", re.sub(r"\s+", " ", line)) for line in table]
