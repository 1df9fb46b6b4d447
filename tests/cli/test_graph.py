"""`discreet graph stats`, end to end."""

import pytest

from clinic import rows_of_ledger, run, say
from discreet.graph.graph_shape import NAMES
from graph.friends import EDGES, NODES, PEOPLE, edges, make, make_persons, write

WORDS = ("graph", "stats", "friends", "--nodes", "people", "--by", "colour")


def test_statistics_come_with_intervals_and_a_card(tmp_path, capsys):
    make(tmp_path)
    code, told, _ = run(capsys, tmp_path, *WORDS, "--epsilon", "6")
    assert code == 0
    assert set(told) == {
        "release", "table", "version", "unit", "directed", "limit", "statistics", "confidence", "card", "cost",
        "price", "spent", "remaining", "cached", "warnings",
    }  # fmt: skip
    assert (
        tuple(told["statistics"]) == tuple(name for name in NAMES if name != "homophily")
        and told["confidence"] == 0.95
        and told["unit"] == "edge"
    )
    assert set(told["card"]) == {"unit", "guarantee", "protected", "not_protected", "shares"}
    degrees = told["statistics"]["degrees"]
    assert len(degrees["at_least"]) == len(degrees["nodes"]) == len(degrees["intervals"]) == 30
    mixing = told["statistics"]["mixing"]
    assert mixing["by"] == "colour" and mixing["labels"] == ["blue", "red"] and len(mixing["edges"][1]) == 2
    assert told["cost"] == {"epsilon": 6.0, "rho": 18.0, "delta": 0.0, "budget": 6.0} and not told["cached"]
    rows = rows_of_ledger(tmp_path)
    code, again, _ = run(capsys, tmp_path, *WORDS, "--epsilon", "6")
    assert code == 0 and again["cached"] and again["statistics"] == told["statistics"]
    assert again["cost"]["epsilon"] == 0 and rows_of_ledger(tmp_path) == rows
    code, other, _ = run(capsys, tmp_path, *WORDS, "--epsilon", "6", "--fresh", "--only", "edges")
    assert code == 0 and not other["cached"] and list(other["statistics"]) == ["edges"]


@pytest.mark.deep
def test_people_read_a_chart_and_what_is_protected(tmp_path, capsys):
    make(tmp_path)
    code, text, _ = say(capsys, tmp_path, *WORDS, "--epsilon", "30")
    assert code == 0
    assert "31 (public)" in text and "nodes with at least this many edges:" in text and "##" in text
    assert "Protected: whether two nodes are linked" in text
    assert "Not protected: who the nodes are, and their attributes in 'people'" in text
    assert "edges between groups of colour" in text and "Release r-" in text
    code, text, _ = say(capsys, tmp_path, *WORDS, "--epsilon", "30")
    assert "stored release: free" in text


def test_a_plan_is_free(tmp_path, capsys):
    make(tmp_path)
    rows = rows_of_ledger(tmp_path)
    code, told, _ = run(capsys, tmp_path, *WORDS, "--epsilon", "1", "--plan")
    assert code == 0 and [part["name"] for part in told["parts"]][:2] == ["edges", "degrees"]
    code, text, _ = say(capsys, tmp_path, *WORDS, "--epsilon", "1", "--plan")
    assert code == 0 and "charged nothing" in text and "for a change of 1,000" in text
    assert rows_of_ledger(tmp_path) == rows


