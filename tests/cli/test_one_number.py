"""One number for one thing: what work costs the budget is what it adds to the epsilon spent, for every verb and law."""

import re
from fractions import Fraction

import pytest

from clinic import make, run, say

COUNT = "select count(*) from patients"
WORK = [
    ("query", f"{COUNT} where age > 20", "--epsilon", "1"),
    ("query", f"{COUNT} where age > 30", "--epsilon", "1", "--analyst", "ann"),
    ("synth", "fit", "patients", "--epsilon", "1", "--model", "independent", "--analyst", "bob"),
    ("query", f"{COUNT} where age > 40", "--epsilon", "0.3"),
    ("query", "select median(age) from patients", "--epsilon", "0.3"),
    ("ranges", "patients", "age", "--epsilon", "0.5"),
    ("ranges", "patients", "age", "--epsilon", "0.5", "--delta", "1e-7"),
    ("marginals", "patients", "--epsilon", "0.5", "disease"),
]


def spent(capsys, folder):
    code, data, _ = run(capsys, folder, "budget")
    assert code == 0
    return data["tables"]["patients"]


def test_what_everything_costs_adds_up_to_what_is_spent(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 10, delta = 1e-6 }")
    before = spent(capsys, tmp_path)
    for words in WORK:
        code, data, _ = run(capsys, tmp_path, *words)
        assert code == 0, words
        after = spent(capsys, tmp_path)
        moved = after["spent"]["epsilon"] - before["spent"]["epsilon"]
        if "budget" in data["cost"] or words[0] == "synth":
            assert data["cost"]["budget"] == pytest.approx(moved, abs=3e-9), words
        assert 0 <= moved < 1.1 and after["remaining"]["epsilon"] < 10, words
        before = after
    # Two counts at 1 and a fit at 1 were 8.07 by two filters.
    assert before["spent"]["epsilon"] < 5.2
    assert before["by_analyst"]["ann"]["epsilon"] == 1.0
    assert 0 < before["by_analyst"]["bob"]["epsilon"] < 1.1
    code, text, _ = say(capsys, tmp_path, "query", f"{COUNT} where age > 50 and disease = 'flu'", "--epsilon", "0.2")
    cost, total, left = re.search(
        r"cost epsilon ([\d.]+); epsilon ([\d.]+) spent of 10, ([\d.]+) remaining", text
    ).groups()
    assert Fraction(total) - Fraction(cost) == pytest.approx(before["spent"]["epsilon"], abs=1e-4)
    assert Fraction(total) + Fraction(left) == pytest.approx(10, abs=1e-4)


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "words",
    [
        ("query", COUNT),
        ("synth", "fit", "patients", "--model", "independent"),
        ("ranges", "patients", "age"),
        ("marginals", "patients", "disease"),
    ],
)
def test_a_refusal_has_a_try_that_works_when_typed(tmp_path, capsys, words):
    make(tmp_path, budget="{ epsilon = 3, delta = 1e-6 }")
    for early in (("query", f"{COUNT} where age > 20"), ("synth", "fit", "patients", "--model", "independent")):
        assert run(capsys, tmp_path, *early, "--epsilon", "1")[0] == 0
    code, _, text = say(capsys, tmp_path, *words, "--epsilon", "30")
    assert code == 4 and "remaining of 3" in text
    smaller = re.search(r"try: --epsilon ([\d.]+)", text).group(1)
    assert 0.5 < float(smaller) < 3
    assert run(capsys, tmp_path, *words, "--epsilon", smaller)[0] == 0


def test_explain_says_why_the_noise_is_what_it_is(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 10, delta = 1e-6 }")
    _, data, _ = run(capsys, tmp_path, "explain", COUNT, "--epsilon", "0.5")
    assert "has room for Laplace noise" in data["because"]
    assert run(capsys, tmp_path, *WORK[2])[0] == 0  # Gaussian: it has no sum of epsilons
    _, data, _ = run(capsys, tmp_path, "explain", COUNT, "--epsilon", "0.5")
    assert "Laplace noise costs the budget less than Gaussian noise here" in data["because"]


def test_the_largest_count_that_budget_names_is_true_when_tried(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 4, delta = 1e-6 }")
    for words in WORK[:3]:
        assert run(capsys, tmp_path, *words)[0] in (0, 4)
    largest = spent(capsys, tmp_path)["largest_question"]
    assert largest > 0
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", f"{largest + 0.001}")[0] == 4
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", str(largest))[0] == 0
