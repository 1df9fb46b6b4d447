"""Where a ledger lies: a file on this machine, or the address of a PostgreSQL database that several machines share."""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode

from discreet.errors import UsageError
from discreet.schema.address import SETTINGS, parse_address

_SCHEMES = ("postgresql", "postgres")
_PLACE = frozenset({"host", "hostaddr", "port", "dbname", "service", "options"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """A database. The address may hold a password, so it is shown by its place alone."""

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        try:
            parts = parse_address(self.url) if is_address(self.url) else None
        except ValueError:
            parts = None
        if parts is None:
            raise UsageError(
                "this is not the address of a PostgreSQL database",
                hint="ledger = postgresql://user@host:5432/database; write special characters in a name as %23",
            )
        if parts.tells_unknown:
            raise UsageError(
                "the ledger's address has a setting that is not allowed, because it could be a secret",
                hint=f"allowed: {', '.join(sorted(parts.allowed))}",
            )

    @property
    def has_secret(self) -> bool:
        """Whether a password, or another secret, stands in it.

        >>> DatabaseAddress(url="postgresql://ann:secret@db/books").has_secret
        True
        """
        return parse_address(self.url).tells_secret

    @property
    def name(self) -> str:
        """Server, database and settings: who comes, and with which password, is left out.

        >>> DatabaseAddress(url="postgres://ann:secret@db:5432/books?sslmode=require&password=x").name
        'postgresql://db:5432/books?sslmode=require'
        """
        return self._url_with(SETTINGS)

    @property
    def place(self) -> str:
        """Server, database and schema alone."""
        return self._url_with(_PLACE)

    def _url_with(self, shown: Set[str]) -> str:
        parts = parse_address(self.url)
        shown_settings = [(key, value) for key, value in parts.settings if key in shown and value]
        return f"postgresql://{parts.servers}{parts.path}" + (
            f"?{urlencode(shown_settings, quote_via=quote)}" if shown_settings else ""
        )

    def __str__(self) -> str:
        return self.name


LedgerLocation = Path | DatabaseAddress


def is_address(text: str) -> bool:
    """Whether a text is meant as an address.

    >>> is_address("postgresql://db/books"), is_address("sqlite:///.discreet/ledger.db")
    (True, False)
    """
    return text.partition("://")[0] in _SCHEMES


def parse_location(text_or_location: LedgerLocation | str) -> LedgerLocation:
    """A path, or an address, from either or from text."""
    if isinstance(text_or_location, DatabaseAddress):
        return text_or_location
    return (
        DatabaseAddress(url=text_or_location)
        if isinstance(text_or_location, str) and is_address(text_or_location)
        else Path(text_or_location)
    )


def location_mark(where: LedgerLocation) -> bytes:
    """What the anchor notes of the place, to recognise it: how it is reached (sslmode and the like) is left out.

    >>> location_mark(DatabaseAddress(url="postgresql://ann@db/books?sslmode=require&options=-csearch_path%3Dledger"))
    b'postgresql://db/books?options=-csearch_path%3Dledger'
    """
    return where.place.encode() if isinstance(where, DatabaseAddress) else os.fsencode(where.resolve())
