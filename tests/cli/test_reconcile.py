"""`discreet reconcile`: answers of different days that no database has, and those that one could have."""

import csv

import numpy as np
import pytest

from clinic import COLUMNS, make, rows_of_ledger, run, say, write_rows
from discreet.mechanisms.laplace import DiscreteLaplace

ALL = "select count(*) from patients"
MALE, FEMALE = (f"{ALL} where sex = '{sex}'" for sex in "MF")
ROWS = [[place % 100, "FM"[place % 2], "flu", "true", "n"] for place in range(2000)]


def released(monkeypatch, capsys, folder, noises):
    """Ask each question with a noise that we choose."""
    for text, noise in noises.items():
        monkeypatch.setattr(DiscreteLaplace, "draw", lambda self, size, *, bits, own=noise: np.full(size, own))
        code, data, _ = run(capsys, folder, "query", text, "--epsilon", "0.1", "--fresh")
        assert code == 0
        yield data


@pytest.mark.parametrize("closed", [True, False])
def test_the_sum_of_the_parts(tmp_path, capsys, monkeypatch, closed):
    """2005 in all, 1001 men, 995 women: nobody has these counts, if everybody is the one or the other."""
    columns = COLUMNS if closed else COLUMNS.replace("closed = true\n", "")
    make(tmp_path, rows=ROWS, columns=columns, budget="{ epsilon = 5.0 }")
    answers = list(released(monkeypatch, capsys, tmp_path, {ALL: 5, MALE: 1, FEMALE: -5}))
    assert [answer["rows"] for answer in answers] == [[[2005]], [[1001]], [[995]]]
    rows = rows_of_ledger(tmp_path)
    code, data, _ = run(capsys, tmp_path, "reconcile", "patients", "--whole")
    assert code == 0 and rows_of_ledger(tmp_path) == rows
    numbers = data["numbers"]
    assert [number["value"] for number in numbers] == [2005, 1001, 995]
    assert [number["release"] for number in numbers] == [answer["release"] for answer in answers]
    assert data["cost"] == {"epsilon": 0.0, "rho": 0.0, "delta": 0.0} and data["left_out"] == []
    found = [number["reconciled"] for number in numbers]
    ratios = [number["reconciled_error"] / number["standard_error"] for number in numbers]
    if closed:
        assert found == pytest.approx([2002, 1004, 998]) and ratios == pytest.approx([(2 / 3) ** 0.5] * 3)
        assert len(data["identities"]) == data["degrees"] == 1
        assert sorted(data["identities"][0]) in ([[0, "-1"], [1, "1"], [2, "1"]], [[0, "1"], [1, "-1"], [2, "-1"]])
        assert [number["whole"] for number in numbers] == [2002, 1004, 998]
    else:
        assert (
            found == pytest.approx([2005, 1001, 995])
            and ratios == pytest.approx([1, 1, 1])
            and data["identities"] == []
        )
    code, text, _ = say(capsys, tmp_path, "reconcile", "patients")
    assert code == 0 and "Nothing was charged" in text
    assert (" = " in text) == closed and ("nothing to reconcile" in text) != closed


def test_whole_numbers_agree_and_are_not_negative(tmp_path, capsys):
    make(tmp_path, rows=ROWS[:7], budget="{ epsilon = 50.0 }")
    for text in (
        "select sex, disease, smoker, count(*) n from patients group by sex, disease, smoker",
        "select sex, disease, count(*) n from patients group by sex, disease",
        "select disease, count(*) n, sum(age) s from patients group by disease",
        "select sum(age) s from patients",
        ALL,
    ):
        assert run(capsys, tmp_path, "query", text, "--epsilon", "0.2", "--fresh")[0] == 0
    code, data, _ = run(capsys, tmp_path, "reconcile", "patients", "--whole", "--csv", str(tmp_path / "out.csv"))
    assert code == 0 and data["whole"] is True
    whole = [number["whole"] for number in data["numbers"]]
    assert all(number == int(number) and number >= 0 for number in whole)
    assert any(number["value"] < 0 for number in data["numbers"])
    assert len(data["identities"]) > 15
    for terms in data["identities"]:
        assert sum(int(amount) * whole[place] for place, amount in terms) == 0
        fit = sum(float(amount) * data["numbers"][place]["reconciled"] for place, amount in terms)
        assert abs(fit) < 1e-6
    assert all(n["reconciled_error"] <= n["standard_error"] * (1 + 1e-9) for n in data["numbers"])
    with (tmp_path / "out.csv").open() as stream:
        written = list(csv.DictReader(stream))
    assert [float(row["whole"]) for row in written] == whole and "sex=F" in written[0]["keys"]


