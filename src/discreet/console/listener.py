"""Serving the console from this process, until it is stopped."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.console.jobs.job_runner import STOP_S
from discreet.console.jobs.query_queue import DRAIN_S
from discreet.console.settings import Settings
from discreet.errors import Flag, Message, UsageError
from discreet.surveys.collector.http_server import bind_socket, url_of

if TYPE_CHECKING:
    from discreet.console.app_state import AppState

#: After a signal to end, so long until what is still not answered is cut off: longer than draining takes.
GRACE_S = round(DRAIN_S + STOP_S) + 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Where the console listens, and by what TLS."""

    listening: socket.socket
    certificate: Path | None = None
    key: Path | None = None

    @property
    def address(self) -> str:
        """Where a browser on this machine finds it."""
        url = url_of(self.listening)
        return url if self.certificate is None else url.replace("http://", "https://", 1)


def open_listener(host: str, port: int, *, certificate: Path | None, key: Path | None, behind_proxy: bool) -> Listener:
    """Listen there. Beyond this machine only by TLS, ours or that of a proxy in front."""
    if (certificate is None) != (key is None):
        raise UsageError(
            "TLS needs both a certificate and its key", hint=Message(Flag("cert", "FILE"), " ", Flag("key", "FILE"))
        )
    for file in (certificate, key):
        if file is not None and not file.is_file():
            raise UsageError(f"there is no file {str(file)[-80:]!r}")
    if certificate is not None and behind_proxy:
        raise UsageError(
            "TLS ends either here or at the proxy, not at both", hint=Message("leave out ", Flag("behind-proxy"))
        )
    if certificate is not None and key is not None:
        _check_tls(certificate, key)
    listening = bind_socket(host, port)
    if certificate is None and not behind_proxy and not _is_loopback(listening):
        listening.close()
        raise UsageError(
            "without TLS, passwords and answers would cross the network unencrypted",
            hint=Message(
                Flag("cert", "FILE"),
                " ",
                Flag("key", "FILE"),
                " for TLS, ",
                Flag("behind-proxy", True),
                " if a proxy in front ends TLS, or ",
                Flag("host", "127.0.0.1"),
            ),
        )
    return Listener(listening=listening, certificate=certificate, key=key)


def _check_tls(certificate: Path, key: Path) -> None:
    """Refuse files that no connection could be made with, before anything is said to be served."""
    try:
        # A key under a password would ask for it at the terminal, where a service has nobody.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "reason", None) or getattr(problem, "strerror", None) or "it cannot be read"
        raise UsageError(
            f"TLS does not work with this certificate and key ({str(reason).lower().replace('_', ' ')})",
            hint="use PEM files; the key must belong to the certificate and have no password",
        ) from None


def _is_loopback(listening: socket.socket) -> bool:
    return ipaddress.ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback


def origin_of(given_origin: str | None, listener: Listener, *, behind_proxy: bool) -> str:
    """Where browsers find it: as told, else where it listens."""
    if given_origin is not None:
        return given_origin.rstrip("/")
    if behind_proxy:
        raise UsageError(
            Message(
                Flag("behind-proxy"), " needs the URL that browsers use, because forms from other origins are refused"
            ),
            hint=Message(Flag("origin", "https://console.example.org")),
        )
    if ipaddress.ip_address(listener.listening.getsockname()[0].partition("%")[0]).is_unspecified:
        raise UsageError(
            "the server listens on all addresses and needs the URL that browsers use",
            hint=Message(Flag("origin", "https://console.example.org:8000")),
        )
    return listener.address


def run_server(state: AppState, listener: Listener, *, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until a signal ends it: no new visits, questions that run may end, then the ledger is let go.

    `ready`: called when it answers.
    """
    import uvicorn

    from discreet.console.app import make_app
    from discreet.console.server import ConsoleServer, LimitedConnection, ProxyConnection

    config = uvicorn.Config(
        make_app(state),
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        http=ProxyConnection if state.settings.behind_proxy else LimitedConnection,
        timeout_graceful_shutdown=GRACE_S,
        ws="none",
        ssl_certfile=None if listener.certificate is None else str(listener.certificate),
        ssl_keyfile=None if listener.key is None else str(listener.key),
    )
    try:
        ConsoleServer(config, drain=state.queries.drain, ready=ready).run(sockets=[listener.listening])
    finally:
        state.close()


def settings_of(origin: str, *, behind_proxy: bool, **limits: float | tuple[Path, ...] | None) -> Settings:
    """Settings, with the limits that were told."""
    return Settings(origin=origin, behind_proxy=behind_proxy, **{k: v for k, v in limits.items() if v is not None})  # type: ignore[arg-type]
