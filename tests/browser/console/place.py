"""A served console, and hands that do what people do there without a browser: quicker, where only the page counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx

from console.api.served import Served, serving
from console.house import PASSWORD

#: Who has which role.
NAMES = {"owner": "olga", "analyst": "ann"}


class Place:
    """A served console: its address, its house, and cookies of people in it."""

    def __init__(self, served: Served) -> None:
        self.url, self.house = served.url, served.house

    def cookie(self, role: str) -> str:
        """A new session of somebody with a role."""
        people, name = self.house.people, NAMES[role]
        if people.roster.find(name) is None:
            people.add(name, role=role, password=PASSWORD)
        found = people.log_in(name, PASSWORD, address="127.0.0.1")
        assert found is not None
        return found

    @contextmanager
    def hand(self, role: str = "owner") -> Iterator[Hand]:
        """A person without a browser."""
        cookie = self.cookie(role)
        session = self.house.people.sessions.find(cookie)
        with httpx.Client(base_url=self.url, cookies={self.house.settings.cookie: cookie}, timeout=60) as client:
            yield Hand(client, csrf=session.csrf, origin=self.url)


class Hand:
    """Sends forms as pages do, and says where they led."""

    def __init__(self, client: httpx.Client, *, csrf: str, origin: str) -> None:
        self.client, self.form, self.headers = client, {"csrf": csrf}, {"origin": origin}

    def send(self, path: str, **fields: Any) -> str:
        """A form; where it led to."""
        found = self.client.post(path, data={**self.form, **fields}, headers=self.headers)
        assert found.status_code in (200, 303), (path, found.status_code, _words(found.text)[:600])
        return str(found.headers.get("location", path))

    def done(self, path: str, **fields: Any) -> str:
        """The same, of a work that may take a while: where its result stands."""
        to = self.send(path, **fields)
        while "/underway/" in to:
            told = self.client.get(f"{to}.json").json()
            assert told["state"] in ("open", "done"), told
            to = told["to"] if told["state"] == "done" else to
        return to

    def ask(self, sql: str, *, epsilon: str = "0.5", **fields: Any) -> str:
        """A question; the release that answers it."""
        to = self.send("/ask", sql=sql, by="epsilon", epsilon=epsilon, confidence="0.95", act="ask", **fields)
        assert to.startswith("/a/"), to
        return to.removeprefix("/a/").partition("?")[0]


def _words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@contextmanager
def placed(folder: Path, **more: Any) -> Iterator[Place]:
    """A console over a fresh clinic, or over the project that the folder has, until the end."""
    with serving(folder, **more) as served:
        yield Place(served)
