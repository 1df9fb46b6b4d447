"""A text is read once, until what it is read against changes."""

from __future__ import annotations

import pytest

import discreet
from discreet.project import query_cache
from discreet.project.query_cache import QueryCache
from discreet.sql import query_parser

TOML = """
[tables.visits]
source = "visits.csv"
budget = { epsilon = 100 }

[tables.visits.columns]
age = { type = "integer", low = 0, high = 9 }

[tables.groups]
source = "groups.csv"
public = true

[tables.groups.columns]
age = { type = "integer" }
word = { type = "text" }
"""
PLAIN = "SELECT count(*) AS n FROM visits WHERE age = 3"
JOINED = "SELECT g.word, count(*) AS n FROM visits v JOIN groups g ON v.age = g.age GROUP BY g.word"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "visits.csv").write_text("age\n" + "3\n" * 5)
    (tmp_path / "groups.csv").write_text("age,word\n3,three\n")
    (tmp_path / "discreet.toml").write_text(TOML)
    discreet.init(tmp_path)
    return discreet.open(tmp_path)


@pytest.fixture
def read_texts(monkeypatch):
    parse, texts = query_parser.parse_query, []

    def noted(text, catalog, **more):
        texts.append(text)
        return parse(text, catalog, **more)

    monkeypatch.setattr(query_parser, "parse_query", noted)
    return texts


def test_a_text_that_is_priced_and_asked_is_read_once(project, read_texts):
    project.refresh("visits")
    first = project.sql(PLAIN)
    first.explain(epsilon=1)
    assert project.sql(PLAIN).query is first.query
    project.sql(PLAIN).ask(epsilon=1)
    assert read_texts == [PLAIN]


def check_new_version(project) -> None:
    project.refresh("visits")
    first = project.sql(PLAIN).query
    project.refresh("visits", force=True)
    second = project.sql(PLAIN).query
    assert (first.tables[0].version, second.tables[0].version) == (1, 2)


def test_a_new_version_is_read_against(project):
    check_new_version(project)


def test_the_check_sees_a_cache_that_never_looks(project, monkeypatch):
    monkeypatch.setattr(query_cache._ReadQuery, "is_read_against", lambda self, catalog: True)
    with pytest.raises(AssertionError):
        check_new_version(project)


def check_public_rows(project) -> None:
    project.refresh("visits")
    words = [row[0] for row in project.sql(JOINED).ask(epsilon=1).rows]
    (project.folder / "groups.csv").write_text("age,word\n3,drei\n4,vier\n")
    assert words == ["three"]
    assert [row[0] for row in project.sql(JOINED).ask(epsilon=1).rows] == ["drei", "vier"]


def test_rows_of_a_public_table_are_read_anew(project):
    check_public_rows(project)


def test_the_check_sees_public_rows_that_are_kept(project, monkeypatch):
    monkeypatch.setattr(query_cache, "_noting", lambda name, table, read_tables: table)
    with pytest.raises(AssertionError):
        check_public_rows(project)


def test_a_refusal_is_not_kept(project, read_texts):
    for _ in range(2):
        with pytest.raises(discreet.Refused):
            project.sql("SELECT nothing FROM visits")
    assert len(read_texts) == 2


def test_only_the_newest_texts_are_kept(monkeypatch):
    monkeypatch.setattr(query_cache, "_MOST_KEPT", 2)
    cache, read = QueryCache(), []

    def parse(text, catalog):
        read.append(text)
        return object()

    for text in ("a", "b", "b", "c", "a", "c"):
        cache.parse(text, {}, parse=parse)
    assert read == ["a", "b", "c", "a"]
