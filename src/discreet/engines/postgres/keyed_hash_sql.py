"""The keyed hashes of `keyed`, and which of a person's rows are kept, as PostgreSQL SQL.

`sha256` is part of the server since version 11; HMAC, which needs an extension, is written out (RFC 2104).
A key is a parameter, never part of the SQL: `$1` and `$2` are the two blocks of `hmac_pads`, inner and outer.

Guarantee: `kept_sql` keeps the rows that `memory_person_table` keeps, and no order of rows enters.
Because: equal rows are numbered, it does not matter which is which; and a person's rows, digests being
    different, have one order, in which hexadecimal digits are compared bytewise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from discreet.engines.keyed_hashes import TAG_BYTES
from discreet.sql.dialect import identifier

#: As in `keyed`.
_DIGITS = 32


def wrapped_sql(text: str) -> str:
    """`keyed.wrapped`, of a text that binds as tightly as a name does."""
    return f"octet_length({text}) || ':' || {text}"


def tag_sql(texts: Iterable[str]) -> str:
    """`keyed.person_tag`, of the parts' texts, with the tag key's pads as parameters."""
    return _hmac_sql("person ", texts)


def secret_sql(texts: Iterable[str]) -> str:
    """`keyed.person_secret`, likewise, with those of the other key."""
    return f"encode({_hmac_sql('rows ', texts)}, 'base64')"


def digest_sql(secret: str, codes: Mapping[str, bool], occurrence: str) -> str:
    """`keyed.row_digest`, of expressions; codes with whether they are texts."""
    content = [wrapped_sql(code) if text else f"CAST({code} AS TEXT)" for code, text in codes.items()]
    parts = [secret, f"CAST({occurrence} AS TEXT)", *(f"coalesce({part}, '')" for part in content)]
    # A function takes a hundred arguments at most; an array has no such limit.
    joined = f"array_to_string(ARRAY[{', '.join(parts)}], ':')"
    return f"left(encode(sha256(convert_to({joined}, 'UTF8')), 'hex'), {_DIGITS})"


def kept_sql(
    rows: str, *, person: str, secret: str, codes: Mapping[str, bool], limit: int, constants: Collection[str]
) -> str:
    """The rows of a table that are kept: `person`, then `codes` in their order, their constants from the first.

    `rows` is a table, `person` the column of a person's number and `secret` that of the person's secret; codes
    are columns, with whether they are texts.
    """
    names = {identifier(code): text for code, text in codes.items()}
    listed = ", ".join([identifier(person), *names])
    first = [
        f"first_value({name}) OVER ranked AS {name}" if code in constants else name
        for name, code in zip(names, codes, strict=True)
    ]
    digest = digest_sql(identifier(secret), names, "occurrence")
    # No QUALIFY here: the number of a row is a column of a further SELECT.
    return f"""SELECT {listed} FROM (
  SELECT {identifier(person)}, {", ".join(first)}, row_number() OVER ranked AS place FROM (
    SELECT *, {digest} COLLATE "C" AS digest FROM (
      SELECT *, row_number() OVER (PARTITION BY {listed}) AS occurrence FROM {rows} AS given
    ) AS numbered
  ) AS hashed
  WINDOW ranked AS (PARTITION BY {identifier(person)} ORDER BY digest)
) AS placed
WHERE place <= {limit}"""


def _hmac_sql(label: str, texts: Iterable[str]) -> str:
    message = " || ".join([f"'{label}'", *(wrapped_sql(text) for text in texts)])
    inner = f"sha256(CAST($1 AS BYTEA) || convert_to({message}, 'UTF8'))"
    return f"substring(sha256(CAST($2 AS BYTEA) || {inner}) FROM 1 FOR {TAG_BYTES})"
