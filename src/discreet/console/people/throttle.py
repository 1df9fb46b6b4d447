"""Throttling of logins: wrong passwords are counted in memory, so that guessing is slow and nobody is locked out.

    a name from one address   hard: at most 5 in 15 minutes, then refused
    an address                hard: at most 50 in 15 minutes, then refused
    a known browser           hard: at most 5 in 15 minutes, then refused; nothing else slows it down
    a name from anywhere      soft: from the sixth on the answer is delayed, by 20 seconds at most, never refused
                              unless 50 tries for the name are waiting at that moment

Guarantee: whatever others try from other addresses, whoever has a name can log in: from a known browser at once, from a
    new one after the delay.
Because: a hard limit counts the tries of one address or one browser only, and the delay has an upper end. Right and
    wrong passwords are delayed alike, and so are names that exist and names that do not.

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
from discreet.console.people.typed_text import fold_name
from discreet.errors import DiscreetError

WINDOW_S = 15 * MINUTE_S
OF_A_NAME_AND_ADDRESS = 5
OF_A_BROWSER = 5
OF_AN_ADDRESS = 50
#: So many tries of a name, from anywhere, are answered without delay; each one after them doubles it.
WITHOUT_DELAY = 5
LONGEST_DELAY_S = 20.0
#: Tries of a name whose answers are delayed at the same moment. It bounds what many addresses can guess together.
DELAYED_AT_ONCE = 50
#: Names, addresses, pairs and browsers that are remembered at most, of each.
REMEMBERED = 10_000
#: Times that are remembered of a name: enough for the longest delay.
_LATEST = 16

_Times = dict[bytes, list[float]]


class TooManyLogins(DiscreetError):
    """Too many login attempts. `wait_s`: how many seconds to wait before the next one."""

    exit_code = 3

    def __init__(self, reason: str, *, wait_s: int) -> None:
        super().__init__(reason, hint=f"wait {_duration_words(wait_s)} and try again")
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginTry:
    """A try that was let in and counts as a failure until it is forgiven. `delay_s`: how long its answer waits."""

    time: float
    delay_s: float = 0.0
    browser: bytes = b""
    pair: bytes = b""
    name: bytes = b""
    address: bytes = b""


class LoginThrottle:
    """Counts tries before they are checked, so that many at once are no more than many one after another."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._browsers: _Times = {}
        self._pairs: _Times = {}
        self._addresses: _Times = {}
        self._names: _Times = {}
        #: Until when the answers to a name's tries are delayed.
        self._delayed: _Times = {}

    def check_address(self, address: str) -> None:
        """Refuse an address that failed too often. Says nothing about any name, so it needs no hash to hide it."""
        with self._lock:
            self._refuse(self._addresses, self._hash(network(address)), OF_AN_ADDRESS)

    def enter(self, name: str, address: str, *, browser: str = "") -> LoginTry:
        """Count a try, or refuse it. `browser`: which of this name's known browsers it comes from, if any."""
        now = self._clock()
        with self._lock:
            if browser:
                tried = LoginTry(browser=self._hash(browser), time=now)
                self._refuse(self._browsers, tried.browser, OF_A_BROWSER)
                self._add(self._browsers, tried.browser, now)
                return tried
            return self._from_anywhere(fold_name(name), network(address), now)

    def forgive(self, tried: LoginTry) -> None:
        """It was no failure: forget those of the same browser, or of this name from this address.

        Of the address and of the name only this one is forgotten: they may be many people's, and an attacker's.
        """
        with self._lock:
            self._browsers.pop(tried.browser, None)
            self._pairs.pop(tried.pair, None)
            for kept, who in ((self._addresses, tried.address), (self._names, tried.name)):
                if tried.time in kept.get(who, []):
                    kept[who].remove(tried.time)

    def _from_anywhere(self, name: str, address: str, now: float) -> LoginTry:
        who, where, pair = self._hash(name), self._hash(address), self._hash(f"{name}\n{address}")
        self._refuse(self._addresses, where, OF_AN_ADDRESS)
        self._add(self._addresses, where, now)  # counted even where the rest is refused
        self._refuse(self._pairs, pair, OF_A_NAME_AND_ADDRESS)
        waiting = [end for end in self._delayed.get(who, []) if end > now]
        if len(waiting) >= DELAYED_AT_ONCE:
            raise TooManyLogins("too many login attempts", wait_s=max(1, math.ceil(min(waiting) - now)))
        delay_s = _delay_s(sum(time > now - WINDOW_S for time in self._names.get(who, [])))
        self._add(self._pairs, pair, now)
        self._add(self._names, who, now)
        if delay_s:
            self._delayed[who] = [*waiting, now + delay_s]
            self._drop_delayed(now)
        return LoginTry(pair=pair, name=who, address=where, time=now, delay_s=delay_s)

    def _refuse(self, kept: _Times, who: bytes, most: int) -> None:
        now = self._clock()
        times = [time for time in kept.get(who, []) if time > now - WINDOW_S]
        if len(times) >= most:
            wait_s = max(1, math.ceil(times[-most] + WINDOW_S - now))
            raise TooManyLogins("too many login attempts", wait_s=wait_s)

    def _add(self, kept: _Times, who: bytes, now: float) -> None:
        times = [time for time in kept.pop(who, []) if time > now - WINDOW_S]
        if len(kept) >= REMEMBERED:
            _make_room(kept, now)
        most = _LATEST if kept is self._names else OF_AN_ADDRESS
        kept[who] = [*times, now][-most:]

    def _drop_delayed(self, now: float) -> None:
        """A name's delays are over 20 seconds later: few names have any, unless a flood made them."""
        if len(self._delayed) > REMEMBERED:
            self._delayed = {who: ends for who, ends in self._delayed.items() if max(ends) > now}
        if len(self._delayed) > REMEMBERED:
            del self._delayed[min(self._delayed, key=lambda who: len(self._delayed[who]))]

    def _hash(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=16).digest()


def _delay_s(failures: int) -> float:
    """How long an answer waits after so many failures of its name.

    >>> [_delay_s(failures) for failures in (4, 5, 6, 7, 9, 10, 1000)]
    [0.0, 1.0, 2.0, 4.0, 16.0, 20.0, 20.0]
    """
    if failures < WITHOUT_DELAY:
        return 0.0
    return min(LONGEST_DELAY_S, 2.0 ** min(failures - WITHOUT_DELAY, 30))


def network(address: str) -> str:
    """Whom an address stands for: itself, or for IPv6 its network, for one house has all of those.

    >>> network("2001:db8::1") == network("2001:db8::ffff:2"), network("192.0.2.1")
    (True, '192.0.2.1')
    """
    try:
        ip_address = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    if isinstance(ip_address, ipaddress.IPv6Address):
        if ip_address.ipv4_mapped is not None:
            return str(ip_address.ipv4_mapped)
        return str(ipaddress.ip_network((int(ip_address), 64), strict=False))
    return str(ip_address)


def _make_room(kept: dict[bytes, list[float]], now: float) -> None:
    """Forget what is over; else who failed least: a flood of names that failed once pushes out none under attack."""
    for who in [who for who, times in kept.items() if times[-1:] < [now - WINDOW_S]]:
        del kept[who]
    if len(kept) >= REMEMBERED:
        del kept[min(kept, key=lambda who: (len(kept[who]), kept[who]))]


def _duration_words(seconds: int) -> str:
    minutes = math.ceil(seconds / MINUTE_S)
    return f"{seconds} second{'s' * (seconds > 1)}" if seconds < MINUTE_S else f"{minutes} minute{'s' * (minutes > 1)}"
