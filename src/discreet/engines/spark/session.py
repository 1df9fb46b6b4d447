"""A Spark session whose meanings are pinned and whose loggers are silent.

    spark://local          two threads or more of this machine, in this process's care
    spark://host:7077      a cluster; the driver is here
    sc://host:15002        Spark Connect; the driver is the server's, and so is its log

Guarantee: SQL that we write means the same on every session that this module gives, or no session is given.
Because: what a setting can change is set on the session, which is our own, and then asked back in one query of
    constants (`MEANINGS`); no table is touched by it.

An error of Spark quotes the cell, in its message and in three loggers. The message is the engine's to keep;
here the loggers are closed before any data is read. What was measured is in docs/engines/spark-matrix.md.
pyspark loads when a session is asked for.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import socket
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.engines.spark.session_settings import DRIVER, MEANINGS, PINNED
from discreet.engines.spark.spark_connect import check_deep, is_answering, is_remote, open_connect_session, release
from discreet.errors import UsageError

#: pyspark's SparkSession, classic or Connect. The library is optional, and so its types are not ours to name.
SparkSession = Any

#: Python's loggers of Spark: they write each error, with its cell, as JSON to stderr.
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

#: The process that started the Spark which pyspark knows of, where it was started here.
_STARTED: dict[str, int] = {}

#: Where the Java that was started here puts what it spills and shuffles, and the process that made the folder.
_SCRATCH: dict[str, int] = {}

#: By which an owner says where that may lie. It would have the last word over the setting.
_SCRATCH_SETTING = "SPARK_LOCAL_DIRS"

#: By which others make whatever pyspark starts here a client of theirs.
_CONNECT_SETTINGS = ("SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_LOCAL_REMOTE")

#: What Java says where no logger is asked: notes of its own about modules, and what nobody foresaw.
JAVA_STDERR = os.devnull

#: Where log4j looks for the name of its settings.
_LOG_SETTING = "LOG4J_CONFIGURATION_FILE"

#: A Spark of this process.
LOCAL = "spark://local"
_CONNECT_PORT = 15002
_CLUSTER = re.compile(r"spark://[A-Za-z0-9._-]+:[0-9]{1,5}(,[A-Za-z0-9._-]+:[0-9]{1,5})*")
_CONNECT = re.compile(r"sc://[A-Za-z0-9._-]+(:[0-9]{1,5})?(/?;.*|/)?")


def open_session(
    engine: str,
    *,
    threads: int | None = None,
    memory_mb: int = 2048,
    check: Callable[[SparkSession], None] | None = None,
) -> SparkSession:
    """A session of our own at `engine`, pinned and silent. One Spark at a time lives in a process.

    `check` refuses a Spark that runs nothing, before it is asked for anything that would wait without end.
    """
    master = _master(engine, threads)
    _check_installed(local=not engine.startswith("sc://"))
    check_reachable(engine)
    silence_python()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pyspark's, about other libraries: nothing here uses them
            spark_session = (
                open_connect_session(engine) if engine.startswith("sc://") else _driver_session(master, memory_mb)
            )
            silence_java(spark_session)
            for name, setting in PINNED.items():
                spark_session.conf.set(name, setting)
        if check is not None:
            check(spark_session)
        wrong = failed_meanings(spark_session)
        if is_remote(spark_session) and not wrong:
            check_deep(spark_session)
    except UsageError:
        raise
    except Exception as problem:  # py4j, gRPC and Java each have their own
        raise UsageError(
            start_failure_message(problem, engine), hint="check that it runs, and that its address is right"
        ) from None
    if wrong:
        raise UsageError(
            f"this Spark does not behave as required: expected that {wrong[0]}", hint="use Spark 4 without changes"
        )
    return spark_session


def is_alive(session: SparkSession) -> bool:
    """Whether a session would answer: its Java runs, and was not stopped."""
    try:
        if is_remote(session):
            return is_answering(session)
        return not session.sparkContext._jsc.sc().isStopped()
    except Exception:
        return False


@contextmanager
def tag_jobs(session: SparkSession, mark: str) -> Iterator[None]:
    """What this thread asks for within can be interrupted by its mark."""
    if is_remote(session):
        session.addTag(mark)
    else:
        session.sparkContext.addJobTag(mark)
    try:
        yield
    finally:
        with suppress(Exception):  # it may have died
            (session.removeTag if is_remote(session) else session.sparkContext.removeJobTag)(mark)


def interrupt(session: SparkSession, mark: str) -> None:
    """Cancel what was marked so, by any thread. (A session's own tags are their thread's, but for Connect's.)"""
    if is_remote(session):
        session.interruptTag(mark)
    else:
        session.sparkContext.cancelJobsWithTag(mark)


def end_session(session: SparkSession, *, process: int) -> None:
    """End a session, and the Spark that was started for it. One that died, or a parent's, is only let go of.

    `process`: whose it is. A child that ended a session of Spark Connect would end its parent's.
    """
    if is_remote(session):
        if process == os.getpid():
            release(session)
        return
    own = _STARTED.get("process")
    if own == os.getpid() and is_alive(session):
        session.sparkContext.stop()
    elif own is not None and not (own == os.getpid() and _java_answers()):
        _abandon_java()


def _java_answers() -> bool:
    """Whether the Java that was started still runs; it serves the next session, whatever became of the one before."""
    try:
        return bool(import_module("pyspark").SparkContext._jvm.java.lang.System.nanoTime())
    except Exception:
        return False


def _abandon_java() -> None:
    """Forget a Java that is dead, or is the parent's: asked to stop it, pyspark would wait for it, or stop it there."""
    context, sessions = import_module("pyspark").SparkContext, import_module("pyspark.sql").SparkSession
    java = getattr(context._gateway, "proc", None)
    if java is not None:
        if _STARTED.get("process") == os.getpid():
            java.kill()
            java.wait()
        else:
            java.returncode = 0  # the parent's to wait for
        with suppress(OSError):
            java.stdin.close()
    context._active_spark_context = context._gateway = context._jvm = None
    sessions._instantiatedSession = None
    _STARTED.clear()
    _clear_scratch()


def _scratch() -> str:
    """A folder for its owner only, for what Spark spills and shuffles: rows, and ids. As long as its Java lives."""
    for folder, process in _SCRATCH.items():
        if process == os.getpid() and os.path.isdir(folder):
            return folder
    _clear_scratch()
    above = os.environ.get(_SCRATCH_SETTING, "").split(",")[0] or None
    folder = tempfile.mkdtemp(prefix="discreet-spark-", dir=above)
    _SCRATCH[folder] = os.getpid()
    return folder


@atexit.register
def _clear_scratch() -> None:
    """Take that folder away, where it is this process's."""
    for folder, process in _SCRATCH.items():
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)
    _SCRATCH.clear()


