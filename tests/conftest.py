"""Every test keeps its ledgers' anchors in its own folder, and never in a user's."""

import pytest


@pytest.fixture(autouse=True)
def _state_folder(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
