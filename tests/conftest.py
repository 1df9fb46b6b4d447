"""Every test keeps its ledgers' anchors in its own folder, and never in a user's.

In the suite hypothesis takes the same examples every time: a landing must not hang on luck. `./do fuzz` draws new ones.
"""

import ctypes
import functools
import gc
import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
import typer.main
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from compiled import compile_share
from confirmed import confirmed_lines, run_noisy
from discreet.cli import main, verb_app
from discreet.engines import duckdb as duckdb_engine
from discreet.engines import duckdb_declared_table, engine_registry, parquet_writer
from made_tables import makers, remembering
from order import Scheduling, place
from tiers import DEEP, examples, mark_deep_cases, named, some_fuzzers

#: How fast examples are made is the machine's affair.
CLOCKLESS: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("suite", derandomize=True, max_examples=examples(100), **CLOCKLESS)
settings.register_profile("fuzz", print_blob=True, **CLOCKLESS)

#: The engines of which the fuzzers make thousands.
TIMED = (duckdb_engine.DuckDBEngine, engine_registry.EngineRegistry)


def pytest_configure(config):
    compile_share(config)
    settings.load_profile("fuzz" if config.option.markexpr == "fuzz" else "suite")
    if config.option.markexpr != "fuzz":
        # Else the examples hang on the modules that happen to be imported: their sources are read for numbers and words.
        providers._get_local_constants = Constants
    else:  # hours on a busy machine: a question that waited a minute is no finding
        for engine in TIMED:
            engine.__init__.__kwdefaults__["deadline_s"] = 3600.0
    if not config.option.markexpr and not named(config.args):
        config.option.markexpr = "not fuzz" if DEEP else "not fuzz and not versions and (fast or not deep)"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Examples in docstrings are the package's: those of a thousand files of tests are not looked for."""
    collectors = yield
    return [collector for collector in collectors if not isinstance(collector, DoctestModule)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Long files first; what stands in one file stays in its order."""
    mark_deep_cases(items)
    if config.option.markexpr == "fuzz":
        items[:] = some_fuzzers([item for item in items if item.get_closest_marker("fuzz")])
    items.sort(key=lambda item: place(item.nodeid.partition("::")[0]))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    return run_noisy(item, nextitem) or None


def pytest_terminal_summary(terminalreporter):
    for line in confirmed_lines(terminalreporter.getreports("passed")):
        terminalreporter.write_line(line)


def pytest_collection_finish():
    gc.freeze()


def pytest_unconfigure():
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Whole files, as `--dist loadfile` hands them out, and Spark's to one worker."""
    return Scheduling(config, log) if config.option.dist == "loadfile" else None


@functools.cache
def _app_of(app: typer.Typer, names: tuple[str, ...], completing: bool) -> typer.Typer:
    return verb_app.app_for(app, names)


def _app_for(app: typer.Typer, words: Sequence[str]) -> typer.Typer:
    """Stands for `cli.verb_app.app_for`, which looks at no more than this."""
    return _app_of(app, tuple(word for word in words if word != "--")[:1], "_DISCREET_COMPLETE" in os.environ)


# A process reads the flags of its verb once, in about 20 ms, and nothing that a call does changes them. The suite makes
# thousands of calls in one process; those that start processes of their own read theirs as everybody's do.
typer.main.get_command = functools.cache(typer.main.get_command)
main.app_for = _app_for

# As the command line does: a second thread of the linear algebra only takes the other worker's processor.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# The modules and cases of ten thousand tests live as long as the process; to look through them for what can be freed took
# a fifteenth of its time.
gc.set_threshold(50_000)

# Asserts are rewritten and modules compiled once, and not by every worker and process of every run.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


#: Where durability is tested, or decided about by its own conftest.
DURABLE = {"ledger", "crash", "collector", "engines"}


@pytest.fixture(scope="module", autouse=True)
def _quick_files(request):
    """Elsewhere nobody pulls the plug: about twenty waits for the disk a project are left out. (SQLite's own stay.)"""
    with pytest.MonkeyPatch.context() as patch:
        if not DURABLE & set(request.path.parts):
            patch.setattr(os, "fsync", lambda handle: None)
        yield


#: The settings of `engines.parquet_writer`.
WRITING = {"threads": 1, "memory_limit": "512MB", "temp_directory": ""}


#: By process and settings: after a fork they are made anew.
_databases: dict[tuple, duckdb.DuckDBPyConnection] = {}


def _cursor_of(settings: tuple, make: Callable[[], duckdb.DuckDBPyConnection]) -> duckdb.DuckDBPyConnection:
    """A connection to the one database of this process with these settings. A cursor is a connection of its own, and
    sees nothing that another has registered, nor its temporary tables. A parent's database is never closed in a child,
    as in `sql.duckdb_grammar`: it keeps one reference for ever.
    """
    for process, *others in [key for key in _databases if key[0] != os.getpid()]:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_databases.pop((process, *others))))
    key = (os.getpid(), *settings)
    try:
        cursor = _databases[key].cursor()
        cursor.execute("SELECT 1").fetchall()  # one that failed within answers nothing more
    except (KeyError, duckdb.Error):
        _databases[key] = make()
        cursor = _databases[key].cursor()
    return cursor


