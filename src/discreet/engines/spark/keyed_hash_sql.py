"""The keyed hashes of `engines.keyed_hashes` as Spark SQL. A key is a column, never part of the SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.engines.keyed_hashes import TAG_BYTES

#: As in `engines.keyed_hashes`.
_DIGITS = 32


def wrapped_sql(text: str) -> str:
    """`keyed.wrapped`, of a text that is UTF-8."""
    return f"CAST(octet_length({text}) AS STRING) || ':' || {text}"


def tag_sql(texts: Iterable[str], *, key: str) -> str:
    """`keyed.person_tag`, of the parts' texts; `key` is a column of bytes."""
    return _hmac_sql("person ", texts, key)


def secret_sql(texts: Iterable[str], *, key: str) -> str:
    """`keyed.person_secret`, likewise."""
    return f"base64({_hmac_sql('rows ', texts, key)})"


def digest_sql(secret: str, codes: Mapping[str, bool], occurrence: str) -> str:
    """`keyed.row_digest`, of expressions; codes with whether they are texts."""
    content = [wrapped_sql(code) if text else f"CAST({code} AS STRING)" for code, text in codes.items()]
    parts = [secret, f"CAST({occurrence} AS STRING)", *(f"coalesce({part}, '')" for part in content)]
    return f"substr(sha2(encode(concat_ws(':', {', '.join(parts)}), 'UTF-8'), 256), 1, {_DIGITS})"


def _hmac_sql(label: str, texts: Iterable[str], key: str) -> str:
    message = " || ".join([f"'{label}'", *(wrapped_sql(text) for text in texts)])
    return f"substr(hmac({key}, encode({message}, 'UTF-8'), 'SHA256'), 1, {TAG_BYTES})"
