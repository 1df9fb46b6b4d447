"""The real server in a thread of the test, and a client that can be as rude as it likes."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from discreet.surveys.collector import http_server
from discreet.surveys.collector.app import make_collector_app


class Quiet(uvicorn.Server):
    """No handlers of signals: those belong to the main thread."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def served(store: Any, *, port: int = 0, **more: Any) -> Iterator[int]:
    """The port that the application answers at."""
    listening = http_server.bind_socket("127.0.0.1", port)
    config = uvicorn.Config(
        make_collector_app(store, **more), log_config=None, log_level="error", access_log=False, ws="none"
    )
    server = Quiet(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def ask(port: int, path: str, body: bytes | None = None, *, method: str | None = None, **headers: str):
    """Status, headers and body as JSON (or bytes) of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(
            method or ("GET" if body is None else "POST"),
            path,
            body,
            {name.replace("_", "-"): value for name, value in headers.items()},
        )
        answer = connection.getresponse()
        said = answer.read()
        told = json.loads(said) if answer.headers.get_content_type() == "application/json" else said
        return answer.status, answer.headers, told
    finally:
        connection.close()


def raw(port: int, *pieces: bytes, pause_s: float = 0.0) -> bytes:
    """Whatever comes back for these bytes until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(pause_s)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while piece := connection.recv(65536):
            found += piece
        return found
