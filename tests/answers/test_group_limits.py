"""Limits on the groups of a person and keys by weights, as people meet them: flags, Python, declared, explained, stored."""

import csv
import json

import pytest
from typer.testing import CliRunner

import discreet
from discreet.accounting import events
from discreet.cli.main import app
from discreet.errors import Refused, SchemaError, UsageError
from discreet.plan.relation import LimitGroups
from discreet.sql.group_limits import read_limits, with_limits
from discreet.sql.query_parser import parse_batch
from discreet.sql.query_text import QueryText

BY_CITY = "SELECT city, count(*) AS n FROM trips GROUP BY city ORDER BY n DESC LIMIT 10"
BY_KIND = "SELECT kind, count(*) AS n, sum(cost) AS s FROM trips GROUP BY kind"
DECLARED = """
[tables.trips]
source = "trips.csv"
person = "id"
rows_per_person = 60
budget = { epsilon = 900.0, delta = 1e-3 }
%s
[tables.trips.columns.kind]
type = "category"
values = ["a", "b", "c", "d", "e", "f"]
closed = true
[tables.trips.columns.cost]
type = "integer"
low = 0
high = 10
[tables.trips.columns.city]
type = "text"
"""


@pytest.fixture
def trips(tmp_path):
    """Six hundred persons, each with 60 rows in forty cities, ten of which all persons know."""
    return make(tmp_path)


