"""Messages in the words of the console, which hold on a page and in the API alike.

An option is named as forms and requests name it. A command is what does the same here; where nothing does, it stays a
command, and the sentence says whose it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from discreet.errors import Command, Flag, Piece, pieces_of

#: What does the same here, by verb. {}: the command's arguments; where a phrase has none, they follow in parentheses.
PHRASES = {
    "add": "Add a table on /admin/tables/new",
    "again": "a repeated measurement of {}",
    "budget grant": "grant on /budget",
    "histogram": "a histogram on /tables",
    "ledger show": "the page /a",
    "refresh": "a refresh of {} on /admin/tables",
    "releases": "the page /a",
    "remove": "the removal of {} on /admin/tables",
    "people list": "the page /admin",
    "people tokens": "the page /admin/tokens",
    "query": "a query on /ask",
    "survey list": "the page /survey",
    "survey new": "the page /survey/new",
}
#: A first word that is no name: small letters alone, and not the name before a colon.
_PLAIN_WORD = re.compile(r"[a-z]+(?=[ ,;'’]|$)")
_ENDS = (".", ":", "!", "?", "…")
_WHOSE = " (on the owner's command line)"


def console_text(text: str, *, labels: Mapping[str, str] | None = None) -> str:
    """A sentence or a hint as the console writes it. labels: what a page calls an option, where by another name.

    >>> from discreet.errors import Message
    >>> console_text(Message(Flag("epsilon", 0.1), ", or ", Flag("within", 50)), labels={"within": "plus or minus"})
    'epsilon 0.1, or plus or minus 50'
    >>> console_text(Message("run ", Command("bounds", "visits"), " first"))
    "run discreet bounds visits first (on the owner's command line)"
    >>> console_text(Message(Command("ledger show"), " lists them"))
    'the page /a lists them'
    """
    pieces = pieces_of(text)
    elsewhere = any(isinstance(each, Command) and each.verb not in PHRASES for each in pieces)
    return "".join(_piece_text(each, labels or {}) for each in pieces) + (_WHOSE if elsewhere else "")


def console_texts(texts: Iterable[str]) -> list[str]:
    """Each sentence as the console writes it."""
    return [console_text(each) for each in texts]


def page_sentence(text: str) -> str:
    """A message as a page writes it: with a capital letter and a full stop. A name at its beginning keeps its spelling.

    >>> page_sentence("epsilon must be above 0"), page_sentence("rows_per_person must be at least 1")
    ('Epsilon must be above 0.', 'rows_per_person must be at least 1.')
    >>> page_sentence("age: it has no bounds"), page_sentence("patients.csv is empty"), page_sentence("It failed.")
    ('age: it has no bounds.', 'patients.csv is empty.', 'It failed.')
    """
    sentence = console_text(text).strip()
    first = _PLAIN_WORD.match(sentence)
    sentence = sentence[:1].upper() + sentence[1:] if first else sentence
    return sentence if not sentence or sentence.endswith(_ENDS) else f"{sentence}."


def page_hint(text: str, *, labels: Mapping[str, str] | None = None) -> str:
    """A hint as it stands after "Try:". Lines to copy, such as step = 0.01, get no full stop.

    >>> page_hint("log in again"), page_hint("step = 0.01")
    ('log in again.', 'step = 0.01')
    """
    hint = console_text(text, labels=labels).strip()
    return hint if not hint or "=" in hint or hint.endswith(_ENDS) else f"{hint}."


def _piece_text(piece: Piece, labels: Mapping[str, str]) -> str:
    match piece:
        case Flag(value=True):
            return f"the option {piece.field}"
        case Flag():
            return f"{labels.get(piece.name, piece.field)} {piece.value_text}".rstrip()
        case Command(verb=verb) if verb in PHRASES:
            return _phrase(piece, labels)
        case _:
            return str(piece)


def _phrase(command: Command, labels: Mapping[str, str]) -> str:
    """What does the same here. A flag with a short form is about files, which the console has no use for."""
    shown = [each for each in command.arguments if not (isinstance(each, Flag) and each.short)]
    given = ", ".join(_piece_text(each, labels) for each in shown)
    before, place, after = PHRASES[command.verb].partition(" of {}")
    if place:
        return f"{before} of {given}{after}" if given else before + after
    return f"{before} ({given})" if given else before
