from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own."""
    folder = tmp_path / "state"
    monkeypatch.setenv("DISCREET_STATE", str(folder))
    return folder


@pytest.fixture
def path(tmp_path: Path, state_folder: Path) -> Path:
    """Where a ledger may be made."""
    return tmp_path / "project" / ".discreet" / "ledger.db"
