"""A console behind a real server, in a thread of this process."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager

import uvicorn

from console.house import PASSWORD, clinic
from discreet.console.app import make_app
from discreet.console.app_state import open_state
from discreet.console.people.passwords import Passwords
from discreet.console.settings import Settings


class Served:
    """Where it is, and its house."""

    def __init__(self, url, house, server):
        self.url, self.house, self.server = url, house, server

    def token(self, name="ann", role="analyst"):
        people = self.house.people
        if people.roster.find(name) is None:
            people.add(name, role=role, password=PASSWORD)
        return people.tokens.make(people.roster.get(name), label="test")[0]

    @property
    def charges(self):
        return self.house.handle.project.ledger.refresh().charges


@contextmanager
def serving(folder, *, epsilon="100", **more):
    """A server over a fresh clinic, until the end."""
    if not (folder / "discreet.toml").exists():
        clinic(folder, epsilon=epsilon)
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    house, _ = open_state(folder, Settings(origin=url, **{"grid_ms": 5, **more}), log=folder.parent / "served.log")
    house.people.passwords = Passwords(memory_kib=64, passes=1)
    server = uvicorn.Server(
        uvicorn.Config(make_app(house), log_config=None, log_level="error", access_log=False, ws="none")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        until = time.monotonic() + 20
        while not server.started and time.monotonic() < until:
            time.sleep(0.01)
        yield Served(url, house, server)
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
        house.close()
