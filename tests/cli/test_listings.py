"""`discreet tables` and `discreet releases`: public facts, in the order of the ledger."""

import pytest

from clinic import make, run, say

COUNT = "select count(*) from patients"


def test_tables_say_whom_they_protect_and_what_is_spent(tmp_path, capsys):
    make(tmp_path)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.25")[0] == 0
    code, data, _ = run(capsys, tmp_path, "tables")
    (patients,) = [each for each in data["tables"] if each["table"] == "patients"]
    assert code == 0
    assert (patients["protects"], patients["version"], patients["spent"], patients["limit"]) == (
        "one row",
        1,
        0.25,
        1.0,
    )
    code, text, _ = say(capsys, tmp_path, "tables")
    assert code == 0 and "patients" in text and "0.25" in text


def test_releases_add_up_and_name_who_asked_what(tmp_path, capsys):
    project = make(tmp_path)
    code, text, _ = say(capsys, tmp_path, "releases")
    assert code == 0 and "nothing was released yet" in text
    run(capsys, tmp_path, "query", f"{COUNT} where age > 3", "--epsilon", "0.25", "--analyst", "ann")
    run(capsys, tmp_path, "query", f"{COUNT} where age > 3", "--epsilon", "0.25")  # stored: nothing new
    run(capsys, tmp_path, "histogram", "patients", "disease", "--epsilon", "0.5")
    code, data, _ = run(capsys, tmp_path, "releases", "patients")
    first, second = data["releases"]
    assert (first["question"], first["analyst"], first["cost"]) == (f"{COUNT} where age > 3", "ann", 0.25)
    assert second["cost"] == 0.5 and second["time"].endswith("Z") and len(second["time"]) == 17
    spent = float(project.budget("patients").spent.epsilon)
    assert sum(each["cost"] for each in data["releases"]) == pytest.approx(spent, abs=1e-8)
    _, text, _ = say(capsys, tmp_path, "releases")
    assert text.index(first["release"]) < text.index(second["release"])
    assert run(capsys, tmp_path, "releases", "nothing")[0] == 2
