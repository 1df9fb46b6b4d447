"""Headers on every answer: nothing runs, loads or is framed that is not the console's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from discreet.console.guard import check_host
from discreet.console.responses import RequestDenied
from discreet.console.settings import Settings

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
#: Browsers that came by TLS keep to it.
STRICT_TRANSPORT = ("strict-transport-security", "max-age=31536000")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class ConsoleSecurityHeaders:
    """The outermost layer. What an inner layer says of the same header stands; what it raises is one sentence."""

    def __init__(self, app: Any, *, secure: bool) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        if secure:
            self._headers.append((STRICT_TRANSPORT[0].encode(), STRICT_TRANSPORT[1].encode()))

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                present_names = {name.lower() for name, _ in message.get("headers", [])}
                more = [(name, value) for name, value in self._headers if name not in present_names]
                message = {**message, "headers": [*message.get("headers", []), *more]}
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception:
            if begun:
                raise
            await send_with_headers(
                {"type": "http.response.start", "status": 500, "headers": [(b"content-type", b"text/plain")]}
            )
            await send_with_headers({"type": "http.response.body", "body": b"Something went wrong here.\n"})


class HostCheckedFiles:
    """Files behind the same check of the host as pages: a name that somebody else pointed here has none of them.

    They hold nothing of anybody: a browser may keep them, and asks each time whether they have changed.
    """

    def __init__(self, app: Any, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            check_host(Headers(scope=scope), self._settings)
        except RequestDenied as denied:
            raise HTTPException(denied.status) from None

        async def send_to_keep(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), (b"cache-control", b"no-cache")]}
            await send(message)

        await self._app(scope, receive, send_to_keep)
