"""A server that is told to end answers what it was asked, and takes nothing new."""

import socket
import threading
import time

import pytest

import discreet
from console.api.served import serving
from discreet.kernel.curator import Curator


def test_what_runs_is_answered_and_nothing_new_is_taken(tmp_path, monkeypatch):
    held, go, real = threading.Event(), threading.Event(), Curator.draw

    def draw(self, price, tables):
        held.set()
        assert go.wait(30)
        return real(self, price, tables)

    monkeypatch.setattr(Curator, "draw", draw)
    found = []
    with serving(tmp_path / "clinic") as served:
        remote = discreet.connect(served.url, served.token())
        asking = threading.Thread(
            target=lambda: found.append(remote.sql("select count(*) from patients").ask(epsilon="0.1"))
        )
        asking.start()
        assert held.wait(30)
        served.server.should_exit = True
        port = int(served.url.rpartition(":")[2])
        until = time.monotonic() + 20
        while not _refuses(port) and time.monotonic() < until:
            time.sleep(0.05)
        assert _refuses(port) and not found
        go.set()
        asking.join(30)
        assert found[0].id in served.charges and served.charges and len(served.charges) == 1
    project = discreet.open(tmp_path / "clinic")
    assert found[0].id in project.ledger.refresh().answers
    with pytest.raises(discreet.LedgerFault):
        served.house.handle.project.ledger.refresh()  # it was let go


def _refuses(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return True
    return False