def make(folder, more=""):
    with (folder / "trips.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "kind", "cost", "city"])
        for person in range(600):
            for turn in range(60):
                city = turn // 2 % 10 if turn % 2 else 10 + (person * 7 + turn) % 30
                writer.writerow([f"p{person}", "abcdef"[(person + turn) % 6], turn % 11, f"c{city:02}"])
    discreet.init(folder)
    path = folder / "discreet.toml"
    path.write_text(path.read_text() + DECLARED % more)
    return discreet.open(folder)


def test_keys_that_a_threshold_misses_are_found(trips):
    """The ten cities that everybody knows, of forty, with up to 60 rows a person."""
    release = trips.sql(BY_CITY).ask(epsilon=2, delta=1e-6)
    # 1,800 rows each beside 600, at a scale of 60: noise lets another stand for one of them three times in a million runs.
    assert sum(row[0] < "c10" for row in release.rows) >= 9
    assert any(isinstance(each, events.WeightedThresholdEvent) for each in events.parts(release.event))
    assert any("each person's weight is split" in warning for warning in release.warnings)
    assert trips.sql(BY_CITY).ask(epsilon=2, delta=1e-6).cached


def test_a_limit_makes_less_noise_and_is_told(trips):
    plain, limited = trips.sql(BY_KIND), trips.sql(BY_KIND, groups_per_person=2, rows_per_person_per_group=3)
    widths = [each.explain(epsilon=1)["noise"][0]["plus_minus"] for each in (plain, limited)]
    assert widths[0] > 9 * widths[1]
    told = limited.explain(epsilon=1)
    assert (told["sensitivity"]["l1"], told["sensitivity"]["linf"], told["sensitivity"]["l0"]) == (6, 3, 2)
    assert told["sensitivity"]["l2"] == pytest.approx(18**0.5)
    assert any("in at most 2 groups and at most 3 in each" in line for line in told["sensitivity"]["because"])
    release = limited.ask(epsilon=50)
    assert sum(row[1] for row in release.rows) == pytest.approx(600 * 6, abs=30)
    assert any("each person counts in at most 2 groups" in warning for warning in release.warnings)
    again = trips.again(release.id, epsilon=10)  # its text, limits and all, is read again
    assert sum(row[1] for row in again.rows) == pytest.approx(600 * 6, abs=30)


def test_a_limit_is_another_question(trips):
    release = trips.sql(BY_KIND, groups_per_person=3).ask(epsilon=1)
    assert trips.sql(f"/* groups per person: 3 */ {BY_KIND}").ask(epsilon=1).id == release.id
    assert trips.sql(BY_KIND, groups_per_person=4).explain(epsilon=1)["stored"] is None
    assert trips.sql(BY_KIND).explain(epsilon=1)["told"] is None


def test_flags(trips, monkeypatch):
    monkeypatch.chdir(trips.folder)
    words = ["explain", BY_KIND, "--epsilon", "1", "--json"]
    done = CliRunner().invoke(app, [*words, "--groups-per-person", "1", "--rows-per-person-per-group", "2"])
    assert json.loads(done.stdout)["sensitivity"]["l1"] == 2
    done = CliRunner().invoke(app, ["query", "-f", "x.sql", "--epsilon", "1", "--groups-per-person", "1"])
    assert isinstance(done.exception, UsageError) or done.exit_code == 2


def test_a_table_declares_limits_and_persons(tmp_path):
    more = "groups_per_person = 2\nrows_per_person_per_group = 1\npublic_persons = 20"
    project = make(tmp_path, more)
    told = project.sql(BY_KIND).explain(epsilon=1)
    assert told["sensitivity"]["l1"] == 2 and told["keys"] is None
    assert project.sql(BY_KIND, groups_per_person=6).explain(epsilon=1)["sensitivity"]["l1"] == 6
    assert project.sql("SELECT count(*) FROM trips").explain(epsilon=1)["sensitivity"]["l1"] == 60
    explained = project.sql(BY_CITY).explain(epsilon=1, delta=1e-6)
    keys = explained["keys"]
    assert keys["keys_per_person"] == 2 and keys["public_persons"] == 20 < keys["least_persons"] <= keys["most_persons"]
    assert "fewer than a key needs" in keys["warning"] and keys["warning"] in str(explained)


@pytest.mark.parametrize("line", ["groups_per_person = 0", "public_persons = true", "rows_per_person_per_group = 1.5"])
def test_what_cannot_be_declared(tmp_path, line):
    with pytest.raises(SchemaError, match="whole number from 1"):
        make(tmp_path, line)


def test_explain_says_how_many_persons_a_key_needs(trips):
    weighted = trips.sql(BY_CITY).explain(epsilon=1, delta=1e-6)["keys"]
    assert weighted["least_persons"] < 70 and 300 < weighted["most_persons"] < 600 and weighted["warning"] is None
    assert "if each of them has 60 keys" in weighted["words"]
    chosen = "SELECT city, count(DISTINCT id) AS n FROM trips GROUP BY city ORDER BY n DESC LIMIT 3"
    assert "left out" in trips.sql(chosen).explain(epsilon=1, delta=1e-6)["keys"]["words"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-- groups per person: 0\nSELECT kind, count(*) FROM trips GROUP BY kind", "whole number from 1"),
        ("-- groups per person: many\nSELECT kind, count(*) FROM trips GROUP BY kind", "whole number from 1"),
        (
            "-- groups per person: 1\n-- groups per person: 2\nSELECT kind, count(*) FROM trips GROUP BY kind",
            "set twice",
        ),
        ("-- groups per person: 1\nSELECT count(*) FROM trips", "needs groups"),
    ],
)
def test_what_is_refused(trips, text, words):
    with pytest.raises(Refused, match=words):
        trips.sql(text)


def test_limits_of_a_comment():
    text = "SELECT '-- groups per person: 7' -- Rows per person per group: 2\n -- groups per person, or so"
    limits = read_limits(QueryText(text=text))
    assert (limits.groups, limits.rows) == (None, 2)
    assert with_limits("SELECT 1") == "SELECT 1"
    for wrong in (0, -1, 1.5, True, "x", 10**10):
        with pytest.raises(UsageError):
            with_limits("SELECT 1", groups=wrong)


def test_statements_of_a_batch_that_share_a_limit_share_rows(trips):
    """What is counted of rows tells them apart, of all statements together."""
    limit = "-- rows per person per group: 2\n"
    first, second, third = parse_batch(
        f"{limit}SELECT kind, sum(cost) FROM trips GROUP BY kind;"
        f"{limit}SELECT kind, count(DISTINCT city) FROM trips GROUP BY kind; SELECT kind, count(*) FROM trips GROUP BY kind",
        trips.versions.catalog(),
    )
    assert first.inquiry == second.inquiry and isinstance(first.inquiry.plan, LimitGroups)
    assert first.inquiry.plan.columns == ("city", "cost") and not isinstance(third.inquiry.plan, LimitGroups)
