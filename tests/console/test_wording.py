"""Sentences of the command line, as pages and the API say them."""

import pytest

from discreet.console.cli_terms import without_cli_terms
from discreet.console.error_responses import error_json, error_report_of
from discreet.errors import LedgerFault, UsageError


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("", ""),
        ("nothing of it", "nothing of it"),
        ("--epsilon 0.1, or --within 50", "epsilon 0.1, or within 50"),
        ("discreet again r-abc-1 adds to it, --fresh draws new noise", "measuring r-abc-1 again adds to it, asking with fresh draws new noise"),
        ("discreet ledger show lists them", "the list of releases has them"),
        ("discreet budget grant raises the limit", "an owner raises the limit"),
        ("several at once: discreet query -f FILE", "several at once"),
        ("discreet refresh visits makes one", "on the owner's command line discreet refresh visits makes one"),
        ("the owner runs discreet refresh visits", "the owner runs discreet refresh visits"),
        ("`discreet bounds visits --report` tells", "on the owner's command line `discreet bounds visits --report` tells"),
        ("--delta-keys stays, --delta 0 goes", "--delta-keys stays, delta 0 goes"),
        ("a--epsilon is a name", "a--epsilon is a name"),
        ("an indiscreet addition", "an indiscreet addition"),
    ],
)  # fmt: skip
def test_what_is_said(sentence, said):
    assert without_cli_terms(sentence) == said
    assert without_cli_terms(said) == said or "owner's command line" in said


def test_refusals_are_said_so():
    told = error_json(error_report_of(UsageError("say how much to spend", hint="--epsilon 0.1, or --within 50")))
    assert told == {"error": "say how much to spend", "hint": "epsilon 0.1, or within 50", "code": 2}


def test_a_ledger_that_is_gone_says_how_it_comes_back(tmp_path):
    """Whoever asks is told that the owner can, and how."""
    from console.house import world

    made = world(tmp_path / "clinic")
    try:
        token, client = made.token(), made.client()
        head = {"authorization": f"Bearer {token}", "idempotency-key": "k1"}
        body = {"sql": "select count(*) from patients", "epsilon": 1}
        assert client.post("/api/v1/query", json=body, headers=head).status_code == 200
        for file in (made.folder / ".discreet").glob("ledger.db*"):
            file.unlink()
        answer = client.post("/api/v1/query", json=body | {"epsilon": 2}, headers=head | {"idempotency-key": "k2"})
        assert answer.status_code == 409 and answer.json()["code"] == LedgerFault.exit_code
        assert "on the owner's command line discreet ledger restore FILE" in answer.json()["hint"]
    finally:
        made.house.close()
