"""docs/graphs.md names every statistic, and its shares are those of the code."""

import re
from pathlib import Path

import pytest

from discreet.graph.graph_shape import NAMES, WEIGHTS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "graphs.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_every_statistic_is_named(name):
    assert f"`{name}`" in PAGE


def test_the_shares_are_those_of_the_code():
    told = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d*)", PAGE, re.MULTILINE)
    assert len(told) == 6
    for name, number, width in told:
        assert WEIGHTS[name] == int(number) and WEIGHTS.get(f"{name}_width") == (int(width) if width else None)
    assert (WEIGHTS["triangles"], WEIGHTS["wedges"]) == (28, 7)
