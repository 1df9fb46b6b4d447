"""What is PostgreSQL's own: its rules, its settings, a server that goes away in the middle."""

from __future__ import annotations

import os
import secrets
import shutil
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from discreet.errors import LedgerFault, LedgerTampered, UsageError
from discreet.ledger import postgres_ledger, postgres_tables
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import DatabaseAddress
from discreet.ledger.ledger_move import move_to_postgres
from discreet.ledger.postgres_faults import LEDGER_SERVER
from discreet.ledger.postgres_ledger import PostgresLedgerStore
from discreet.ledger.repair import adopt
from discreet.storage import postgres_connection
from discreet.storage.postgres_errors import postgres_faults
from ledger.ledgers import ask, guarantee, laplace, make, people


@pytest.fixture
def ledger(address: DatabaseAddress):
    with make(address) as made:
        made.store(ask(made, laplace(1)).id, "payload")
        yield made


@pytest.fixture
def raw(ledger: Ledger, address: DatabaseAddress):
    """The database as anybody with the address can open it."""
    with psycopg.connect(address.url, autocommit=True) as connection:
        yield connection


def spent(ledger: Ledger) -> Fraction:
    return ledger.account_status("patients").spent.epsilon


# -- the database's own rules ---------------------------------------------------------------------


def insert_charge(raw: psycopg.Connection, **changes: object) -> None:
    row = {
        "seq": 1, "id": "r-aaaaaaaaaaaaaaaa", "population": "patients", "table_name": "patients", "version": 1,
        "analyst": None, "question": "q", "price": "1/1", "pure": 10**9, "rho": 5 * 10**11, "delta": 0,
    } | changes  # fmt: skip
    raw.execute(f"INSERT INTO discreet_ledger_charges VALUES ({', '.join(['%s'] * len(row))})", tuple(row.values()))


def test_a_plain_charge_row_would_pass(raw: psycopg.Connection):
    with raw.transaction(force_rollback=True):
        insert_charge(raw)


@pytest.mark.parametrize(
    "changes",
    [
        {"pure": 0}, {"pure": -1}, {"pure": 10**12 + 1}, {"pure": None}, {"pure": 10**18 + 1}, {"pure": 2**70},
        {"pure": float("nan")}, {"pure": float("inf")}, {"rho": 0}, {"rho": 5 * 10**17 + 1}, {"rho": None},
        {"delta": -1}, {"delta": 10**18}, {"id": "x"}, {"id": None}, {"version": 0}, {"population": "nobody"},
        {"seq": 99}, {"question": None}, {"price": None},
    ],
    ids=str,
)  # fmt: skip
def test_strange_charges_are_refused_by_the_database(raw: psycopg.Connection, changes: dict[str, object]):
    with pytest.raises((psycopg.IntegrityError, psycopg.DataError)):
        insert_charge(raw, **changes)


@pytest.mark.parametrize(
    "change",
    [
        "populations SET used = 1000000000001", "populations SET used = -1", "populations SET delta_spent = 1",
        "populations SET charges = -1", "populations SET seq = 99", "populations SET delta_limit = -1",
        "segments SET pure = pure - 1", "segments SET rho = rho - 1", "segments SET pure_sum = pure_sum - 1",
        "segments SET rho_sum = rho_sum - 1", "segments SET pure = pure_sum + 1", "segments SET version = 0",
        "entries SET body = body", "charges SET price = price", "answers SET payload = payload",
    ],
)  # fmt: skip
def test_limits_balances_and_history_are_kept(raw: psycopg.Connection, change: str):
    with pytest.raises(psycopg.IntegrityError):
        raw.execute(f"UPDATE discreet_ledger_{change}")


@pytest.mark.parametrize("table", ["entries", "populations", "segments", "charges", "answers"])
def test_nothing_is_truncated(raw: psycopg.Connection, table: str):
    with pytest.raises(psycopg.IntegrityError):
        raw.execute(f"TRUNCATE discreet_ledger_{table} CASCADE")


