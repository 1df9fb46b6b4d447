"""`discreet release` and `discreet ledger backup / restore`, as people type them."""

import json
from dataclasses import replace

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import clinic
import discreet
from discreet.bundle import bundle_files
from discreet.bundle.content import content_of
from discreet.bundle.signing_key import Signer


@pytest.fixture
def project(tmp_path):
    made = clinic.make(tmp_path / "p")
    release = made.sql("SELECT disease, count(*) n FROM patients GROUP BY disease").ask(epsilon=0.5)
    made.ledger.close()
    return tmp_path / "p", release.id


def test_write_verify_and_key(project, tmp_path, capsys):
    folder, id_ = project
    out = tmp_path / "out"
    code, data, _ = clinic.run(capsys, folder, "release", id_, "--to", str(out), "--name", "N", "--intended-use", "U")
    assert code == 0 and data["release"] == id_ and "name" not in data["not_told"] and "sector" in data["not_told"]
    card = yaml.safe_load((out / "card.yaml").read_text())["deployment"]
    assert "publication_date" not in data["not_told"] and len(card["product"]["publication_date"]) == 10
    code, key, _ = clinic.run(capsys, folder, "release", "key")
    assert code == 0 and key["fingerprint"] == data["key"]
    code, report, _ = clinic.run(capsys, folder, "release", "verify", str(out), "--key", key["fingerprint"])
    assert code == 0 and report["sound"] and [check["name"] for check in report["checks"]][-1] == "ledger"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    code, report, _ = clinic.run(capsys, elsewhere, "release", "verify", str(out))
    assert code == 0 and [check["name"] for check in report["checks"]][-1] == "card"
    code, text, _ = clinic.say(capsys, elsewhere, "release", "verify", str(out))
    assert code == 0 and "this proves" in text and "does not prove" in text
    assert text.splitlines()[-1].startswith("signed by SOME key, and anybody") and key["fingerprint"] in text
    for where, named in ((elsewhere, ("--key", key["fingerprint"])), (folder, ())):
        code, text, _ = clinic.say(capsys, where, "release", "verify", str(out), *named)
        assert code == 0 and "SOME key" not in text


def test_the_card_alone_is_the_one_in_the_bundle(project, tmp_path, capsys):
    folder, id_ = project
    code, _, _ = clinic.run(capsys, folder, "release", id_, "-o", str(tmp_path / "out"), "--name", "N: no")
    assert code == 0
    written = (tmp_path / "out" / "card.yaml").read_text()
    code, text, _ = clinic.say(capsys, folder, "release", "card", id_, "--name", "N: no")
    assert code == 0 and text == written
    code, data, _ = clinic.run(capsys, folder, "release", "card", id_, "--name", "N: no")
    assert code == 0 and data == yaml.safe_load(written) and data["deployment"]["product"]["name"] == "N: no"
    code, _, problem = clinic.say(capsys, folder, "release", "card", "r-nosuchrelease")
    assert code == 2 and "there is no release" in problem


def test_a_forged_bundle_beside_the_project_and_one_that_cannot_be_checked(project, tmp_path, capsys, monkeypatch):
    """A stranger changes the numbers, names another Discreet and signs; and what could not be checked is no success."""
    folder, id_ = project
    opened = discreet.open(folder)
    true = content_of(opened, id_)
    opened.ledger.close()
    numbers = true.sheets[0]
    lie = replace(true, sheets=(replace(numbers, rows=tuple((row[0], 666) for row in numbers.rows)),))
    monkeypatch.setattr(bundle_files, "VERSION", "9.9")
    bundle_files.write(bundle_files.signed_files(lie, Signer(Ed25519PrivateKey.generate())), tmp_path / "forged")
    bundle_files.write(bundle_files.signed_files(true, Signer.load_or_make()), tmp_path / "true")
    code, text, _ = clinic.say(capsys, folder, "release", "verify", str(tmp_path / "forged"))
    assert code == 5 and text.splitlines()[-1] == "do not trust this bundle"
    assert clinic.say(capsys, folder, "release", "verify", str(tmp_path / "true"))[0] == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    code, text, _ = clinic.say(capsys, elsewhere, "release", "verify", str(tmp_path / "forged"))
    assert code == 1 and "not everything could be checked (proof, noise, data)" in text.splitlines()[-1]
    code, text, _ = clinic.say(capsys, elsewhere, "release", "verify", str(tmp_path / "true"), "--accept-open")
    assert code == 0 and "accepted by --accept-open" in text.splitlines()[-1] and "SOME key" in text.splitlines()[-1]


def test_a_project_that_cannot_be_opened_is_told(project, tmp_path, capsys):
    folder, id_ = project
    clinic.run(capsys, folder, "release", id_, "--to", str(tmp_path / "out"))
    (folder / ".discreet" / "ledger.db").write_bytes(b"lost")
    code, _, _ = clinic.run(capsys, folder, "release", "verify", str(tmp_path / "out"))
    assert code == 5


