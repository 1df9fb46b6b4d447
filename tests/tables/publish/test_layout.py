"""What a plan means, and everything that is wrong with one: refused before anything is spent, with the place."""

import numpy as np
import pytest

from discreet.engines.memory import MemoryEngine
from discreet.engines.public_table_loader import load_public_table
from discreet.errors import DiscreetError, Refused, UsageError
from discreet.kernel.curator import Version
from discreet.tables.publish.layout import lay_out
from discreet.tables.publish.plan_file import read_plan
from tables.publish.census import BLOCKS, PLAN, make, plan

CHILDREN = """
[[zeros]]
age = "0 to 14"
work = true
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A declared nation; what a plan means is a matter of declarations, and needs no ledger."""
    folder = tmp_path_factory.mktemp("nation")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        return make(folder)


def laid(project, text):
    table = project.table("people")
    version = Version(table="people", number=1, population="people", schema=table.schema, file="")
    told = read_plan(plan(project.folder, text))
    return lay_out(
        told, version, lambda name: load_public_table(project.table(name), folder=project.folder, engine=MemoryEngine())
    )


def with_work(text=PLAN):
    return text.replace('["sex", "age"]', '["sex", "age", "work"]')


def test_places_come_from_a_public_table(project):
    layout = laid(project, PLAN)
    assert layout.levels == ("nation", "state", "county", "block")
    assert layout.places.tree.sizes == (1, 3, 6, 21) and layout.cells == 8
    assert layout.places.labels[0] == ("AA", "BB", None)
    assert layout.places.leaves.tolist() == list(range(21))


def test_places_come_from_prefixes(project):
    text = PLAN.replace('from = "places"', "prefix = [2, 4]")
    layout = laid(project, text)
    assert layout.places.tree.sizes == (1, 3, 6, 21)
    assert layout.places.labels[1] == ("AAa1", "AAa2", "AAa3", "BBb1", "BBb2", None)


def test_places_come_from_columns(project):
    text = 'table = "people"\nattributes = ["age"]\n[hierarchy]\ncolumns = ["sex", "work"]\n'
    layout = laid(project, text)
    assert layout.levels == ("total", "sex", "work") and layout.places.tree.sizes == (1, 2, 4)
    assert layout.places.leaves.tolist() == [0, 1, 2, 3]


def test_a_table_without_places_or_attributes_is_its_total(project):
    layout = laid(project, 'table = "people"')
    assert layout.places.tree.sizes == (1,) and layout.cells == 1 and layout.axes == ()


def test_rows_without_a_place_can_be_left_out(project):
    layout = laid(project, PLAN + "elsewhere = false\n")
    assert layout.places.tree.sizes == (1, 2, 5, 20) and layout.places.leaves[-1] == -1
    counts = np.ones(21 * 8, dtype=np.int64)
    assert layout.strategy(0, np.zeros(8, dtype=np.int64)).apply(counts).tolist() == [160]


def test_impossible_cells_are_not_counted(project):
    layout = laid(project, with_work() + CHILDREN)
    assert layout.cells == 16 - 2
    age, work = (labels for name, *labels in layout.cell_labels() if name in ("age", "work"))
    children = np.array([age[0][place] == "[0, 15)" for place in age[1]])
    working = np.array([work[0][place] is True for place in work[1]])
    assert not (children & working).any()
    total = layout.strategy(0, np.zeros(14, dtype=np.int64))
    assert total.column_l1.sum() == 21 * 14
    same = laid(
        project, with_work() + '[[rules]]\nif = { work = true }\nthen = { age = ["15 to 99", {null = true}] }\n'
    )
    assert (same.possible == layout.possible).all()


def test_a_rule_that_cuts_a_bin_rules_out_whole_bins_and_says_so(project):
    layout = laid(project, with_work() + CHILDREN.replace("14", "20"))
    assert layout.cells == 14 and "splits a bin of 'age'" in layout.warnings[0]


def test_places_can_be_empty(project):
    layout = laid(project, PLAN + '[[zeros]]\nstate = "BB"\ncounty = "b2"\n')
    assert layout.places.tree.sizes == (1, 3, 5, 17)


def test_shares_are_parts_of_the_whole(project):
    layout = laid(
        project, PLAN + '[levels.nation]\nshare = 0\n[levels.county]\nshare = 2\nqueries = ["cells", "total"]\n'
    )
    assert [[str(each.share) for each in level] for level in layout.queries] == [[], ["1/4"], ["1/4", "1/4"], ["1/4"]]


EVERYTHING_IMPOSSIBLE = """
[[rules]]
name = "nobody is young"
if = { sex = ["F", "M"] }
then = { age = "65 to 99" }
[[zeros]]
work = true
[[rules]]
name = "nobody is old"
if = { age = "65 to 99" }
then = { age = "0 to 14" }
[[zeros]]
work = true
sex = "M"
"""


