"""Texts that people type: readable, of bounded length, and the same however they were typed."""

from __future__ import annotations

import unicodedata

from discreet.errors import UsageError

LONGEST_NAME = 60


def clean_line(text: str, *, name: str, most: int, least: int = 1) -> str:
    """One line of readable text, in Unicode's composed form, without spaces at its ends.

    >>> clean_line("  Ada Lovelace ", name="a name", most=60)
    'Ada Lovelace'
    """
    clean_text = " ".join(_composed(text, name=name, most=most).split())
    if not clean_text.isprintable():  # neither control letters nor those that turn the line around
        raise UsageError(f"{name} contains characters that cannot be displayed")
    _measure(clean_text, name=name, least=least, most=most)
    return clean_text


def clean_lines(text: str, *, name: str, most: int, least: int = 0) -> str:
    """The same, of several lines."""
    clean_text = "\n".join(each.rstrip() for each in _composed(text, name=name, most=most).splitlines()).strip()
    if not clean_text.replace("\n", " ").replace("\t", " ").isprintable():
        raise UsageError(f"{name} contains characters that cannot be displayed")
    _measure(clean_text, name=name, least=least, most=most)
    return clean_text


def clean_name(text: str) -> str:
    """A person's name."""
    name = clean_line(text, name="a name", most=LONGEST_NAME)
    if not any(letter.isalnum() for letter in name):
        raise UsageError("a name must contain a letter or a digit")
    return name


def fold_name(name: str) -> str:
    """What names are told apart by: neither capitals nor compatible forms of a letter make another name.

    >>> fold_name("ADA") == fold_name("ada") == fold_name("ａda")
    True
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _composed(text: str, *, name: str, most: int) -> str:
    if len(text) > 4 * most:  # before any work on it; composing never makes four letters one
        raise UsageError(f"{name} must have at most {most:,} characters")
    return unicodedata.normalize("NFC", text)


def _measure(text: str, *, name: str, least: int, most: int) -> None:
    if len(text) < least:
        raise UsageError(f"{name} is missing" if least == 1 else f"{name} must have at least {least} characters")
    if len(text) > most:
        raise UsageError(f"{name} must have at most {most:,} characters")