def check_reachable(engine: str, *, patience_s: float = 5.0) -> None:
    """Refuse an address where nobody listens. Spark itself would try for minutes."""
    if engine == LOCAL:
        return
    for place in _shown(engine).split("://")[1].split(","):
        host, _, port = place.partition(":")
        address = host, int(port or _CONNECT_PORT)
        with suppress(OSError, OverflowError), socket.create_connection(address, timeout=patience_s):
            return
    raise UsageError(f"there is no Spark at {_shown(engine)}", hint="check that it runs, and that its address is right")


def failed_meanings(session: SparkSession) -> list[str]:
    """Those of MEANINGS that do not hold in a session."""
    listed = ", ".join(f"({sql}) AS m{place}" for place, sql in enumerate(MEANINGS.values()))
    [row] = session.sql(f"SELECT {listed}").collect()
    return [name for place, name in enumerate(MEANINGS) if row[place] is not True]


def silence_python() -> None:
    """Close Spark's loggers in this process. They take other arguments than plain ones, so Spark has to make them."""
    loggers = import_module("pyspark.logger").PySparkLogger
    for name in _LOGGERS:
        logger: logging.Logger = loggers.getLogger(name)
        logger.propagate = False
        logger.disabled = True
        logger.addFilter(_nothing)  # a later logging.config would only undo `disabled`
    logging.getLogger("py4j").addFilter(_nothing)
    logging.getLogger().addFilter(_not_the_bridge)


def silence_java(session: SparkSession) -> None:
    """Close every logger of the driver's Java, those with a level of their own too. (Executors have none.)

    Of Spark Connect there is none here: the server's log is its owner's, and quotes cells unless they close it.
    """
    java = getattr(session, "_jvm", None) if not is_remote(session) else None
    if java is None:
        return
    session.sparkContext.setLogLevel("OFF")
    log4j = java.org.apache.logging.log4j
    log4j.core.config.Configurator.setAllLevels("", log4j.Level.OFF)


