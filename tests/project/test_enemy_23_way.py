"""How the file of a table on the way to persons is read decides who they are, so a change of that is a new version."""

import discreet

FILE = """
[populations.people]
budget = {{ epsilon = 100 }}
[tables.patients]
source = "patients.csv"
person = "pid"
population = "people"
{more}
[tables.patients.columns]
age = {{ type = "integer", low = 0, high = 120 }}
[tables.visits]
source = "visits.csv"
person = {{ through = "patients", on = "pid" }}
rows_per_person = 2
population = "people"
[tables.visits.columns]
cost = {{ type = "integer", low = 0, high = 100 }}
"""


def test_another_null_or_layout_on_the_way_is_seen(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    discreet.init(folder)
    (folder / "patients.csv").write_text("pid,age\npid,age\na,1\nXX,2\n")
    (folder / "visits.csv").write_text("pid,cost\na,1\nXX,2\nXX,3\n")
    seen = []
    for more in ("", 'null = ["XX"]', 'null = ["XX"]', "skip_rows = 1", 'encoding = "cp1252"', 'encoding = "cp1252"'):
        (folder / "discreet.toml").write_text(FILE.format(more=more))
        version, making = discreet.open(folder).refresh("visits")
        seen.append((version, making and making.exact_persons))
    assert seen == [(1, 2), (2, 1), (2, None), (3, 2), (4, 2), (4, None)]
