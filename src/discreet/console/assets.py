"""The console's own style sheets, scripts and pictures: cached for ever under an address that says what they contain.

A page names `/assets/DIGEST/style.css`, where the digest is of all the files together: scripts that import each other
stay together, and an upgrade has other addresses. `/assets/style.css` is the same file, never cached.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from discreet.console.guard import check_host
from discreet.console.responses import RequestDenied
from discreet.console.settings import Settings

FOLDER = Path(__file__).parent / "static"
#: A year, as long as browsers keep anything.
FOR_EVER = "public, max-age=31536000, immutable"

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@cache
def assets_digest() -> str:
    """Of all files, with their names."""
    digest = hashlib.sha256()
    for path in sorted(FOLDER.iterdir()):
        content = path.read_bytes()
        digest.update(f"{path.name}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def with_digest(page: str) -> str:
    """A page of HTML that names the files by what they contain.

    Guarantee: nothing but an attribute of our own templates changes.
    Because: a quotation mark in any text that came from elsewhere is escaped.
    """
    return page.replace('="/assets/', f'="/assets/{assets_digest()}/')


class AssetFiles:
    """The files, behind the same check of the host as pages: a name that somebody pointed here has none of them."""

    def __init__(self, settings: Settings) -> None:
        self._files = StaticFiles(directory=FOLDER)
        self._settings = settings

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            check_host(Headers(scope=scope), self._settings)
        except RequestDenied as denied:
            raise HTTPException(denied.status) from None
        root, path = scope.get("root_path", ""), scope["path"]
        prefix = f"{root}/{assets_digest()}"
        named = path.startswith(f"{prefix}/")

        async def send_cached(message: Message) -> None:
            if named and message["type"] == "http.response.start" and message["status"] in (200, 304):
                MutableHeaders(scope=message)["cache-control"] = FOR_EVER
            await send(message)

        inner = {**scope, "root_path": prefix} if named else scope
        await self._files(inner, receive, send_cached)