@pytest.mark.parametrize("table", ["entries", "charges", "answers"])
def test_history_is_not_deleted(raw: psycopg.Connection, table: str):
    with pytest.raises(psycopg.IntegrityError):
        raw.execute(f"DELETE FROM discreet_ledger_{table}")


def test_no_answer_without_a_charge(raw: psycopg.Connection):
    with pytest.raises(psycopg.IntegrityError, match="belongs to a charge"):
        raw.execute("INSERT INTO discreet_ledger_answers VALUES ('r-zzzzzzzzzzzzzzzz', %s, 'x')", ("0" * 64,))


@pytest.mark.parametrize("change", [{"seq": 99}, {"seq": 5}, {"previous": "0" * 64}, {"kind": "refund"}, {}], ids=str)
def test_entries_follow_one_another(raw: psycopg.Connection, change: dict[str, object]):
    seq, last = raw.execute("SELECT seq, digest FROM discreet_ledger_entries ORDER BY seq DESC").fetchone()
    assert seq == 5
    row = {
        "seq": 6, "time": "t", "kind": "failure", "body": "{}", "previous": last, "digest": "1" * 64, "mac": "1" * 64,
    }  # fmt: skip
    insert = "INSERT INTO discreet_ledger_entries VALUES (%s, %s, %s, %s, %s, %s, %s)"
    with raw.transaction(force_rollback=True):
        if change:
            with pytest.raises(psycopg.IntegrityError):
                raw.execute(insert, tuple((row | change).values()))
        else:
            raw.execute(insert, tuple(row.values()))


# -- edits ----------------------------------------------------------------------------------------

ALL = "discreet_ledger_entries"


@pytest.mark.parametrize(
    "change",
    [
        f"DROP TRIGGER keep ON {ALL}",
        f"ALTER TABLE {ALL} DISABLE TRIGGER follow",
        "ALTER TABLE discreet_ledger_charges DISABLE TRIGGER ALL",
        "DROP TRIGGER rise ON discreet_ledger_segments",
        "CREATE OR REPLACE FUNCTION discreet_ledger_keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "ALTER TABLE discreet_ledger_populations DROP CONSTRAINT discreet_ledger_populations_used_check",
        "ALTER TABLE discreet_ledger_charges ALTER COLUMN price DROP NOT NULL",
        "ALTER TABLE discreet_ledger_answers ADD COLUMN more text",
        "CREATE TABLE discreet_ledger_more (x int)",
        "CREATE RULE quiet AS ON INSERT TO discreet_ledger_charges DO INSTEAD NOTHING",
        "ALTER TABLE discreet_ledger_charges ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE discreet_ledger_answers SET UNLOGGED",
        f"CREATE TABLE discreet_child () INHERITS ({ALL})",
        f"COMMENT ON TABLE {ALL} IS NULL",
    ],
)
def test_changed_tables_are_refused(ledger: Ledger, raw: psycopg.Connection, address: DatabaseAddress, change: str):
    Ledger.open(address).close()
    raw.execute(change)
    with pytest.raises(LedgerFault, match="not the ones that Discreet made"):
        Ledger.open(address)


def test_a_newer_ledger_says_to_upgrade(raw: psycopg.Connection, address: DatabaseAddress):
    raw.execute(f"COMMENT ON TABLE {ALL} IS 'discreet ledger 2'")
    with pytest.raises(LedgerFault, match="newer version of Discreet"):
        Ledger.open(address)


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ("UPDATE discreet_ledger_entries SET body = replace(body, 'patients', 'impatient') WHERE seq = 2", 2),
        ("UPDATE discreet_ledger_segments SET pure = pure - 1", 4),
        ("UPDATE discreet_ledger_populations SET used = 0", 4),
        ("UPDATE discreet_ledger_answers SET payload = 'other'", 5),
        ("UPDATE discreet_ledger_answers SET payload = '\\xff'", 5),
        ("DELETE FROM discreet_ledger_answers", 5),
        ("DELETE FROM discreet_ledger_charges", 4),
        ("DELETE FROM discreet_ledger_entries WHERE seq = 3", 3),
    ],
)  # fmt: skip
def test_edits_past_the_triggers_are_found(raw: psycopg.Connection, address: DatabaseAddress, change: str, row: int):
    with raw.transaction():
        raw.execute("SET LOCAL session_replication_role = replica")
        raw.execute(change)
    with pytest.raises(LedgerTampered) as caught:
        Ledger.open(address)
    assert caught.value.row == row


