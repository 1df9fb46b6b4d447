"""Surveys in PostgreSQL, for collectors on several machines: psycopg 3, one writing connection under a lock.

A transaction locks the rows of the surveys it writes to, in the order of their numbers, so that collectors
wait for each other instead of deadlocking, and places follow the order of commits.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import StoreFault, UsageError
from discreet.storage.postgres_connection import READ_BACK, connect, durable_settings, refuse_unmet
from discreet.storage.postgres_errors import PostgresUse, postgres_faults
from discreet.surveys.collector.sqlite_surveys import periods_text, survey_from_row
from discreet.surveys.collector.survey_definition import Survey, is_survey_id
from discreet.surveys.collector.survey_store import (
    ID_BYTES,
    REPORTS_PER_READ,
    BatchDecider,
    BatchOutcome,
    ReportBatch,
    SurveySnapshot,
    report_matrix,
    unknown_survey,
)

if TYPE_CHECKING:
    from psycopg import Connection

    SurveyConnection = Connection[tuple[Any, ...]]

#: The version of the tables below. Another one needs a migration, never a silent change.
VERSION = 1
SURVEY_SERVER = PostgresUse(
    what="a survey store in PostgreSQL",
    server="the survey store's server",
    error=StoreFault,
    application="discreet-surveys",
    loss="reports could be lost",
)
#: Two collectors that start at once make the tables once: both ask for this lock.
_CREATION_LOCK = 0x44_49_53_43

SCHEMA = (
    "CREATE TABLE discreet_collection (version integer PRIMARY KEY)",
    f"INSERT INTO discreet_collection VALUES ({VERSION})",
    """CREATE TABLE discreet_surveys (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text NOT NULL UNIQUE,
        question text NOT NULL,
        randomizer text NOT NULL,
        minimum bigint NOT NULL CHECK (minimum > 0),
        token boolean NOT NULL,
        created text NOT NULL,
        closed boolean NOT NULL DEFAULT false,
        asker text NOT NULL DEFAULT '',
        periods text NOT NULL DEFAULT ''
    )""",
    f"""CREATE TABLE discreet_reports (
        survey bigint NOT NULL REFERENCES discreet_surveys (number),
        place bigint NOT NULL CHECK (place > 0),
        id bytea NOT NULL CHECK (length(id) = {ID_BYTES}),
        report bytea NOT NULL,
        PRIMARY KEY (survey, place),
        UNIQUE (id, survey)
    )""",
    """CREATE TABLE discreet_tokens (
        survey bigint NOT NULL REFERENCES discreet_surveys (number),
        hash bytea NOT NULL CHECK (length(hash) = 32),
        used boolean NOT NULL DEFAULT false,
        PRIMARY KEY (survey, hash)
    )""",
    """CREATE FUNCTION discreet_stays_closed() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'a closed survey stays closed'; END $$""",
    """CREATE TRIGGER discreet_reopened BEFORE UPDATE ON discreet_surveys FOR EACH ROW
        WHEN (OLD.closed AND NOT NEW.closed) EXECUTE FUNCTION discreet_stays_closed()""",
)
# Ids are looked up by the index of ids whatever the planner knows of the table: `survey + 0` hides the other index,
# by which it would read every report of a survey that was small when it last looked.
_SELECT_COUNTED_IDS = "SELECT id FROM discreet_reports WHERE id = ANY(%s) AND survey + 0 = %s"
_SELECT_SURVEYS = (
    "SELECT id, question, randomizer, minimum, token, created, closed, asker, periods FROM discreet_surveys"
)


class PostgresSurveyStore:
    """A database. See `SurveyStore`."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._writer: SurveyConnection | None = None
        with self._writing() as writer:
            _make(writer)

    def make(self, survey: Survey) -> None:
        with self._writing() as writer:
            writer.execute(
                "INSERT INTO discreet_surveys (id, question, randomizer, minimum, token, created, asker, periods)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                (
                    survey.id,
                    survey.question,
                    json.dumps(survey.randomizer.parameters()),
                    survey.minimum,
                    survey.token,
                    survey.created,
                    survey.asker,
                    periods_text(survey),
                ),
            )

    def survey(self, id_: str) -> Survey:
        with self._reading() as reader:
            (row,) = reader.execute(f"{_SELECT_SURVEYS} WHERE number = %s", (_number(reader, id_),)).fetchall()
        return survey_from_row(row)

    def surveys(self) -> list[Survey]:
        with self._reading() as reader:
            rows = reader.execute(f"{_SELECT_SURVEYS} ORDER BY number").fetchall()
        return [survey_from_row(row) for row in rows]

    def end(self, id_: str) -> None:
        with self._writing() as writer:
            writer.execute("UPDATE discreet_surveys SET closed = true WHERE number = %s", (_number(writer, id_),))

    def enrol(self, id_: str, tokens: Iterable[bytes]) -> None:
        with self._writing() as writer:
            number = _number(writer, id_)
            writer.cursor().executemany(
                "INSERT INTO discreet_tokens (survey, hash) VALUES (%s, %s)", [(number, token) for token in tokens]
            )

    def tokens(self, id_: str) -> tuple[int, int]:
        with self._reading() as reader:
            row = reader.execute(
                "SELECT count(*), count(*) FILTER (WHERE used) FROM discreet_tokens WHERE survey = %s",
                (_number(reader, id_),),
            ).fetchone()
        assert row is not None
        return row[0], row[1]

    def add(self, batches: Sequence[ReportBatch]) -> list[BatchOutcome]:
        with self._writing() as writer:
            numbers, decider = _load_decider(writer, batches)
            outcomes = [decider.decide(batch) for batch in batches]
            if decider.rows:
                # One statement whatever the number of rows: a lane of each column.
                writer.execute(
                    "INSERT INTO discreet_reports (survey, place, id, report)"
                    " SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bytea[], %s::bytea[])",
                    (
                        [numbers[row.survey] for row in decider.rows],
                        [row.place for row in decider.rows],
                        [row.id for row in decider.rows],
                        [row.report for row in decider.rows],
                    ),
                    binary=True,
                )
            for survey in {survey for survey, _ in decider.used_tokens}:
                writer.execute(
                    "UPDATE discreet_tokens SET used = true WHERE survey = %s AND hash = ANY(%s)",
                    (numbers[survey], [token for owner, token in decider.used_tokens if owner == survey]),
                )
        return outcomes

    def count(self, id_: str) -> int:
        with self._reading() as reader:
            return _count(reader, _number(reader, id_))

    def reports(self, survey: Survey, *, after: int = 0, most: int = REPORTS_PER_READ) -> NDArray[np.uint8]:
        with self._reading() as reader:
            rows = reader.execute(
                "SELECT report FROM discreet_reports WHERE survey = %s AND place > %s ORDER BY place LIMIT %s",
                (_number(reader, survey.id), after, most),
                binary=True,
            ).fetchall()
        return report_matrix([row[0] for row in rows], survey.report_width)

    def close(self) -> None:
        with self._lock:
            self._drop_writer()

    @contextmanager
    def _writing(self) -> Iterator[SurveyConnection]:
        """A transaction. A connection that failed is thrown away, and the next call makes another."""
        with self._lock, postgres_faults(SURVEY_SERVER):
            try:
                if self._writer is None:
                    self._writer = _require_durability(_connect(self._address))
                with self._writer.transaction():
                    yield self._writer
            except UsageError:
                raise
            except BaseException:
                self._drop_writer()
                raise

    def _drop_writer(self) -> None:
        if self._writer is not None:
            with suppress(Exception):
                self._writer.close()
            self._writer = None

    @contextmanager
    def _reading(self) -> Iterator[SurveyConnection]:
        with postgres_faults(SURVEY_SERVER), _connect(self._address) as reader:
            yield reader


