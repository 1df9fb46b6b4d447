"""Years of two digits: `add` writes down the century that they are read in, by public facts."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

import discreet
from discreet.project.short_years import with_last_year
from discreet.schema.column import short_year_notes

SHORT = {"type": "date", "format": "m/d/yy"}


@pytest.mark.parametrize(
    "name", ["dob", "DOB", "date_of_birth", "Birth Date", "born", "DateOfBirth", "p_dob", "Geburtsdatum", "bdate"]
)
def test_nobody_is_born_ahead(name):
    assert with_last_year(name, SHORT, this_year=2026)["high"] == date(2026, 12, 31)


@pytest.mark.parametrize("name", ["seen", "adobe", "expires", "update", "day"])
def test_other_dates_may_lie_a_little_ahead(name):
    assert with_last_year(name, SHORT, this_year=2026)["high"] == date(2036, 12, 31)


@pytest.mark.parametrize(
    "settings",
    [
        {"type": "date", "format": "m/d/yyyy"},
        {"type": "date"},
        {"type": "text", "format": "m/d/yy"},
        {"type": "date", "format": "m/d/yy", "high": "2010-12-31"},
        {"type": "date", "format": 7},
    ],
)
def test_nothing_else_changes(settings):
    assert with_last_year("dob", settings, this_year=2026) == settings


def test_the_last_moment_of_the_year_is_within():
    settings = with_last_year("seen", {"type": "timestamp", "format": "dd.mm.yy hh:mm"}, this_year=2026)
    assert settings["high"] == datetime(2036, 12, 31, 23, 59, 59)


def test_a_date_of_birth_is_read_in_its_century(tmp_path):
    """The offenders' 4/18/47 is 1947, in what is declared, counted and said."""
    (tmp_path / "p.csv").write_text("dob,n\n4/18/47,1\n1/2/05,2\n4/18/47,3\n", encoding="utf-8")
    project = discreet.init(tmp_path, epsilon=1000)
    table = project.add(tmp_path / "p.csv")
    column = table.schema.column("dob")
    assert column.label(column.high)[:4] == str(datetime.now(UTC).year)
    assert str(datetime.now(UTC).year) in short_year_notes([column], declared=True)[0]
    assert short_year_notes([column]) == []
    sql = "SELECT count(*) FROM p WHERE dob = DATE '1947-04-18'"
    assert project.sql(sql).ask(epsilon=500).rows[0][0] == 2


def test_a_column_that_is_said_by_hand_has_its_century_too(tmp_path):
    (tmp_path / "p.csv").write_text("dob\n4/18/47\nlater\n", encoding="utf-8")
    project = discreet.init(tmp_path, epsilon=10)
    draft = project.draft(tmp_path / "p.csv").replace(columns={"dob": SHORT})
    assert project.add_draft(draft).schema.column("dob").high is not None
