"""Serving a store over HTTP from this process, until it is stopped."""

from __future__ import annotations

import socket

from discreet.errors import Flag, Message, UsageError
from discreet.surveys.collector.survey_store import SurveyStore

#: Connections at once; more are told to come back.
CONNECTIONS = 5_000
_BACKLOG = 1_024


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket that listens there, or one sentence."""
    if not 0 <= port < 65_536:
        raise UsageError(f"A port must be 0 to 65535, not {port}.")
    try:
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UsageError(f"This machine has no address {host[:60]!r}.") from None
    # The protocol is spelt out: asyncio sends small answers at once (TCP_NODELAY) only where it sees TCP here.
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a restart need not wait for the old one's end
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as problem:
        listening.close()
        raise UsageError(
            f"Port {port} of {host[:60]} cannot be used: {(problem.strerror or 'refused').lower()}.",
            hint=Message(Flag("port", 8001), ", or ", Flag("port", 0), " for any free port"),
        ) from None
    return listening


def url_of(listening: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve_collector(store: SurveyStore, listening: socket.socket, *, rate: float | None = None) -> None:
    """Serve until a signal ends it; what was acknowledged is stored, and what waits is stored before it ends."""
    import uvicorn

    from discreet.surveys.collector.app import make_collector_app

    config = uvicorn.Config(
        make_collector_app(store, rate=rate),
        log_config=None,
        log_level="error",
        access_log=False,  # nobody's address is written down
        proxy_headers=False,  # and nobody's is believed that a client says
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=10,
        ws="none",
    )
    uvicorn.Server(config).run(sockets=[listening])
