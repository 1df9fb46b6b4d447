"""Check a bundle, without a project and without a network: is it whole, who signed it, does it say one thing?

    whole      exactly the files of the manifest, each with its digest
    signed     the key that the manifest names has signed it, and is the one that was expected
    cost       what it claims to have cost follows from the event
    unit       whom it protects is what is declared, by the same columns throughout, and one population
    limit      what is spent lies within the limit and covers this release; exact totals double losses
    proof      the proof is the one that follows from the plan (bundles of format 1 have none)
    noise      every event is noise for the declared unit, on what the bundle says was measured
    data       CSV, Parquet and JSON hold the same numbers, and these follow from the stored measurement; no other files
    card       both cards claim what the manifest claims; they and the chart follow from plan and data
    ledger     with the project at hand: its ledger tells all of this, anew; the key must then be its own, or named

Content is read only after digests and signature hold: before, it could be anybody's.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import __version__, exact
from discreet.accounting import events
from discreet.bundle import card, make, manifest, page, proof, reread, sheet, yaml
from discreet.bundle.beside import beside
from discreet.bundle.claims import claims_of, event_of
from discreet.bundle.make import Files, named, pages
from discreet.bundle.manifest import Manifest, Signed
from discreet.bundle.measured import measured_sheets, sheets_besides
from discreet.bundle.measurements import UnknownMember
from discreet.bundle.members import check_members
from discreet.bundle.noise import noise_of
from discreet.bundle.reading import read_files
from discreet.bundle.report import Check, Report, plain
from discreet.bundle.retold import retold
from discreet.bundle.signing import Signer
from discreet.bundle.standing import limit_of, unit_of
from discreet.errors import DiscreetError, LedgerFault
from discreet.measurement import Measurement

if TYPE_CHECKING:
    from discreet.api import Project

#: What reading somebody else's files may raise.
_STRANGE = (
    ValueError, KeyError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError, NotImplementedError,
    StopIteration, OSError, zlib.error, DiscreetError,
)  # fmt: skip

#: The files for people, and those of every bundle, beside those of its tables.
_PAGES = ("card.html", "card.yaml", "chart.svg")
_FILES = {manifest.NAME, proof.NAME, "plan.json", "data.json", *_PAGES}


def verify(path: Path, *, key: str | None = None, project: Project | None = None) -> Report:
    """Check the bundle in a folder or a ZIP file.

    key: the fingerprint that is expected. Where there is a project at hand and none is named, it is this machine's own.
    """
    files = read_files(path)
    try:
        signed = manifest.read(files[manifest.NAME])
    except _STRANGE:
        broken = Check(name="whole", holds=False, words="the manifest is not one that Discreet wrote")
        return Report(release="", fingerprint="", expected=False, checks=(broken,))
    checks = [_whole(files, signed.manifest), _signed(signed, key, beside_project=project is not None)]
    if all(check.holds for check in checks):
        checks += _inside(files, signed.manifest, project)
    return Report(
        release=signed.manifest.release,
        fingerprint=signed.fingerprint if signed.holds else "",
        expected=key is not None or project is not None,
        checks=tuple(checks),
    )


def _whole(files: Files, told: Manifest) -> Check:
    missing = sorted(set(told.files) - set(files))
    strange = sorted(set(files) - set(told.files) - {manifest.NAME})
    changed = [name for name in told.files if name in files and manifest.digest(files[name]) != told.files[name]]
    for names, words in ((missing, "missing"), (strange, "not in the manifest"), (changed, "changed")):
        if names:
            return Check(name="whole", holds=False, words=plain(f"{words}: {', '.join(names[:5])}"))
    return Check(name="whole", holds=True, words=f"{len(told.files)} files, each with its digest")


def _signed(signed: Signed, key: str | None, *, beside_project: bool) -> Check:
    if not signed.holds:
        return Check(name="signed", holds=False, words="the signature does not hold")
    if key is not None and signed.fingerprint != key:
        return Check(name="signed", holds=False, words=f"signed by another key: {signed.fingerprint}")
    if key is None and beside_project and signed.fingerprint != Signer.known():
        words = f"signed by a key that is not this machine's: {signed.fingerprint}; a publisher's is named by --key"
        return Check(name="signed", holds=False, words=words)
    own = "this machine's own key" if beside_project else "SOME key; compare its fingerprint with the publisher's"
    expected = "the key that was expected" if key is not None else own
    return Check(name="signed", holds=True, words=f"signed by {expected}: {signed.fingerprint}")


def _inside(files: Files, told: Manifest, project: Project | None) -> list[Check]:
    """What the files say, now that they are what was signed."""
    try:
        plan = json.loads(files["plan.json"])
        event = _event(plan)
        if event is None:
            return [Check(name="cost", holds=False, words="the event is not one that Discreet wrote")]
        if why := _strange(files["plan.json"], plan):
            same = told.discreet == __version__
            words = why if same else f"not checked: {why}, and this is Discreet {__version__}"
            return [Check(name="cost", holds=False if same else None, words=plain(words))]
        found = [_cost(plan, event, told), *_standing(plan, told)]
        found += [*([_proof(files, plan, told)] if told.format > 1 else []), _noise(plan, told)]
        found += [_data(files, plan, told), _card(files, plan, told)]
        if project is not None and all(check.holds is not False for check in found):
            found = _with_ledger(found, beside(files, plan, told, project))
        return found
    except LedgerFault:  # the project's own: that says nothing about the bundle
        raise
    except _STRANGE:  # signed, and yet no bundle: somebody else's program made it
        return [Check(name="cost", holds=False, words="the plan is not one that Discreet wrote")]


def _strange(content: bytes, plan: dict[str, Any]) -> str:
    """What a plan holds that nobody reads; nothing where it holds nothing else."""
    try:
        check_members(plan)
    except UnknownMember as problem:
        return str(problem)
    except LedgerFault as problem:
        return problem.reason
    if content != make.plan_file(plan):  # spaces, and names that come twice
        return "plan.json is not written as Discreet writes it"
    return ""


def _event(plan: dict[str, Any]) -> events.Event | None:
    """The event of a plan; None where it is none, which is the bundle's fault and no ledger's."""
    try:
        for stored in map(json.loads, plan["payloads"].values()):
            if isinstance(stored, dict) and "event" in stored:
                events.from_data(stored["event"])
        for step in plan.get("steps", ()):
            events.from_data(step["event"])
        return events.from_data(plan["event"])
    except _STRANGE:
        return None


def _standing(plan: dict[str, Any], told: Manifest) -> list[Check]:
    """Whom it protects, and within which limit."""
    strange = "the plan is not one that Discreet wrote"
    try:
        unit = unit_of(plan)
    except _STRANGE:
        unit = Check(name="unit", holds=False, words=strange)
    try:
        limit = limit_of(plan, told.ledger)
    except _STRANGE:
        limit = Check(name="limit", holds=False, words=strange)
    return [unit, limit]


def _with_ledger(found: list[Check], compared: list[Check]) -> list[Check]:
    """What the ledger says, and what it settles: numbers that the bundle alone cannot account for."""
    if not compared or not compared[-1].holds:
        return [*found, *compared]
    settled = "all files agree, computed anew from the ledger"
    anew = {check.name: check for check in compared[:-1]}
    return [
        *(
            anew.get(check.name, replace(check, holds=True, words=settled)) if check.holds is None else check
            for check in found
        ),
        compared[-1],
    ]


def _cost(plan: dict[str, Any], event: events.Event, told: Manifest) -> Check:
    wanted = claims_of(
        release=plan["release"],
        kind=plan["kind"],
        table=plan["table"],
        version=plan["version"],
        unit=plan["privacy_unit"],
        event=event_of(event, plan["release"], plan["payloads"]),
        doubled=plan["doubled"],
    )
    stored = json.loads(plan["payloads"][plan["release"]])
    own = stored.get("event")
    if wanted != dict(told.claims) or wanted["release"] != told.release or (own and own != plan["event"]):
        return Check(name="cost", holds=False, words="the claims do not follow from what was done")
    return Check(name="cost", holds=True, words=f"{wanted['variant']}, recomputed from the events")


def _proof(files: Files, plan: dict[str, Any], told: Manifest) -> Check:
    """Whether the proof says what follows from the plan. `verify/` is who derives it without us."""
    if why := _why_not_derived(plan, told):
        return Check(name="proof", holds=None, words=f"it was not derived anew: {why}")
    try:
        wanted = proof.written(proof.proof_of(plan, ledger=told.ledger, derivation=_derivation(plan)))
    except _STRANGE:
        return Check(name="proof", holds=False, words="no proof can be derived from this plan")
    if files.get(proof.NAME) != wanted:
        return Check(name="proof", holds=False, words="proof.json does not follow from the plan")
    return Check(name="proof", holds=True, words="proof.json follows from the plan")


def _noise(plan: dict[str, Any], told: Manifest) -> Check:
    if why := _why_not_derived(plan, told):
        return Check(name="noise", holds=None, words=f"not checked: {why}")
    try:
        return noise_of(plan, _derivation(plan))
    except _STRANGE:
        return Check(name="noise", holds=False, words="what was measured does not follow from the plan")


def _why_not_derived(plan: dict[str, Any], told: Manifest) -> str:
    """Why nothing can be derived from a plan here; nothing where it can."""
    if told.discreet != __version__:
        return f"this is Discreet {__version__}"
    return "the question joins a public table" if plan["publics"] and plan["kind"] == "answer" else ""


def _derivation(plan: dict[str, Any]) -> dict[str, Any] | None:
    if plan["kind"] != "answer":
        return None
    readings = reread.asked_of(
        Measurement.from_text(plan["payloads"][plan["release"]]),
        reread.catalog_of(plan["schemas"]),
        question=plan["question"],
    )
    return proof.answered(readings, plan["payloads"], plan["schemas"])


def _data(files: Files, plan: dict[str, Any], told: Manifest) -> Check:
    try:
        sheets = sheet.from_json(files["data.json"])
        tables = {f"{name}.{form}" for name in named(sheets) for form in ("csv", "parquet")}
        pictured = _FILES - {"chart.svg"} if plan["kind"] == "model" else _FILES
        if strange := sorted(set(files) - tables - pictured):
            return Check(name="data", holds=False, words=plain(f"no bundle of this kind has {', '.join(strange[:5])}"))
        told_as = float(exact.read(plan["confidence"]))
        if files["data.json"] != sheet.to_json(sheets, release=plan["release"], confidence=told_as):
            return Check(name="data", holds=False, words="data.json holds something beside its tables")
        for name, each in named(sheets).items():
            if sheet.to_csv(each) != files[f"{name}.csv"]:
                return Check(name="data", holds=False, words=f"{name}.csv does not hold what data.json holds")
            if not sheet.same_as_parquet(each, files[f"{name}.parquet"]):
                return Check(name="data", holds=False, words=f"{name}.parquet does not hold what data.json holds")
        return _follows(sheets, plan, told)
    except _STRANGE:
        return Check(name="data", holds=False, words="the data files cannot be read")


def _follows(sheets: tuple[sheet.Sheet, ...], plan: dict[str, Any], told: Manifest) -> Check:
    """Whether the numbers follow from what was measured. A reading may get better, so only by the same Discreet.

    Numbers as they were drawn are no reading: whichever Discreet tells them, they are those that are stored.
    """
    besides = plan["kind"] != "answer"
    if besides and sheets[-1:] != measured_sheets(plan["payloads"], plan["release"]):
        return Check(name="data", holds=False, words="the numbers are not those that were measured")
    if plan["publics"] and not besides:  # what no SQL asked for is told as it was drawn, whatever it was drawn from
        return Check(name="data", holds=None, words="files agree; the question joins a public table, which is not here")
    if told.discreet != __version__:
        words = plain(f"files agree; this is Discreet {__version__}, and they were computed by {told.discreet}")
        return Check(name="data", holds=None, words=words)
    if besides:
        return _besides(sheets, plan)
    anew = reread.sheets_of(
        plan["release"],
        plan["payloads"],
        reread.catalog_of(plan["schemas"]),
        question=plan["question"],
        confidence=exact.read(plan["confidence"]),
    )
    if not _agree(sheets, anew):
        return Check(name="data", holds=False, words="the numbers do not follow from the stored measurement")
    return Check(name="data", holds=True, words="all files agree, computed anew from the stored measurement")


def _agree(sheets: tuple[sheet.Sheet, ...], anew: tuple[sheet.Sheet, ...]) -> bool:
    return len(sheets) == len(anew) and all(map(sheet.Sheet.agrees, sheets, anew))


def _besides(sheets: tuple[sheet.Sheet, ...], plan: dict[str, Any]) -> Check:
    """The tables of what no SQL asked for. Rows sampled from a model come first, and are nobody's to check."""
    schema, confidence = reread.schema_of(plan["table"], plan["schemas"]), exact.read(plan["confidence"])
    anew = sheets_besides(plan["kind"], plan["payloads"], plan["release"], schema, confidence=confidence)
    if not _agree(sheets[-len(anew) :], anew):
        return Check(name="data", holds=False, words="the numbers do not follow from the stored measurements")
    if len(sheets) != len(anew):
        words = "files agree; rows sampled from a model follow from the model, which is not here"
        return Check(name="data", holds=None, words=words)
    return Check(name="data", holds=True, words="all files agree with the stored measurements")