def _connected(name: str, *, config: dict) -> duckdb.DuckDBPyConnection:
    """Stands for `duckdb.connect` in `engines.parquet_writer`."""
    assert name == ":memory:" and config == WRITING
    return _cursor_of(("writing",), lambda: duckdb.connect(name, config=config))


def _connected_engine(folders, *, threads, memory_mb, spill=None, connect=duckdb_engine._connect):
    """Stands for `engines.duckdb._connect`: the database reaches the temporary files of all tests, not of one alone, and
    has no folder for what its memory does not hold.
    """
    reached = (str(Path(tempfile.gettempdir()).resolve()),)
    if not all(Path(folder).is_relative_to(reached[0]) for folder in folders):
        return connect(folders, threads=threads, memory_mb=memory_mb, spill=spill)
    settings = (reached, threads, memory_mb)
    return _cursor_of(settings, lambda: connect(reached, threads=threads, memory_mb=memory_mb))


#: Modules of tests/engines that ask how a database is made, what it reaches, where it spills and how it is left.
OPENED = {
    "test_duckdb.py",
    "test_empty_side.py",
    "test_stopping.py",
    "test_deadline.py",
    "test_faults.py",
    "test_persons.py",
}


def _is_opened(path: Path) -> bool:
    """Whether a module has databases of its own."""
    return path.name in OPENED if "engines" in path.parts else bool(DURABLE & set(path.parts))


@pytest.fixture(scope="module", autouse=True)
def _quick_databases(request):
    """Where the engines' databases are not what is tested, a process reads and writes its files through few of them, and
    does not make a new one in 25 ms for each table and each file.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not _is_opened(request.path):
            patch.setattr(parquet_writer, "duckdb", SimpleNamespace(connect=_connected, Error=duckdb.Error))
            patch.setattr(duckdb_engine, "_connect", _connected_engine)
        yield


#: Where tables are made with planted bugs, or their making is what is tested.
MADE = DURABLE | {"laws", "lab", "storage"}


@pytest.fixture(scope="module", autouse=True)
def _quick_tables(request, _quick_databases):
    """Elsewhere the same table of the same rows is made once: see `made_tables`."""
    with pytest.MonkeyPatch.context() as patch:
        if not MADE & set(request.path.parts):
            whole: list[int] = []
            made = remembering(duckdb_declared_table.declare, lambda: makers() != whole)
            patch.setattr(duckdb_declared_table, "declare", made)
            whole += makers()
        yield


@pytest.fixture(scope="session")
def _state_folders(tmp_path_factory):
    """One new path a test. (`mktemp` looks through all folders there are: half a minute for ten thousand tests.)"""
    parent = tmp_path_factory.mktemp("states")
    return (parent / str(number) for number in itertools.count())


@pytest.fixture(scope="session", autouse=True)
def _state_of_worlds(tmp_path_factory):
    """Worlds that a module shares are made before any test has its own folder; nobody's real one may hold their anchors.

    (It did: a later run whose folders had the same names found a ledger gone.)
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("worlds")))
        yield


@pytest.fixture(autouse=True)
def _state_folder(_state_folders, monkeypatch):
    folder = next(_state_folders)
    folder.mkdir()
    monkeypatch.setenv("DISCREET_STATE", str(folder))


@pytest.fixture
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder that the test looks into."""
    folder = tmp_path / "state"
    monkeypatch.setenv("DISCREET_STATE", str(folder))
    return folder


@pytest.fixture
def path(tmp_path: Path, state_folder: Path) -> Path:
    """Where a ledger may be made."""
    return tmp_path / "project" / ".discreet" / "ledger.db"
