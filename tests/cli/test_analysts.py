"""Quotas: whoever asks has a name that the owner gave, and one quota under any spelling of it."""

from fractions import Fraction

import pytest

import discreet
from clinic import make, rows_of_ledger, run, say
from discreet.errors import BudgetExceeded, UsageError
from discreet.ledger.charge_request import Asker, ChargeRequest
from ledger.ledgers import WHOLE, ask, guarantee, laplace
from ledger.ledgers import make as make_ledger

COUNT = "select count(*) from patients"
BY_DISEASE = "select disease, count(*) n from patients group by disease"
QUOTAS = "\n[analysts.ana]\nepsilon = 0.1\n[analysts.'Straße']\nepsilon = 0.2\n"


@pytest.fixture
def clinic(tmp_path):
    make(tmp_path)
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text() + QUOTAS)
    return tmp_path


@pytest.mark.thin(4)
@pytest.mark.parametrize("who", [[], ["--analyst", "anna"], ["--analyst", "ana "], ["--analyst", ""]])
@pytest.mark.parametrize("how", ["query", "batch"])
def test_nobody_asks_without_a_name_that_has_a_quota(clinic, capsys, who, how):
    (clinic / "questions.sql").write_text(COUNT)
    question = [COUNT] if how == "query" else ["-f", str(clinic / "questions.sql")]
    code, told, _ = run(capsys, clinic, "query", *question, "--epsilon", "0.01", *who)
    assert code == 2
    assert "discreet.toml sets quotas for analysts" in told["reason"]
    assert "[analysts.NAME]" in told["hint"]
    assert discreet.open(clinic).budget("patients").events == 0


def test_again_needs_a_name_too(clinic, capsys):
    _, told, _ = run(capsys, clinic, "query", COUNT, "--epsilon", "0.01", "--analyst", "ana")
    assert run(capsys, clinic, "again", told["release"], "--epsilon", "0.01")[0] == 2
    assert run(capsys, clinic, "again", told["release"], "--epsilon", "0.01", "--analyst", "Ana")[0] == 0
    assert run(capsys, clinic, "again", told["release"], "--epsilon", "0.09", "--analyst", "aNA")[0] == 4


def test_capitals_make_no_other_quota(clinic, capsys):
    assert run(capsys, clinic, "query", COUNT, "--epsilon", "0.06", "--analyst", "ANA")[0] == 0
    code, told, _ = run(capsys, clinic, "query", BY_DISEASE, "--epsilon", "0.06", "--analyst", "ana")
    assert code == 4 and "quota" in told["reason"]
    assert run(capsys, clinic, "query", BY_DISEASE, "--epsilon", "0.04", "--analyst", "Ana")[0] == 0
    assert run(capsys, clinic, "query", "select sex, count(*) from patients group by sex",
               "--epsilon", "0.15", "--analyst", "STRASSE")[0] == 0  # fmt: skip
    found = discreet.open(clinic).budget("patients").by_analyst
    assert {who: float(paid.epsilon) for who, paid in found.items()} == {"ana": 0.1, "Straße": 0.15}


def test_the_refusal_teaches_a_person(clinic, capsys):
    rows = rows_of_ledger(clinic)
    code, _, told = say(capsys, clinic, "query", COUNT, "--epsilon", "0.01", "--analyst", "anna")
    assert code == 2
    assert "'anna' is not one of them" in told and "did you mean 'ana'?" in told
    assert rows_of_ledger(clinic) == rows


def test_without_quotas_a_name_is_a_note(tmp_path, capsys):
    make(tmp_path)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 0
    assert run(capsys, tmp_path, "query", BY_DISEASE, "--epsilon", "0.1", "--analyst", "anybody")[0] == 0


def test_explaining_is_free_and_needs_no_name(clinic, capsys):
    assert run(capsys, clinic, "explain", COUNT, "--epsilon", "0.9")[0] == 0


def test_the_ledger_adds_what_all_spellings_paid(path):
    """As old charges may lie in it, from before the file said how a name is written."""
    with make_ledger(path, guarantee("3", 0, "pure")) as ledger:
        for name in ("Ana", "ANA", "bea"):
            ask(ledger, laplace("0.1"), price="0.1", analyst=name)
        account = ledger.state.accounts["patients"]
        assert account.paid_by("ana") == Fraction(1, 5)
        assert account.paid_by("nobody") == account.paid_by(None) == 0
        assert set(account.by_analyst()) == {"Ana", "ANA", "bea"}
        before = dict(ledger.state.charges)
        asked = {"population": "patients", "table": "patients", "version": 1, "region": WHOLE, "question": "another"}
        with pytest.raises(BudgetExceeded, match=r"'ana' has 0\.05 remaining of a quota of 0\.25"):
            ledger.charge(
                ChargeRequest(**asked, event=laplace("0.1"), price="0.1", asker=Asker(name="ana", quota=Fraction(1, 4)))
            )
        assert ledger.state.charges == before


def test_from_python(clinic):
    project = discreet.open(clinic)
    with pytest.raises(UsageError, match="no analyst was named"):
        project.sql(COUNT).ask(epsilon="0.01")
    assert project.sql(COUNT).ask(epsilon="0.01", analyst="ANA").cost.epsilon == Fraction(1, 100)
