"""A bundle beside the project that it comes from: everything in it is told anew by the ledger, and compared.

Nothing is taken from the bundle but which release it is of, at which row it was made, and what people told.
"""

from __future__ import annotations

import json
from itertools import compress
from typing import TYPE_CHECKING, Any

from discreet.bundle import proof, sheet
from discreet.bundle.about import About
from discreet.bundle.bundle_files import Files, unsigned_files
from discreet.bundle.content import BundleContent, content_of, guarantee_rows
from discreet.bundle.manifest import BundleManifest
from discreet.bundle.noise_check import check_noise
from discreet.bundle.sheet import Ends, Sheet
from discreet.bundle.verification_report import BundleCheck, printable
from discreet.errors import DiscreetError, LedgerFault
from discreet.project.recall import recall_release
from discreet.release import Cell
from discreet.storage.program_version import VERSION

if TYPE_CHECKING:
    from discreet.project.project import Project

#: Words of a plan that another Discreet may have put otherwise.
_WORDED = ("explanation", "warnings")

#: What plans of format 1 do not have.
_LATER = ("steps",)

#: Files whose bytes hang on a library's version; their content is compared with the others'.
_PACKED = ".parquet"


def compare_with_ledger(
    files: Files, plan: dict[str, Any], manifest: BundleManifest, project: Project
) -> list[BundleCheck]:
    """Whether this is what the project tells of the release, and whether its noise was made for the unit.

    None of it where the ledger is another one.

    Guarantee: where it holds, the release, its unit, schemas, text, measurements, numbers, loss and budget are those
        of the ledger, whoever signed the bundle and whichever Discreet it names.
    """
    ledger = project.ledger
    state = ledger.refresh()
    if state.ledger != manifest.ledger.get("ledger"):
        return []
    if manifest.release not in state.charges or manifest.release not in state.answers:
        return [_fails("the ledger does not have this release")]
    if recall_release(manifest.release, ledger=ledger).lacks is not None:
        return [_fails("the ledger has no complete answer for this release")]
    rows = guarantee_rows(ledger, manifest.release)
    if plan.get("as_of") not in rows:
        return [_fails("the ledger entry that the bundle names changed nothing about this release")]
    about = About.from_data(plan["about"])
    try:
        content = content_of(project, manifest.release, about, as_of=plan["as_of"])
    except LedgerFault:
        raise
    except DiscreetError as problem:
        return [_undecided(printable(f"not compared: {problem.reason}"))]
    compared = _compare_content(files, plan, manifest, content, newest=plan["as_of"] == rows[-1])
    return [check_noise(content.to_plan(), content.derivation), compared] if compared.holds else [compared]


def _compare_content(
    files: Files, plan: dict[str, Any], manifest: BundleManifest, content: BundleContent, *, newest: bool
) -> BundleCheck:
    same = manifest.discreet == VERSION
    ledger_plan = json.loads(json.dumps(content.to_plan()))
    if dict(manifest.ledger) != dict(content.ledger):
        return _fails("the ledger entry is not the one that the bundle commits to")
    other = sorted(name for name in {*ledger_plan, *plan} if plan.get(name) != ledger_plan.get(name))
    other = [name for name in other if same or name not in _WORDED]
    other = [name for name in other if manifest.format > 1 or name not in _LATER]
    if other or dict(manifest.claims) != content.claims:
        return _fails(printable(f"the ledger disagrees on: {', '.join(other) or 'the cost'}"))
    sheets = sheet.from_json(files["data.json"])
    sampled = content.kind == "model" and len(sheets) == len(content.sheets) + 1
    other_numbers = sheets[int(sampled) :] != content.sheets
    if other_numbers and (same or any(map(_has_other_numbers, sheets[int(sampled) :], content.sheets))):
        return _fails("the numbers differ from those in the ledger")
    expected = proof.proof_of(ledger_plan, ledger=content.ledger, derivation=content.derivation)
    proven = manifest.format == 1 or proof.is_accepted(files.get(proof.NAME), expected)
    if same and not proven:
        return _fails("the proof differs from the one that follows from the ledger")
    if same and not sampled and (changed := _changed_files(files, content, manifest)):
        return _fails(printable(f"files that differ from those that follow from the ledger: {', '.join(changed)}"))
    if sampled:
        return _undecided("rows sampled from a model cannot be compared: the project no longer has the model")
    if other_numbers:
        return _undecided("another version of Discreet computed the numbers; this version would show different ones")
    if not proven:
        return _undecided("another version of Discreet wrote the proof; this version would write a different one")
    if not newest:
        return _undecided(f"this was correct at entry {content.as_of} of the ledger; the guarantee has changed since")
    row = content.ledger["row"]
    more = "" if same else "; the texts around the numbers are from another version of Discreet and were not compared"
    return BundleCheck(
        name="ledger", holds=True, words=f"entry {row} of the ledger has this charge and the same answer{more}"
    )


def _has_other_numbers(bundled: Sheet, own: Sheet) -> bool:
    """Whether numbers that another Discreet shows in the same place lie outside the noise interval that this one gives.

    It may round them otherwise, or show other rows.
    """
    if bundled.columns != own.columns or len(bundled.rows) != len(own.rows):
        return False
    keys = [column.kind == "key" for column in own.columns]
    return any(
        _outside(*cell)
        for theirs, ours, ends in zip(bundled.rows, own.rows, own.intervals, strict=True)
        if list(compress(theirs, keys)) == list(compress(ours, keys))
        for cell in zip(theirs, ours, ends, strict=True)
    )


def _outside(theirs: Cell, ours: Cell, ends: Ends) -> bool:
    if not isinstance(theirs, int | float) or not isinstance(ours, int | float):
        return isinstance(theirs, int | float) or isinstance(ours, int | float)
    low, high = ends or (ours, ours)
    return (isinstance(low, int | float) and theirs < low) or (isinstance(high, int | float) and theirs > high)


def _changed_files(files: Files, content: BundleContent, manifest: BundleManifest) -> list[str]:
    """The files that would be others if this Discreet made them now, in the bundle's own format."""
    later = (proof.NAME,) if manifest.format > 1 else (proof.NAME, "plan.json")  # compared above: proof, plan's fields
    anew = {
        name: made for name, made in unsigned_files(content).items() if not name.endswith(_PACKED) and name not in later
    }
    return [name for name, made in anew.items() if files.get(name) != made]


def _fails(words: str) -> BundleCheck:
    return BundleCheck(name="ledger", holds=False, words=words)


def _undecided(words: str) -> BundleCheck:
    return BundleCheck(name="ledger", holds=None, words=words)
