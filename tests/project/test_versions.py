"""Versions of declared tables: what a first question may be told about why there is none."""

from fractions import Fraction

import pytest
import xlsxwriter

import discreet
from discreet.engines import workbook_reader
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
        assert caught.value.hint == f"ask the owner to run discreet refresh {table}, which says why"
    with pytest.raises(UsageError, match=r"line 4 of orders\.csv has 1 fields, but the header has 4"):
        found.refresh("orders")


@pytest.mark.parametrize("name", ["stray cell", "too large", "damaged"])
def test_what_a_whole_workbook_says_is_told_by_refresh_alone(tmp_path, monkeypatch, name):
    """One row may be why a workbook cannot be read: with and without it, whoever asks first sees the same sentence."""
    book = xlsxwriter.Workbook(tmp_path / "w.xlsx")
    sheet = book.add_worksheet()
    for row, cells in enumerate([["who", "total"], ["a", 1], ["b", 2]]):
        sheet.write_row(row, 0, cells)
    if name == "stray cell":
        monkeypatch.setattr(workbook_reader, "MOST_CELLS", 1000)
        sheet.write(2000, 2, "SECRET")
    book.close()
    if name == "too large":
        monkeypatch.setattr(workbook_reader, "MOST_WORKBOOK", 100)
    if name == "damaged":
        content = (tmp_path / "w.xlsx").read_bytes()
        (tmp_path / "w.xlsx").write_bytes(content[:1000] + b"?" * 40 + content[1040:])
    (tmp_path / "discreet.toml").write_text(FILE.replace("orders.csv", "w.xlsx"))
    found = discreet.init(tmp_path)
    for _ in range(2):
        with pytest.raises(UsageError) as caught:
            found.sql("select count(*) from orders").ask(epsilon=1)
        assert caught.value.reason == "table 'orders' could not be made from its source"
        assert caught.value.hint == "ask the owner to run discreet refresh orders, which says why"
    with pytest.raises(UsageError, match=r"lie too far apart|unpacks to more|it is damaged"):
        found.refresh("orders")


@pytest.mark.deep
def test_a_table_that_is_well_is_made(tmp_path):
    found = project(tmp_path)
    assert found.sql("select count(*) from lines").ask(epsilon=1).rows
    assert found.refresh("orders")[0] == 1
    assert found.refresh("orders", force=True)[0] == 2
    assert found.version("orders").number == found.peek_version("ORDERS").number == 2


@pytest.mark.thin(1)
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
        _, told = found.refresh("orders", force=True)
        assert told.exact_nulled == {"total": name == "with"}
        assert (told.exact_persons, told.exact_without_person) == ((3, 1) if name == "with" else (2, 0))


@pytest.mark.deep
def test_a_declaration_added_later_is_seen(tmp_path):
    """What was declared by `add` is in the catalog of the same open project."""
    found = project(tmp_path)
    found.sql("select count(*) from orders").ask(epsilon="0.1")
    (tmp_path / "more.csv").write_text("x\n1\n")
    found.add(tmp_path / "more.csv")
    assert found.sql("select count(*) from more").ask(epsilon="0.1").rows


RATES = """
[tables.rates]
source = "rates.csv"
budget = { epsilon = 1000 }
[tables.rates.columns.rate]
type = "decimal"
low = 0
high = 0.1
"""


def test_a_small_decimal_keeps_its_digits_without_a_step(tmp_path):
    """As the audit found it: rounded to 0.01 the average of 0.0038 came out as 0.00195, with a tiny interval."""
    (tmp_path / "discreet.toml").write_text(RATES)
    (tmp_path / "rates.csv").write_text("rate\n" + "".join(f"{0.0001 * (place % 76):.4f}\n" for place in range(7600)))
    found = discreet.init(tmp_path)
    _, making = found.refresh("rates")
    assert making.exact_rounded["rate"].exact_values == 0
    answer = found.sql("select avg(rate) from rates").ask(epsilon=100)
    assert answer.rows[0][0] == pytest.approx(0.00375, abs=0.0001)
    (held,) = found.ledger.refresh().versions["rates"].values()
    assert held.schema["columns"]["rate"]["step"] == "1e-05", "a version spells it out"


