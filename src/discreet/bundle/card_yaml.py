"""YAML, as much of it as a card needs: mappings, lists of texts, texts, numbers. Written so that no text can be
anything but a text, and read back by the same rules and no others.

Every text stands in double quotes. A name that looks like a tag, a date, a `no` or another line stays a text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

_KEY = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
#: Words that YAML 1.1 takes for something else than a word: no key may be one.
_NO_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_LINE = re.compile(r"( *)(?:([a-z][a-z0-9_]*):(?: (.+))?|- (.+))", re.ASCII)
_TEXT = re.compile(r'"(?:[^"\\]|\\["\\]|\\u[0-9a-f]{4}|\\U[0-9a-f]{8})*"')
_ESCAPE = re.compile(r"\\(?:([\"\\])|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_NUMBER = re.compile(r"-?\d+(?:\.\d+(?:e[+-]\d+)?)?", re.ASCII)


def write(data: Mapping[str, Any]) -> str:
    """A mapping as YAML text.

    >>> print(write({"name": "a: no", "parameters": {"epsilon": 1e-06}, "authors": ["b"]}), end="")
    name: "a: no"
    parameters:
      epsilon: 1.0e-06
    authors:
      - "b"
    """
    return "".join(f"{line}\n" for line in _mapping(data, ""))


def _mapping(data: Mapping[str, Any], indent: str) -> list[str]:
    lines: list[str] = []
    for key, value in data.items():
        if not _KEY.fullmatch(key) or key in _NO_WORDS:
            raise ValueError(f"a key must be a plain word: {key!r}")
        if isinstance(value, Mapping) and value:
            lines += [f"{indent}{key}:", *_mapping(value, f"{indent}  ")]
        elif isinstance(value, list | tuple) and value:
            lines += [f"{indent}{key}:", *(f"{indent}  - {_scalar(each)}" for each in value)]
        else:
            lines.append(f"{indent}{key}: {_scalar(value)}")
    return lines


def _scalar(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return _number(value)
        case str():
            return '"' + "".join(map(_letter, value)) + '"'
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
        case _:
            raise ValueError(f"cannot write {type(value).__name__} as YAML")


def _number(value: float) -> str:
    """YAML 1.1 takes 1e-06 for a text: a number needs its point."""
    text = repr(value)
    mantissa, sign, power = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{sign}{power}"


def _letter(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if " " <= letter <= "~" or (letter.isalnum() and ord(letter) < 0xD800):
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) <= 0xFFFF else f"\\U{ord(letter):08x}"


def read(text: str) -> dict[str, Any]:
    """The mapping that `write` wrote. Raises ValueError for anything that it would not have written."""
    lines = text.split("\n")
    if lines.pop() != "":
        raise ValueError("the last line has no line break")
    mapping, rest = _read_mapping(lines, "")
    if rest or write(mapping) != text:
        raise ValueError("not formatted as Discreet formats it")
    return mapping


def _read_mapping(lines: list[str], indent: str) -> tuple[dict[str, Any], list[str]]:
    mapping: dict[str, Any] = {}
    while lines and (match := _LINE.fullmatch(lines[0])) and match[1] == indent and match[2]:
        key, scalar, lines = match[2], match[3], lines[1:]
        if key in mapping:
            raise ValueError("a key occurs twice")
        if scalar is not None:
            mapping[key] = _read_scalar(scalar)
        elif lines and lines[0].startswith(f"{indent}  - "):
            mapping[key], lines = _read_list(lines, f"{indent}  ")
        else:
            mapping[key], lines = _read_mapping(lines, f"{indent}  ")
    return mapping, lines


def _read_list(lines: list[str], indent: str) -> tuple[list[Any], list[str]]:
    items = []
    while lines and (match := _LINE.fullmatch(lines[0])) and match[1] == indent and match[4]:
        items.append(_read_scalar(match[4]))
        lines = lines[1:]
    return items, lines


def _read_scalar(text: str) -> Any:
    plain: dict[str, Any] = {"null": None, "true": True, "false": False, "{}": {}, "[]": []}
    if text in plain:
        return plain[text]
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    if not _TEXT.fullmatch(text):
        raise ValueError("a value must be text or a number")
    return _ESCAPE.sub(lambda match: match[1] or chr(int(match[2] or match[3], 16)), text[1:-1])