@pytest.mark.deep
def test_what_stays_out_is_named_with_its_reason(tmp_path, capsys):
    project = make(tmp_path, budget="{ epsilon = 90.0, delta = 1e-6 }")
    texts = {
        "select count(distinct age) from patients": "distinct values",
        "select median(age) from patients": "quantile",
        "select note, count(*) from patients group by note": "discovered",
        "select count(*) from patients where length(note) = 1": "not exactly made of ranges",
    }
    old = run(capsys, tmp_path, "query", ALL, "--epsilon", "1")[1]["release"]
    write_rows(tmp_path / "patients.csv", ROWS)
    project.refresh("patients")
    reasons = {old: "version 1"}
    for text, reason in texts.items():
        reasons[run(capsys, tmp_path, "query", text, "--epsilon", "1")[1]["release"]] = reason
    code, data, _ = run(capsys, tmp_path, "reconcile", "patients")
    assert code == 2 and "can be reconciled" in data["reason"]
    assert all(reason in data["hint"] for reason in reasons.values())
    new = run(capsys, tmp_path, "query", ALL, "--epsilon", "1")[1]["release"]
    code, data, _ = run(capsys, tmp_path, "reconcile")
    assert code == 0 and [number["release"] for number in data["numbers"]] == [new]
    assert {each["release"] for each in data["left_out"]} == set(reasons)
    assert all(reasons[each["release"]] in each["reason"] for each in data["left_out"])
    _, text, _ = say(capsys, tmp_path, "reconcile", new, old)
    assert f"left out: {old}, it is about version 1" in text


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nothing"], "nothing"),
        (["r-nothing"], "no release"),
        (["d-0123456789ab"], "derived answer"),
        (["patients", "r-nothing"], "no release"),
        (["patients"], "can be reconciled"),
        (["patients", "--csv", "/"], "cannot be written"),
    ],
)
def test_bad_input(tmp_path, capsys, words, reason):
    make(tmp_path)
    code, data, _ = run(capsys, tmp_path, "reconcile", *words)
    assert code == 2 and reason in data["reason"]


def test_a_free_answer_says_so(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 5.0 }")
    for text in (MALE, FEMALE):
        run(capsys, tmp_path, "query", text, "--epsilon", "1")
    code, data, _ = run(capsys, tmp_path, "query", ALL, "--epsilon", "0.5")
    assert code == 0 and data["derived"] and not data["cached"] and len(data["from"]) == 2
    assert data["cost"] == {"epsilon": 0.0, "rho": 0.0, "delta": 0.0, "budget": 0.0}
    assert data["columns"] == [{"name": "count", "kind": "derived", "least": 0}] and data["release"].startswith("d-")
    _, text, _ = say(capsys, tmp_path, "query", ALL, "--epsilon", "0.5")
    assert "derived from earlier answers: free" in text
    _, text, _ = say(capsys, tmp_path, "explain", ALL, "--within", "3")
    assert "already give it within ±" in text and "only the rest is charged" in text
    code, data, _ = run(capsys, tmp_path, "again", data["release"], "--epsilon", "1")
    assert code == 2 and "derived answer" in data["reason"]
