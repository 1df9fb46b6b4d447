"""Messages as pages and the API write them: no flag of the command line, and a command only as the owner's."""

import re
from pathlib import Path

import pytest

from console.house import world
from discreet.cli.main import call
from discreet.console import pages
from discreet.console.console_text import PHRASES, console_text
from discreet.console.error_responses import HINTS, error_json, error_page, error_report_of
from discreet.console.forms import form_error
from discreet.console.routes import route_table
from discreet.errors import Command, Flag, LedgerFault, Message, Statement, UsageError

FLAG = re.compile(r"(?<![\w-])--[a-z]")
PAGES = Path(pages.__file__).parent
COUNT = "select count(*) from patients"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("the words of somebody: --epsilon 1", "the words of somebody: --epsilon 1"),
        (Message(Flag("epsilon", 0.1), ", or ", Flag("within", 50)), "epsilon 0.1, or within 50"),
        (Message("leave ", Flag("rows-per-person"), " out"), "leave rows_per_person out"),
        (Message(Command("again", "r-1"), " makes it more precise; ", Flag("fresh", True), " draws new noise"), "a repeated measurement of r-1 makes it more precise; the option fresh draws new noise"),
        (Message("then ", Command("again"), " on that release"), "then a repeated measurement on that release"),
        (Message(Command("ledger show"), " lists them"), "the page /a lists them"),
        (Message("as one batch: ", Command("query", Flag("file", "FILE", short="f"))), "as one batch: a query on /ask"),
        (Message("run ", Command("query", Flag("fresh", True), Statement("SELECT 1"))), "run a query on /ask (the option fresh, SELECT 1)"),
        (Message(Command("refresh", "visits"), " makes one"), "a refresh of visits on /admin/tables makes one"),
        (Message("run ", Command("init"), " or ", Command("ledger move")), "run discreet init or discreet ledger move (on the owner's command line)"),
        (Message(Statement("SELECT 1")), "SELECT 1"),
    ],
)  # fmt: skip
def test_a_message_on_a_page(text, shown):
    assert console_text(text) == shown
    assert not FLAG.search(shown) or not isinstance(text, Message)


def test_refusals_are_written_so():
    hint = Message(Flag("epsilon", 0.1), ", or ", Flag("within", 50))
    told = error_json(error_report_of(UsageError(Message("say ", Flag("epsilon")), hint=hint)))
    assert told == {"error": "say epsilon", "hint": "epsilon 0.1, or within 50", "code": 2}
    assert not any(FLAG.search(console_text(each)) for each in HINTS.values())


@pytest.mark.parametrize(
    ("error", "hint", "shown"),
    [
        ("epsilon must be above 0", "log in", {"error": "Epsilon must be above 0.", "hint": "log in."}),
        ("rows_per_person must be 1", "step = 0.01", {"error": "rows_per_person must be 1.", "hint": "step = 0.01"}),
        ("'patients' is new", "is it 'x'?", {"error": "'patients' is new.", "hint": "is it 'x'?"}),
        ("towns.csv is empty", "", {"error": "towns.csv is empty.", "hint": ""}),
        ("It failed.", "Wait.", {"error": "It failed.", "hint": "Wait."}),
    ],
)
def test_pages_write_sentences_and_programs_get_the_message(error, hint, shown):
    problem = UsageError(error, hint=hint)
    assert form_error(problem)[0] == {**shown, "code": 2}
    assert error_page(error_report_of(problem)).data["problem"] == {**shown, "code": 2}
    assert error_json(error_report_of(problem)) == {"error": error, "hint": hint, "code": 2}


def test_every_page_takes_its_errors_from_one_place():
    for module in PAGES.glob("*.py"):
        assert "error_json" not in module.read_text(), module.name


def test_what_stands_for_a_command_is_there():
    """Each phrase names a page of the console, and stands for a verb of the command line."""
    paths = {route.path for route in route_table() if route.method == "GET"}
    for verb, phrase in PHRASES.items():
        assert call([*verb.split(), "--help"]) == 0
        assert set(re.findall(r"/\S+", phrase)) <= paths


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("words") / "clinic")
    yield made
    made.house.close()


def ask(clinic, key, **body):
    head = {"authorization": f"Bearer {clinic.token()}", "idempotency-key": key}
    return clinic.client().post("/api/v1/query", json=body, headers=head)


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ({"sql": COUNT}, "epsilon 0.1, or within 50"),
        ({"sql": COUNT, "epsilon": 200}, "epsilon 100 (this fits the remaining budget"),
        ({"sql": "select avg(age) from patients", "within": 1}, "epsilon 0.5; the answer states its precision"),
        ({"sql": COUNT, "epsilon": 1, "confidence": 2}, "confidence 0.95"),
        ({"sql": f"{COUNT}; {COUNT}", "epsilon": 1}, "or all as one batch: a query on /ask"),
    ],
)
def test_no_answer_shows_a_flag(clinic, body, hint):
    answer = ask(clinic, "k" + str(len(hint)), **body)
    assert answer.status_code >= 400 and hint in answer.json()["hint"]
    assert not FLAG.search(answer.text)


def test_no_page_shows_a_flag_but_in_a_command(clinic):
    sql = "select count(*) from visits"
    first = ask(clinic, "first", sql=sql, epsilon=0.1).json()
    stored = ask(clinic, "again", sql=sql, epsilon=1).json()
    assert first["release"] == stored["release"]
    again = f"a repeated measurement of {first['release']} makes it more precise; the option fresh draws new noise"
    limits = (
        "; discreet bounds visits --report --epsilon 0.1 estimates what that leaves out (on the owner's command line)"
    )
    assert any(again in each for each in stored["warnings"]) and any(
        each.endswith(limits) for each in first["warnings"]
    )
    page = clinic.browser("analyst").get(f"/a/{first['release']}").text
    shown = re.sub(
        r"discreet bounds visits --report --epsilon 0.1 estimates what that leaves out \(on the owner", "", page
    )
    assert shown != page and not FLAG.search(re.sub(r"<!--|-->", "", shown))


def test_the_owner_sees_which_command_applies_a_change(tmp_path):
    made = world(tmp_path / "clinic")
    try:
        assert ask(made, "k1", sql=COUNT, epsilon=1).status_code == 200
        file = made.folder / "discreet.toml"
        file.write_text(file.read_text().replace("high = 100", "high = 110"))
        told = made.browser("owner").get("/index.json").json()["warnings"]
        assert told and "`a refresh of patients on /admin/tables` applies it" in told[0]
    finally:
        made.house.close()


def test_a_ledger_that_is_gone_says_how_it_comes_back(tmp_path):
    """Whoever asks is told that the owner can, and how."""
    made = world(tmp_path / "clinic")
    try:
        assert ask(made, "k1", sql=COUNT, epsilon=1).status_code == 200
        for file in (made.folder / ".discreet").glob("ledger.db*"):
            file.unlink()
        answer = ask(made, "k2", sql=COUNT, epsilon=2)
        assert answer.status_code == 409 and answer.json()["code"] == LedgerFault.exit_code
        hint = answer.json()["hint"]
        assert "discreet ledger restore FILE" in hint and hint.endswith("(on the owner's command line)")
    finally:
        made.house.close()
