"""What `budget` names and what a refusal offers is true when it is typed."""

import re
from fractions import Fraction

import pytest

from clinic import COLUMNS, make, run, say
from discreet.answers import affordability, whole_table_charge

COUNT = "select count(*) from patients"
FIT = ("synth", "fit", "patients", "--columns", "age,sex", "--model", "independent", "--epsilon", "1")
PLAN = """table = "patients"
attributes = ["sex"]

[hierarchy]
column = "note"
levels = ["land", "note"]
from = "places"
root = "nation"
"""
PLACES = '[tables.places]\nsource = "places.csv"\npublic = true\ncolumns.land = { type = "text" }\n'
PLACES += 'columns.note = { type = "text" }\n'


def project(folder, budget="{ epsilon = 3, delta = 1e-6 }", accounting=""):
    make(folder, budget=budget, extra=accounting, columns=COLUMNS + PLACES)
    (folder / "places.csv").write_text("land,note\nNorth,n\n")
    (folder / "plan.toml").write_text(PLAN)


def typed(capsys, folder, words):
    """What a refused command prints, and the code of the same command with the epsilon that it offers."""
    code, _, text = say(capsys, folder, *words)
    assert code == 4, (words, text)
    offered = re.search(r"try: --epsilon ([\d.]+)", text)
    assert offered, text
    words = [offered.group(1) if word == "40" else word for word in words]
    if "without --delta" in text:
        place = words.index("--delta")
        words = words[:place] + words[place + 2 :]
    return text, run(capsys, folder, *words)[0]


@pytest.mark.parametrize("history", ["", "laplace", "gauss"])
def test_a_refused_publication_offers_an_epsilon_that_works(tmp_path, capsys, history):
    project(tmp_path)
    if history == "laplace":
        assert run(capsys, tmp_path, "query", f"{COUNT} where age > 20", "--epsilon", "1.2")[0] == 0
    if history == "gauss":
        assert run(capsys, tmp_path, *FIT)[0] == 0
    words = ["publish", str(tmp_path / "plan.toml"), "--epsilon", "40", "-o", str(tmp_path / "out")]
    assert typed(capsys, tmp_path, words)[1] == 0


@pytest.mark.parametrize("delta", [(), ("--delta", "1e-7")])
def test_a_refused_stream_offers_an_epsilon_that_works(tmp_path, capsys, delta):
    from answers.visits import make as make_visits
    from answers.visits import rows_of, sizes

    make_visits(tmp_path, rows_of(sizes(5)), budget="{ epsilon = 2, delta = 1e-6 }")
    words = ["stream", "start", "visits", "daily", "--horizon", "5", "--epsilon", "40", *delta]
    assert typed(capsys, tmp_path, words)[1] == 0


def test_a_group_that_was_queried_less_is_offered_what_it_has_left(tmp_path, capsys):
    """Men have spent 2.5 of 3: women still have 3, and a refusal about them says so."""
    project(tmp_path, budget="{ epsilon = 3 }")
    assert run(capsys, tmp_path, "query", f"{COUNT} where sex = 'M'", "--epsilon", "2.5")[0] == 0
    text, code = typed(capsys, tmp_path, ["query", f"{COUNT} where sex = 'F'", "--epsilon", "40"])
    assert float(re.search(r"--epsilon ([\d.]+)", text).group(1)) == pytest.approx(3, abs=0.002) and code == 0
    assert "nobody has queried" not in text  # everybody has been, by now


def test_where_nothing_remains_no_epsilon_is_offered(tmp_path, capsys):
    project(tmp_path, budget="{ epsilon = 1 }")
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "1")[0] == 0
    code, _, text = say(capsys, tmp_path, "query", f"{COUNT} where age > 3", "--epsilon", "0.5")
    assert code == 4 and "try: no budget remains for this query; ask the owner to grant more" in text


