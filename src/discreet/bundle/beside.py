"""A bundle beside the project that it comes from: everything in it is told anew by the ledger, and compared.

Nothing is taken from the bundle but which release it is of, at which row it was made, and what people told.
"""

from __future__ import annotations

import json
from itertools import compress
from typing import TYPE_CHECKING, Any

from discreet import __version__
from discreet.bundle import proof, sheet
from discreet.bundle.about import About
from discreet.bundle.content import Content, content_of, rows_told
from discreet.bundle.make import Files, unsigned
from discreet.bundle.manifest import Manifest
from discreet.bundle.noise import noise_of
from discreet.bundle.report import Check, plain
from discreet.bundle.sheet import Ends, Sheet
from discreet.errors import DiscreetError, LedgerFault
from discreet.recall import recalled
from discreet.release import Cell

if TYPE_CHECKING:
    from discreet.api import Project

#: Words of a plan that another Discreet may have put otherwise.
_WORDED = ("explanation", "warnings")

#: What plans of format 1 do not have.
_LATER = ("steps",)

#: Files whose bytes hang on a library's version; their content is compared with the others'.
_PACKED = ".parquet"


def beside(files: Files, plan: dict[str, Any], told: Manifest, project: Project) -> list[Check]:
    """Whether this is what the project tells of the release, and whether its noise was made for the unit.

    None of it where the ledger is another one.

    Guarantee: where it holds, the release, its unit, schemas, text, measurements, numbers, loss and budget are those
        of the ledger, whoever signed the bundle and whichever Discreet it names.
    """
    ledger = project.ledger
    state = ledger.refresh()
    if state.ledger != told.ledger.get("ledger"):
        return []
    if told.release not in state.charges or told.release not in state.answers:
        return [_fails("the ledger holds no such release")]
    if recalled(told.release, ledger=ledger).lacks is not None:
        return [_fails("the ledger holds no whole answer of this release")]
    rows = rows_told(ledger, told.release)
    if plan.get("as_of") not in rows:
        return [_fails("at the row that it names, the ledger tells nothing new of this release")]
    about = About.from_data(plan["about"])
    try:
        content = content_of(project, told.release, about, as_of=plan["as_of"])
    except LedgerFault:
        raise
    except DiscreetError as problem:
        return [_open(plain(f"it cannot be compared: {problem.reason}"))]
    compared = _compared(files, plan, told, content, newest=plan["as_of"] == rows[-1])
    return [noise_of(content.to_plan(), content.derivation), compared] if compared.holds else [compared]


def _compared(files: Files, plan: dict[str, Any], told: Manifest, content: Content, *, newest: bool) -> Check:
    same = told.discreet == __version__
    wanted = json.loads(json.dumps(content.to_plan()))
    if dict(told.ledger) != dict(content.ledger):
        return _fails("the ledger's row is not the one that the bundle commits to")
    other = sorted(name for name in {*wanted, *plan} if plan.get(name) != wanted.get(name))
    other = [name for name in other if same or name not in _WORDED]
    other = [name for name in other if told.format > 1 or name not in _LATER]
    if other or dict(told.claims) != content.claims:
        return _fails(plain(f"the ledger says otherwise: {', '.join(other) or 'what it cost'}"))
    sheets = sheet.from_json(files["data.json"])
    sampled = content.kind == "model" and len(sheets) == len(content.sheets) + 1
    other_numbers = sheets[int(sampled) :] != content.sheets
    if other_numbers and (same or any(map(_strange, sheets[int(sampled) :], content.sheets))):
        return _fails("the numbers are not those that the ledger gives")
    proven = told.format == 1 or files.get(proof.NAME) == proof.written(
        proof.proof_of(wanted, ledger=content.ledger, derivation=content.derivation)
    )
    if same and not proven:
        return _fails("the proof is not the one that the ledger gives")
    if same and not sampled and (changed := _changed(files, content, told)):
        return _fails(plain(f"the ledger gives another {', '.join(changed)}"))
    if sampled:
        return _open("rows sampled from a model cannot be compared: the project keeps it no more")
    if other_numbers:
        return _open("another Discreet computed the numbers, and this one would show others")
    if not proven:
        return _open("another Discreet wrote the proof, and this one would write another")
    if not newest:
        return _open(f"so it was at row {content.as_of} of the ledger; what is guaranteed has changed since")
    row = content.ledger["row"]
    more = "" if same else "; the words around the numbers are another Discreet's, and were not compared"
    return Check(name="ledger", holds=True, words=f"row {row} of the ledger has this charge and the same answer{more}")


def _strange(told: Sheet, own: Sheet) -> bool:
    """Whether numbers that another Discreet shows in the same place lie outside the noise interval that this one gives.

    It may round them otherwise, or show other rows.
    """
    if told.columns != own.columns or len(told.rows) != len(own.rows):
        return False
    keys = [column.kind == "key" for column in own.columns]
    return any(
        _outside(*cell)
        for theirs, ours, ends in zip(told.rows, own.rows, own.intervals, strict=True)
        if list(compress(theirs, keys)) == list(compress(ours, keys))
        for cell in zip(theirs, ours, ends, strict=True)
    )


def _outside(theirs: Cell, ours: Cell, ends: Ends) -> bool:
    if not isinstance(theirs, int | float) or not isinstance(ours, int | float):
        return isinstance(theirs, int | float) or isinstance(ours, int | float)
    low, high = ends or (ours, ours)
    return (isinstance(low, int | float) and theirs < low) or (isinstance(high, int | float) and theirs > high)


def _changed(files: Files, content: Content, told: Manifest) -> list[str]:
    """The files that would be others if this Discreet made them now, in the bundle's own format."""
    later = () if told.format > 1 else (proof.NAME, "plan.json")  # a plan's fields were compared above
    anew = {name: made for name, made in unsigned(content).items() if not name.endswith(_PACKED) and name not in later}
    return [name for name, made in anew.items() if files.get(name) != made]


def _fails(words: str) -> Check:
    return Check(name="ledger", holds=False, words=words)


def _open(words: str) -> Check:
    return Check(name="ledger", holds=None, words=words)