def test_rules_that_leave_nothing_are_named(project):
    with pytest.raises(Refused) as problem:
        laid(project, with_work() + EVERYTHING_IMPOSSIBLE)
    assert "no cell" in problem.value.reason
    assert "'nobody is young' and 'nobody is old'" in problem.value.reason and "zeros" not in problem.value.reason


def test_queries_that_have_no_common_coordinates_are_refused(project):
    text = with_work() + CHILDREN + '[levels.nation]\nqueries = ["cells", ["age"], "total"]\n'
    with pytest.raises(Refused, match=r"'age' and 'total' cannot be fitted together"):
        laid(project, text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("table =", "not valid TOML"),
        ("", "table must be a name"),
        ('table = "people"\nattribute = []', "unknown key 'attribute'"),
        ('table = "people"\nattributes = ["height"]', "no column 'height'"),
        ('table = "people"\nattributes = ["sex", "SEX"]', "twice"),
        ('table = "people"\nattributes = "sex"', "attributes must be a list"),
        (PLAN.replace('"block"\n', '"street"\n', 1), "no column 'street'"),
        (PLAN.replace('"county"', '"parish"'), "table 'places' has no column 'parish'"),
        (PLAN.replace('"county", "block"]', '"block", "county"]'), "two rows for one value|no value of column"),
        (PLAN.replace('from = "places"\n', ""), "does not say how"),
        (PLAN.replace('from = "places"', "prefix = [4, 2]"), "increasing lengths"),
        (PLAN.replace('from = "places"', "prefix = [2]"), "2 increasing lengths"),
        (
            PLAN.replace('from = "places"', "prefix = [1, 2]").replace('"block"\n', '"age"\n', 1),
            "prefix works only",
        ),
        (PLAN + "prefix = [2, 4]\n", "both from and prefix"),
        (PLAN + 'columns = ["sex"]\n', "columns together with column"),
        (PLAN + "elsewhere = 1\n", "true or false"),
        (PLAN.replace('"nation"', '"state"'), "two levels have the same name"),
        (PLAN.replace('"nation"', '"a/b"'), "used as a file name"),
        (PLAN.replace('"sex"', '"block"'), "both a level and an attribute"),
        ('invariants = ["town"]\n' + PLAN, "no level 'town'"),
        (PLAN + "[levels.town]\nshare = 1\n", "no level 'town'"),
        (PLAN + "[levels.state]\nshare = -1\n", "share must be"),
        (PLAN + "[levels.state]\nshare = nan\n", "number"),
        (PLAN + "[levels.block]\nshare = 0\n", "last level, 'block', must be measured"),
        (PLAN + '[levels.block]\nqueries = ["total"]\n', "last level, 'block', must be measured"),
        (PLAN + '[levels.state]\nqueries = ["totals"]\n', 'a query must be "cells"'),
        (PLAN + '[levels.state]\nqueries = [["height"]]\n', "'height', which is not an attribute"),
        (PLAN + '[levels.state]\nqueries = ["cells", "cells"]\n', "nothing twice"),
        (PLAN + "[[zeros]]\n", "names no column"),
        (PLAN + "[[zeros]]\nheight = 1\n", "'height' is not an attribute"),
        (PLAN + '[[zeros]]\nage = "old"\n', "entry 1 of zeros: 'old' is not a value of column 'age'"),
        (PLAN + '[[zeros]]\nage = "14 to 2"\n', "not a range"),
        (PLAN + "[[zeros]]\nage = 200\n", "not a value of column 'age'"),
        (PLAN + "[[zeros]]\nsex = {null = true}\n", "closed"),
        (PLAN + "[[zeros]]\nsex = []\n", "no value is given"),
        (PLAN + '[[zeros]]\nstate = "ZZ"\n', "there is no state 'ZZ'"),
        (PLAN + '[[zeros]]\nstate = "AA"\nsex = "F"\n', "mixes places and attributes"),
        (PLAN + '[[zeros]]\nstate = ["AA", "BB", {null = true}]\n', "no place remains after entry 1 of zeros"),
        (PLAN + '[[rules]]\nif = { sex = "F" }\n', "must be a table of settings"),
    ],
)
def test_everything_wrong_is_refused_with_the_place(project, text, says):
    with pytest.raises(DiscreetError, match=says) as problem:
        laid(project, text)
    assert problem.value.exit_code in (2, 3)
    assert "plan.toml" in problem.value.reason


def test_too_many_cells_are_refused(project, monkeypatch):
    monkeypatch.setattr("discreet.tables.publish.layout.MOST_CELLS", 21 * 8 - 1)
    with pytest.raises(Refused, match="21 places with 8 cells"):
        laid(project, PLAN)


def test_a_plan_that_is_not_there_or_is_no_text(project, tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        read_plan(tmp_path / "nowhere.toml")
    for folder in (tmp_path, "."):
        with pytest.raises(UsageError, match="is a folder; a plan must be a file"):
            read_plan(folder)
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not valid TOML"):
        read_plan(tmp_path / "odd.toml")
    assert len(BLOCKS) == 20