# -- settings -------------------------------------------------------------------------------------


def test_a_commit_is_on_disk(address: DatabaseAddress):
    careless = DatabaseAddress(url=f"{address.url}%20-csynchronous_commit%3Doff")
    with make(careless) as ledger, ledger._journal.committed_section():
        found = ledger._journal.store._connection.execute("SHOW synchronous_commit").fetchone()
        assert found == ("on",)


def test_a_commit_that_waits_for_more_stays(address: DatabaseAddress):
    with (
        make(DatabaseAddress(url=f"{address.url}%20-csynchronous_commit%3Dremote_apply")) as ledger,
        ledger._journal.committed_section(),
    ):
        found = ledger._journal.store._connection.execute("SHOW synchronous_commit").fetchone()
        assert found == ("remote_apply",)


@pytest.mark.parametrize("place", range(len(postgres_connection.REQUIREMENTS)))
def test_a_server_that_does_not_do_is_refused(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, place: int):
    """Each of the answers in turn is no."""
    answers = ["true"] * len(postgres_connection.REQUIREMENTS)
    answers[place] = "false"
    monkeypatch.setattr(postgres_ledger, "READ_BACK", f"SELECT {', '.join(answers)}")
    with pytest.raises(LedgerFault, match=postgres_connection.REQUIREMENTS[place][0]):
        ask(ledger, laplace("0.1"))
    monkeypatch.undo()
    ask(ledger, laplace("0.1"))


@pytest.mark.parametrize("told", ["default_transaction_read_only%3Don", "session_replication_role%3Dreplica"])
def test_settings_of_the_address_are_seen(ledger: Ledger, address: DatabaseAddress, told: str):
    """A default of read-only is overruled; skipped triggers are refused."""
    other = DatabaseAddress(url=f"{address.url}%20-c{told}")
    if "read_only" in told:
        Ledger.open(other).close()
    else:
        with pytest.raises(LedgerFault, match="skips triggers"):
            Ledger.open(other)


def test_waiting_for_another_writer_ends(ledger: Ledger, address: DatabaseAddress, monkeypatch: pytest.MonkeyPatch):
    told = f"'lock_timeout', '{postgres_ledger.WAIT_S}s'"
    assert told in postgres_ledger._SETTINGS
    monkeypatch.setattr(postgres_ledger, "_SETTINGS", postgres_ledger._SETTINGS.replace(told, "'lock_timeout', '50ms'"))
    holder = PostgresLedgerStore.open(address)
    holder.begin()
    with pytest.raises(LedgerFault, match="does not release it"):
        ask(ledger, laplace("0.1"))
    holder.rollback()
    holder.close()
    ask(ledger, laplace("0.1"))  # waiting in vain is no damage


