"""Throttling of logins: failures of a name and of an address, counted in memory only.

Names and addresses are kept as a hash under a key that dies with the process: a name may be a password that was typed
into the wrong field, and an address is somebody's.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
import secrets
import threading
from dataclasses import dataclass

from discreet.console.people.clock import MINUTE_S, Clock
from discreet.console.people.texts import folded
from discreet.errors import DiscreetError

WINDOW_S = 15 * MINUTE_S
OF_A_NAME = 5
OF_AN_ADDRESS = 50
#: Names, and addresses, that are remembered at most.
REMEMBERED = 10_000


class Throttled(DiscreetError):
    """Too many tries. `wait_s`: after how many seconds the next one is heard."""

    exit_code = 3

    def __init__(self, reason: str, *, wait_s: int) -> None:
        super().__init__(reason, hint=f"wait {_spelt(wait_s)} and try again")
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """A try that was let in and counts as a failure until it is forgiven."""

    name: bytes
    address: bytes
    time: float


class Throttle:
    """Counts tries before they are checked, so that many at once are no more than many one after another."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._names: dict[bytes, list[float]] = {}
        self._addresses: dict[bytes, list[float]] = {}

    def address(self, address: str) -> None:
        """Refuse an address that failed too often. Says nothing about any name, so it needs no hash to hide it."""
        with self._lock:
            self._refuse(self._addresses, self._hash(network(address)), OF_AN_ADDRESS)

    def enter(self, name: str, address: str) -> Try:
        """Count a try; refuse it where the name or the address failed too often."""
        tried = Try(name=self._hash(folded(name)), address=self._hash(network(address)), time=self._clock())
        with self._lock:
            self._refuse(self._addresses, tried.address, OF_AN_ADDRESS)
            self._add(self._addresses, tried.address, tried.time)  # counted even where the name is throttled
            self._refuse(self._names, tried.name, OF_A_NAME)
            self._add(self._names, tried.name, tried.time)
        return tried

    def forgive(self, tried: Try) -> None:
        """It was no failure: forget the name's, and this one of the address, which may be many people's."""
        with self._lock:
            self._names.pop(tried.name, None)
            times = self._addresses.get(tried.address, [])
            if tried.time in times:
                times.remove(tried.time)

    def _refuse(self, kept: dict[bytes, list[float]], who: bytes, most: int) -> None:
        now = self._clock()
        times = [time for time in kept.get(who, []) if time > now - WINDOW_S]
        if len(times) >= most:
            wait_s = max(1, math.ceil(times[-most] + WINDOW_S - now))
            raise Throttled("there were too many tries", wait_s=wait_s)

    def _add(self, kept: dict[bytes, list[float]], who: bytes, now: float) -> None:
        times = [time for time in kept.pop(who, []) if time > now - WINDOW_S]
        if len(kept) >= REMEMBERED:
            _make_room(kept, now)
        kept[who] = [*times, now]

    def _hash(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=16).digest()


def network(address: str) -> str:
    """Whom an address stands for: itself, or for IPv6 its network, for one house has all of those.

    >>> network("2001:db8::1") == network("2001:db8::ffff:2"), network("192.0.2.1")
    (True, '192.0.2.1')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((int(found), 64), strict=False))
    return str(found)


def _make_room(kept: dict[bytes, list[float]], now: float) -> None:
    """Forget what is over; else who failed least: a flood of names that failed once pushes out none under attack."""
    for who in [who for who, times in kept.items() if times[-1:] < [now - WINDOW_S]]:
        del kept[who]
    if len(kept) >= REMEMBERED:
        del kept[min(kept, key=lambda who: (len(kept[who]), kept[who]))]


def _spelt(seconds: int) -> str:
    minutes = math.ceil(seconds / MINUTE_S)
    return f"{seconds} seconds" if seconds < MINUTE_S else f"{minutes} minute{'s' * (minutes > 1)}"
