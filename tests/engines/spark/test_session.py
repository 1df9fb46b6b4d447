"""The Spark session: what is pinned holds, what an error quotes is nowhere in a log, and failures are sentences."""

import logging
import os
import socket
import stat
from decimal import Decimal

import pytest

from discreet.engines.spark import session as module
from discreet.engines.spark.session import (
    MEANINGS,
    PINNED,
    check_reachable,
    failed_meanings,
    open_session,
    start_failure_message,
)
from discreet.errors import UsageError
from discreet.plan.evaluate import lower, upper
from engines.spark.server import log, spark_tests

CANARY = "the-cell-of-one-person"


def on_spark(test):
    for mark in spark_tests:
        test = mark(test)
    return test


@pytest.fixture
def spark(spark_engine):
    """The session of all tests, and the file that its Java writes its errors to."""
    return spark_engine.session(), log()


@on_spark
def test_what_is_pinned_is_so(spark):
    found, _ = spark
    assert {name: found.conf.get(name) for name in PINNED} == dict(PINNED)
    assert failed_meanings(found) == []


@on_spark
@pytest.mark.parametrize(
    ("setting", "other", "meaning"),
    [
        ("spark.sql.session.timeZone", "America/New_York", "time is UTC"),
        ("spark.sql.legacy.timeParserPolicy", "LEGACY", "days are written by that calendar"),
        ("spark.sql.legacy.consecutiveStringLiterals.enabled", "true", "texts are quoted by doubling"),
    ],
)
def test_another_setting_is_seen(spark, setting, other, meaning):
    other_session = spark[0].newSession()
    for name, value in PINNED.items():
        other_session.conf.set(name, value)
    assert failed_meanings(other_session) == []
    other_session.conf.set(setting, other)
    assert meaning in MEANINGS and meaning in failed_meanings(other_session)


@on_spark
def test_what_is_spilled_is_for_its_owner_only(spark):
    folder = spark[0].conf.get("spark.local.dir")
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert any(name.startswith("blockmgr-") for name in os.listdir(folder))


def test_what_is_spilled_goes_with_spark(tmp_path, monkeypatch):
    """It lies where the owner says; a folder of the parent's stays."""
    monkeypatch.setattr(module, "_SCRATCH", {str(tmp_path): os.getppid()})
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    folder = module._scratch()
    assert os.path.dirname(folder) == str(tmp_path) and module._scratch() == folder
    with module._silent_from_birth():
        assert "SPARK_LOCAL_DIRS" not in os.environ  # it would have the last word over the setting
    assert os.environ["SPARK_LOCAL_DIRS"] == f"{tmp_path},/elsewhere"
    module._clear_scratch()
    assert not os.path.exists(folder) and tmp_path.exists() and not module._SCRATCH


def failing(found):
    """A task's failure, whose message quotes its cell."""
    sql = f"SELECT sum(CAST(concat('{CANARY}', id) AS INT)) AS s FROM range(20) GROUP BY id % 3"
    with pytest.raises(Exception, match=CANARY):
        found.sql(sql).toArrow()


