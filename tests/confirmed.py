"""`@pytest.mark.noisy`: a test whose verdict depends on drawn noise fails only if it fails three times in a row.

Each attempt draws anew, shared fixtures included, so a test that a correct build fails once in a hundred runs fails a
landing once in a million. A wrong build fails all three. Only a failed assertion is tried again: an exception fails at
once. The end of the run names every test that needed another attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from _pytest.runner import runtestprotocol

#: So often must a noisy test fail.
ATTEMPTS = 3

#: The property of a report that tells the other side of xdist.
AGAIN = "attempts"


def run_noisy(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a noisy test up to three times and log the last attempt. False: it is not noisy."""
    if item.get_closest_marker("noisy") is None:
        return False
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(1, ATTEMPTS + 1):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if attempt == ATTEMPTS or not any(map(is_failed_assertion, reports)):
            break
        item.session._setupstate.teardown_exact(None)  # what the file shares is drawn anew, too
    for report in reports:
        if attempt > 1 and report.when == "call":
            report.user_properties.append((AGAIN, attempt))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def is_failed_assertion(report: pytest.TestReport) -> bool:
    crash = getattr(report.longrepr, "reprcrash", None)
    return (
        report.failed and report.when == "call" and crash is not None and crash.message.startswith(("assert", "Assert"))
    )


def confirmed_lines(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """One line for each test that passed, but not at once."""
    for report in reports:
        attempts = dict(report.user_properties).get(AGAIN)
        if attempts is not None:
            yield f"{report.nodeid} passed at attempt {attempts} of {ATTEMPTS}"
