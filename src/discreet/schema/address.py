"""The address of an engine, as discreet.toml says it. No password may stand in it: the file is read by many."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from discreet.errors import SchemaError

DEFAULT = "duckdb"

_SCHEMES = ("postgresql", "postgres", "spark", "sc")
_SECRETS = ("password", "sslpassword", "token", "passfile")


def scheme(address: str) -> str:
    """What stands before the colon; the whole, where there is none.

    >>> scheme("postgresql://ann@db/clinic"), scheme("duckdb")
    ('postgresql', 'duckdb')
    """
    return address.partition("://")[0]


def kind(address: str) -> str:
    """Which engine an address is of.

    >>> kind("postgres://db/clinic"), kind("sc://lake")
    ('postgresql', 'spark')
    """
    found = scheme(address)
    return {"postgres": "postgresql", "sc": "spark"}.get(found, found)


def check_address(address: object, *, where: str) -> str:
    """An address as it was written, where it is one and tells no secret."""
    if address == DEFAULT:
        return DEFAULT
    try:
        sound = isinstance(address, str) and address.isprintable() and scheme(address) in _SCHEMES
        parts = urlsplit(str(address))
        sound = sound and bool(parts.netloc or parts.query or parts.path) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound:
        raise SchemaError(
            f"{where} engine is not one that is known",
            hint='engine = "duckdb", "postgresql://user@host:5432/database", "spark://local", "spark://host:7077" or "sc://host"',
        )
    if parts.password or _told(parts.query) & set(_SECRETS) or _told(parts.path.replace(";", "&")) & set(_SECRETS):
        raise SchemaError(
            f"{where} engine holds a password, and discreet.toml is no place for one",
            hint="PGPASSWORD or ~/.pgpass for PostgreSQL; SPARK_REMOTE_TOKEN for Spark Connect",
        )
    return str(address)


def _told(settings: str) -> set[str]:
    return {name.strip().lower() for name, _ in parse_qsl(settings.strip("/&"), keep_blank_values=True)}