@pytest.mark.parametrize(
    "words", [("query", f"{COUNT} where age > 3"), ("ranges", "patients", "age"), ("marginals", "patients", "sex")]
)
def test_a_quota_offers_an_epsilon_that_works(tmp_path, capsys, words):
    project(tmp_path, accounting="\n[analysts.ann]\nepsilon = 0.4\n")
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.15", "--analyst", "ann")[0] == 0
    text, code = typed(capsys, tmp_path, [*words, "--epsilon", "40", "--analyst", "ann"])
    assert code == 0 and 0.2 < float(re.search(r"--epsilon ([\d.]+)", text).group(1)) <= 0.25


def test_the_largest_count_is_exact_where_people_have_lost_in_different_ways(tmp_path, capsys):
    """Men: one Laplace answer of 2.9. Women: thirty of 0.1, which only squares hold. No arm alone has any room."""
    folder = tmp_path
    opened = make(folder, budget="{ epsilon = 3, delta = 1e-6 }", extra='accounting = "either"')
    opened.sql(f"{COUNT} where sex = 'M'").ask(epsilon="2.9")
    for age in range(30):
        opened.sql(f"{COUNT} where sex = 'F' and age >= 0 and age != {age + 40}").ask(epsilon="0.1")
    room = opened.ledger.remaining_by_arm("patients")
    largest = opened.budget("patients").largest_question
    assert affordability.largest_question(room) < largest < 3
    assert run(capsys, folder, "query", COUNT, "--epsilon", str(float(largest + Fraction(1, 10**6))))[0] == 4
    assert run(capsys, folder, "query", COUNT, "--epsilon", str(float(largest)))[0] == 0


def test_bounds_never_pay_for_half_an_answer(tmp_path, capsys):
    """Three steps, each rounded up by the ledger, so that 2 and a unit is too little for all three."""
    columns = '[tables.patients.columns.age]\ntype = "integer"\n'
    make(tmp_path, budget="{ epsilon = 2.000000001 }", columns=columns)
    code, data, _ = run(capsys, tmp_path, "bounds", "patients", "age", "--epsilon", "2.000000001")
    assert code == 4
    assert run(capsys, tmp_path, "budget")[1]["tables"]["patients"]["spent"]["epsilon"] == 0
    smaller = re.search(r"--epsilon ([\d.]+)", data["hint"]).group(1)
    assert float(smaller) > 1.999
    assert run(capsys, tmp_path, "bounds", "patients", "age", "--epsilon", smaller)[0] == 0


def test_a_planted_bug_is_caught(tmp_path, capsys, monkeypatch):
    """A hint that forgets the quota offers what is refused."""
    project(tmp_path, accounting="\n[analysts.ann]\nepsilon = 0.4\n")
    monkeypatch.setattr(whole_table_charge, "quota_left", lambda account, asker: None)
    words = ["ranges", "patients", "age", "--epsilon", "40", "--analyst", "ann"]
    assert typed(capsys, tmp_path, words)[1] == 4


@pytest.mark.parametrize(
    ("budget", "is_said"),
    [
        ("{ epsilon = 3, delta = 1e-6 }", True),
        ("{ epsilon = 3, delta = 1e-6, delta_keys = 0 }", False),
        ("{ epsilon = 3 }", False),
    ],
)
def test_delta_kept_for_keys_is_mentioned_while_it_can_be_changed(tmp_path, capsys, budget, is_said):
    make(tmp_path, budget=budget)
    before = run(capsys, tmp_path, "budget")[1]["tables"]["patients"]
    assert any("delta_keys = 0" in note for note in before["notes"]) == is_said
    if is_said:
        now, then = before["counts_within_50"], re.search(r"about (\d+) counts .* not (\d+)", before["notes"][0])
        assert int(then.group(2)) == now < int(then.group(1))
        # What it says is true.
        (tmp_path / "b").mkdir()
        make(tmp_path / "b", budget="{ epsilon = 3, delta = 1e-6, delta_keys = 0 }")
        other = run(capsys, tmp_path / "b", "budget")[1]["tables"]["patients"]
        assert other["counts_within_50"] == int(then.group(1))
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 0
    assert not run(capsys, tmp_path, "budget")[1]["tables"]["patients"]["notes"]
