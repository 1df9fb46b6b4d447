"""`discreet attack sampling`, end to end."""

import pytest

from clinic import run, say


@pytest.fixture
def files(tmp_path):
    rows = [f"{place % 40},{place % 50},p{place}" for place in range(400)]  # 200 pairs of values, twice each
    (tmp_path / "all.csv").write_text("\n".join(["a,b,person", *rows]) + "\n")
    (tmp_path / "some.csv").write_text("\n".join(["a,b,person", "0,0,p0", "1,1,p1"]) + "\n")
    return str(tmp_path / "all.csv"), str(tmp_path / "some.csv")


def test_on_files(files, tmp_path, capsys):
    code, found, _ = run(capsys, tmp_path, "attack", "sampling", *files, "--on", "a,b", "--truth", "person")
    assert code == 0 and found["n"] == 2 and found["success"] == 0 and found["details"]["guess_is_right"] == 0.5
    code, found, _ = run(capsys, tmp_path, "attack", "sampling", files[0], "--on", "person", "--share", "0.1")
    assert code == 0 and found["n"] == 40 and found["success"] == 1


def test_on_the_generated_state(tmp_path, capsys):
    code, told, _ = say(capsys, tmp_path, "attack", "sampling", "--share", "0.02")
    assert code == 0 and "3,000 of 150,000 people (2.0%)" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["all"], "name the columns"),
        (["all", "some", "--on", "a", "--share", "0.5"], "a sample is given"),
        (["all", "--on", "a", "--share", "2"], "share of rows must be"),
        (["--on", "zip"], "need a file"),
    ],
)
def test_wrong_usage(files, tmp_path, capsys, words, told):
    paths = {"all": files[0], "some": files[1]}
    code, out, err = say(capsys, tmp_path, "attack", "sampling", *(paths.get(word, word) for word in words))
    assert code == 2 and told in out + err
