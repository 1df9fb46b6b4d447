"""What a PostgreSQL server says, in one sentence of ours each. Its own could quote a cell, a password or an address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    import psycopg

#: A sentence and a hint, by the first characters of an error's code: five, three or two. {server} stands for its name.
SentencesByCode = Mapping[str, tuple[str, str]]

_LOST = ("the connection to {server} was lost", "try again when the server is back")
_SENTENCES: SentencesByCode = {
    "08": _LOST,
    "57P": _LOST,
    "25P": _LOST,  # it ended a transaction that stood still
    "28": (
        "{server} refused the login: the user name or the password is wrong",
        "set PGPASSWORD, or use ~/.pgpass",
    ),
    "3D000": ("{server} has no such database", "check its address"),
    "25006": ("{server} is read-only, so nothing can be written", "connect to the primary server"),
    "42501": ("{server} does not allow this role to do that", "GRANT the role what it needs"),
    "53100": ("the disk of {server} is full", "free some space there, then try again"),
    "53300": ("{server} has no free connection", "try again later"),
    "53": ("{server} has run out of resources for this", "raise its limits, or try again later"),
    "55P03": ("another session keeps the table locked", "try again later"),
    "57014": ("{server} took too long", "try again when it is less busy"),
    "58": ("{server} had a disk or system error", "check the server"),
}  # fmt: skip
_NO_TLS = (
    "{server} does not offer TLS",
    "turn it on there, or connect without TLS by sslmode=disable in the address",
)
_UNTRUSTED = (
    "{server} shows a certificate that the trusted authority did not sign, or that has expired, so nothing was sent",
    "sslrootcert=FILE in the address names the authority's certificate, sslrootcert=system those of this computer; "
    "if they are right, somebody may stand in between",
)
#: By words of libpq's and of the server's that stand in its message together. (libpq's wheels have no translations.)
_TLS_FAULTS = (
    (
        ("pg_hba", "no encryption"),
        "{server} refuses connections without TLS",
        "write sslmode=verify-full in the address",
    ),
    (
        ("does not match host name",),
        "{server} shows a certificate of another host name, so nothing was sent",
        "write the host as its certificate has it; if the name is right, somebody may stand in between",
    ),
    (("certificate verify failed",), *_UNTRUSTED),
    (("ssl error", "signature failure"), *_UNTRUSTED),  # of an authority that has the same name
    (
        ("root certificate file", "does not exist"),
        "the certificate of the authority that vouches for {server} is missing",
        "sslrootcert=FILE in the address names it, sslrootcert=system those of this computer",
    ),
    (
        ("could not read root certificate file",),
        "the certificate of the authority that vouches for {server} cannot be read",
        "check the file that sslrootcert names",
    ),
    (
        ("weak sslmode",),
        "sslrootcert=system is for sslmode=verify-full alone",
        "write sslmode=verify-full in the address",
    ),
)
_IN_THE_CLEAR = (
    "sslmode={mode} does not insist on TLS: {{server}}, or whoever stands in between, could have it without",
    "write sslmode=verify-full in the address; sslmode=disable, if everybody on the way may read along",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresUse:
    """What a server is used for.

    what: what needs the driver. server: how sentences name it. loss: what could happen if a commit were not durable.
    failed: the sentence for an error with no other. sentences: those of this use, before the common ones.
    """

    what: str
    server: str
    error: type[DiscreetError]
    application: str
    loss: str = ""
    failed: str = "{server} failed (PostgreSQL: {code})"
    unreachable_hint: str = "check its address, the network and the server"
    sentences: SentencesByCode = field(default_factory=dict)

    def fault(self, sentence: str, hint: str = "", *, code: str = "") -> DiscreetError:
        """The error with this sentence."""
        return self.error(sentence.format(server=self.server, code=code), hint=hint)


def code_of(fault: BaseException) -> str:
    """The five characters of an error's code; 08006 for a lost connection, whose error has none."""
    import psycopg

    if not isinstance(fault, psycopg.Error):
        return type(fault).__name__
    return fault.sqlstate or ("08006" if isinstance(fault, psycopg.OperationalError) else type(fault).__name__)


def server_error(code: str, use: PostgresUse, *, reading: str = "") -> DiscreetError:
    """The error for a code. `reading`: what was being read."""
    sentences = {**_SENTENCES, **use.sentences}
    for length in (5, 3, 2):
        if sentence_and_hint := sentences.get(code[:length]):
            return use.fault(*sentence_and_hint)
    if reading:
        return use.error(f"{reading} could not be read completely", hint="see the server's log")
    return use.fault(use.failed, code=code)


def in_the_clear(mode: str, use: PostgresUse) -> DiscreetError:
    """The error for an sslmode by which another machine may be spoken to without TLS."""
    sentence, hint = _IN_THE_CLEAR
    return use.fault(sentence.format(mode=mode), hint)


def unreachable(fault: psycopg.Error, use: PostgresUse) -> DiscreetError:
    """Why no connection could be made: libpq has no code then, only words, perhaps of another language."""
    words = str(fault).lower()
    if fault.sqlstate:
        return server_error(fault.sqlstate, use)
    for signs, sentence, hint in _TLS_FAULTS:
        if all(sign in words for sign in signs):
            return use.fault(sentence, hint)
    if "ssl" in words and "not support" in words:
        return use.fault(*_NO_TLS)
    if "password" in words or "authentication" in words or "pg_hba" in words or ("role" in words and "exist" in words):
        return server_error("28P01", use)
    if 'database "' in words and "does not exist" in words:
        return server_error("3D000", use)
    if "too many" in words:
        return server_error("53300", use)
    return use.fault("{server} cannot be reached", use.unreachable_hint)


@contextmanager
def postgres_faults(use: PostgresUse, *, reading: str = "") -> Iterator[None]:
    """Turn the server's errors into ours. `reading`: what is being read."""
    try:
        yield
    except Exception as fault:
        import psycopg

        if not isinstance(fault, psycopg.Error):
            raise
        raise server_error(code_of(fault), use, reading=reading) from None
