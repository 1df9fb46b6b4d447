"""Versions of declared tables: what a first question may be told about why there is none."""

import pytest

import discreet
from discreet.errors import SchemaError, UsageError

FILE = """
[project]
budget = { epsilon = 5 }
[populations.people]
budget = { epsilon = 5 }
[tables.orders]
source = "orders.csv"
population = "people"
person = "who"
rows_per_person = 2
[tables.orders.columns.total]
type = "integer"
low = 0
high = 9
[tables.lines]
source = "lines.csv"
population = "people"
person = { through = "orders", on = ["shop", "number"] }
rows_per_person = 3
[tables.lines.columns.price]
type = "integer"
low = 0
high = 9
"""
ORDERS = "who,shop,number,total\na,1,1,5\nb,1,2,6\n"
LINES = "shop,number,price\n1,1,3\n1,2,4\n"


def project(folder, *, orders=ORDERS, lines=LINES):
    (folder / "discreet.toml").write_text(FILE)
    (folder / "orders.csv").write_text(orders)
    (folder / "lines.csv").write_text(lines)
    return discreet.init(folder)


@pytest.mark.parametrize(
    ("table", "files", "reason", "hint"),
    [
        ("orders", {"orders": ORDERS.replace("who", "whom")}, "orders.csv has no column 'who'", "did you mean 'whom'?"),
        ("lines", {"lines": LINES.replace("shop", "shops")}, "lines.csv has no column 'shop'", "did you mean 'shops'?"),
        ("lines", {"orders": ORDERS.replace("number", "numbers")}, "orders.csv has no column 'number'", "'numbers'?"),
        ("lines", {"orders": ORDERS.replace("who", "whom")}, "orders.csv has no column 'who'", "did you mean 'whom'?"),
        ("orders", {"orders": ORDERS.replace("total", "who")}, "orders.csv has no column 'total'", ""),
    ],
)
def test_what_headers_say_is_told_to_whoever_asks_first(tmp_path, table, files, reason, hint):
    found = project(tmp_path, **files)
    with pytest.raises(SchemaError) as caught:
        found.sql(f"select count(*) from {table}").ask(epsilon=1)
    assert caught.value.reason == reason
    assert hint in caught.value.hint
    assert found.budget(table).events == 0


def test_what_rows_say_is_told_by_refresh_alone(tmp_path):
    found = project(tmp_path, orders=ORDERS + "SECRET\n")
    for table in ("orders", "lines"):
        with pytest.raises(UsageError) as caught:
            found.sql(f"select count(*) from {table}").ask(epsilon=1)
        assert caught.value.reason == f"table {table!r} could not be made from its source"
        assert caught.value.hint == f"the owner runs discreet refresh {table}, which says why"
    with pytest.raises(UsageError, match=r"line 4 of orders\.csv has 1 fields where the header has 4"):
        found.refresh("orders")


def test_a_table_that_is_well_is_made(tmp_path):
    found = project(tmp_path)
    assert found.sql("select count(*) from lines").ask(epsilon=1).rows
    assert found.refresh("orders")[0] == 1
    assert found.refresh("orders")[0] == 2
    assert found.version("orders").number == found.known_version("ORDERS").number == 2


@pytest.mark.parametrize("damage", [b"\xff", b"\xed\xa0\x80"])
def test_a_cell_that_cannot_be_read_does_not_show_in_whether_the_table_exists(tmp_path, damage):
    """With one person's damaged row and without it a first question is answered; the owner is told of the cells."""
    for name in ("with", "without"):
        folder = tmp_path / name
        folder.mkdir()
        found = project(folder)
        if name == "with":
            (folder / "orders.csv").write_bytes(ORDERS.encode() + b"c,1,3," + damage + b"\n" + damage + b",1,4,2\n")
        assert found.sql("select sum(total) from orders").ask(epsilon=1).rows
        _, told = found.refresh("orders")
        assert told.exact_nulled == {"total": name == "with"}
        assert (told.exact_persons, told.exact_without_person) == ((3, 1) if name == "with" else (2, 0))


def test_a_declaration_added_later_is_seen(tmp_path):
    """What was declared by `add` is in the catalog of the same open project."""
    found = project(tmp_path)
    found.sql("select count(*) from orders").ask(epsilon="0.1")
    (tmp_path / "more.csv").write_text("x\n1\n")
    found.add(tmp_path / "more.csv")
    assert found.sql("select count(*) from more").ask(epsilon="0.1").rows
