"""`discreet attack floats`."""

import json

import pytest

from discreet.cli.main import call


def say(capsys, *words):
    code = call(["attack", "floats", *words])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_without_arguments_numpy_falls(capsys):
    code, told, _ = say(capsys)
    assert code == 0 and "no protection" in told and "52.5%" in told


def test_as_json_and_drawn(capsys, tmp_path):
    picture = tmp_path / "floats.svg"
    code, told, _ = say(capsys, "--json", "--n", "6000", "--plot", str(picture), "--project", str(tmp_path))
    data = json.loads(told)
    assert code == 0 and data["attack"] == "floats" and data["chance"] == 0.5
    assert data["success"] > 0.85 and data["details"]["certain_and_right"] > 0.7
    assert picture.read_text().startswith("<svg")


def test_discreet_stands(capsys):
    code, told, _ = say(capsys, "--sampler", "discreet", "--scale", "1000", "--values", "1000,1001", "--json")
    data = json.loads(told)
    assert code == 0 and data["success"] == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--values", "1"), "two numbers"),
        (("--values", "a,b"), "two numbers"),
        (("--values", "1,1"), "two different"),
        (("--scale", "0"), "above 0"),
        (("--sampler", "dice"), "not a sampler"),
        (("--sampler", "no_such_module:noisy"), "cannot be imported"),
        (("--n", "2"), "outputs"),
        (("--sampler", "discreet", "--values", "1e20,1e21"), "up to 2^62"),
        (("--sampler", "os:getcwd"), "the sampler failed on (0, 10, 20000) with TypeError"),
        (("--sampler", "../x:y"), "cannot be imported"),
        (("--values", "1e308,-1e308"), "up to 1e+300"),
        (("--values", "0,1e300", "--scale", "1e-300"), "fit the values"),
        (("--plot", "picture.png"), ".svg"),
    ],
)
def test_wrong_usage(capsys, words, told):
    code, _, error = say(capsys, *words)
    assert code == 2 and told in error
