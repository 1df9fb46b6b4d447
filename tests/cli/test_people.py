"""`discreet people`: passwords never in a flag, everything by --json, and seen at once by a running console."""

import io
import sys

import pytest

from clinic import run, say
from discreet.cli import people as module
from discreet.cli.main import call
from discreet.console.people.people import People

GOOD = "correct horse battery"


@pytest.fixture
def project(tmp_path):
    assert call(["init", "--project", str(tmp_path)]) == 0
    return tmp_path


@pytest.fixture
def typed(monkeypatch):
    def type_(text):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    return type_


@pytest.fixture
def ada(project, typed, capsys):
    typed(GOOD + "\n")
    code, told, _ = run(capsys, project, "people", "add", "Ada", "--role", "owner", "--password-stdin")
    assert code == 0
    return told


def test_add_and_list(project, ada, typed, capsys):
    assert (ada["name"], ada["role"], ada["analyst"], ada["disabled"]) == ("Ada", "owner", "Ada", False)
    typed(GOOD + "\r\n")
    run(capsys, project, "people", "add", "Ben", "--analyst", "research", "--password-stdin")
    _, told, _ = run(capsys, project, "people", "list")
    assert [(one["name"], one["role"], one["analyst"]) for one in told["people"]] == [
        ("Ada", "owner", "Ada"),
        ("Ben", "analyst", "research"),
    ]
    people = People.of(project)
    assert people.log_in("ben", GOOD, address="192.0.2.1")
    people.close()
    assert "Ben  analyst, charged as research" in say(capsys, project, "people", "list")[1]
    typed(GOOD + "\n")
    told = run(capsys, project, "people", "password", "Ben", "--temporary", "--password-stdin")[1]
    assert told["temporary"] and not ada["temporary"]


def test_no_password_ever_stands_in_a_flag(project, capsys):
    code, told, _ = run(capsys, project, "people", "add", "Ada", "--password", GOOD)
    assert code == 2
    code, told, _ = run(capsys, project, "people", "add", "Ada")
    assert code == 2 and told["hint"] == "--password-stdin"


def test_a_password_is_asked_for_at_a_terminal(project, capsys, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    asked = []
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(module.typer, "prompt", lambda *words, **how: asked.append(how) or GOOD)
    code, _, _ = run(capsys, project, "people", "add", "Ada")
    assert code == 0
    assert asked[0]["hide_input"] is True and asked[0]["confirmation_prompt"]


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["add", "ada", "--password-stdin"], "already"),
        (["add", "Eve", "--role", "god", "--password-stdin"], "not a role"),
        (["role", "Ada", "analyst"], "last owner"),
        (["disable", "Ada"], "last owner"),
        (["enable", "Eve"], "no person named"),
        (["password", "Eve", "--password-stdin"], "no person named"),
        (["token", "Ada", "--label", "x", "--days", "0"], "1 to 3,650 days"),
        (["token", "Ada", "--label", ""], "the label is missing"),
        (["tokens", "Eve"], "no person named"),
        (["revoke", "9"], "no token 9"),
    ],
)
def test_refusals_are_one_sentence(project, ada, typed, capsys, words, reason):
    typed(GOOD)
    code, told, _ = run(capsys, project, "people", *words)
    assert code == 2 and reason in told["reason"]


def test_a_short_password(project, typed, capsys):
    typed("short\n")
    code, told, _ = run(capsys, project, "people", "add", "Ada", "--password-stdin")
    assert code == 2 and "at least 10" in told["reason"]
    assert run(capsys, project, "people", "list")[1] == {"people": []}


@pytest.mark.deep
def test_a_running_console_sees_it_at_once(project, ada, typed, capsys):
    typed(GOOD)
    run(capsys, project, "people", "add", "Ben", "--password-stdin")
    console = People.of(project)
    cookie = console.log_in("Ben", GOOD, address="192.0.2.1")
    assert console.sessions.find(cookie).person.role == "analyst"
    _, told, _ = run(capsys, project, "people", "role", "ben", "owner")
    assert told["role"] == "owner" and console.sessions.find(cookie) is None
    cookie = console.log_in("Ben", GOOD, address="192.0.2.1")
    typed("another horse battery")
    run(capsys, project, "people", "password", "ben", "--password-stdin")
    assert console.sessions.find(cookie) is None
    assert console.log_in("Ben", GOOD, address="192.0.2.1") is None
    _, token, _ = run(capsys, project, "people", "token", "ben", "--label", "job", "--days", "7", "--role", "analyst")
    assert console.tokens.find(token["token"]).role == "analyst"
    run(capsys, project, "people", "disable", "ben")
    assert console.tokens.find(token["token"]).why_not(console.clock()) == "the token was revoked"
    assert console.log_in("Ben", "another horse battery", address="192.0.2.1") is None
    assert run(capsys, project, "people", "enable", "ben")[1]["disabled"] is False
    assert console.log_in("Ben", "another horse battery", address="192.0.2.1")
    console.close()


def test_a_token_is_shown_once(project, ada, capsys):
    _, text, _ = say(capsys, project, "people", "token", "Ada", "--label", "nightly job")
    token = text.splitlines()[0].strip()
    assert token.startswith("dsc_") and len(token) == 47
    assert "not shown again" in text
    _, told, _ = run(capsys, project, "people", "tokens")
    assert token not in str(told)
    (kept,) = told["tokens"]
    assert (kept["label"], kept["person"], kept["role"], kept["used"], kept["holds"]) == (
        "nightly job", "Ada", "owner", None, True,
    )  # fmt: skip
    assert run(capsys, project, "people", "revoke", str(kept["number"]))[1]["holds"] is False
    assert "revoked" in say(capsys, project, "people", "tokens", "Ada")[1]


def test_outside_a_project(tmp_path, capsys):
    code, told, _ = run(capsys, tmp_path, "people", "list")
    assert code == 2 and "discreet init" in told["hint"]