def test_a_version_of_before_keeps_its_step_and_the_owner_hears_of_it(tmp_path):
    (tmp_path / "discreet.toml").write_text(RATES)
    (tmp_path / "rates.csv").write_text("rate\n0.0038\n0.05\n")
    with pytest.MonkeyPatch.context() as patch:  # the release before this one: no steps from bounds
        patch.setattr("discreet.project.version_records.with_steps", lambda table: table)
        patch.setattr("discreet.schema.project_file.with_steps", lambda table: table)
        old = discreet.init(tmp_path)
        _, making = old.refresh("rates")
        assert (making.exact_rounded["rate"].exact_values, making.exact_rounded["rate"].exact_most) == (
            1,
            Fraction(38, 10_000),
        )
    found = discreet.open(tmp_path)
    assert found.version("rates").schema.columns[0].step == Fraction(1, 100)
    (note,) = found.warnings("rates")
    assert note.startswith("version 1 rounds rate to steps of 0.01, which is coarse for the declared bounds")
    found.refresh("rates")
    assert found.version("rates").schema.columns[0].step == Fraction(1, 100_000)
    assert found.warnings("rates") == []


def test_a_public_table_without_columns_takes_them_from_its_file(tmp_path):
    """Joins with it work, exact totals may name its columns, and its decimals keep their digits."""
    (tmp_path / "discreet.toml").write_text(FILE + '[tables.shops]\nsource = "shops.csv"\npublic = true\n')
    (tmp_path / "shops.csv").write_text("total,area,rate,opened\n5,north,0.00375,2020-01-02\n6,NA,NA,2021-03-04\n")
    (tmp_path / "orders.csv").write_text(ORDERS)
    (tmp_path / "lines.csv").write_text(LINES)
    found = discreet.init(tmp_path)
    public = found.public("shops")
    kinds = ["NumberColumn", "CategoryColumn", "NumberColumn", "MomentColumn"]
    assert [type(column).__name__ for column in public.columns] == kinds
    assert public.labels(public.columns[1]) == ["north", "NA"], "public: as it is"
    assert public.labels(public.columns[2]) == [0.00375, None]
    answer = found.sql(
        "select shops.area, count(*) from orders join shops on orders.total = shops.total group by shops.area"
    ).ask(epsilon="0.5")
    assert [row[0] for row in answer.rows] == ["NA", "north"]


def test_forgetting_a_missing_mark_erases_it_from_versions_of_before(tmp_path):
    """NA was a person once; it is nobody in a new version, and can be erased from the old ones."""
    from discreet.engines import missing_values

    found = project(tmp_path, orders=ORDERS + "NA,1,3,7\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(missing_values, "MISSING", ("",))
        assert found.refresh("orders")[1].exact_persons == 3
    _, making = found.refresh("orders", force=True)
    assert (making.exact_persons, making.exact_without_person) == (2, 1)
    erased = found.forget("orders", ["NA"])
    assert erased.exact_versions == 1
    assert found.forget("orders", ["NA"]).exact_versions == 0


@pytest.mark.parametrize("name", ["pub", pytest.param("people", marks=pytest.mark.deep), "orders"])
def test_a_private_source_does_not_become_public_by_editing_the_file(tmp_path, name):
    found = project(tmp_path)
    found.sql("select count(*) from lines").ask(epsilon=1)
    found.sql("select count(*) from orders").ask(epsilon=1)
    declared = FILE.partition("[tables.orders]")[0] if name == "orders" else FILE
    text = f'{declared}[tables.{name}]\nsource = "orders.csv"\npublic = true\ncolumns = {{ total = {{ type = "text" }} }}\n'
    (tmp_path / "discreet.toml").write_text(text)
    edited = discreet.open(tmp_path)
    with pytest.raises(UsageError, match=r"as public, but the ledger has its source as the private table"):
        edited.public(name)
    if name != "orders":
        words = f"select count(*) from lines join {name} on lines.price = {name}.total"
        with pytest.raises(UsageError, match="as public, but the ledger has"):
            edited.sql(words).explain(epsilon="0.1")


def test_a_public_table_is_looked_at_again_once_its_source_is_private(tmp_path):
    found = project(tmp_path)
    text = FILE + '[tables.pub]\nsource = "orders.csv"\npublic = true\n'
    (tmp_path / "discreet.toml").write_text(text)
    found = discreet.open(tmp_path)
    assert found.public("pub").name == "pub"
    found.refresh("orders")
    with pytest.raises(UsageError, match="as public, but the ledger has"):
        found.public("pub")


def test_a_public_table_has_nothing_to_refresh(tmp_path):
    (tmp_path / "places.csv").write_text("place\na\n")
    project = discreet.init(tmp_path)
    project.add(str(tmp_path / "places.csv"), public=True)
    with pytest.raises(UsageError, match="is public, so queries read its source as it is now") as caught:
        project.refresh("places")
    assert caught.value.hint == "only private tables have versions; a query can join it with one of them"
