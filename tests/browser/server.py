"""A collector that only pretends: it serves the pages and keeps what was posted, as a test wishes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import discreet
from discreet.surveys.collector.collector_headers import HEADERS
from discreet.surveys.protocols.randomizer import Randomizer

ROOT = Path(discreet.__file__).parent
PAGES = ROOT / "surveys" / "collector" / "pages"
CLIENT = ROOT / "surveys" / "device" / "client" / "discreet-local.js"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


class Pretender:
    """One survey, what the collector says next, and what it was sent."""

    def __init__(self, randomizer: Randomizer, **more: Any) -> None:
        self.survey: dict[str, Any] = {
            "version": 1,
            "survey": "drinks",
            "question": "Did you go out drinking over the weekend?",
            "randomizer": randomizer.parameters(),
            "minimum": 20,
            "closed": False,
            "token": False,
            **more,
        }
        self.results: dict[str, Any] = {"n": 7, "minimum": 20, "waiting": True, "closed": False}
        self.answer: tuple[int, dict[str, Any]] = (200, {"accepted": 1, "repeated": 0})
        self.posted: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.address = ""

    def get(self, path: str) -> tuple[int, str, bytes]:
        """Status, kind and body of a page or document."""
        documents = {"/surveys/drinks.json": self.survey, "/surveys/drinks/results.json": self.results}
        pages = {"/s/drinks": "respond.html", "/s/drinks/results": "results.html", "/s/other": "respond.html"}
        if path in documents:
            return 200, ".json", json.dumps(documents[path]).encode()
        if path in pages:
            return 200, ".html", (PAGES / pages[path]).read_bytes()
        if path == "/static/discreet-local.js":
            return 200, ".js", CLIENT.read_bytes()
        file = PAGES / path.removeprefix("/static/")
        if path.startswith("/static/") and file.is_file():
            return 200, file.suffix, file.read_bytes()
        return 404, ".json", json.dumps({"error": "There is no such survey."}).encode()


def handler(pretender: Pretender) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(*pretender.get(self.path))

        def do_POST(self) -> None:
            pretender.headers.append(dict(self.headers))
            pretender.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, body = pretender.answer
            self.reply(status, ".json", json.dumps(body).encode())

        def reply(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", KINDS[kind])
            for name, value in HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@contextmanager
def pretending(pretender: Pretender) -> Iterator[Pretender]:
    """The pretender, served on a free port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(pretender))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    pretender.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield pretender
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
