"""Where a ledger lies: a file on this machine, or the address of a PostgreSQL database that several machines share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from discreet.errors import UsageError

_SCHEMES = ("postgresql", "postgres")
_SECRET = ("user", "password", "sslpassword")
_PLACE = ("host", "hostaddr", "port", "dbname", "service", "options")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A database. The address may hold a password, so it is shown by its place alone."""

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            sound = parts.scheme in _SCHEMES and (parts.port or 1) > 0 and self.url.isprintable()
        except ValueError:
            sound = False
        if not sound:
            raise UsageError(
                "this is no address of a PostgreSQL database", hint="ledger = postgresql://user@host:5432/database"
            )

    @property
    def tells_password(self) -> bool:
        """Whether a password stands in it.

        >>> Address(url="postgresql://ann:secret@db/books").tells_password
        True
        """
        parts = urlsplit(self.url)
        return bool(parts.password) or "password" in dict(parse_qsl(parts.query))

    @property
    def name(self) -> str:
        """Server, database and settings: who comes, and with which password, is left out.

        >>> Address(url="postgres://ann:secret@db:5432/books?sslmode=require&password=x").name
        'postgresql://db:5432/books?sslmode=require'
        """
        return self._without(lambda key: key in _SECRET)

    @property
    def place(self) -> str:
        """Server, database and schema alone."""
        return self._without(lambda key: key not in _PLACE)

    def _without(self, leave: Callable[[str], bool]) -> str:
        parts = urlsplit(self.url)
        server = parts.netloc.rpartition("@")[2]
        told = [(key, value) for key, value in parse_qsl(parts.query) if not leave(key)]
        return f"postgresql://{server}{parts.path}" + (f"?{urlencode(told, quote_via=quote)}" if told else "")

    def __str__(self) -> str:
        return self.name


Where = Path | Address


def is_address(text: str) -> bool:
    """Whether a text is meant as an address.

    >>> is_address("postgresql://db/books"), is_address("sqlite:///.discreet/ledger.db")
    (True, False)
    """
    return text.partition("://")[0] in _SCHEMES


def where_of(told: Where | str) -> Where:
    """A path, or an address, from either or from text."""
    if isinstance(told, Address):
        return told
    return Address(url=told) if isinstance(told, str) and is_address(told) else Path(told)


def mark(where: Where) -> bytes:
    """What the anchor notes of the place, to recognise it: how it is reached (sslmode and the like) is left out.

    >>> mark(Address(url="postgresql://ann@db/books?sslmode=require&options=-csearch_path%3Dledger"))
    b'postgresql://db/books?options=-csearch_path%3Dledger'
    """
    return where.place.encode() if isinstance(where, Address) else os.fsencode(where.resolve())
