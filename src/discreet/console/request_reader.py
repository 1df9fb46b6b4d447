"""What a request says: its address, its body, its form. Bounded in time and in length, before a handler sees it."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from discreet.console import uploads
from discreet.console.responses import RequestDenied
from discreet.console.routes import Route
from discreet.console.settings import Settings
from discreet.console.visitor import Visitor

#: A body is here in so long, or the one who sends it is not served.
BODY_S = 20.0
#: Of nobody, whose forms are a name and a password: they must not fill the memory.
LONGEST_OF_NOBODY = 1 << 16
MOST_FIELDS = 1_000
#: A file is here in so long.
UPLOAD_S = 3600.0
#: So many bytes of it are written at once.
_PIECE = 1 << 20

#: An address as some proxies write it, with the port.
_WITH_PORT = re.compile(r"\[([^\]]+)\](?::\d+)?|([^:]+):\d+")


def client_address(request: Request, settings: Settings) -> str:
    """Where a visit is from: a client's own word counts nothing, a proxy's last one does.

    Behind a proxy that says nothing all people would be one to the throttle, and one could lock out all: refused.
    """
    if not settings.behind_proxy:
        return request.client.host if request.client else ""
    forwarded = request.headers.getlist("x-forwarded-for")
    last = forwarded[-1].rpartition(",")[2].strip() if forwarded else ""
    with_port = _WITH_PORT.fullmatch(last)
    last = last if with_port is None else with_port[1] or with_port[2]
    try:
        return str(ipaddress.ip_address(last))
    except ValueError:
        raise RequestDenied("The proxy must send the client's address in X-Forwarded-For.", status=400) from None


async def read_body(request: Request, settings: Settings, visitor: Visitor) -> bytes:
    """All of it, where it comes in time and is not too long."""
    longest = settings.longest_body
    if visitor.role == "public":
        longest = min(longest, LONGEST_OF_NOBODY)
    content = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for piece in request.stream():
                content += piece
                if len(content) > longest:
                    raise RequestDenied(f"The request is too long: at most {longest:,} bytes are allowed.", status=413)
    except TimeoutError:
        raise RequestDenied("The request took too long to arrive.", status=408) from None
    return bytes(content)


async def receive_file(request: Request, settings: Settings, folder: Path) -> Path:
    """Store a body as a file while it comes, in pieces; whoever stops sending, or sends too much, leaves nothing."""
    most = settings.largest_upload
    too_large = RequestDenied(
        f"The file is too large: at most {most / 1e6:,.0f} MB can be uploaded.",
        status=413,
        hint="put the file on the server's machine and give its path, or start the server with a larger limit",
    )
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdecimal() and (len(length) > 18 or int(length) > most):
        raise too_large
    path = await asyncio.to_thread(uploads.new_upload, folder)
    try:
        with path.open("wb") as stream:
            size, piece = 0, bytearray()
            pieces = request.stream().__aiter__()
            async with asyncio.timeout(UPLOAD_S):
                while True:
                    async with asyncio.timeout(BODY_S):
                        part = await anext(pieces, None)
                    if part is not None:
                        piece += part
                        size += len(part)
                    if size > most:
                        raise too_large
                    if part is None or len(piece) >= _PIECE:
                        await asyncio.to_thread(stream.write, bytes(piece))
                        piece.clear()
                    if part is None:
                        return path
    except BaseException as problem:
        path.unlink(missing_ok=True)
        if isinstance(problem, TimeoutError):
            raise RequestDenied("The file took too long to arrive.", status=408) from None
        if isinstance(problem, OSError):
            raise RequestDenied(f"The file could not be stored: {problem.strerror}.", status=409) from None
        raise


def parse_form(kind: str, content: bytes, *, most_fields: int = MOST_FIELDS) -> dict[str, tuple[str, ...]]:
    """A form's texts, as a browser sends them."""
    if content and kind.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise RequestDenied("The request is not a form of this console.", status=415)
    try:
        return parse_texts(content.decode("utf-8"), most_fields=most_fields)
    except UnicodeDecodeError:
        raise RequestDenied("The form is not in UTF-8.", status=400) from None


def parse_texts(query: str, *, most_fields: int = MOST_FIELDS) -> dict[str, tuple[str, ...]]:
    """Texts under their names, each as often as it came."""
    texts_by_name: dict[str, tuple[str, ...]] = {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=most_fields, errors="strict")
    except ValueError:
        raise RequestDenied("The form cannot be read.", status=400) from None
    for name, value in pairs:
        texts_by_name[name] = (*texts_by_name.get(name, ()), value)
    return texts_by_name


def parse_model(route: Route, content: bytes) -> Any:
    """The body of a request to the API, as its model says; a wrong one is told by its places, not its values."""
    if route.body is None:
        return None
    from pydantic import ValidationError

    try:
        return route.body.model_validate_json(content)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_context=False, include_input=False)
        sentence = "; ".join(f"{'.'.join(map(str, each['loc'])) or 'the body'}: {each['msg']}" for each in errors[:5])
        raise RequestDenied(sentence, status=422) from None
