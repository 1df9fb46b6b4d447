"""A limit that is too large to mean much is said to be so, in one sentence: by `add`, by `budget`, and in Python."""

import json
from fractions import Fraction

import pytest

import discreet
from discreet.accounting.guarantee import large_limit_sentence
from discreet.cli.main import call

SENTENCE = "certainly not good"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text("age\n3\n")
    discreet.init(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("epsilon", "factor"),
    [("9.99", None), ("10", "22,026"), ("12", "162,755"), ("20", "485,165,195"), ("500", "1 followed by 217 zeros")],
)
def test_the_sentence(epsilon, factor):
    """10 is what the notes call certainly not good; the factor is e^epsilon."""
    sentence = large_limit_sentence(Fraction(epsilon))
    assert sentence is None if factor is None else f"e^{epsilon}, which is about {factor}" in sentence
    assert large_limit_sentence(None) is None


@pytest.mark.parametrize(("epsilon", "large"), [("3", False), ("10", True)])
def test_add_and_budget_say_it(folder, capsys, epsilon, large):
    where = ["--project", str(folder)]
    assert call(["add", str(folder / "people.csv"), "--epsilon", epsilon, *where]) == 0
    assert (SENTENCE in capsys.readouterr().out) is large
    assert call(["budget", *where]) == 0
    shown = capsys.readouterr().out
    assert (SENTENCE in shown) is large and shown.count(SENTENCE) <= 1
    assert call(["budget", "--json", *where]) == 0
    data = json.loads(capsys.readouterr().out)["tables"]["people"]["large_limit"]
    assert (data is not None) is large and (discreet.open(folder).budget().large_limit == data)
    assert (SENTENCE in discreet.open(folder).budget()._repr_html_()) is large


def test_add_as_json(folder, capsys):
    words = ["add", str(folder / "people.csv"), "--epsilon", "11", "--project", str(folder), "--json"]
    assert call(words) == 0 and SENTENCE in json.loads(capsys.readouterr().out)["large_limit"]


def test_a_public_table_has_no_limit(folder, capsys):
    words = ["add", str(folder / "people.csv"), "--public", "--project", str(folder), "--json"]
    assert call(words) == 0 and json.loads(capsys.readouterr().out)["large_limit"] is None
