"""Why values did not fit: the cause and the setting are named, with exact counts, and no cell is."""

import pytest

import discreet
from discreet.project.version_notes import cause_notes, day_order_notes, refresh_output

TABLE = """
[tables.t]
source = "t.csv"
budget = { epsilon = 1000 }
[tables.t.columns.x]
"""


def project(tmp_path, settings, texts):
    (tmp_path / "discreet.toml").write_text(TABLE + settings)
    (tmp_path / "t.csv").write_text("row;x\n" + "".join(f"{place};{text}\n" for place, text in enumerate(texts)))
    return discreet.init(tmp_path)


ALIKE = "write them alike in the source, or add each spelling to values"
CASES = [
    ('type = "decimal"', ["1,5"] * 3, 3, 3, "have a decimal comma", 'decimal = ","'),
    ('type = "decimal"', ["1.5", "2.5", "1,5"], 1, 1, None, None),
    ('type = "decimal"\\ndecimal = ","', ["1.5", "2.5"], 2, 2, "have a decimal point", 'decimal = "."'),
    ('type = "integer"', ["1,234", "12"], 1, 1, "have a mark between thousands", 'thousands = ","'),
    ('type = "integer"', ["1.5", "12"], 1, 1, "have a fraction", 'type = "decimal"'),
    ('type = "decimal"', ["5 €", "6 €", "secret"], 2, 3, "have a sign beside the number (€)", 'symbols = ["€"]'),
    ('type = "date"', ["31.01.2020", "secret-7"], 1, 2, "are written in another way", 'format = "%d.%m.%Y"'),
    ('type = "date"\\nformat = "%m/%d/%Y"', ["31/01/2020", "13/2/2020"], 2, 2, "are written in another way", 'format = "%d/%m/%Y"'),
    ('type = "boolean"', ["Ja", "Nein", "ja"], 3, 3, "are words for true or false", 'true = ["ja", "Ja"], false = ["Nein"]'),
    ('type = "category"\\nvalues = ["Basel", "Bern", ""]', ["Basel", "basel", " Basel", "Basel ", "BERN", "secret-town"], 4, 5, 'are declared values but for capitals or spaces, for example "Basel", "Bern"', ALIKE),
    ('type = "category"\\nvalues = ["Basel", "basel"]', ["Basel", "basel", "BASEL"], 1, 1, 'are declared values but for capitals or spaces, for example "Basel"', ALIKE),
    ('type = "category"\\nvalues = ["Basel"]', ["Basel", "secret-town"], 1, 1, None, None),
    ('type = "integer"', ["1", "n.a.", "NA"], 1, 1, "are marks of missing values", 'null = ["NA", "n.a."]'),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "texts", "values", "lost", "reason", "setting"), CASES)
def test_the_cause_is_named(tmp_path, settings, texts, values, lost, reason, setting):
    opened = project(tmp_path, settings.replace("\\n", "\n"), texts)
    _, making = opened.refresh("t")
    assert making.exact_nulled["x"] == lost
    causes = cause_notes(opened, opened.table("t"), making)
    if reason is None:
        assert not causes or causes[0].exact_values <= lost
        return
    (cause,) = causes
    assert (cause.exact_values, cause.exact_lost, cause.reason, cause.setting) == (values, lost, reason, setting)
    data, text = refresh_output(opened.table("t"), 1, making, answered=False, causes=causes)
    assert f"    {values} of {lost} values {reason}: {setting}" in text
    assert data["causes"][0] == {"column": "x", "values": values, "of": lost, "reason": reason, "setting": setting}
    assert "secret" not in text
    if "type =" in setting or setting == ALIKE:
        return
    # The setting cures what it says.
    kept = "\n".join(
        line for line in settings.split("\\n") if line.partition(" =")[0] not in setting.partition(" =")[0]
    )
    (tmp_path / "discreet.toml").write_text(TABLE + kept + "\n" + setting.replace("], ", "]\n"))
    _, making = discreet.open(tmp_path).refresh("t")
    assert making.exact_nulled["x"] == lost - values


def test_nothing_is_said_where_everything_fits(tmp_path):
    opened = project(tmp_path, 'type = "decimal"', ["1.5", "NA"])
    _, making = opened.refresh("t")
    assert cause_notes(opened, opened.table("t"), making) == ()


@pytest.mark.parametrize(("texts", "notes"), [(["1/2/2020", "3/4/2020"], 1), (["1/2/2020", "3/14/2020"], 0)])
def test_a_day_that_may_be_a_month_is_said(tmp_path, texts, notes):
    opened = project(tmp_path, 'type = "date"\nformat = "%m/%d/%Y"', texts)
    said = day_order_notes(opened, opened.table("t"))
    assert len(said) == notes
    assert all('format = "%d/%m/%Y"' in note and "2020" not in note for note in said)


def test_a_table_with_formats_answers_right_and_keeps_them_in_its_version(tmp_path):
    settings = 'type = "decimal"\nlow = 0\nhigh = 10000\n[tables.t.columns.row]\ntype = "integer"\nlow = 0\nhigh = 9\n'
    opened = project(tmp_path, settings, ["1.234,5", "-", "765,5"])
    text = (tmp_path / "discreet.toml").read_text()
    (tmp_path / "discreet.toml").write_text(
        text.replace("budget", 'decimal = ","\nthousands = "."\nnull = ["-"]\nbudget')
    )
    opened = discreet.open(tmp_path)
    _, making = opened.refresh("t")
    assert (making.exact_nulled["x"], making.exact_marked["x"]) == (0, 1)
    assert opened.sql("select sum(x) from t").ask(epsilon=500).rows[0][0] == pytest.approx(2000, abs=100)
    (record,) = opened.ledger.refresh().versions["t"].values()
    assert (record.schema["decimal"], record.schema["thousands"], record.schema["null"]) == (",", ".", ["-"])
    kept, declared = (each.schema for each in (opened.version("t"), opened.table("t")))
    assert {column.name: column for column in kept.columns} == {column.name: column for column in declared.columns}
    assert opened.warnings("t") == [] and opened.is_up_to_date("t")


def test_nobody_of_a_table_is_nobody_in_its_answers(tmp_path):
    (tmp_path / "discreet.toml").write_text(
        '[tables.t]\nsource = "t.csv"\nbudget = { epsilon = 1000 }\nperson = "who"\nrows_per_person = 9\n'
        'null = ["0000"]\n[tables.t.columns.x]\ntype = "text"\n'
    )
    (tmp_path / "t.csv").write_text("who,x\n" + "0000,a\n" * 5 + "1,0000\n2,NA\n")
    _, making = discreet.init(tmp_path).refresh("t")
    assert (making.exact_persons, making.exact_without_person, making.exact_marked["x"]) == (2, 5, 1)
