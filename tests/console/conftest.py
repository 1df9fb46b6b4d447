"""What several files of tests of the console want."""

import pytest


@pytest.fixture
def patient(monkeypatch):
    """A form waits for its work, however busy the machine is."""
    monkeypatch.setattr("discreet.console.jobs.job_queue.PATIENCE_S", 40.0)
