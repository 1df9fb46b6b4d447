"""Every test keeps its ledgers' anchors in its own folder, and never in a user's.

In the suite hypothesis takes the same examples every time: a landing must not hang on luck. `./do fuzz` draws new ones.
"""

import functools
import itertools
import os
import sys
from pathlib import Path

import pytest
import typer.main
from hypothesis import settings

settings.register_profile("suite", derandomize=True, deadline=None)
settings.register_profile("fuzz", deadline=None, print_blob=True)


def pytest_configure(config):
    settings.load_profile("fuzz" if config.option.markexpr == "fuzz" else "suite")


# A process builds its commands once, in about 80 ms, and nothing that a call does changes them. The suite makes
# thousands of calls in one process; those that start processes of their own build theirs as everybody's do.
typer.main.get_command = functools.cache(typer.main.get_command)

# As the command line does: a second thread of the linear algebra only takes the other worker's processor.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Asserts are rewritten and modules compiled once, and not by every worker and process of every run.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


#: Where durability is tested, or decided about by its own conftest.
DURABLE = {"ledger", "crash", "collect", "engines"}


@pytest.fixture(scope="module", autouse=True)
def _quick_files(request):
    """Elsewhere nobody pulls the plug: about twenty waits for the disk a project are left out. (SQLite's own stay.)"""
    with pytest.MonkeyPatch.context() as patch:
        if not DURABLE & set(request.path.parts):
            patch.setattr(os, "fsync", lambda handle: None)
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
