"""How many reports one address may send: a bucket that fills with time. In memory only.

It slows a careless or lazy stuffer down; who has many addresses is stopped by enrolment tokens alone.
An address is never stored or logged: even here it is a hash under a key that dies with the process.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass

#: Reports a second, and saved up, where nothing is said: a class or an office behind one address is no flood.
RATE = 100.0
SAVED_S = 20.0
#: Addresses that are remembered; those that were quiet longest are forgotten first.
REMEMBERED_ADDRESSES = 100_000


@dataclass(slots=True)
class _Bucket:
    level: float
    when: float


class AddressLimit:
    """At most `rate` reports a second from each address, and what it saved up in `SAVED_S` seconds.

    This machine itself is not limited unless a rate is given: a proxy in front sends everything from here.
    """

    def __init__(self, rate: float | None = None) -> None:
        self.rate = RATE if rate is None else rate
        self._exempts_localhost = rate is None
        self._key = secrets.token_bytes(16)
        self._buckets: OrderedDict[bytes, _Bucket] = OrderedDict()

    def wait_s(self, address: str | None, reports: int) -> float:
        """Take so many reports from an address' bucket: 0.0, or how long to wait where it does not hold them."""
        household, here = _address_block(address)
        if not self.rate or (here and self._exempts_localhost):
            return 0.0
        key = hashlib.blake2b(household.encode(), key=self._key, digest_size=12).digest()
        now, full = time.monotonic(), self.capacity
        bucket = self._buckets.pop(key, None) or _Bucket(full, now)
        bucket.level = min(full, bucket.level + (now - bucket.when) * self.rate)
        bucket.when = now
        self._buckets[key] = bucket
        if len(self._buckets) > REMEMBERED_ADDRESSES:
            self._buckets.popitem(last=False)
        if bucket.level < reports:
            return (reports - bucket.level) / self.rate
        bucket.level -= reports
        return 0.0

    @property
    def capacity(self) -> float:
        """The most reports that can come at once."""
        return max(1.0, self.rate * SAVED_S)


def _address_block(address: str | None) -> tuple[str, bool]:
    """An IPv4 address, or the half of an IPv6 address that its network has; and whether it is this machine."""
    try:
        ip = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return "", False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        else:
            return str(ipaddress.ip_network((ip, 64), strict=False)), ip.is_loopback
    return str(ip), ip.is_loopback
