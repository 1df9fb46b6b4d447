"""Editing discreet.toml: what the reader takes, the editor takes, too."""

import pytest

from discreet.schema import toml_edit
from discreet.schema.project_file import read_file

TEXT = '# by hand\n[populations.people]\nbudget = {epsilon = 1}\n[tables.visits]\nsource = "visits.csv"\n[tables.visits.columns.age]\ntype = "integer"\n'


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_edit_of_a_file_that_can_be_read(tmp_path, mark, newline):
    path = tmp_path / "discreet.toml"
    path.write_bytes(mark + TEXT.replace("\n", newline).encode())
    read_file(path)
    toml_edit.set_keys(path, "visits", {"population": "people"}, {"age": {"low": 0, "high": 99}})
    path.write_bytes(mark + path.read_bytes())
    toml_edit.add_table(path, "wards", {"source": "wards.csv", "public": True}, {})
    path.write_bytes(mark + path.read_bytes())
    toml_edit.set_ledger(path, "sqlite:///elsewhere.db")
    found = read_file(path)
    assert found.ledger == "sqlite:///elsewhere.db" and set(found.tables) == {"visits", "wards"}
    assert path.read_text().startswith("# by hand") and "high = 99" in path.read_text()