def test_persons(tmp_path, capsys):
    make_persons(tmp_path, limit="")
    words = ("graph", "stats", "ties", "--nodes", "members", "--epsilon", "5")
    code, told, _ = run(capsys, tmp_path, *words)
    assert code == 0 and told["unit"] == "node" and told["limit"]["chosen"]
    code, text, _ = say(capsys, tmp_path, *words)
    assert code == 0 and "chosen privately" in text and "Not protected" not in text
    code, text, _ = say(capsys, tmp_path, *words, "--plan")
    assert code == 0 and "limit on edges" in text and "this plan assumes 32" in text


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("friends",), 2, "say how much to spend"),
        (("friends", "--epsilon", "1", "--ends", "from"), 2, "--ends needs two different columns"),
        (("friends", "--epsilon", "1", "--ends", "from,weight"), 2, "no declared column 'weight'"),
        (("friends", "--epsilon", "1", "--nodes", "people", "--by", "size"), 2, "no column 'size'"),
        (("friends", "--epsilon", "1", "--nodes", "friends"), 3, "not public"),
        (("friends", "--epsilon", "1", "--only", "degree"), 2, "unknown statistic"),
        (("friends", "--epsilon", "999"), 4, "costs"),
        (("people", "--epsilon", "1"), 2, "public"),
    ],
)
def test_bad_input_is_a_sentence_and_free(tmp_path, capsys, words, code, reason):
    make(tmp_path)
    run(capsys, tmp_path, "refresh", "friends")
    rows = rows_of_ledger(tmp_path)
    found, text, error = say(capsys, tmp_path, "graph", "stats", *words)
    assert (found, text) == (code, "") and reason in error and "Traceback" not in error
    found, told, _ = run(capsys, tmp_path, "graph", "stats", *words)
    assert found == code and reason in told["reason"] and not told["accepted"]
    assert rows_of_ledger(tmp_path) == rows


def test_a_release_is_bundled_verified_and_listed(tmp_path, capsys):
    make(tmp_path / "project")
    folder = tmp_path / "project"
    code, told, _ = run(capsys, folder, *WORDS, "--epsilon", "2")
    code, made, _ = run(capsys, folder, "release", told["release"], "--to", str(tmp_path / "bundle"))
    assert code == 0 and made["files"]
    code, report, _ = run(capsys, folder, "release", "verify", str(tmp_path / "bundle"))
    assert code == 0, report
    code, text, _ = say(capsys, folder, "ledger", "show")
    assert code == 0 and told["release"] in text


@pytest.mark.deep
def test_names_of_groups_are_no_markup_and_no_commands(tmp_path, capsys):
    names = ("Basel [/b]", "[red]", "A\x1b[31mX\x07", "two\nlines")
    nodes = [(f"p{place}", f'"{names[place % 4]}"') for place in range(31)]
    make(tmp_path, nodes=nodes)
    for _ in range(2):
        code, text, error = say(capsys, tmp_path, *WORDS, "--epsilon", "6")
        assert code == 0, error
        assert text.count("Basel [/b]") == 2 and text.count("[red]") == 2 and text.count("two?lines") == 2
        assert "\x1b" not in text and "\x07" not in text and text.count("A?[31mX?") == 2
    code, told, _ = run(capsys, tmp_path, *WORDS, "--epsilon", "6")
    assert code == 0 and set(told["statistics"]["mixing"]["labels"]) == set(names)


def test_names_of_columns_are_no_markup(tmp_path, capsys):
    people = PEOPLE.replace("columns.colour", 'columns."col [/b]\\u001b"')
    ends = EDGES.replace("columns.from", 'columns."from [/i]"')
    make(tmp_path, people=people, toml=ends)
    write(tmp_path / "people.csv", "id,col [/b]\x1b", NODES)
    write(tmp_path / "friends.csv", "from [/i],to", edges())
    words = ("friends", "--nodes", "people", "--by", "col [/b]\x1b", "--ends", "from [/i],to", "--epsilon", "6")
    for verb, told in (("stats", "edges between groups of col [/b]?"), ("synth", "blocks by col [/b]?")):
        code, text, error = say(capsys, tmp_path, "graph", verb, *words)
        assert code == 0 and told in text and "\x1b" not in text, error


def test_an_empty_table_of_nodes_is_told(tmp_path, capsys):
    make(tmp_path, nodes=[])
    rows = rows_of_ledger(tmp_path)
    for verb in ("stats", "synth"):
        code, _, error = say(capsys, tmp_path, "graph", verb, *WORDS[2:], "--epsilon", "1")
        assert code == 2 and "public table 'people' has no rows" in error
    assert rows_of_ledger(tmp_path) == rows
