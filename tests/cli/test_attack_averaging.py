"""`discreet attack averaging`."""

import pytest

from clinic import run, say


@pytest.mark.deep
def test_it_runs_on_generated_people(tmp_path, capsys):
    plot = tmp_path / "picture.svg"
    words = ("attack", "averaging", "--targets", "200", "--epsilon", "1", "--plot", str(plot))
    code, told, _ = run(capsys, tmp_path, *words)
    assert code == 0 and told["success"] > 0.9 > told["bound"]
    assert told["details"]["servers"][2]["refused"] == 8
    assert plot.read_text().startswith("<svg")


def test_it_runs_on_a_users_file_with_discreet_in_front(tmp_path, capsys):
    file = tmp_path / "people.csv"
    file.write_text("id,ill\n" + "".join(f"{number},{number % 2}\n" for number in range(40)))
    words = ("attack", "averaging", str(file), "--trait", "ill", "--server", "discreet", "--repeats", "10")
    code, out, _ = say(capsys, tmp_path, *words)
    assert code == 0 and "n = 40" in out


def test_wrong_usage(tmp_path, capsys):
    for words in (["--repeats", "0"], ["--epsilon", "-1"], ["--trait", "x"], ["--server", "x"], ["--targets", "0"]):
        assert run(capsys, tmp_path, "attack", "averaging", *words)[0] == 2


def test_the_hint_names_this_verb(tmp_path, capsys):
    code, _, err = say(capsys, tmp_path, "attack", "averaging", "people.csv")
    assert code == 2 and "discreet attack averaging FILE --trait COLUMN" in err
