"""`discreet serve` as a process: it says that it serves when it does, and serves a folder alone."""

import gc
import json
import signal
import socket
import subprocess
import sys
import urllib.request
import warnings

import pytest
import uvicorn

from console.alone import alone
from console.house import clinic
from discreet.cli.main import call
from discreet.console.app_state import LOCK_NAME
from discreet.console.server import ConsoleServer


def started(folder):
    """A server of its own, on any port that is free."""
    words = ["serve", "--project", str(folder), "--port", "0", "--json"]
    command = [sys.executable, "-c", f"import sys; from discreet.cli.main import call; sys.exit(call({words!r}))"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(server):
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=40)
    return server.returncode


@pytest.fixture
def folder(tmp_path):
    return clinic(tmp_path / "clinic", rows=10)


def test_one_console_serves_a_folder_and_a_second_is_told_where(folder, capsys):
    first = started(folder)
    try:
        told = json.loads(first.stdout.readline())
        # What it says is true when it says it.
        with urllib.request.urlopen(f"{told['address']}/healthz", timeout=40) as found:
            assert json.load(found) == {"alive": True}
        with warnings.catch_warnings():  # a process that is refused ends, and its socket with it
            warnings.simplefilter("ignore", ResourceWarning)
            assert call(["serve", "--project", str(folder), "--port", "0", "--json"]) == 2
            gc.collect()
        said, complaints = capsys.readouterr()
        assert told["address"] in said + complaints
        assert "setup" not in said
        with urllib.request.urlopen(told["setup"], timeout=40) as found:  # the first one's link holds
            assert b'name="password"' in found.read()
        assert (folder / ".discreet" / LOCK_NAME).stat().st_mode & 0o077 == 0
    finally:
        code = ended(first)
    assert code == 0


@pytest.mark.deep
def test_a_console_that_was_killed_holds_nothing(folder):
    first = started(folder)
    try:
        assert json.loads(first.stdout.readline())["address"]
    finally:
        first.kill()
        first.communicate()
    second = started(folder)
    try:
        assert json.loads(second.stdout.readline())["address"]
    finally:
        assert ended(second) == 0


def test_it_says_that_it_serves_when_the_application_answers():
    """Not when it listens: whoever opens the link at once would look at a page that does not come."""
    seen, loaded = [], []

    async def app(scope, receive, send):
        assert scope["type"] == "lifespan" and (await receive())["type"] == "lifespan.startup"
        loaded.append("yes")
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    def ready():
        seen.append((server.started, list(loaded)))
        server.should_exit = True

    server = ConsoleServer(uvicorn.Config(app, log_config=None, lifespan="on"), drain=lambda: None, ready=ready)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        alone(server.serve(sockets=[listening]))
    assert seen == [(True, ["yes"])]


def test_an_application_that_does_not_start_is_not_said_to_serve():
    async def app(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.failed"})

    server = ConsoleServer(uvicorn.Config(app, log_config=None, lifespan="on"), drain=lambda: None, ready=pytest.fail)
    with socket.create_server(("127.0.0.1", 0)) as listening, pytest.raises(SystemExit):
        alone(server.serve(sockets=[listening]))