def test_without_the_ledgers_state_folder_the_bundle_is_checked_all_the_same(project, tmp_path, capsys, monkeypatch):
    folder, id_ = project
    out = tmp_path / "out"
    _, made, _ = clinic.run(capsys, folder, "release", id_, "--to", str(out))
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "another"))
    code, report, _ = clinic.run(capsys, folder, "release", "verify", str(out), "--key", made["key"])
    assert code == 1 and report["state"] == "not checked" and report["sound"] and report["open"] == ["ledger"]
    assert {check["name"]: check["holds"] for check in report["checks"]} == {
        **dict.fromkeys(("whole", "signed", "cost", "unit", "limit", "proof", "noise", "data", "card"), True),
        "ledger": None,
    }
    code, text, _ = clinic.say(capsys, folder, "release", "verify", str(out), "--accept-open")
    assert code == 0 and "open   ledger  it was not compared: this machine has no state folder for the ledger" in text
    assert "SOME key" in text.splitlines()[-1]
    (out / "data.csv").write_text("x")
    code, text, _ = clinic.say(capsys, folder, "release", "verify", str(out), "--accept-open")
    assert code == 5 and "changed: data.csv" in text and text.splitlines()[-1] == "do not trust this bundle"


def test_a_bundle_of_a_second_measurement_names_the_first(project, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("discreet.answers.more_precise.refined_quote", lambda *_, **__: None)  # independent noise, then
    folder, id_ = project
    opened = discreet.open(folder)
    both = opened.again(id_, epsilon="0.1")
    opened.ledger.close()
    code, text, _ = clinic.say(capsys, folder, "release", both.id, "--to", str(tmp_path / "out"))
    assert code == 0 and f"noisy numbers of {id_}" in text


def test_a_bundle_that_does_not_verify_and_none(project, tmp_path, capsys):
    folder, id_ = project
    out = tmp_path / "out"
    clinic.run(capsys, folder, "release", id_, "--to", str(out))
    code, report, _ = clinic.run(capsys, folder, "release", "verify", str(out), "--key", "0" * 64)
    assert code == 5 and not report["sound"]
    (out / "data.csv").write_text("x")
    code, text, _ = clinic.say(capsys, folder, "release", "verify", str(out))
    assert code == 5 and "FAILS" in text and "changed: data.csv" in text
    for nothing in (tmp_path / "nothing", tmp_path):
        assert clinic.run(capsys, folder, "release", "verify", str(nothing))[0] == 2
    assert clinic.run(capsys, folder, "release", "verify", str(out), "--key", "abc")[0] == 2


def test_wrong_usage(project, tmp_path, capsys):
    folder, id_ = project
    out = str(tmp_path / "out")
    for words in (
        ("release", id_),
        ("release", "r-nothing", "--to", out),
        ("release", id_, "x", "--to", out),
        ("release", id_, "--to", out, "--key", "0" * 64),
        ("release", id_, "--to", str(folder / ".discreet" / "out")),
        ("release", id_, "--to", out, "--about", str(tmp_path / "nothing.toml")),
        ("release", id_, "--to", str(folder)),
    ):
        assert clinic.run(capsys, folder, *words)[0] == 2, words
    assert not (tmp_path / "out").exists()


def test_what_people_tell_comes_from_a_file_and_flags(project, tmp_path, capsys):
    folder, id_ = project
    (tmp_path / "about.toml").write_text('name = "From the file"\nsector = "Health"\n')
    words = ("release", id_, "--to", str(tmp_path / "out"), "--about", str(tmp_path / "about.toml"), "--name", "Flag")
    assert clinic.run(capsys, folder, *words)[0] == 0
    told = json.loads((tmp_path / "out" / "plan.json").read_text())["about"]
    assert (told["name"], told["sector"]) == ("Flag", "Health")


def test_backup_and_restore(project, tmp_path, capsys):
    folder, id_ = project
    copy = tmp_path / "copy.db"
    code, data, _ = clinic.run(capsys, folder, "ledger", "backup", "--to", str(copy))
    assert code == 0 and data["rows"] == 5
    assert clinic.run(capsys, folder, "ledger", "backup", "--to", str(copy))[0] == 2
    assert clinic.run(capsys, folder, "ledger", "restore", str(copy))[0] == 2  # what is there is good
    assert (
        clinic.run(capsys, folder, "query", "SELECT count(*) FROM patients WHERE age < 9", "--epsilon", "0.2")[0] == 0
    )
    (folder / ".discreet" / "ledger.db").write_bytes(b"lost")
    assert clinic.run(capsys, folder, "budget")[0] == 5
    assert clinic.run(capsys, folder, "ledger", "restore", str(copy), "--state", "x", "--lost")[0] == 2
    code, data, _ = clinic.run(capsys, folder, "ledger", "restore", str(copy))
    assert code == 0 and data["charged"] == ["patients"] and data["rows"] == 5 and data["set_aside"]
    code, data, _ = clinic.run(capsys, folder, "budget")
    assert code == 0 and data["tables"]["patients"]["remaining"]["epsilon"] <= 0.3
    assert clinic.run(capsys, folder, "release", id_, "--to", str(tmp_path / "out"))[0] == 0
