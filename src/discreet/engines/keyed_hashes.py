"""The keyed hashes: what marks a person, and which of a person's rows are kept. The definitions, and their SQL.

    text      of a value: a text as it is, byte for byte; a whole number in decimal; a date as 2026-01-31;
              true, false; a UUID in small letters with its four dashes
    wrapped   of a text: its length in bytes, a colon, the text
    name      of a person: the wrapped texts of the key's parts, one after another
    tag       HMAC-SHA256(tag_key, "person " name), the first 16 bytes
    secret    HMAC-SHA256(key, "rows " name), the first 16 bytes, in base64
    content   of a row: its stored codes in declared order, whole numbers in decimal, texts wrapped, NULL as
              nothing at all, and a colon between each two
    digest    SHA-256(secret ":" occurrence ":" content), the first 32 hexadecimal digits
    limit     of a group of a person's rows, or of a row in it: SHA-256(tag ":" part ":" part ...), the tag in
              hexadecimal digits, a part "=" and a whole number in decimal or a text, NULL as nothing at all; the parts
              are the group's places and values, or the row's occurrence and codes; all hexadecimal digits
    place     of an edge: SHA-256(HMAC-SHA256(key, "edges ") tag tag), of the tags of its ends, the first 32
              hexadecimal digits; the smaller tag first, bytewise, where edges are not directed

Of a person's equal rows one has occurrence 1, the next 2, and so on; which one does not matter, for they
are equal. A person's rows stand in the order of their digests: the first gives the constants, the first
`rows_per_person` are kept.

Guarantee: different keys have different names, and what a person's different rows are hashed from differs.
Because: a wrapped text says where it ends and is never empty, a decimal number ends at its colon; so what
    is written one after another can be read back. (SHA-256 cut to 128 bits is taken to be without collisions.)

A CSV's 7 and a Parquet file's 7 have one tag; '7', '07', ' 7' and '7.0' are four persons. The person's name
is in the secret, so that two persons with the same rows need not keep the same ones: what truncation
leaves out falls on no kind of row more than on another. Digests are never kept.

Edges stand in the order of their places, in which a limit on a person's edges is filled: an edge's place depends on
its two ends and the keys alone, so that other edges, which come or go, leave it where it is.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping

#: Bytes in a tag. Two of a billion persons share one with a chance below 1e-20.
TAG_BYTES = 16

_BLOCK = 64
_DIGITS = 32
_PERSON, _ROWS, _EDGES = "person ", "rows ", "edges "


def wrapped(text: str) -> str:
    """A text so that it shows where it ends.

    >>> wrapped("né") + wrapped("")
    '3:né0:'
    """
    return f"{len(text.encode())}:{text}"


def name_of(values: Iterable[str]) -> str:
    """One text for a person's key."""
    return "".join(wrapped(value) for value in values)


def person_tag(values: Iterable[str], tag_key: bytes) -> bytes:
    """The mark of a person, the same in every table that was made with this key."""
    return _hmac(tag_key, _PERSON, values)


def person_secret(values: Iterable[str], key: bytes) -> str:
    """What orders this person's rows and nobody else's."""
    return base64.b64encode(_hmac(key, _ROWS, values)).decode()


def row_digest(secret: str, codes: Iterable[int | str | None], occurrence: int) -> str:
    """Where a row stands among its person's rows."""
    content = ["" if code is None else wrapped(code) if isinstance(code, str) else str(code) for code in codes]
    return hashlib.sha256(":".join([secret, str(occurrence), *content]).encode()).hexdigest()[:_DIGITS]


def limit_digest(tag: bytes, parts: Iterable[int | str | None]) -> str:
    """Where a group stands among its person's groups, or a row among the rows of its person and group.

    In SQL: `Dialect.digest`.
    """
    texts = ["" if part is None else f"={part}" for part in parts]
    return hashlib.sha256(":".join([tag.hex(), *texts]).encode()).hexdigest()


def edges_secret(key: bytes) -> bytes:
    """What orders edges."""
    return hmac.digest(key, _EDGES.encode(), "sha256")


def edge_place(secret: bytes, first: bytes, second: bytes, *, directed: bool) -> str:
    """Where the edge between the persons of two tags stands among edges."""
    tags = (first, second) if directed else sorted((first, second))
    return hashlib.sha256(secret + b"".join(tags)).hexdigest()[:_DIGITS]


def wrapped_sql(text: str) -> str:
    """`wrapped`, of a DuckDB expression."""
    return f"strlen({text}) || ':' || {text}"


def tag_sql(texts: Iterable[str]) -> str:
    """`person_tag`, of expressions of the parts' texts. Needs `hmac_pads` of the tag key as parameters."""
    return _hmac_sql(_PERSON, texts)


def secret_sql(texts: Iterable[str]) -> str:
    """`person_secret`, likewise."""
    return f"to_base64({_hmac_sql(_ROWS, texts)})"


def digest_sql(secret: str, codes: Mapping[str, bool], occurrence: str) -> str:
    """`row_digest`, of expressions; codes with whether they are texts."""
    content = [wrapped_sql(code) if text else f"CAST({code} AS VARCHAR)" for code, text in codes.items()]
    # Of NULL `concat` makes nothing at all. `concat_ws`, which must not leave out a colon, takes twice as long.
    parts = ", ':', ".join([secret, occurrence, *content])
    return f"substr(sha256(concat({parts})), 1, {_DIGITS})"


def edge_place_sql(first: str, second: str, *, directed: bool) -> tuple[str, str]:
    """`edge_place`, of tags: its two halves as whole numbers. Needs `edges_secret` as the parameter `secret`."""
    tags = f"{first} || {second}" if directed else f"least({first}, {second}) || greatest({first}, {second})"
    digest, half = f"sha256($secret::BLOB || {tags})", _DIGITS // 2
    return (
        f"CAST('0x' || substr({digest}, 1, {half}) AS UBIGINT)",
        f"CAST('0x' || substr({digest}, {half + 1}, {half}) AS UBIGINT)",
    )


def hmac_pads(key: bytes) -> dict[str, bytes]:
    """A key as the two blocks of HMAC (RFC 2104), for the parameters of `tag_sql` and `secret_sql`."""
    block = key.ljust(_BLOCK, b"\0")
    return {"inner": bytes(byte ^ 0x36 for byte in block), "outer": bytes(byte ^ 0x5C for byte in block)}


def _hmac(key: bytes, label: str, values: Iterable[str]) -> bytes:
    return hmac.digest(key, f"{label}{name_of(values)}".encode(), "sha256")[:TAG_BYTES]


def _hmac_sql(label: str, texts: Iterable[str]) -> str:
    message = " || ".join([f"'{label}'", *(wrapped_sql(text) for text in texts)])
    digest = f"sha256($outer::BLOB || unhex(sha256($inner::BLOB || encode({message}))))"
    return f"unhex(substr({digest}, 1, {2 * TAG_BYTES}))"
