"""`discreet attack differencing`."""

import pytest

from clinic import run, say

KEYS = {"attack", "success", "chance", "bound", "breaks", "confidence_interval", "n", "seconds", "details"}


@pytest.mark.deep
def test_it_runs_on_generated_people(tmp_path, capsys):
    plot = tmp_path / "picture.svg"
    code, told, _ = run(capsys, tmp_path, "attack", "differencing", "--targets", "40", "--plot", str(plot))
    assert code == 0 and set(told) == KEYS
    assert told["success"] == 1.0 and 0.88 < told["bound"] < 0.89
    assert [each["server"] for each in told["details"]["servers"]] == ["exact", "noisy, no ledger", "Discreet"]
    assert plot.read_text().startswith("<svg")
    code, out, _ = say(capsys, tmp_path, "attack", "differencing", "--tale", "class", "--targets", "10")
    assert code == 0 and "3,004" in out and "refused" in out


def test_it_runs_on_a_users_file(tmp_path, capsys):
    file = tmp_path / "people.csv"
    file.write_text("id,illness\n" + "".join(f"{number},{'flu' if number % 3 else 'mumps'}\n" for number in range(60)))
    words = ("attack", "differencing", str(file), "--trait", "illness", "--value", "mumps")
    code, told, _ = run(capsys, tmp_path, *words)
    assert code == 0 and told["n"] == 40 and told["success"] == 1.0


def test_wrong_usage(tmp_path, capsys):
    file = tmp_path / "people.csv"
    file.write_text("id,illness\n1,flu\n2,mumps\n")
    for words in (
        [str(file)],
        ["--trait", "illness"],
        [str(file), "--trait", "sick"],
        [str(file), "--trait", "illness"],
        ["missing.csv", "--trait", "sick"],
        ["--tale", "none"],
        ["--server", "none"],
        ["--epsilon", "0"],
        ["--plot", "x.png"],
    ):
        assert run(capsys, tmp_path, "attack", "differencing", "--targets", "4", *words)[0] == 2