def start_failure_message(problem: BaseException, engine: str) -> str:
    """What went wrong before any data was read, in our words: Spark's may be pages long and hold paths."""
    text = str(problem)
    if "JAVA_GATEWAY_EXITED" in text or "Java gateway process exited" in text:
        return "Java could not be started for Spark"
    if "UnsupportedClassVersionError" in text:
        return "this Java is too old: Spark needs 17"
    if any(word in text for word in ("UNAVAILABLE", "unresponsive", "Connection refused", "UnknownHost")):
        return f"there is no Spark at {_shown(engine)}"
    if "UNAUTHENTICATED" in text or "PERMISSION_DENIED" in text:
        return f"Spark at {_shown(engine)} refused the login"
    return f"Spark at {_shown(engine)} could not be started"


def _nothing(record: logging.LogRecord) -> bool:
    return False


def _not_the_bridge(record: logging.LogRecord) -> bool:
    """Whether a record is not py4j's, which writes to the root logger what it was about when Java died."""
    return "py4j" not in Path(record.pathname).parts


def _master(engine: str, threads: int | None) -> str:
    if engine == LOCAL:
        return f"local[{max(2, threads or os.cpu_count() or 2)}]"
    if _CLUSTER.fullmatch(engine) or _CONNECT.fullmatch(engine):
        return engine
    raise UsageError(f"{_shown(engine)!r} is not a Spark address", hint=f"{LOCAL}, spark://host:7077, sc://host")


def _shown(engine: str) -> str:
    """An address without its parameters: a token may stand there."""
    return engine.split(";")[0].split("?")[0].rstrip("/")[:200]


def _check_installed(*, local: bool) -> None:
    try:
        version = str(import_module("pyspark").__version__)
    except ImportError:
        raise UsageError("pyspark is not installed", hint='pip install "discreet[spark]"') from None
    if int(version.split(".")[0]) < 4:
        raise UsageError(f"pyspark {version} is installed, but version 4 is needed", hint='pip install "pyspark>=4,<5"')
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if local and java is None:
        raise UsageError("Spark needs Java, but Java was not found", hint="install Java 17, or set JAVA_HOME")


def _driver_session(master: str, memory_mb: int) -> SparkSession:
    """A session of our own in this process's Spark, which is started where there is none."""
    sql = import_module("pyspark.sql")
    if _STARTED.get("process", os.getpid()) != os.getpid():
        _abandon_java()
    running = import_module("pyspark").SparkContext._active_spark_context
    if running is not None:
        if running.master != master:
            raise UsageError(f"this process already runs a Spark at {_shown(running.master)}", hint="stop it first")
        _check_settings(running)
        return sql.SparkSession(running).newSession()
    builder = sql.SparkSession.builder
    settings = {**DRIVER, "spark.driver.memory": f"{memory_mb}m", "spark.local.dir": _scratch()}
    if master.startswith("local["):
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    for name, setting in {**settings, **PINNED}.items():
        builder = builder.config(name, setting)
    with _silent_from_birth():
        started = builder.master(master).appName("discreet").getOrCreate()
    _STARTED["process"] = os.getpid()
    return started


def _check_settings(running: Any) -> None:
    """Refuse a Spark that was started by somebody else in this process, with settings that are none of ours.

    Its event log and pages show what errors quote, its executors log it, and no session can change that any more.
    """
    settings = dict(running.getConf().getAll())
    other = [
        name
        for name, setting in DRIVER.items()
        if setting not in (settings.get(name), *settings.get(name, "").split())  # Spark adds options of Java's
    ]
    if other:
        raise UsageError(
            f"this process already runs a Spark in which {other[0]} is not {DRIVER[other[0]]}",
            hint="stop it first: Discreet starts its own",
        )


@contextmanager
def _silent_from_birth() -> Iterator[None]:
    """A Java that is started within logs nothing, unless its owner has said where it shall, and has no voice.

    Its standard error is `JAVA_STDERR` for good; this process's own is so while it starts.
    """
    kept, voice = os.dup(2), os.open(JAVA_STDERR, os.O_WRONLY | os.O_APPEND)
    own = _LOG_SETTING not in os.environ
    if own:
        os.environ[_LOG_SETTING] = Path(__file__).with_name("silent.properties").as_uri()
    os.dup2(voice, 2)
    elsewhere = {name: os.environ.pop(name) for name in (_SCRATCH_SETTING, *_CONNECT_SETTINGS) if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(elsewhere)
        os.dup2(kept, 2)
        os.close(kept)
        os.close(voice)
        if own:
            del os.environ[_LOG_SETTING]
