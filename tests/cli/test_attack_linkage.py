"""`discreet attack linkage`, end to end."""

import pytest

from clinic import run, say

HOSPITAL = "zip,birth,sex,disease\n02138,1945-09-14,M,gout\n02139,1950-01-01,F,flu\n02139,1950-01-02,F,\n"
VOTERS = "name,zip,birth,sex\nGus,02138,1945-09-14,M\nAda,02139,1950-01-01,F\nBea,02139,1950-01-01,F\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "hospital.csv").write_text(HOSPITAL)
    (tmp_path / "voters.csv").write_text(VOTERS)
    return str(tmp_path / "hospital.csv"), str(tmp_path / "voters.csv")


def test_on_files(files, tmp_path, capsys):
    picture = tmp_path / "a.svg"
    code, found, _ = run(capsys, tmp_path, "attack", "linkage", *files, "--on", "zip,birth,sex", "--plot", str(picture))
    assert code == 0
    assert found["n"] == 3 and found["success"] == pytest.approx(1 / 3) and found["chance"] == pytest.approx(1 / 3)
    details = found["details"]
    assert (details["unique"], details["ambiguous"], details["unmatched"]) == (1, 1, 1)
    assert details["correct"] is None and details["learned"] == ["disease"]
    assert picture.read_text().startswith("<svg")


def test_search(files, tmp_path, capsys):
    code, found, _ = run(capsys, tmp_path, "attack", "linkage", *files, "--search")
    assert code == 0 and ["birth"] in [one["on"] for one in found["details"]["sets"]]


@pytest.mark.deep
def test_on_the_generated_state(tmp_path, capsys):
    code, found, _ = run(capsys, tmp_path, "attack", "linkage")
    assert code == 0 and found["details"]["governor"]["same_birth"] == 6
    code, told, _ = say(capsys, tmp_path, "attack", "linkage", "--search", "--on", "birth,zip")
    assert code == 0 and "birth and zip" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["hospital"], "takes two files"),
        (["hospital", "voters", "--on", "zip,,sex"], "empty column"),
        (["hospital", "voters", "--on", "zipp"], "did you mean 'zip'"),
        (["hospital", "voters", "--on", "disease"], "has no column 'disease'"),
        (["hospital", "nothing"], "there is no file"),
        (["--truth", "person"], "--truth needs files"),
        (["hospital", "voters", "--plot", "a.png"], "not an .svg file"),
    ],
)
def test_wrong_usage(files, tmp_path, capsys, words, told):
    paths = {"hospital": files[0], "voters": files[1], "nothing": str(tmp_path / "nothing.csv")}
    code, out, err = say(capsys, tmp_path, "attack", "linkage", *(paths.get(word, word) for word in words))
    assert code == 2 and told in out + err
