"""`discreet attack reconstruction`."""

import pytest

from clinic import run, say


def test_it_runs_on_generated_bits(tmp_path, capsys):
    plot = tmp_path / "picture.svg"
    words = ("attack", "reconstruction", "--n", "300", "--queries", "1200", "--noise", "0.1", "--plot", str(plot))
    code, told, _ = run(capsys, tmp_path, *words)
    assert code == 0 and told["success"] > 0.99 and told["bound"] is None
    assert told["details"]["queries"] == 1_200
    assert plot.read_text().startswith("<svg")


@pytest.mark.deep
def test_every_method(tmp_path, capsys):
    for method, people in (("squares", 100), ("hadamard", 128), ("lp", 40), ("exhaustive", 10)):
        words = ("attack", "reconstruction", "--method", method, "--n", str(people), "--noise", "0")
        code, told, _ = run(capsys, tmp_path, *words)
        assert (code, told["success"]) == (0, 1.0)


def test_it_runs_on_a_users_file_and_under_epsilon(tmp_path, capsys):
    file = tmp_path / "people.csv"
    file.write_text("id,ill\n" + "".join(f"{number},{number % 2}\n" for number in range(200)))
    code, told, _ = run(capsys, tmp_path, "attack", "reconstruction", str(file), "--trait", "ill", "--noise", "0.05")
    assert code == 0 and told["success"] > 0.99 and told["n"] == 200
    words = ("attack", "reconstruction", str(file), "--trait", "ill", "--epsilon", "1")
    code, out, _ = say(capsys, tmp_path, *words)
    assert code == 0 and "73.1%" in out


def test_too_large_for_a_search_names_the_limit_and_the_way(tmp_path, capsys):
    code, _, told = say(capsys, tmp_path, "attack", "reconstruction", "--method", "exhaustive", "--n", "30")
    assert code == 2 and "at most 20" in told and "--method squares" in told
    for words in (["--noise", "nan"], ["--n", "0"], ["--epsilon", "1", "--noise", "1"], ["--method", "x"]):
        assert run(capsys, tmp_path, "attack", "reconstruction", *words)[0] == 2
