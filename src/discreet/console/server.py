"""The server's own process: it drains when it is told to end, and lets nobody hold a connection for nothing."""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Files that the process has open for other things.
_OWN_FILES = 200


def _max_connections() -> int:
    """Connections at once: enough for people in browsers, and fewer than the system lets this process open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 500 if soft == resource.RLIM_INFINITY else max(20, min(500, soft - _OWN_FILES))


CONNECTIONS = _max_connections()
#: Connections from one address; more are closed when they come, as are those beyond CONNECTIONS.
CONNECTIONS_EACH = 200
#: A request's head must have come so long after its connection was made, or after the last answer on it.
HEAD_S = 15.0


class ConsoleServer(uvicorn.Server):
    """Drains what runs as soon as it is told to end, and not when all who wait for it have gone."""

    def __init__(
        self, config: uvicorn.Config, *, drain: Callable[[], None], ready: Callable[[], None] = lambda: None
    ) -> None:
        """`ready`: called once, when requests are answered."""
        super().__init__(config)
        self._drain = drain
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and only then say so."""
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no new connection; drain while those that are there are answered."""
        threading.Thread(target=self._drain, name="discreet-drain").start()  # all the loop's own threads may wait
        await super().shutdown(sockets=sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A polite end is an end in order: the ledger is let go, and the process says that all is well."""
        if sig == signal.SIGTERM:
            self.should_exit = True
        else:
            super().handle_exit(sig, frame)


class LimitedConnection(H11Protocol):
    """One connection. It is closed where it says nothing, and at once where there are too many already.

    Closed and not answered: an answer would have to wait for a request, and whoever opens thousands sends none.
    """

    #: Behind a proxy every connection is the proxy's.
    each = CONNECTIONS_EACH

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS or self._count_same_address() > self.each:
            transport.abort()
        else:
            self._start_head_timer()

    def _count_same_address(self) -> int:
        """How many there are of the same address; nobody has many where there are few."""
        if self.client is None or len(self.connections) <= self.each:
            return 0
        own = [other.client for other in self.connections if isinstance(other, LimitedConnection)]
        return sum(client is not None and client[0] == self.client[0] for client in own)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._start_head_timer()

    def _start_head_timer(self) -> None:
        self.loop.call_later(HEAD_S, self._close_if_idle, self.cycle)

    def _close_if_idle(self, before: object) -> None:
        """Where no request began since the time was set, and none is being answered."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if self.cycle is before and is_idle and not self.transport.is_closing():
            self.transport.abort()


class ProxyConnection(LimitedConnection):
    """A connection of the proxy in front, which counts its own."""

    each = CONNECTIONS