def _load_decider(connection: SurveyConnection, batches: Sequence[ReportBatch]) -> tuple[dict[str, int], BatchDecider]:
    """Lock the surveys of these batches; what must be known to decide them, and the surveys' numbers."""
    names = sorted({batch.survey for batch in batches})
    surveys = connection.execute(
        "SELECT id, number, closed, token FROM discreet_surveys WHERE id = ANY(%s) ORDER BY number FOR UPDATE", (names,)
    ).fetchall()
    snapshots: dict[str, SurveySnapshot] = {}
    for id_, number, closed, token in surveys:
        sent = [one for batch in batches if batch.survey == id_ for one in batch.reports]
        ids = connection.execute(_SELECT_COUNTED_IDS, ([one.id for one in sent], number), binary=True)
        tokens = connection.execute(
            "SELECT hash, used FROM discreet_tokens WHERE survey = %s AND hash = ANY(%s)",
            (number, [one.token for one in sent if one.token]),
            binary=True,
        )
        snapshots[id_] = SurveySnapshot(
            closed=closed,
            token=token,
            reports=_count(connection, number),
            ids={row[0] for row in ids},
            tokens={row[0]: row[1] for row in tokens},
        )
    return {id_: number for id_, number, _, _ in surveys}, BatchDecider(snapshots)


def _number(connection: SurveyConnection, id_: str) -> int:
    row = (
        is_survey_id(id_) and connection.execute("SELECT number FROM discreet_surveys WHERE id = %s", (id_,)).fetchone()
    )
    if not row:
        raise unknown_survey(id_)
    return int(row[0])


def _count(connection: SurveyConnection, number: int) -> int:
    row = connection.execute("SELECT max(place) FROM discreet_reports WHERE survey = %s", (number,)).fetchone()
    return (row and row[0]) or 0


def _make(connection: SurveyConnection) -> None:
    """The tables, once."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATION_LOCK,))
    there = connection.execute("SELECT to_regclass('discreet_collection')").fetchone()
    if there == (None,):
        for statement in SCHEMA:
            connection.execute(statement)
    if connection.execute("SELECT version FROM discreet_collection").fetchall() != [(VERSION,)]:
        raise StoreFault("these surveys were written by another version of Discreet", hint="upgrade Discreet")
    # Columns that stores did not have at first. Whoever does not know them goes on: they have a default.
    for column in ("asker", "periods"):
        connection.execute(f"ALTER TABLE discreet_surveys ADD COLUMN IF NOT EXISTS {column} text NOT NULL DEFAULT ''")


def _connect(address: str) -> SurveyConnection:
    """A connection to read by."""
    from psycopg import IsolationLevel

    connection = connect(address, SURVEY_SERVER, prepare_threshold=5)
    connection.isolation_level = IsolationLevel.READ_COMMITTED  # what follows a lock must see what it waited for
    connection.execute("SET enable_seqscan = off")  # new tables have no statistics, and every question here an index
    return connection


def _require_durability(connection: SurveyConnection) -> SurveyConnection:
    """The same, with commits that are on disk when they return; refused where the server does not do that."""
    try:
        connection.execute(durable_settings(local=False))
        refuse_unmet(connection.execute(READ_BACK).fetchone(), SURVEY_SERVER)
    except BaseException:
        connection.close()
        raise
    return connection
