"""Surveys in SQLite: one writing connection under a lock, a fresh one for each reader."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Command, Flag, Message, StoreFault, UsageError
from discreet.schema.project_file import NAME as PROJECT_FILE
from discreet.storage import sqlite_file
from discreet.surveys.collector.survey_definition import Survey, is_survey_id, protocol_classes
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
from discreet.surveys.protocols.collection_periods import CollectionPeriods
from discreet.surveys.protocols.randomizer import randomizer_from_parameters

#: The version of the tables below. Another one needs a migration, never a silent change.
VERSION = 1
SURVEY_FILE = sqlite_file.SqliteUse(
    name="the survey store",
    error=StoreFault,
    loss="reports could be lost",
    failed="the survey store is not available at the moment ({code})",
    unusable="cannot write to the survey store ({code})",
    local_hint=Message(
        "store them on a local disk, or in PostgreSQL: ", Flag("store", "postgresql://user@host/database")
    ),
)
#: How long a writer waits for another.
WAIT_S = 30.0
_POLL_S = 0.001
#: Ids that are looked up at once.
_IDS_PER_SELECT = 500

SCHEMA = (
    """CREATE TABLE surveys (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        question TEXT NOT NULL,
        randomizer TEXT NOT NULL,
        minimum INTEGER NOT NULL CHECK (minimum > 0),
        token INTEGER NOT NULL CHECK (token IN (0, 1)),
        created TEXT NOT NULL,
        closed INTEGER NOT NULL DEFAULT 0 CHECK (closed IN (0, 1)),
        asker TEXT NOT NULL DEFAULT '',
        periods TEXT NOT NULL DEFAULT ''
    ) STRICT""",
    f"""CREATE TABLE reports (
        survey INTEGER NOT NULL REFERENCES surveys (number),
        place INTEGER NOT NULL CHECK (place > 0),
        id BLOB NOT NULL CHECK (length(id) = {ID_BYTES}),
        report BLOB NOT NULL,
        PRIMARY KEY (survey, place),
        UNIQUE (survey, id)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE tokens (
        survey INTEGER NOT NULL REFERENCES surveys (number),
        hash BLOB NOT NULL CHECK (length(hash) = 32),
        used INTEGER NOT NULL DEFAULT 0 CHECK (used IN (0, 1)),
        PRIMARY KEY (survey, hash)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TRIGGER surveys_reopened BEFORE UPDATE ON surveys
        WHEN OLD.closed > NEW.closed
        BEGIN SELECT RAISE(ABORT, 'a closed survey stays closed'); END""",
    """CREATE TRIGGER reports_late BEFORE INSERT ON reports
        WHEN (SELECT closed FROM surveys WHERE number = NEW.survey)
        BEGIN SELECT RAISE(ABORT, 'a closed survey stays closed'); END""",
)
_SELECT_SURVEYS = "SELECT id, question, randomizer, minimum, token, created, closed, asker, periods FROM surveys"


class SqliteSurveyStore:
    """A file. See `SurveyStore`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        with sqlite_file.sqlite_faults(SURVEY_FILE):
            self._writer = _connect(path)
            _add_text_columns(self._writer)
            self._writer.execute("PRAGMA busy_timeout = 0")  # `_begin` waits

    def make(self, survey: Survey) -> None:
        row = (
            survey.id,
            survey.question,
            json.dumps(survey.randomizer.parameters(), ensure_ascii=False),
            survey.minimum,
            int(survey.token),
            survey.created,
            survey.asker,
            periods_text(survey),
        )
        with self._writing() as writer:
            writer.execute(
                "INSERT INTO surveys (id, question, randomizer, minimum, token, created, asker, periods)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )

    def survey(self, id_: str) -> Survey:
        with self._reading() as reader:
            number = self._number(reader, id_)
            return survey_from_row(reader.execute(f"{_SELECT_SURVEYS} WHERE number = ?", (number,)).fetchone())

    def surveys(self) -> list[Survey]:
        with self._reading() as reader:
            rows = reader.execute(f"{_SELECT_SURVEYS} ORDER BY number").fetchall()
        return [survey_from_row(row) for row in rows]

    def end(self, id_: str) -> None:
        with self._writing() as writer:
            writer.execute("UPDATE surveys SET closed = 1 WHERE number = ?", (self._number(writer, id_),))

    def enrol(self, id_: str, tokens: Iterable[bytes]) -> None:
        with self._writing() as writer:
            number = self._number(writer, id_)
            writer.executemany("INSERT INTO tokens (survey, hash) VALUES (?, ?)", ((number, token) for token in tokens))

    def tokens(self, id_: str) -> tuple[int, int]:
        with self._reading() as reader:
            number = self._number(reader, id_)
            made, used = reader.execute(
                "SELECT count(*), coalesce(sum(used), 0) FROM tokens WHERE survey = ?", (number,)
            ).fetchone()
        return made, used

    def add(self, batches: Sequence[ReportBatch]) -> list[BatchOutcome]:
        with self._writing() as writer:
            numbers, decider = _load_decider(writer, batches)
            outcomes = [decider.decide(batch) for batch in batches]
            writer.executemany(
                "INSERT INTO reports (survey, place, id, report) VALUES (?, ?, ?, ?)",
                [(numbers[row.survey], row.place, row.id, row.report) for row in decider.rows],
            )
            writer.executemany(
                "UPDATE tokens SET used = 1 WHERE survey = ? AND hash = ?",
                [(numbers[survey], token) for survey, token in decider.used_tokens],
            )
        return outcomes

    def count(self, id_: str) -> int:
        with self._reading() as reader:
            return _count(reader, self._number(reader, id_))

    def reports(self, survey: Survey, *, after: int = 0, most: int = REPORTS_PER_READ) -> NDArray[np.uint8]:
        select = "SELECT report FROM reports WHERE survey = ? AND place > ? ORDER BY place LIMIT ?"
        with self._reading() as reader:
            rows = reader.execute(select, (self._number(reader, survey.id), after, most)).fetchall()
        return report_matrix([row[0] for row in rows], survey.report_width)

    def close(self) -> None:
        with self._lock, suppress(sqlite3.Error):
            self._writer.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its beginning."""
        with self._lock, sqlite_file.sqlite_faults(SURVEY_FILE):
            _begin(self._writer)
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with sqlite_file.sqlite_faults(SURVEY_FILE), closing(_connect(self.path)) as reader:
            yield reader

    def _number(self, connection: sqlite3.Connection, id_: str) -> int:
        row = is_survey_id(id_) and connection.execute("SELECT number FROM surveys WHERE id = ?", (id_,)).fetchone()
        if not row:
            raise unknown_survey(id_)
        return int(row[0])


def _begin(connection: sqlite3.Connection) -> None:
    """Take the write lock. SQLite's own waiting looks ten times a second, and starves beside a busy collector."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as busy:
            if busy.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(_POLL_S)


def survey_from_row(row: Sequence[Any]) -> Survey:
    """A survey from its row."""
    id_, question, randomizer, minimum, token, created, closed, asker, periods = row
    return Survey(
        id=id_,
        question=question,
        randomizer=randomizer_from_parameters(json.loads(randomizer), protocol_classes()),
        minimum=minimum,
        token=bool(token),
        created=created,
        closed=bool(closed),
        asker=asker,
        periods=CollectionPeriods.from_data(json.loads(periods)) if periods else None,
    )


def periods_text(survey: Survey) -> str:
    """A survey's periods as they are stored; empty where it has none."""
    return "" if survey.periods is None else json.dumps(survey.periods.to_data())


def _add_text_columns(connection: sqlite3.Connection) -> None:
    """Columns that stores did not have at first. Whoever does not know them goes on: they have a default."""
    names = {name for _, name, *_ in connection.execute("PRAGMA table_info(surveys)")}
    for column in ("asker", "periods"):
        if column not in names:
            with suppress(sqlite3.OperationalError):  # another process was first; if not, the next statement says so
                connection.execute(f"ALTER TABLE surveys ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")


def _load_decider(
    connection: sqlite3.Connection, batches: Sequence[ReportBatch]
) -> tuple[dict[str, int], BatchDecider]:
    """What must be known to decide these batches, and the numbers of their surveys."""
    numbers: dict[str, int] = {}
    snapshots: dict[str, SurveySnapshot] = {}
    for id_ in {batch.survey for batch in batches}:
        survey_row = connection.execute("SELECT number, closed, token FROM surveys WHERE id = ?", (id_,)).fetchone()
        if survey_row is None:
            continue
        numbers[id_], closed, token = survey_row
        sent = [one for batch in batches if batch.survey == id_ for one in batch.reports]
        snapshots[id_] = SurveySnapshot(
            closed=bool(closed),
            token=bool(token),
            reports=_count(connection, numbers[id_]),
            ids={
                row[0]
                for row in _select_among(connection, "id", "reports", "id", numbers[id_], [one.id for one in sent])
            },
            tokens=dict(
                _select_among(
                    connection, "hash, used", "tokens", "hash", numbers[id_], [one.token for one in sent if one.token]
                )
            ),
        )
    return numbers, BatchDecider(snapshots)


def _select_among(
    connection: sqlite3.Connection, columns: str, table: str, key: str, number: int, values: list[bytes]
) -> Iterator[tuple[Any, ...]]:
    for start in range(0, len(values), _IDS_PER_SELECT):
        some = values[start : start + _IDS_PER_SELECT]
        marks = ", ".join("?" * len(some))
        yield from connection.execute(
            f"SELECT {columns} FROM {table} WHERE survey = ? AND {key} IN ({marks})", (number, *some)
        )


def _count(connection: sqlite3.Connection, number: int) -> int:
    last_place = connection.execute("SELECT max(place) FROM reports WHERE survey = ?", (number,)).fetchone()[0]
    return last_place or 0


def survey_file_of(folder: Path) -> Path:
    """Where the surveys of a folder lie: beside the nearest project or surveys at or above it, else in it."""
    start = folder.resolve()
    if not start.is_dir():
        raise UsageError(f"there is no folder {str(folder)!r}")
    for each in (start, *start.parents):
        path = each / ".discreet" / "surveys.sqlite"
        if path.is_file() or (each / PROJECT_FILE).is_file():
            return path
    return start / ".discreet" / "surveys.sqlite"


def open_survey_file(path: Path, *, make: bool = False) -> SqliteSurveyStore:
    """The store in this file; made, readable by its owner only, where that is allowed and there is none."""
    sqlite_file.refuse_network(path, SURVEY_FILE)
    if not path.is_file():
        if not make:
            raise UsageError("There are no surveys here.", hint=Message(Command("survey new"), ", to make one"))
        with sqlite_file.sqlite_faults(SURVEY_FILE):
            sqlite_file.make_file(path, SURVEY_FILE, version=VERSION, schema=SCHEMA)
    return SqliteSurveyStore(path)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite_file.connect(path, SURVEY_FILE, wait_s=WAIT_S)
    if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
        connection.close()
        raise StoreFault("these surveys were written by another version of Discreet", hint="upgrade Discreet")
    return connection
