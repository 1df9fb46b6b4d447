"""`discreet attack ratings`, end to end."""

import random

import pytest

from clinic import run, say
from lab import demos


@pytest.fixture
def files(tmp_path):
    draw = random.Random(1)
    rows = [
        (user, item, draw.randint(1, 5), f"2006-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}")
        for user in range(80)
        for item in draw.sample(range(60), 15)
    ]
    write(tmp_path / "ratings.csv", "user,item,stars,day", rows)
    write(
        tmp_path / "known.csv", "user,item,stars,day,record", [(f"n{row[0]}", *row[1:], row[0]) for row in rows[:150]]
    )
    return str(tmp_path / "ratings.csv"), str(tmp_path / "known.csv")


def write(path, head, rows):
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")


def test_on_a_file(files, tmp_path, capsys):
    words = ["--known", "6", "--wrong", "1", "--days", "5", "--targets", "60"]
    code, found, _ = run(capsys, tmp_path, "attack", "ratings", files[0], *words)
    assert code == 0 and found["n"] == 60 and found["success"] > 0.9 and found["chance"] == 1 / 80
    code, found, _ = run(capsys, tmp_path, "attack", "ratings", files[0], "--no-dates", "--targets", "20")
    assert code == 0 and found["details"]["days"] is None
    code, found, _ = run(capsys, tmp_path, "attack", "ratings", files[0], "--columns", "user,item,stars")
    assert code == 0 and found["details"]["days"] is None


def test_on_people_who_are_known(files, tmp_path, capsys):
    code, found, _ = run(capsys, tmp_path, "attack", "ratings", *files, "--truth", "record")
    assert code == 0 and found["n"] == 10 and found["success"] == 1


def test_people_may_be_called_what_their_records_are(files, tmp_path, capsys):
    code, found, _ = run(capsys, tmp_path, "attack", "ratings", files[0], files[0], "--truth", "user")
    assert code == 0 and found["n"] == 80 and found["success"] == 1


def test_rare_items_and_a_sample(files, tmp_path, capsys):
    words = ["--known", "4", "--wrong", "0", "--targets", "20"]
    code, found, _ = run(capsys, tmp_path, "attack", "ratings", files[0], *words, "--outside-top", "5")
    assert code == 0 and found["details"]["outside_top"] == 5
    code, found, _ = run(capsys, tmp_path, "attack", "ratings", files[0], *words, "--sample", "0.5", "--perturb", "0.1")
    assert code == 0 and (found["details"]["sample"], found["details"]["perturbed"]) == (0.5, 0.1)
    assert {"without_defence", "unpublished_named"} <= set(found["details"])


@pytest.mark.deep  # tests/lab/test_ratings.py attacks it too
def test_on_the_generated_service(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("discreet.lab.worlds.rating_service.make_ratings", demos.service)
    code, told, _ = say(capsys, tmp_path, "attack", "ratings", "--known", "4", "--wrong", "0", "--targets", "50")
    assert code == 0 and "among 20,000" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ratings", "known", "--known", "3"], "nothing is drawn"),
        (["ratings", "--truth", "record"], "needs a file about named people"),
        (["--columns", "a,b,c"], "needs a file"),
        (["ratings", "--columns", "user,item"], "3 or 4 columns"),
        (["ratings", "--no-dates", "--days", "3"], "cannot be used together"),
        (["ratings", "--known", "0", "--wrong", "0"], "cannot be wrong"),
        (["ratings", "--outside-top", "-2"], "cannot be -2 top items"),
        (["ratings", "--outside-top", "5000"], "outside the 5,000 most rated"),
        (["ratings", "--sample", "0"], "above 0 and at most 1"),
        (["ratings", "--perturb", "2"], "between 0 and 1"),
        (["ratings", "known", "--sample", "0.5"], "nothing is drawn"),
    ],
)
def test_wrong_usage(files, tmp_path, capsys, words, told):
    paths = {"ratings": files[0], "known": files[1]}
    code, out, err = say(capsys, tmp_path, "attack", "ratings", *(paths.get(word, word) for word in words))
    assert code == 2 and told in out + err