class Heard(logging.Handler):
    """What Spark's loggers in Python pass on."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


@pytest.fixture
def heard():
    handler, loggers = Heard(), [logging.getLogger(name) for name in module._LOGGERS]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler.texts
    for logger in loggers:
        logger.removeHandler(handler)


@on_spark
def test_no_logger_quotes_a_cell(spark, heard):
    found, log = spark
    failing(found)
    with pytest.raises(Exception, match=CANARY):
        found.range(3).selectExpr(f"CAST(concat('{CANARY}', id) AS INT)").collect()
    assert not heard
    assert CANARY not in log.read_text()


@on_spark
def test_the_canaries_can_sing(spark, heard):
    """With a logger opened, even by a level of its own, they do; closed again they do not."""
    found, log = spark
    log4j = found._jvm.org.apache.logging.log4j
    python = logging.getLogger("SQLQueryContextLogger")
    try:
        log4j.core.config.Configurator.setLevel("org.apache.spark.executor.Executor", log4j.Level.ERROR)
        python.disabled = False
        python.removeFilter(module._nothing)
        failing(found)
        assert CANARY in log.read_text()
        assert any(CANARY in text for text in heard)
    finally:
        module.silence_python()
        module.silence_java(found)
    heard.clear()
    size = len(log.read_text())
    failing(found)
    assert not heard
    assert CANARY not in log.read_text()[size:]


@on_spark
def test_a_later_logging_config_does_not_open_them(spark, heard):
    logging.getLogger("SQLQueryContextLogger").disabled = False  # what dictConfig does
    failing(spark[0])
    assert not heard


@on_spark
def test_the_forms_to_write_where_sparks_own_are_wrong(spark):
    """Each pair: Spark's own form, which differs from what is meant, and the form that does not."""
    found, _ = spark
    wide, narrow, letters = 2**120, 2**21 + 1, [chr(place) for place in range(0x250) if place != 0]
    small = "".join(letter for letter in letters if lower(letter) != letter)
    large = "".join(letter for letter in letters if upper(letter) != letter)
    text = f"CAST(X'{''.join(letters).encode().hex()}' AS STRING)"
    table = f"(SELECT CAST(NULL AS BIGINT) AS n, CAST(id - 1 AS DECIMAL(38, 0)) AS w, {text} AS text FROM range(1))"
    [row] = found.sql(
        f"""SELECT n < {2**63}, CAST(n AS DECIMAL(38, 0)) < {2**63},
          -(w * {wide}), 0 - w * {wide},
          (w * {wide}) DIV {narrow}, CAST((w * {wide} - (w * {wide}) % {narrow}) / {narrow} AS DECIMAL(38, 0)),
          lower(text), translate(text, '{small}', '{"".join(map(lower, small))}'),
          upper(text), translate(text, '{large}', '{"".join(map(upper, large))}')
        FROM {table}"""
    ).collect()
    meant = [None, Decimal(wide), Decimal(-(wide // narrow)), lower("".join(letters)), upper("".join(letters))]
    assert list(row[1::2]) == meant
    assert all(own != wanted for own, wanted in zip(row[::2], meant, strict=True))


@pytest.mark.parametrize(
    "address",
    ["", "spark://", "spark://host", "spark://local:x", "spark://a:1;b", "sc://", "sc://host:1/x", "local[2]", "yarn"],
)
def test_an_address_that_is_none(address):
    with pytest.raises(UsageError, match="is not a Spark address"):
        open_session(address)


@pytest.mark.parametrize("address", ["spark://127.0.0.1:{}", "sc://127.0.0.1:{}", "sc://127.0.0.1:{}/;token=hush"])
def test_nobody_listens(address):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but it does not listen
        address = address.format(taken.getsockname()[1])
        with pytest.raises(UsageError, match="there is no Spark at") as caught:
            check_reachable(address)
        assert "hush" not in str(caught.value)
        taken.listen()
        check_reachable(address)


def test_one_of_several_masters_is_enough():
    with socket.socket() as taken, socket.socket() as open_one:
        taken.bind(("127.0.0.1", 0))
        open_one.bind(("127.0.0.1", 0))
        open_one.listen()
        check_reachable(f"spark://127.0.0.1:{taken.getsockname()[1]},127.0.0.1:{open_one.getsockname()[1]}")


def test_a_token_is_not_shown():
    shown = start_failure_message(RuntimeError("UNAVAILABLE: x"), "sc://host:15002/;token=hush")
    assert shown == "there is no Spark at sc://host:15002"


@pytest.mark.parametrize("text", ["[JAVA_GATEWAY_EXITED] " + CANARY, CANARY, "UNAUTHENTICATED " + CANARY])
def test_a_failure_is_a_sentence_of_ours(text):
    shown = start_failure_message(RuntimeError(text), "spark://host:7077")
    assert CANARY not in shown and len(shown) < 80


def test_without_pyspark(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyspark", None)
    with pytest.raises(UsageError, match="pyspark is not installed"):
        open_session("spark://local")
