"""Forms that pay: what they lead to in the end, and what the ledger says was charged."""

import time


def charges(clinic):
    """All that was charged, in order."""
    return list(clinic.house.handle.project.ledger.refresh().charges.values())


def sent(browser, path, form):
    """Where a form leads in the end: its work is waited for."""
    answer = browser.post(path, form)
    assert answer.status_code == 303, answer.text[-1500:]
    to, until = answer.headers["location"], time.monotonic() + 40
    while "/underway/" in to and time.monotonic() < until:
        told = browser.get(f"{to}.json").json()
        assert told["state"] in ("open", "done"), told
        to = told["to"] or to
        time.sleep(0.05)
    return to
