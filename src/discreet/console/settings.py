"""What the one who starts the console says. Valid from birth."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import Flag, Message, UsageError

_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]")
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the console is reached, and its limits.

    origin: where browsers find it, as https://host:port; forms that come from elsewhere are refused.
    behind_proxy: something in front of it ends TLS, and says whom a request is from.
    grid_ms: answers leave when the time since their request came is a multiple of this.
    largest_upload: bytes of a file that an owner may upload.
    source_folders: beside the project's own folder, where owners may name files for their tables.
    """

    origin: str
    behind_proxy: bool = False
    grid_ms: int = 250
    deadline_s: float = 60.0
    at_once: int = 2
    waiting: int = 64
    each: int = 4
    most_rows: int = 100_000
    longest_body: int = 1 << 20
    largest_upload: int = 200_000_000
    source_folders: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        scheme, host, port = self._parts()
        plain = f"{scheme}://{host}"
        is_address = (
            scheme in _DEFAULT_PORTS and _HOST.fullmatch(host) and str(int(port)) == port and 0 < int(port) < 65_536
        )
        if not is_address or self.origin not in (plain, f"{plain}:{port}"):
            raise UsageError(
                f"{self.origin[:80]!r} is not a URL that a browser could open",
                hint=Message(
                    Flag("origin", "https://console.example.org"),
                    ", with a port if it is not the default, and without a path",
                ),
            )
        if not self.secure and not self.loopback:
            raise UsageError(
                f"passwords and answers would travel to {self.origin[:80]} unencrypted",
                hint=Message(Flag("origin", f"https://{host[:60]}"), "; plain http is only for this machine"),
            )
        limits = (self.grid_ms, self.deadline_s, self.at_once, self.each, self.most_rows)
        if min(*limits, self.longest_body, self.largest_upload) <= 0 or self.waiting < 0:
            raise UsageError("the limits of the console must be positive")

    def _parts(self) -> tuple[str, str, str]:
        """Scheme, host and port of the origin; the usual port where none is told."""
        scheme, _, place = self.origin.partition("://")
        with_port = re.fullmatch(r"(.*):([0-9]{1,5})", place)
        return (
            (scheme, place, _DEFAULT_PORTS.get(scheme, ""))
            if with_port is None
            else (scheme, with_port[1], with_port[2])
        )

    @property
    def secure(self) -> bool:
        """Whether browsers reach it by TLS, so that cookies travel by nothing else."""
        return self.origin.startswith("https://")

    @property
    def loopback(self) -> bool:
        """Whether browsers reach it on this machine alone."""
        host = self._parts()[1].lower().strip("[]")
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def cookie(self) -> str:
        """The name of the cookie that holds a session's secret.

        The prefix lets no other site, and no plain connection, set it. Cookies do not tell ports apart, so on this
        machine, where there may be several consoles, the name does.
        """
        name = "__Host-discreet" if self.secure else "discreet"
        return f"{name}-{self._parts()[2]}" if self.loopback else name

    @property
    def browser_cookie(self) -> str:
        """The name of the cookie by which a browser is known at the next login."""
        return f"{self.cookie}-known"

    @property
    def hosts(self) -> frozenset[str]:
        """What a request may name as its host. Anything else is a name that somebody else pointed here.

        >>> sorted(Settings(origin="https://a.example:443").hosts), len(Settings(origin="http://localhost:8000").hosts)
        (['a.example', 'a.example:443'], 3)
        """
        scheme, host, port = self._parts()
        names = {host.lower(), *(_LOOPBACK if self.loopback else ())}
        names_with_port = {f"{name}:{port}" for name in names}
        # Browsers leave out the port that is usual for the scheme.
        return frozenset(names_with_port | (names if port == _DEFAULT_PORTS[scheme] else set()))

    @property
    def origins(self) -> frozenset[str]:
        """Where a form may come from: itself, by any name that it has."""
        scheme = self.origin.partition("://")[0]
        return frozenset(f"{scheme}://{host}" for host in self.hosts)
