"""Look-alike rows: of the declaration alone, the same on every visit, with all that real rows do."""

import hashlib
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.errors import UsageError
from discreet.rehearse.lookalike import MOST_ROWS, look_alike, owners, sample
from discreet.schema.project_file import read_file
from rehearse import shop as worlds
from tiers import size


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        return worlds.shop(tmp_path_factory.mktemp("shop")).file.tables


def test_the_same_rows_on_every_visit_and_in_every_process(tables, tmp_path):
    assert look_alike(tables, "orders").equals(look_alike(tables, "orders"))
    file = tmp_path / "discreet.toml"
    file.write_text(worlds.DECLARED)
    script = (
        "import sys, hashlib, pathlib; from discreet.schema.project_file import read_file; "
        "from discreet.rehearse import look_alike; tables = read_file(pathlib.Path(sys.argv[1])).tables; "
        "print(hashlib.sha256(str(look_alike(tables, 'orders').to_pylist()).encode()).hexdigest())"
    )
    other = subprocess.run([sys.executable, "-c", script, file], capture_output=True, text=True, check=True).stdout
    rows = look_alike(read_file(file).tables, "orders").to_pylist()
    assert other.strip() == hashlib.sha256(str(rows).encode()).hexdigest()


def test_every_type_its_nulls_and_what_lies_outside(tables):
    orders = look_alike(tables, "orders")
    assert orders.column_names == ["id", "order_id", "cost", "day", "at"]
    assert pa.types.is_decimal(orders.schema.field("cost").type) and pa.types.is_date(orders.schema.field("day").type)
    assert pa.types.is_timestamp(orders.schema.field("at").type)
    for name in ("cost", "day", "at"):
        assert 0 < orders.column(name).null_count < 300
    cost = np.array([float(value) for value in orders.column("cost").to_pylist() if value is not None])
    outside = (cost < 0) | (cost > 100)
    assert 20 < outside.sum() < 250 and cost.min() >= -10.01 and cost.max() <= 110.1
    days = [value.isoformat() for value in orders.column("day").to_pylist() if value is not None]
    assert min(days) < "2025-01-01" and max(days) > "2025-12-31"


def test_a_category_has_a_value_that_is_not_listed_and_all_are_equally_common(tables):
    people = look_alike(tables, "people")
    counts = {each["values"]: each["counts"] for each in pc.value_counts(people.column("sex")).to_pylist()}
    assert set(counts) == {"F", "M", "not listed", None}
    assert 0.9 < counts["F"] / counts["M"] < 1.1 and counts["M"] > counts["not listed"] > 0 and counts[None] > 0
    assert set(people.column("member").to_pylist()) == {True, False, None}
    assert len(set(people.column("region").to_pylist())) > 5


def test_a_constant_column_is_nearly_so(tables):
    rows = look_alike(tables, "people", rows=size(8_000, 30_000)).to_pylist()
    by_person = {}
    for row in rows:
        by_person.setdefault(row["id"], []).append(row["sex"])
    several = [values for values in by_person.values() if len(values) > 1]
    same = [values for values in several if len(set(values)) == 1]
    assert several and 0.85 < len(same) / len(several) < 1


def test_persons_have_from_one_row_to_more_than_may_count(tables):
    for name, most in (("people", 1), ("orders", 5)):
        sizes = pc.value_counts(look_alike(tables, name).column("id")).field("counts").to_numpy()
        assert sizes.min() == 1 and sizes.max() > most
        assert 0.02 < (sizes > most).mean() < 0.1


@pytest.mark.parametrize("most", [1, 3, 1000, 10**6])
def test_a_large_limit_does_not_make_all_rows_one_persons(most):
    found = owners(1000, most, np.random.default_rng(1))
    assert len(found) == 1000 and len(set(found.tolist())) >= 20


def test_tables_join(tables):
    people, orders, lines = (look_alike(tables, name) for name in ("people", "orders", "lines"))
    assert lines.column_names == ["order_id", "price", "count"]
    known = set(orders.column("order_id").to_pylist())
    reached = lines.column("order_id").to_pylist()
    assert len(known) == orders.num_rows
    assert 0.9 < sum(each in known for each in reached) / len(reached) < 1
    assert set(orders.column("id").to_pylist()) & set(people.column("id").to_pylist())


def test_words_of_public_tables_are_taken(tables):
    people = look_alike(tables, "people", words={"region": ("north", "south")})
    assert set(people.column("region").to_pylist()) == {"north", "south", None}


def test_how_many(tables):
    assert look_alike(tables, "people", rows=1).num_rows == 1
    for rows in (0, MOST_ROWS + 1, -1):
        with pytest.raises(UsageError, match="look-alike"):
            look_alike(tables, "people", rows=rows)


def test_a_page_shows_ten(tables):
    names, rows = sample(look_alike(tables, "orders"))
    assert names == ["id", "order_id", "cost", "day", "at"] and len(rows) == 10
    assert all(value is None or isinstance(value, bool | int | str) for row in rows for value in row)