def _card(files: Files, plan: dict[str, Any], told: Manifest) -> Check:
    wanted = card.claimed(told.claims)
    try:
        if card.said(yaml.read(files["card.yaml"].decode())) != wanted:
            return Check(name="card", holds=False, words="card.yaml claims something else than the manifest")
        if page.said_by(files["card.html"].decode()) != wanted:
            return Check(name="card", holds=False, words="card.html claims something else than the manifest")
    except _STRANGE:
        return Check(name="card", holds=False, words="a card cannot be read")
    words = "both cards claim what the manifest claims"
    if told.discreet != __version__ or (plan["publics"] and plan["kind"] == "answer"):  # then the data stay open, too
        return Check(name="card", holds=True, words=f"{words}; they were not made anew")
    try:
        content = retold(plan, sheet.from_json(files["data.json"]), told.ledger)
        made, anew = pages(content), content.to_plan() | {"steps": plan.get("steps", [])}
    except _STRANGE:
        return Check(name="card", holds=False, words="no cards follow from the plan")
    if other := sorted(name for name in plan if plan[name] != anew.get(name)):
        return Check(name="card", holds=False, words=f"the plan tells what does not follow: {', '.join(other)}")
    if other := [name for name in _PAGES if files.get(name) != made.get(name)]:
        return Check(name="card", holds=False, words=f"not what follows from plan and data: {', '.join(other)}")
    return Check(name="card", holds=True, words=f"{words}; cards and chart follow from plan and data")
