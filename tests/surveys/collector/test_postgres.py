"""PostgreSQL's own: durable settings, a server that goes away, addresses that are none."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from discreet.errors import StoreFault, UsageError
from discreet.storage.postgres_connection import REQUIREMENTS
from discreet.surveys.collector import postgres_surveys as module
from discreet.surveys.collector.postgres_surveys import PostgresSurveyStore
from discreet.surveys.collector.store_location import open_survey_store
from discreet.surveys.collector.survey_store import AcceptedBatch
from surveys.collector.asked import batch, survey


def test_a_commit_is_on_disk(schema):
    store = PostgresSurveyStore(f"{schema}%20-csynchronous_commit%3Doff")
    assert store._writer.execute("SHOW synchronous_commit").fetchone() == ("on",)
    store.close()


@pytest.mark.parametrize("place", range(len(REQUIREMENTS)))
def test_a_server_that_may_lose_commits_is_refused(schema, monkeypatch, place):
    answers = ["true"] * len(REQUIREMENTS)
    answers[place] = "false"
    monkeypatch.setattr(module, "READ_BACK", f"SELECT {', '.join(answers)}")
    with pytest.raises(StoreFault, match=REQUIREMENTS[place][0]):
        PostgresSurveyStore(schema)


def test_a_server_that_skips_triggers_is_refused(schema):
    with pytest.raises(StoreFault, match="skips triggers"):
        PostgresSurveyStore(f"{schema}%20-csession_replication_role%3Dreplica")


def test_a_connection_that_was_cut_is_made_again(schema):
    store = PostgresSurveyStore(schema)
    asked = survey(store)
    with psycopg.connect(schema, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (store._writer.info.backend_pid,))
    with pytest.raises(StoreFault):
        store.add([batch(asked)])
    assert store.add([batch(asked)]) == [AcceptedBatch(1, 0)]
    store.close()


def test_tables_are_made_once_and_another_version_is_refused(schema):
    PostgresSurveyStore(schema).close()
    PostgresSurveyStore(schema).close()
    with psycopg.connect(schema, autocommit=True) as raw:
        raw.execute("UPDATE discreet_collection SET version = 2")
    with pytest.raises(StoreFault, match="another version"):
        PostgresSurveyStore(schema)


def test_a_store_from_before_anybody_was_named_goes_on(schema):
    store = PostgresSurveyStore(schema)
    named = survey(store, asker="The city clinic")
    assert store.survey(named.id).asker == "The city clinic"
    store.close()
    with psycopg.connect(schema, autocommit=True) as raw:
        raw.execute("ALTER TABLE discreet_surveys DROP COLUMN asker")
    store = PostgresSurveyStore(schema)
    assert store.survey(named.id).asker == ""
    store.close()


def test_the_database_itself_keeps_a_closed_survey_closed(schema):
    store = PostgresSurveyStore(schema)
    store.end(survey(store).id)
    with psycopg.connect(schema, autocommit=True) as raw, pytest.raises(psycopg.Error, match="stays closed"):
        raw.execute("UPDATE discreet_surveys SET closed = false")
    store.close()


def test_nobody_there():
    with pytest.raises(StoreFault, match="cannot be reached") as caught:
        open_survey_store("postgresql://somebody:secret@127.0.0.1:1/x", Path("."))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("address", ["postgresql://%zz", "mysql://x/y"])
def test_an_address_that_is_none(address):
    with pytest.raises((UsageError, StoreFault)):
        open_survey_store(address, Path("."))


def test_ids_are_looked_up_by_their_index(schema):
    """Whatever the planner believes: it has never looked, or it looked when there was one report."""
    store = PostgresSurveyStore(schema)
    asked = survey(store)
    store.add([batch(asked)])
    for look in (None, "ANALYZE discreet_reports"):
        with store._reading() as reader:
            if look is not None:
                reader.execute(look)
            ids = [bytes([number]) * 16 for number in range(200)]
            plan = "".join(row[0] for row in reader.execute(f"EXPLAIN {module._SELECT_COUNTED_IDS}", (ids, 1)))
        assert "discreet_reports_id_survey_key" in plan
        assert "Index Cond: (id = ANY" in plan
    store.close()
