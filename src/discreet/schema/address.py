"""Addresses of engines and ledgers, as discreet.toml says them. No password may stand there: many read the file.

Guarantee: what `parse_address` returns is what PostgreSQL's library and Spark read, too; what shows parts of an address
    (`ledger.ledger_location`) shows no password.
Because: an address that they could read otherwise is refused. PostgreSQL's library looks for a name and a password up
    to an @ that comes before any slash, past # and ?, where a URL ends its host; so neither of them may come before an
    @, and an @ stands at no other place. Settings are shown and kept by a list of those that hold no secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from discreet.errors import SchemaError

DEFAULT = "duckdb"

_POSTGRES = ("postgresql", "postgres")
_SCHEMES = (*_POSTGRES, "spark", "sc")

#: Settings of PostgreSQL's library that may stand in an address, and who comes. Files are named, never their contents.
USER = "user"
SETTINGS = frozenset({
    "application_name", "channel_binding", "connect_timeout", "dbname", "fallback_application_name", "gssencmode",
    "host", "hostaddr", "keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname",
    "load_balance_hosts", "options", "port", "require_auth", "requirepeer", "service", "ssl_max_protocol_version",
    "ssl_min_protocol_version", "sslcert", "sslcertmode", "sslcrl", "sslcrldir", "sslkey", "sslmode",
    "sslnegotiation", "sslrootcert", "sslsni", "target_session_attrs", "tcp_user_timeout",
})  # fmt: skip
_SPARK_SETTINGS = frozenset({"declared"})
#: What Spark Connect takes behind semicolons.
_CONNECT_SETTINGS = frozenset({"use_ssl", "user_id"})
SECRETS = frozenset({
    "oauth_client_secret", "passfile", "password", "scram_client_key", "scram_server_key", "sslpassword", "token",
})  # fmt: skip

_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST = re.compile(r"((?:[\w.~-]|%2[Ff])*|\[[\w:.%]+\])(?::([0-9]{0,5}))?")
_SPARK_HOST = re.compile(r"([A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
#: Signs of an address inside a value, where a password could follow.
_ODD = re.compile(r"[@#?;=]|://")
#: Settings that an application made up are told by their dot, and may be keys.
_OWN_OPTION = re.compile(r"(?:-c|--)\s*[\w-]+\.")
#: A folder of a lake: a path, or a store, perhaps a container of it, and a path.
_FOLDER = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:(?://(?:[\w.$-]+@)?[\w.-]*(?::[0-9]{1,5})?)?)?(?:/[^@?#;]*|[^@?#;:]*)"
)


#: How a whole path begins.
_WHOLE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressParts:
    """An address, taken apart. `servers` and `path` are as written; user, password and settings are decoded."""

    scheme: str
    user: str = field(repr=False)
    password: str = field(repr=False)
    servers: str
    path: str
    settings: tuple[tuple[str, str], ...] = field(repr=False)

    @property
    def tells_secret(self) -> bool:
        """Whether a password, or another secret, stands in it."""
        return bool(self.password) or ":" in self.user or any(key in SECRETS for key, _ in self.settings)

    @property
    def tells_unknown(self) -> bool:
        """Whether it has a setting that is neither known to be harmless nor a secret."""
        return any(key not in self.allowed and key not in SECRETS for key, _ in self.settings)

    @property
    def allowed(self) -> frozenset[str]:
        """The settings that may stand in discreet.toml."""
        if self.scheme in _POSTGRES:
            return SETTINGS | {USER}
        return _SPARK_SETTINGS | _CONNECT_SETTINGS if self.scheme == "sc" else _SPARK_SETTINGS


def scheme(address: str) -> str:
    """What stands before the colon; the whole, where there is none.

    >>> scheme("postgresql://ann@db/clinic"), scheme("duckdb")
    ('postgresql', 'duckdb')
    """
    return address.partition("://")[0]


def engine_kind(address: str) -> str:
    """Which engine an address is of.

    >>> engine_kind("postgres://db/clinic"), engine_kind("sc://lake")
    ('postgresql', 'spark')
    """
    address_scheme = scheme(address)
    return {"postgres": "postgresql", "sc": "spark"}.get(address_scheme, address_scheme)


def check_address(address: object, *, where: str) -> str:
    """An address, where it is one and tells no secret: as written, but that PostgreSQL has one scheme of its two."""
    if address == DEFAULT:
        return DEFAULT
    try:
        parts = parse_address(address) if isinstance(address, str) else None
    except ValueError:
        parts = None
    if not isinstance(address, str) or parts is None or not (parts.servers or parts.path or parts.settings):
        raise SchemaError(
            f"{where} is not a known address, or contains characters that an address must not have",
            hint='engine = "duckdb", "postgresql://user@host:5432/database", "spark://local", "spark://host:7077" or'
            ' "sc://host"; write special characters in a name as %23 and the like',
        )
    if parts.tells_secret:
        raise SchemaError(
            f"{where} contains a password, which discreet.toml must not",
            hint="use PGPASSWORD or ~/.pgpass for PostgreSQL; SPARK_CONNECT_AUTHENTICATE_TOKEN for Spark Connect",
        )
    if parts.tells_unknown:
        raise SchemaError(
            f"{where} has a setting that is not allowed in discreet.toml, because it could be a secret",
            hint=f"allowed: {', '.join(sorted(parts.allowed))}",
        )
    if not all(_WHOLE.match(value) for key, value in parts.settings if key == "declared"):
        # Executors run in folders of their own, and this process may be started in another one the next time.
        raise SchemaError(
            f"{where} names a folder for declared tables that is not an absolute path",
            hint="?declared=/lake/private, or ?declared=s3a://bucket/private",
        )
    return "postgresql" + address[len(parts.scheme) :] if parts.scheme in _POSTGRES else address


def parse_address(address: str) -> AddressParts:
    """The parts of an address; ValueError where it is none, or could be read in two ways.

    >>> parse_address("postgresql://ann@db:5432/clinic?sslmode=require")
    AddressParts(scheme='postgresql', servers='db:5432', path='/clinic')
    """
    address_scheme, mark, rest = address.partition("://")
    if (
        not mark
        or address_scheme not in _SCHEMES
        or "#" in rest
        or any(map(_is_unwritten, rest))
        or _PERCENT.search(rest)
    ):
        raise ValueError("no address")
    _decoded(rest)
    head, _, query = rest.partition("?")
    if address_scheme in _POSTGRES:
        return _postgres(address_scheme, head, query)
    return _spark(address_scheme, head, query)


def _postgres(address_scheme: str, head: str, query: str) -> AddressParts:
    front, slash, name = head.partition("/")
    who, _, servers = front.rpartition("@")
    user, _, password = who.partition(":")
    settings = tuple(_settings(query, "&"))
    values = [value for key, value in settings if key not in SECRETS and key not in (USER, "options")]
    if "@" in who or "@" in name or "@" in query or not all(_is_host(one, _HOST) for one in servers.split(",")):
        raise ValueError("an @ or a host is ambiguous")
    if any(map(_ODD.search, [_decoded(name), *values])) or any(":" in value for key, value in settings if key == USER):
        raise ValueError("a setting that is an address of its own")
    if any(_OWN_OPTION.search(value.replace("\\", "")) for key, value in settings if key == "options"):
        raise ValueError("a setting of another application")
    return AddressParts(
        scheme=address_scheme,
        user=_decoded(user),
        password=_decoded(password),
        servers=servers,
        path=slash + name,
        settings=settings,
    )


def _spark(address_scheme: str, head: str, query: str) -> AddressParts:
    front, semicolon, parameters = head.partition(";")
    servers = front.removesuffix("/")
    if not all(_is_host(one, _SPARK_HOST) for one in servers.split(",")) or (semicolon and address_scheme != "sc"):
        raise ValueError("a host is not valid")
    connect_settings = tuple(_settings(parameters, ";"))
    more = tuple(_settings(query, "&"))
    if any(key in _CONNECT_SETTINGS for key, _ in more) or any(key in _SPARK_SETTINGS for key, _ in connect_settings):
        raise ValueError("a setting is in the wrong place")
    if not all(_FOLDER.fullmatch(value) for key, value in more if key == "declared"):
        raise ValueError("the folder is missing, or contains a password")
    if any(re.search(r"[:?#;=]", value) for key, value in connect_settings if key in _CONNECT_SETTINGS):
        raise ValueError("a setting that is an address of its own")
    return AddressParts(
        scheme=address_scheme, user="", password="", servers=servers, path="", settings=connect_settings + more
    )


def _settings(text: str, between: str) -> Iterator[tuple[str, str]]:
    """Names and values, decoded as PostgreSQL's library does: a plus is a plus."""
    for piece in text.split(between) if text else ():
        key, sign, value = piece.partition("=")
        if not key or not sign:
            raise ValueError("a setting has no value")
        yield _decoded(key), _decoded(value)


def _decoded(text: str) -> str:
    decoded = unquote(text, errors="strict")  # UnicodeDecodeError is a ValueError
    if not decoded.isprintable():
        raise ValueError("a character cannot be displayed")
    return decoded


def _is_host(text: str, host: re.Pattern[str]) -> bool:
    parsed_host = host.fullmatch(text)
    return parsed_host is not None and (not parsed_host[2] or 0 < int(parsed_host[2]) < 2**16)


def _is_unwritten(sign: str) -> bool:
    return sign.isspace() or not sign.isprintable()
