"""Every test keeps its ledgers' anchors in its own folder, and never in a user's.

In the suite hypothesis takes the same examples every time: a landing must not hang on luck. `./do fuzz` draws new ones.
"""

import pytest
from hypothesis import settings

settings.register_profile("suite", derandomize=True, deadline=None)
settings.register_profile("fuzz", deadline=None, print_blob=True)


def pytest_configure(config):
    settings.load_profile("fuzz" if config.option.markexpr == "fuzz" else "suite")


@pytest.fixture(autouse=True)
def _state_folder(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
