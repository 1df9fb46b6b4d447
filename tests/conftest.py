"""Every test keeps its ledgers' anchors in its own folder, and never in a user's.

In the suite hypothesis takes the same examples every time: a landing must not hang on luck. `./do fuzz` draws new ones.
"""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("suite", derandomize=True, deadline=None)
settings.register_profile("fuzz", deadline=None, print_blob=True)


def pytest_configure(config):
    settings.load_profile("fuzz" if config.option.markexpr == "fuzz" else "suite")


@pytest.fixture(autouse=True)
def _state_folder(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))


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
