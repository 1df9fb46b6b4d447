from __future__ import annotations

from pathlib import Path

import pytest

from discreet.ledger.filesystem import state_root


def test_where_the_state_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("DISCREET_STATE", raising=False)
    assert state_root() == Path("/home/ann/.local/state/discreet")
    monkeypatch.setenv("XDG_STATE_HOME", "/x/state")
    assert state_root() == Path("/x/state/discreet")
    monkeypatch.setenv("DISCREET_STATE", "/elsewhere")
    assert state_root() == Path("/elsewhere")
