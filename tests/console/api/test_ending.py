"""A server that gets SIGTERM: who is being answered is answered, who waits is told so, nobody gets a 500, and it ends in order."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

import discreet
from console.house import PASSWORD, clinic
from discreet.console import server as server_module
from discreet.console.people.passwords import Passwords
from discreet.console.people.people import People


@pytest.fixture
def folder(tmp_path):
    made = clinic(tmp_path / "clinic")
    discreet.open(made).version("patients")
    return made


@pytest.fixture
def token(folder):
    people = People.of(folder, passwords=Passwords(memory_kib=64, passes=1))
    text, _ = people.tokens.make(people.add("ann", role="analyst", password=PASSWORD), label="end")
    people.close()
    return text


@contextmanager
def console(folder, *, drain_s, stop_s):
    here, begun, go = Path(__file__), folder.parent / "begun", folder.parent / "go"
    words = [str(folder), str(begun), str(go), str(drain_s), str(stop_s)]
    process = subprocess.Popen(
        [sys.executable, str(here.with_name("ending.py")), *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(here.parents[2])},
    )
    try:
        yield process, process.stdout.readline().strip(), begun, go
    finally:
        process.kill()
        process.wait(20)
        process.stdout.close()


def until(told, seconds=30):
    end = time.monotonic() + seconds
    while not told() and time.monotonic() < end:
        time.sleep(0.02)
    assert told()


class Asker(threading.Thread):
    """Asks one question, and keeps what it got."""

    def __init__(self, url, token, number):
        super().__init__(daemon=True)
        self.url, self.number, self.got = url, number, None
        self.headers = {"authorization": f"Bearer {token}", "idempotency-key": f"k{number}"}

    def run(self):
        body = {"sql": f"select count(*) from patients where age > {self.number}", "epsilon": "0.1"}
        self.got = httpx.post(f"{self.url}/api/v1/query", json=body, headers=self.headers, timeout=60)


@pytest.mark.parametrize(
    ("drain_s", "stop_s", "first"),
    [
        pytest.param(40, 10, 200, marks=pytest.mark.deep),  # ends by itself; in one process: test_drain
        (0.5, 0.5, 409),  # cannot be stopped in time: who asked is let go, and the same key tells later
    ],
)
def test_what_each_asker_gets(folder, token, drain_s, stop_s, first):
    with console(folder, drain_s=drain_s, stop_s=stop_s) as (process, url, begun, go):
        askers = [Asker(url, token, number) for number in range(3)]
        askers[0].start()
        until(begun.exists)
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=30) as looker:
            for asker in askers[1:]:
                asker.start()
            until(lambda: len(looker.get("/api/v1/jobs").json()["jobs"]) == 3)
        process.send_signal(signal.SIGTERM)
        for asker in askers[1:]:
            asker.join(20)
            assert asker.got.status_code == 429 and "shutting down" in asker.got.json()["error"], asker.got.text
            assert int(asker.got.headers["retry-after"]) >= 1
            assert "content-security-policy" in asker.got.headers
        if first == 200:
            go.touch()
        askers[0].join(40)
        assert askers[0].got.status_code == first, askers[0].got.text
        assert process.stdout.readline().strip() == "let go", "the ledger is let go, and not torn away"
        go.touch()
        assert process.wait(40) == 0
    state = discreet.open(folder).ledger.refresh()
    assert len(state.charges) == 1, "who waited was not charged"
    assert len(state.answers) == (first == 200)


def test_a_connection_that_says_nothing_is_closed(folder, monkeypatch):
    """Whoever holds thousands of them would else keep everybody out."""
    with served(folder, monkeypatch, head_s=0.5) as address:
        silent, slow = socket.create_connection(address), socket.create_connection(address)
        slow.sendall(b"GET /r HTTP/1.1\r\nhost: ")
        assert _ended(silent) and _ended(slow)
        with httpx.Client(base_url=f"http://{address[0]}:{address[1]}") as client:
            for _ in range(4):  # one that is used goes on: its time begins anew with every answer
                assert client.get("/r", timeout=20).status_code == 200
                time.sleep(0.3)


def test_one_address_has_so_many_connections(folder, monkeypatch):
    with served(folder, monkeypatch, each=5) as address:
        held = [socket.create_connection(address) for _ in range(5)]
        time.sleep(0.3)
        assert _ended(socket.create_connection(address)), "closed, with nothing said"
        for each in held:
            with each:
                each.settimeout(20)
                each.sendall(f"GET /r HTTP/1.1\r\nhost: 127.0.0.1:{address[1]}\r\nconnection: close\r\n\r\n".encode())
                assert each.recv(12) == b"HTTP/1.1 200"


def _ended(connection):
    """Whether the other side has closed it; nothing is sent."""
    with connection:
        connection.settimeout(20)
        try:
            return connection.recv(1) == b""
        except ConnectionResetError:
            return True


@contextmanager
def served(folder, monkeypatch, *, head_s=server_module.HEAD_S, each=server_module.CONNECTIONS_EACH):
    import uvicorn

    from discreet.console.app import make_app
    from discreet.console.app_state import open_state
    from discreet.console.settings import Settings

    monkeypatch.setattr(server_module, "HEAD_S", head_s)
    monkeypatch.setattr(server_module.LimitedConnection, "each", each)
    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()
    house, _ = open_state(folder, Settings(origin=f"http://127.0.0.1:{address[1]}"), log=folder.parent / "served.log")
    config = uvicorn.Config(
        make_app(house),
        log_config=None,
        log_level="error",
        access_log=False,
        ws="none",
        http=server_module.LimitedConnection,
    )
    server = server_module.ConsoleServer(config, drain=house.queries.drain)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        until(lambda: server.started)
        yield address
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
        house.close()
