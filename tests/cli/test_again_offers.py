"""What a refused `again`, or a query with a stored answer, offers does what it says when it is typed."""

import re
import shlex

import pytest

from clinic import make, run, say

COUNT = "select count(*) as n from patients"


@pytest.fixture
def first(tmp_path, capsys):
    """A stored answer at epsilon 0.4 of 1."""
    make(tmp_path)
    code, data, _ = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.4")
    assert code == 0
    return data["release"]


def offered(text):
    """The command of a `try:`, and the ± that it names."""
    found = re.search(r"try: discreet (again r-\S+ .*?) \(.*within ±(\S+) instead of ±(\S+)\)", text)
    assert found, text
    return shlex.split(found[1]), found[2], found[3]


def plus_minus(text):
    return re.search(r"± (\S+)", text)[1]


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "words",
    [
        ("again", "RELEASE", "--within", "1"),
        ("again", "RELEASE", "--epsilon", "0.9"),
        ("query", COUNT, "--within", "1"),
        ("explain", COUNT, "--within", "1"),
    ],
)
def test_a_refusal_offers_an_again_with_its_true_precision(tmp_path, capsys, first, words):
    code, _, text = say(capsys, tmp_path, *(first if word == "RELEASE" else word for word in words))
    assert code == 4
    command, after, before = offered(text)
    assert command[:3] == ["again", first, "--epsilon"] and float(command[3]) == pytest.approx(0.6, abs=0.001)
    assert before == plus_minus(say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[1])
    code, out, text = say(capsys, tmp_path, *command)
    assert code == 0, text
    assert plus_minus(out) == after != before


def test_an_offer_holds_the_analyst_and_the_confidence(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 3 }", extra="\n[analysts.ann]\nepsilon = 1\n")
    asked = ("--analyst", "ann", "--confidence", "0.9")
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.4", *asked)[0] == 0
    command, after, _ = offered(say(capsys, tmp_path, "query", COUNT, "--within", "1", *asked)[2])
    code, out, _ = say(capsys, tmp_path, *command)
    assert code == 0 and plus_minus(out) == after


def test_what_nobody_would_see_is_not_offered(tmp_path, capsys):
    make(tmp_path)
    release = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.97")[1]["release"]
    code, _, text = say(capsys, tmp_path, "again", release, "--epsilon", "0.1")
    assert code == 4 and "discreet again" not in text
    assert f"what remains would not make release {release} visibly more precise than ±3; ask the owner" in text


def test_a_new_measurement_that_is_combined_says_its_precision(tmp_path, capsys):
    """Gaussian noise is not refined: both answers are read together."""
    make(tmp_path, budget="{ epsilon = 2, delta = 1e-6 }", extra='accounting = "zcdp"')
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 0
    command, after, before = offered(say(capsys, tmp_path, "query", COUNT, "--within", "1")[2])
    assert plus_minus(say(capsys, tmp_path, *command)[1]) == after != before


def test_where_next_to_nothing_remains_no_epsilon_is_offered(tmp_path, capsys):
    make(tmp_path)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.999995")[0] == 0
    code, _, text = say(capsys, tmp_path, "query", f"{COUNT} where age > 3", "--epsilon", "0.5")
    assert code == 4 and "--epsilon" not in text
    assert "try: no useful budget remains for this query (at most epsilon 5e-06); ask the owner to grant more" in text
