"""The outermost layer: strict headers on every answer, and bodies that nobody wanted to read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from discreet.surveys.collector.intake import LONGEST_BODY

#: Of a body that is too long, so much is thrown away before the connection is cut, so that its sender hears why.
MOST_DISCARDED_BYTES = 16 * LONGEST_BODY
#: And no longer than this.
DISCARD_S = 5.0

HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class CollectorHeaders:
    """Headers on every answer; and a body that nobody read is thrown away before the connection ends.

    Without the latter a client that is still sending would see a broken connection, and not the sentence.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        read_all = scope["method"] in ("GET", "HEAD")
        last: Message | None = None

        async def receiving() -> Message:
            nonlocal read_all
            message = await receive()
            read_all = read_all or message["type"] == "http.disconnect" or not message.get("more_body", False)
            return message

        async def sending(message: Message) -> None:
            nonlocal last
            if message["type"] == "http.response.start":
                end = [] if read_all else [(b"connection", b"close")]  # else the server would read on for ever
                message = {**message, "headers": [*_RAW_HEADERS, *end, *message.get("headers", [])]}
            elif message["type"] == "http.response.body" and not message.get("more_body", False) and not read_all:
                last = {**message, "body": b""}
                message = {**message, "more_body": True}
            await send(message)

        await self._app(scope, receiving, sending)
        if last is not None:
            if not read_all:
                await _discard_body(receiving, lambda: read_all)
            await send(last)


async def _discard_body(receive: Receive, ended: Callable[[], bool]) -> None:
    """Read the rest of a body and forget it."""
    size = 0
    try:
        async with asyncio.timeout(DISCARD_S):
            while not ended() and size <= MOST_DISCARDED_BYTES:
                size += len((await receive()).get("body", b""))
    except TimeoutError:
        return