def test_a_role_with_few_rights_is_enough(ledger: Ledger, raw: psycopg.Connection, address: DatabaseAddress):
    role, schema = f"curator_{secrets.token_hex(4)}", raw.execute("SELECT current_schema()").fetchone()[0]
    raw.execute(f"CREATE ROLE {role} LOGIN")
    try:
        raw.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        raw.execute(f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO {role}")
        raw.execute(f"GRANT UPDATE ON discreet_ledger_populations, discreet_ledger_segments TO {role}")
        raw.execute(f"GRANT DELETE ON discreet_ledger_segments TO {role}")
        with Ledger.open(DatabaseAddress(url=f"{address.url}%20-crole%3D{role}")) as other:
            other.store(ask(other, laplace("0.5")).id, "x")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                other._journal.store._connection.execute(f"DROP TRIGGER keep ON {ALL}")
        assert spent(ledger) == Fraction("1.5")
        raw.execute(f"REVOKE INSERT ON {ALL} FROM {role}")
        with (
            Ledger.open(DatabaseAddress(url=f"{address.url}%20-crole%3D{role}")) as other,
            pytest.raises(LedgerFault, match="does not allow this role"),
        ):
            ask(other, laplace("0.5"))
    finally:
        raw.execute(f"DROP OWNED BY {role}")
        raw.execute(f"DROP ROLE {role}")


# -- the server goes away -------------------------------------------------------------------------


def cut(ledger: Ledger, raw: psycopg.Connection) -> None:
    """End the ledger's connection from outside, and wait until it is gone."""
    pid = ledger._journal.store._connection.info.backend_pid
    raw.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


def test_a_connection_lost_between_questions(ledger: Ledger, raw: psycopg.Connection):
    cut(ledger, raw)
    with pytest.raises(LedgerFault, match="connection to the ledger's server was lost"):
        ask(ledger, laplace("0.5"))
    ask(ledger, laplace("0.5"))
    assert spent(ledger) == Fraction("1.5")


@pytest.mark.parametrize("point", ["append", "commit"])
def test_a_connection_lost_before_the_commit(
    ledger: Ledger, raw: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, point: str
):
    act = getattr(PostgresLedgerStore, point)

    def lose(store: PostgresLedgerStore, *arguments: object, **named: object) -> None:
        monkeypatch.setattr(PostgresLedgerStore, point, act)
        cut(ledger, raw)
        act(store, *arguments, **named)

    monkeypatch.setattr(PostgresLedgerStore, point, lose)
    with pytest.raises(LedgerFault, match="was lost"):
        ask(ledger, laplace("0.5"), question="lost")
    assert spent(ledger) == 1  # it was not committed, and reading anew tells
    ask(ledger, laplace("0.5"))
    assert spent(ledger) == Fraction("1.5")
    assert ledger.verify().sound


def test_a_connection_lost_after_the_commit(ledger: Ledger, address: DatabaseAddress, monkeypatch: pytest.MonkeyPatch):
    """The server's answer does not arrive. The charge is there, and counts."""
    act = PostgresLedgerStore.commit

    def lose(store: PostgresLedgerStore) -> None:
        monkeypatch.setattr(PostgresLedgerStore, "commit", act)
        act(store)
        store._connection.close()
        with postgres_faults(LEDGER_SERVER):
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(PostgresLedgerStore, "commit", lose)
    with pytest.raises(LedgerFault, match="was lost"):
        ask(ledger, laplace("0.5"), question="unknown")
    assert spent(ledger) == Fraction("1.5")
    (found,) = [charge for charge in ledger.state.charges.values() if charge.question == "unknown"]
    assert found.id not in ledger.state.answers
    ask(ledger, laplace("0.5"))
    assert ledger.verify().sound
    with Ledger.open(address) as again:
        assert spent(again) == 2


def test_nothing_is_answered_from_what_was_not_read_again(
    ledger: Ledger, raw: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
):
    def fail(store: PostgresLedgerStore) -> None:
        raise LedgerFault("gone")

    monkeypatch.setattr(PostgresLedgerStore, "commit", fail)
    with pytest.raises(LedgerFault, match="gone"):
        ask(ledger, laplace("0.5"))
    monkeypatch.undo()
    monkeypatch.setattr(PostgresLedgerStore, "snapshot", fail)
    for _ in range(2):
        with pytest.raises(LedgerFault, match="gone"):
            ledger.account_status("patients")
    monkeypatch.undo()
    assert spent(ledger) == 1


def test_a_commit_that_was_a_rollback_is_none(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    """A failed transaction answers COMMIT with ROLLBACK, and no error."""
    act = PostgresLedgerStore.append

    def spoil(store: PostgresLedgerStore, *arguments: object, **named: object) -> None:
        act(store, *arguments, **named)
        with pytest.raises(psycopg.Error):
            store._connection.execute("SELECT 1 / 0")

    monkeypatch.setattr(PostgresLedgerStore, "append", spoil)
    with pytest.raises(LedgerFault, match="did not confirm"):
        ask(ledger, laplace("0.5"))
    monkeypatch.undo()
    assert spent(ledger) == 1


def test_a_commit_with_a_warning_is_not_sure(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    """As when a wait for a standby is given up: the charge stands here, and perhaps not there."""
    act = PostgresLedgerStore.append

    def warn(store: PostgresLedgerStore, *arguments: object, **named: object) -> None:
        act(store, *arguments, **named)
        store._connection.execute(
            "CREATE FUNCTION pg_temp.warn() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE WARNING 'no standby'; RETURN NULL; END $$"
        )
        store._connection.execute("CREATE TEMP TABLE late (x int)")
        store._connection.execute(
            "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION pg_temp.warn()"
        )
        store._connection.execute("INSERT INTO late VALUES (1)")

    monkeypatch.setattr(PostgresLedgerStore, "append", warn)
    with pytest.raises(LedgerFault, match="did not confirm"):
        ask(ledger, laplace("0.5"))
    monkeypatch.undo()
    assert spent(ledger) == Fraction("1.5")


def test_a_writer_without_the_lock_is_refused_by_the_database(
    ledger: Ledger, address: DatabaseAddress, monkeypatch: pytest.MonkeyPatch
):
    """The lock is not all that keeps two writers apart."""

    def begin(store: PostgresLedgerStore) -> None:
        store._connection.execute("BEGIN")

    with Ledger.open(address) as other:
        monkeypatch.setattr(PostgresLedgerStore, "begin", begin)
        monkeypatch.setattr("discreet.ledger.anchor.fcntl.flock", lambda *_: None)
        act = PostgresLedgerStore.append

        def late(store: PostgresLedgerStore, *arguments: object, **named: object) -> None:
            monkeypatch.setattr(PostgresLedgerStore, "append", act)
            ask(other, laplace("0.5"))
            act(store, *arguments, **named)

        monkeypatch.setattr(PostgresLedgerStore, "append", late)
        with pytest.raises(LedgerFault, match="breaks a rule"):
            ask(ledger, laplace("0.5"))
        monkeypatch.undo()
        assert spent(ledger) == Fraction("1.5")


# -- addresses ------------------------------------------------------------------------------------


def test_nobody_there():
    with pytest.raises(LedgerFault, match="cannot be reached") as caught:
        Ledger.open("postgresql://somebody:secret@127.0.0.1:1/x")
    assert caught.value.exit_code == 5
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_no_such_database(postgres: str):
    with pytest.raises(LedgerFault, match="no such database"):
        Ledger.open(postgres.replace("/postgres?", "/nothing?"))


@pytest.mark.skipif("DISCREET_TEST_POSTGRES" in os.environ, reason="changes the server's hba file")
def test_a_wrong_password(ledger: Ledger, raw: psycopg.Connection, address: DatabaseAddress):
    hba = Path(raw.execute("SHOW hba_file").fetchone()[0])
    before = hba.read_text()
    raw.execute("CREATE ROLE locked LOGIN PASSWORD 'right'")
    hba.write_text("local all locked scram-sha-256\n" + before)
    try:
        raw.execute("SELECT pg_reload_conf()")
        wrong = DatabaseAddress(url=address.url.replace("postgres:@", "locked:secret@"))
        assert wrong != address
        for _ in range(100):  # until the server has read its file
            with psycopg.connect(address.url) as looking:
                if looking.execute("SELECT 1 FROM pg_hba_file_rules WHERE user_name = '{locked}'").fetchone():
                    break
        with pytest.raises(LedgerFault, match="the user name or the password is wrong") as caught:
            Ledger.open(wrong)
        assert "secret" not in f"{caught.value} {caught.value.hint}"
    finally:
        hba.write_text(before)
        raw.execute("SELECT pg_reload_conf()")
        raw.execute("DROP ROLE locked")


@pytest.mark.parametrize("url", ["postgresql://h:port/x", "postgresql://h/x\n", "postgresql://%zz"])
def test_an_address_that_is_none(url: str):
    with pytest.raises(UsageError, match="not the address"):
        Ledger.open(url)


def test_no_ledger_and_a_second_ledger(address: DatabaseAddress):
    with pytest.raises(LedgerFault, match="there is no ledger at"):
        Ledger.open(address)
    make(address).close()
    with pytest.raises(UsageError, match="already a ledger"):
        Ledger.create(address)


def test_a_ledger_that_is_gone_is_not_made_anew(ledger: Ledger, raw: psycopg.Connection, address: DatabaseAddress):
    ledger.close()
    raw.execute("DROP TABLE discreet_ledger_answers, discreet_ledger_charges, discreet_ledger_segments")
    raw.execute("DROP TABLE discreet_ledger_populations, discreet_ledger_entries")
    with pytest.raises(LedgerFault, match="give the same people a new budget"):
        Ledger.create(address)


def test_an_address_shows_no_password():
    address = DatabaseAddress(url="postgresql://ann:secret@db/books?password=secret&options=-csearch_path%3Dledger")
    assert "secret" not in f"{address} {address!r} {address.name}"
    assert address.name == "postgresql://db/books?options=-csearch_path%3Dledger"


def test_pages(ledger: Ledger, address: DatabaseAddress, monkeypatch: pytest.MonkeyPatch):
    """More rows than are fetched at once."""
    monkeypatch.setattr(postgres_ledger, "_PAGE", 2)
    ledger.grant("patients", guarantee(9))
    for _ in range(3):
        ledger.store(ask(ledger, laplace("0.5")).id, "x")
    with Ledger.open(address) as again:
        assert again.state.seq == ledger.state.seq
        assert len(list(again.entries())) == ledger.state.seq
        assert len(list(again._journal.store.payloads())) == 4


@pytest.mark.thin(3)  # one half of the names made there, the other moved
@pytest.mark.parametrize("name", ["per%cent", "%s", "%(x)s", 'quo"te', "quo'te", "a@b", "$$", "white space"])
@pytest.mark.parametrize("moved", [False, True])
def test_a_schema_may_have_any_name(postgres: str, tmp_path: Path, state_folder: Path, name: str, moved: bool):
    """Made or moved there, charged, answered, read again and repaired."""
    name += secrets.token_hex(4)
    schema = postgres_tables.quote_name(name)
    told = f"-csearch_path={schema}".replace("\\", "\\\\").replace(" ", "\\ ")
    address = DatabaseAddress(url=f"{postgres}{'&' if '?' in postgres else '?'}options={quote(told, safe='')}")
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute(f"CREATE SCHEMA {schema}")
        try:
            with make(tmp_path / "ledger.db" if moved else address) as ledger:
                ledger.store(ask(ledger, laplace("0.5")).id, "first")
            if moved:
                move_to_postgres(tmp_path / "ledger.db", address)
            with Ledger.open(address) as ledger:
                made = ask(ledger, laplace("0.5"), region=people(1))
                ledger.store(made.id, "second")
                assert ledger.answer(made.id) == "second" and spent(ledger) == 1
                assert ledger.verify().sound
            shutil.rmtree(state_folder)
            adopt(address, None, alone=True)
            with Ledger.open(address) as ledger:
                assert ledger.verify().sound and ledger.account_status("patients").remaining.epsilon == 0
            assert admin.execute("SELECT to_regclass(%s)", (postgres_tables.table(name, "entries"),)).fetchone()[0]
        finally:
            admin.execute(f"DROP SCHEMA {schema} CASCADE")
