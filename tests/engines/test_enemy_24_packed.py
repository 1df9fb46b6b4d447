"""Many small packed files are read in the memory that the engine has, by however many threads, whatever their headers."""

import gzip

import pytest

from discreet.engines.duckdb import DuckDBEngine
from discreet.schema.column import NumberColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table


@pytest.mark.parametrize("unit", [PrivacyUnit(), PrivacyUnit(person=("who",), rows=100)], ids=["rows", "persons"])
@pytest.mark.parametrize("headers", [["who,n"], ["who,n", "n,who"]], ids=["one header", "two"])
def test_forty_packed_files_are_read_by_sixteen_threads(tmp_path, unit, headers):
    for number in range(40):
        text = f"{headers[number % len(headers)]}\n1,2\n3,4\n"
        (tmp_path / f"s{number:02}.csv.gz").write_bytes(gzip.compress(text.encode()))
    columns = (NumberColumn(name="n", type="integer", low=0, high=5),)
    table = Table(schema=Schema(table="v", columns=columns, unit=unit), source="s*.csv.gz", population="p", budget=None)
    keys = {} if unit.is_row else {"key": b"k" * 32, "tag_key": b"t" * 32}
    engine = DuckDBEngine(threads=16)
    assert engine.declare(table, folder=tmp_path, target=tmp_path / "made.parquet", **keys).exact_rows == 80
    engine.close()
