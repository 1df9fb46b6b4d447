"""The page of events and of the ledger's rows: what was done, in mathematics, and what is written down of it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from manual.tables import code, page, table
from manual.words import Undocumented, agree, words

from discreet.accounting import events
from discreet.ledger.chain import KINDS

OPENING = """\
An event is the mathematical description of what a charge did. The ledger stores it permanently, and the meaning of a
kind of event never changes. [Why the filters hold](../proofs/filters.md) shows how losses add up."""


def kinds() -> dict[str, type[Any]]:
    """Every kind of event by the name that is stored."""
    return {**events._KINDS, "together": events.ComposedEvent}


def text() -> str:
    """The page."""
    rows = words("rows")
    agree(set(KINDS), set(rows), what="rows of the ledger", where="manual/words/rows.toml")
    return page(
        "Events and entries of the ledger",
        OPENING,
        "## Events\n",
        table(("event", "fields", "what it is, and what it costs"), [_event(*each) for each in kinds().items()]),
        "## Entries of the ledger\n\n"
        "Each entry contains the digest of the entry before it, and a time in whole seconds. "
        "An answer, a failure and a step have the time of their charge, because their own time would reveal how long "
        "the query took. "
        "`discreet ledger show` lists them.\n",
        table(("entry", "meaning"), [(code(name), rows[name]) for name in rows]),
    )


def _event(name: str, kind: type[Any]) -> tuple[str, str, str]:
    said = inspect.cleandoc(kind.__doc__ or "")
    if not said or said.startswith(f"{kind.__name__}("):  # the docstring that a dataclass gives itself
        raise Undocumented(f"event {name!r} has no docstring")
    fields = ", ".join(code(field.name) for field in dataclasses.fields(kind))
    linked = re.sub(r"docs/(proofs/[\w-]+\.md)", r"[proof](../\1)", " ".join(said.split()))
    return code(name), fields, linked
