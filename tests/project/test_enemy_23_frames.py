"""One row of a data frame does not decide how the others are stored."""

from datetime import date
from decimal import Decimal

import pandas as pd
import pytest

from discreet.project.frame_source import _arrow_table

VALUES = [
    True,
    False,
    7,
    1.5,
    "x",
    "007",
    Decimal("1.50"),
    date(2026, 1, 31),
    None,
    float("nan"),
    "\ud800",
    b"x",
    "True",
]


def stored(values, dtype=object):
    table = _arrow_table(pd.DataFrame({"v": pd.Series(values, dtype=dtype)}))
    return table.column("v").type, table.column("v").to_pylist()


@pytest.mark.parametrize("first", [True, 7, Decimal("1.50"), date(2026, 1, 31), "x"])
def test_objects_are_text_value_by_value(first):
    alone = stored([first])
    for other in VALUES:
        kind, texts = stored([first, other])
        assert (kind, texts[0]) == (alone[0], alone[1][0]), other
    assert stored(VALUES)[1] == [text for value in VALUES for text in stored([value])[1]]


def test_categories_of_objects_too():
    assert stored([True, "x"], "category")[1] == ["true", "x"]
    assert stored([True, False], "category")[1] in (["true", "false"], [True, False])
    assert stored(["\ud800", "x"])[1] == ["\N{REPLACEMENT CHARACTER}", "x"]
