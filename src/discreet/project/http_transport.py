"""One request to a console's API and its answer, over HTTP from the standard library.

Guarantee: a token travels over TLS whose certificate was verified, or to this machine itself; never after a redirect.
Because: plain http is refused for every other host, and nothing here follows a redirect.

What was lost on its way is sent again. That is safe for what only reads, and for what carries an idempotency key.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import BudgetExceeded, DiscreetError, LedgerFault, QueryFailed, Refused, UsageError

#: An answer of more bytes than this is no answer.
_LONGEST = 1 << 29
#: What a proxy says when the server behind it is away for a moment.
_AWAY = (502, 503, 504)
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 10.0

_Lost = (OSError, http.client.HTTPException)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTransport:
    """Where a console is, and the token to come with. patience_s: how long a request is tried again."""

    url: str
    token: str = field(repr=False)
    patience_s: float = 300.0
    timeout_s: float = 90.0
    certificates: str | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        try:
            possible = parts.port is None or parts.port > 0
        except ValueError:
            possible = False
        if not possible:
            raise UsageError(
                "this is not the URL of a Discreet console: a port is 1 to 65535", hint="https://console.example.org"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.query:
            raise UsageError("this is not the URL of a Discreet console", hint="https://console.example.org")
        if parts.username is not None or parts.password is not None:
            raise UsageError("a console URL must not contain a password", hint="the token identifies you")
        if parts.scheme == "http" and not _is_here(parts.hostname):
            raise UsageError(
                f"the token would be sent to {parts.hostname} unencrypted", hint=f"https://{parts.hostname}"
            )
        if not self.token.isascii() or not self.token.isprintable() or " " in self.token or not self.token:
            raise UsageError("this is not a console token", hint="create one on the console's page /me")

    def send(self, method: str, path: str, body: Any = None, *, key: str | None = None, safe: bool = True) -> Any:
        """The data of the answer; an error where it was refused. `safe`: it may be sent more than once."""
        until, wait_s = time.monotonic() + self.patience_s, _FIRST_WAIT_S
        while True:
            try:
                status, headers, content = self._once(method, path, body, key)
            except ssl.SSLError as problem:
                raise UsageError(f"the TLS connection to the console cannot be trusted ({problem.reason})") from problem
            except _Lost as problem:
                if not safe or time.monotonic() + wait_s > until:
                    raise UsageError("the console cannot be reached", hint=_resume_hint(key)) from problem
            else:
                server_wait_s = _retry_wait_s(status, headers)
                if server_wait_s is not None:
                    wait_s = max(wait_s, server_wait_s)
                if server_wait_s is None or not safe or time.monotonic() + wait_s > until:
                    return _response_data(status, content, body)
            time.sleep(wait_s)
            wait_s = min(_LONGEST_WAIT_S, 2 * wait_s)

    def _once(self, method: str, path: str, body: Any, key: str | None) -> tuple[int, http.client.HTTPMessage, bytes]:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=self.certificates)
            connection = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=self.timeout_s, context=context
            )
        else:
            connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=self.timeout_s)
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
            with connection.getresponse() as answer:  # which holds the connection open until it is closed itself
                if answer.length is None and not answer.chunked:  # cut off in its head, it would seem whole
                    raise http.client.IncompleteRead(b"")
                declared_length = (
                    answer.length
                )  # cut off right after its head, http.client would call it whole, and empty
                content = answer.read(_LONGEST + 1)
                if len(content) > _LONGEST or not answer.isclosed() or declared_length not in (None, len(content)):
                    raise http.client.IncompleteRead(b"")
                return answer.status, answer.headers, content
        finally:
            connection.close()


def _resume_hint(key: str | None) -> str:
    """How to go on with what may have been charged already."""
    if key is None:
        return "nothing was charged by this request"
    return f"what was charged stays charged; the same query with key={key!r} continues it and is charged only once"


def _retry_wait_s(status: int, headers: http.client.HTTPMessage) -> float | None:
    """How long to wait at least before it is sent again; None where this is the answer."""
    retry_after = headers.get("Retry-After", "")
    if retry_after.isascii() and retry_after.isdigit():
        return min(_LONGEST_WAIT_S, float(retry_after[:6]))
    return 0.0 if status in _AWAY else None


def _response_data(status: int, content: bytes, body: Any) -> Any:
    try:
        data = json.loads(content)
    except ValueError:
        raise UsageError(f"that URL is not a Discreet console (it answered with status {status})") from None
    if 200 <= status < 300:
        return data
    if not isinstance(data, dict) or not isinstance(data.get("error"), str):
        raise UsageError(f"that URL is not a Discreet console (it answered with status {status})")
    raise error_from_data(data, sql=body.get("sql", "") if isinstance(body, dict) else "")


def error_from_data(data: dict[str, Any], *, sql: str) -> DiscreetError:
    """The error that was raised on the server, as the same class."""
    reason, hint = data["error"], str(data.get("hint") or "")
    match data.get("code"):
        case 3:
            place = {name: int(data.get(name) or 1) for name in ("line", "column", "width")}
            return Refused(reason, hint=hint, sql=sql, **place)
        case 4:
            return BudgetExceeded(
                reason, hint=hint, needed=data.get("needed") or {}, remaining=data.get("remaining") or {}
            )
        case 5:
            return LedgerFault(reason, hint=hint)
        case 6:
            failure = QueryFailed()
            failure.reason, failure.hint = reason, hint
            return failure
        case _:
            return UsageError(reason, hint=hint)


def _is_here(host: str) -> bool:
    """Whether a host is this machine, by a name or number that nobody can point elsewhere."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
