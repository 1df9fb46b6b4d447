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
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import ReservationEvent
from discreet.bundle import answer_replay, bundle_files, card_page, card_yaml, manifest, proof, registry_card, sheet
from discreet.bundle.batch_replay import KIND as BATCH
from discreet.bundle.batch_replay import batch_queries, batch_readings, batch_sheets
from discreet.bundle.bundle_files import Files, pages, sheets_by_file_name
from discreet.bundle.bundle_reader import read_files
from discreet.bundle.claims import claims_of, combined_event
from discreet.bundle.guarantee_check import check_limit, check_unit
from discreet.bundle.ledger_comparison import compare_with_ledger
from discreet.bundle.manifest import BundleManifest, SignedManifest
from discreet.bundle.measurement_check import UnknownMember
from discreet.bundle.noise_check import check_noise
from discreet.bundle.number_sheets import noisy_number_sheets, stored_sheets
from discreet.bundle.plan_content import content_from_plan
from discreet.bundle.plan_members import check_members
from discreet.bundle.signing_key import Signer
from discreet.bundle.verification_report import BundleCheck, VerificationReport, printable
from discreet.errors import DiscreetError, Flag, LedgerFault, Message
from discreet.kernel.measurement import Measurement
from discreet.storage.program_version import VERSION

if TYPE_CHECKING:
    from discreet.project.project import Project

#: What reading somebody else's files may raise; NotImplementedError is an archive of an unknown compression.
_READ_ERRORS = (
    ValueError, KeyError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError, NotImplementedError,
    StopIteration, OSError, zlib.error, DiscreetError,
)  # fmt: skip

#: The files for people, and those of every bundle, beside those of its tables.
_PAGES = ("card.html", "card.yaml", "chart.svg")
_FILES = {manifest.NAME, proof.NAME, "plan.json", "data.json", *_PAGES}


def verify(path: Path, *, key: str | None = None, project: Project | None = None) -> VerificationReport:
    """Check the bundle in a folder or a ZIP file.

    key: the fingerprint that is expected. Where there is a project at hand and none is named, it is this machine's own.
    """
    files = read_files(path)
    try:
        signed = manifest.read(files[manifest.NAME])
    except _READ_ERRORS:
        broken = BundleCheck(name="whole", holds=False, words="the manifest was not written by Discreet")
        return VerificationReport(release="", fingerprint="", expected=False, checks=(broken,))
    checks = [_check_whole(files, signed.manifest), _check_signature(signed, key, beside_project=project is not None)]
    if all(check.holds for check in checks):
        checks += _check_contents(files, signed.manifest, project)
    return VerificationReport(
        release=signed.manifest.release,
        fingerprint=signed.fingerprint if signed.holds else "",
        expected=key is not None or project is not None,
        checks=tuple(checks),
    )


def _check_whole(files: Files, bundle_manifest: BundleManifest) -> BundleCheck:
    missing = sorted(set(bundle_manifest.files) - set(files))
    strange = sorted(set(files) - set(bundle_manifest.files) - {manifest.NAME})
    changed = [
        name
        for name in bundle_manifest.files
        if name in files and manifest.digest(files[name]) != bundle_manifest.files[name]
    ]
    for names, words in ((missing, "missing"), (strange, "not in the manifest"), (changed, "changed")):
        if names:
            return BundleCheck(name="whole", holds=False, words=printable(f"{words}: {', '.join(names[:5])}"))
    return BundleCheck(name="whole", holds=True, words=f"{len(bundle_manifest.files)} files with correct digests")


def _check_signature(signed: SignedManifest, key: str | None, *, beside_project: bool) -> BundleCheck:
    if not signed.holds:
        return BundleCheck(name="signed", holds=False, words="the signature is not valid")
    if key is not None and signed.fingerprint != key:
        return BundleCheck(name="signed", holds=False, words=f"signed by another key: {signed.fingerprint}")
    if key is None and beside_project and signed.fingerprint != Signer.existing_fingerprint():
        words = Message(
            f"signed by a key that is not this machine's: {signed.fingerprint}; name a publisher's key with ",
            Flag("key"),
        )
        return BundleCheck(name="signed", holds=False, words=words)
    own = "this machine's own key" if beside_project else "SOME key; compare its fingerprint with the publisher's"
    expected = "the expected key" if key is not None else own
    return BundleCheck(name="signed", holds=True, words=f"signed by {expected}: {signed.fingerprint}")


def _check_contents(files: Files, bundle_manifest: BundleManifest, project: Project | None) -> list[BundleCheck]:
    """What the files say, now that they are what was signed."""
    try:
        plan = json.loads(files["plan.json"])
        event = _event(plan)
        if event is None:
            return [BundleCheck(name="cost", holds=False, words="the event was not written by Discreet")]
        if why := _unknown_content(files["plan.json"], plan):
            same = bundle_manifest.discreet == VERSION
            words = why if same else f"not checked: {why}, and this is Discreet {VERSION}"
            return [BundleCheck(name="cost", holds=False if same else None, words=printable(words))]
        checks = [_check_cost(plan, event, bundle_manifest), *_check_unit_and_limit(plan, bundle_manifest)]
        checks += [
            *([_check_proof(files, plan, bundle_manifest)] if bundle_manifest.format > 1 else []),
            _check_noise(plan, bundle_manifest),
        ]
        checks += [_check_data(files, plan, bundle_manifest), _check_card(files, plan, bundle_manifest)]
        if project is not None and all(check.holds is not False for check in checks):
            checks = _with_ledger(checks, compare_with_ledger(files, plan, bundle_manifest, project))
        return checks
    except LedgerFault:  # the project's own: that says nothing about the bundle
        raise
    except _READ_ERRORS:  # signed, and yet no bundle: somebody else's program made it
        return [BundleCheck(name="cost", holds=False, words="the plan was not written by Discreet")]


def _unknown_content(content: bytes, plan: dict[str, Any]) -> str:
    """What a plan holds that nobody reads; nothing where it holds nothing else."""
    try:
        check_members(plan)
    except UnknownMember as problem:
        return str(problem)
    except LedgerFault as problem:
        return problem.reason
    if content != bundle_files.plan_file(plan):  # spaces, and names that come twice
        return "plan.json is not formatted as Discreet formats it"
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
    except _READ_ERRORS:
        return None


def _check_unit_and_limit(plan: dict[str, Any], bundle_manifest: BundleManifest) -> list[BundleCheck]:
    """Whom it protects, and within which limit."""
    strange = "the plan was not written by Discreet"
    try:
        unit = check_unit(plan)
    except _READ_ERRORS:
        unit = BundleCheck(name="unit", holds=False, words=strange)
    try:
        limit = check_limit(plan, bundle_manifest.ledger)
    except _READ_ERRORS:
        limit = BundleCheck(name="limit", holds=False, words=strange)
    return [unit, limit]


def _with_ledger(checks: list[BundleCheck], compared: list[BundleCheck]) -> list[BundleCheck]:
    """What the ledger says, and what it settles: numbers that the bundle alone cannot account for."""
    if not compared or not compared[-1].holds:
        return [*checks, *compared]
    settled = "all files agree, recomputed from the ledger"
    anew = {check.name: check for check in compared[:-1]}
    return [
        *(
            anew.get(check.name, replace(check, holds=True, words=settled)) if check.holds is None else check
            for check in checks
        ),
        compared[-1],
    ]


def _check_cost(plan: dict[str, Any], event: events.Event, bundle_manifest: BundleManifest) -> BundleCheck:
    expected_claims = claims_of(
        release=plan["release"],
        kind=plan["kind"],
        table=plan["table"],
        version=plan["version"],
        unit=plan["privacy_unit"],
        event=combined_event(event, plan["release"], plan["payloads"]),
        doubled=plan["doubled"],
    )
    stored = json.loads(plan["payloads"][plan["release"]])
    own = stored.get("event")
    if (
        expected_claims != dict(bundle_manifest.claims)
        or expected_claims["release"] != bundle_manifest.release
        or (own and own != plan["event"])
    ):
        return BundleCheck(name="cost", holds=False, words="the claims do not follow from the events")
    return BundleCheck(name="cost", holds=True, words=f"{expected_claims['variant']}, recomputed from the events")


def _check_proof(files: Files, plan: dict[str, Any], bundle_manifest: BundleManifest) -> BundleCheck:
    """Whether the proof says what follows from the plan. `verify/` is who derives it without us."""
    if why := _why_not_derived(plan, bundle_manifest):
        return BundleCheck(name="proof", holds=None, words=f"not derived again: {why}")
    try:
        expected = proof.proof_of(plan, ledger=bundle_manifest.ledger, derivation=_derivation(plan))
    except _READ_ERRORS:
        return BundleCheck(name="proof", holds=False, words="no proof can be derived from this plan")
    if not proof.is_accepted(files.get(proof.NAME), expected):
        return BundleCheck(name="proof", holds=False, words="proof.json does not follow from the plan")
    return BundleCheck(name="proof", holds=True, words="proof.json follows from the plan")


def _check_noise(plan: dict[str, Any], bundle_manifest: BundleManifest) -> BundleCheck:
    if why := _why_not_derived(plan, bundle_manifest):
        return BundleCheck(name="noise", holds=None, words=f"not checked: {why}")
    try:
        return check_noise(plan, _derivation(plan))
    except _READ_ERRORS:
        return BundleCheck(name="noise", holds=False, words="the measurements do not follow from the plan")


def _why_not_derived(plan: dict[str, Any], bundle_manifest: BundleManifest) -> str:
    """Why nothing can be derived from a plan here; nothing where it can."""
    if bundle_manifest.discreet != VERSION:
        return f"this is Discreet {VERSION}"
    return "the query joins a public table" if plan["publics"] and plan["kind"] in ("answer", BATCH) else ""


def _derivation(plan: dict[str, Any]) -> dict[str, Any] | None:
    if plan["kind"] != "answer":
        return None
    readings = answer_replay.readings_of(
        Measurement.from_text(plan["payloads"][plan["release"]]),
        answer_replay.catalog_of(plan["schemas"]),
        question=plan["question"],
    )
    return proof.answer_derivation(readings, plan["payloads"], plan["schemas"])


def _check_data(files: Files, plan: dict[str, Any], bundle_manifest: BundleManifest) -> BundleCheck:
    try:
        sheets = sheet.from_json(files["data.json"])
        tables = {f"{name}.{form}" for name in sheets_by_file_name(sheets) for form in ("csv", "parquet")}
        pictured = _FILES - {"chart.svg"} if plan["kind"] == "model" else _FILES
        if strange := sorted(set(files) - tables - pictured):
            return BundleCheck(name="data", holds=False, words=printable(f"unexpected files: {', '.join(strange[:5])}"))
        confidence = float(exact.read(plan["confidence"]))
        if files["data.json"] != sheet.to_json(sheets, release=plan["release"], confidence=confidence):
            return BundleCheck(name="data", holds=False, words="data.json contains something besides its tables")
        for name, each in sheets_by_file_name(sheets).items():
            if sheet.to_csv(each) != files[f"{name}.csv"]:
                return BundleCheck(name="data", holds=False, words=f"{name}.csv differs from data.json")
            if not sheet.same_as_parquet(each, files[f"{name}.parquet"]):
                return BundleCheck(name="data", holds=False, words=f"{name}.parquet differs from data.json")
        return _check_numbers_follow(sheets, plan, bundle_manifest)
    except _READ_ERRORS:
        return BundleCheck(name="data", holds=False, words="the data files cannot be read")


def _check_numbers_follow(
    sheets: tuple[sheet.Sheet, ...], plan: dict[str, Any], bundle_manifest: BundleManifest
) -> BundleCheck:
    """Whether the numbers follow from what was measured. A reading may get better, so only by the same Discreet.

    Numbers as they were drawn are no reading: whichever Discreet tells them, they are those that are stored.
    """
    besides = plan["kind"] != "answer"
    if besides and sheets[-1:] != noisy_number_sheets(plan["payloads"], plan["release"]):
        return BundleCheck(name="data", holds=False, words="the numbers differ from the measured ones")
    # What no SQL asked for is told as it was drawn, whatever it was drawn from.
    if plan["publics"] and plan["kind"] in ("answer", BATCH):
        return BundleCheck(
            name="data", holds=None, words="files agree; the query joins a public table, which is not in the bundle"
        )
    if bundle_manifest.discreet != VERSION:
        words = printable(
            f"files agree; this is Discreet {VERSION}, and Discreet {bundle_manifest.discreet} computed them"
        )
        return BundleCheck(name="data", holds=None, words=words)
    if besides:
        return _check_stored_sheets(sheets, plan)
    anew = answer_replay.sheets_of(
        plan["release"],
        plan["payloads"],
        answer_replay.catalog_of(plan["schemas"]),
        question=plan["question"],
        confidence=exact.read(plan["confidence"]),
    )
    if not _agree(sheets, anew):
        return BundleCheck(name="data", holds=False, words="the numbers do not follow from the stored measurement")
    return BundleCheck(name="data", holds=True, words="all files agree, recomputed from the stored measurement")


def _agree(sheets: tuple[sheet.Sheet, ...], anew: tuple[sheet.Sheet, ...]) -> bool:
    return len(sheets) == len(anew) and all(map(sheet.Sheet.agrees, sheets, anew))


def _check_stored_sheets(sheets: tuple[sheet.Sheet, ...], plan: dict[str, Any]) -> BundleCheck:
    """The tables of what no SQL asked for. Rows sampled from a model come first, and are nobody's to check."""
    schema, confidence = answer_replay.schema_of(plan["table"], plan["schemas"]), exact.read(plan["confidence"])
    anew = (
        _batch_sheets(plan, confidence)
        if plan["kind"] == BATCH
        else stored_sheets(plan["kind"], plan["payloads"], plan["release"], schema, confidence=confidence)
    )
    if not _agree(sheets[-len(anew) :], anew):
        return BundleCheck(name="data", holds=False, words="the numbers do not follow from the stored measurements")
    if len(sheets) != len(anew):
        words = "files agree; the sampled rows follow from the model, which is not in the bundle"
        return BundleCheck(name="data", holds=None, words=words)
    return BundleCheck(name="data", holds=True, words="all files agree with the stored measurements")


def _batch_sheets(plan: dict[str, Any], confidence: Fraction) -> tuple[sheet.Sheet, ...]:
    payloads, release, event = plan["payloads"], plan["release"], events.from_data(plan["event"])
    if not isinstance(event, ReservationEvent):
        raise ValueError("a batch is a reservation")
    queries = batch_queries(payloads, release, answer_replay.catalog_of(plan["schemas"]))
    readings = batch_readings(payloads, release, event, queries)
    return batch_sheets(payloads, release, readings, confidence=confidence)


def _check_card(files: Files, plan: dict[str, Any], bundle_manifest: BundleManifest) -> BundleCheck:
    expected_claims = registry_card.claims_expected_on_card(bundle_manifest.claims)
    try:
        if registry_card.claims_on_card(card_yaml.read(files["card.yaml"].decode())) != expected_claims:
            return BundleCheck(name="card", holds=False, words="the claims of card.yaml differ from the manifest")
        if card_page.claims_on_page(files["card.html"].decode()) != expected_claims:
            return BundleCheck(name="card", holds=False, words="the claims of card.html differ from the manifest")
    except _READ_ERRORS:
        return BundleCheck(name="card", holds=False, words="a card cannot be read")
    words = "the claims of both cards match the manifest"
    if bundle_manifest.discreet != VERSION or (
        plan["publics"] and plan["kind"] in ("answer", BATCH)
    ):  # then the data stay open, too
        return BundleCheck(name="card", holds=True, words=f"{words}; they were not made again")
    try:
        content = content_from_plan(plan, sheet.from_json(files["data.json"]), bundle_manifest.ledger)
        made, anew = pages(content), content.to_plan() | {"steps": plan.get("steps", [])}
    except _READ_ERRORS:
        return BundleCheck(name="card", holds=False, words="no cards can be made from the plan")
    if other := sorted(name for name in plan if plan[name] != anew.get(name)):
        return BundleCheck(name="card", holds=False, words=f"does not follow, in the plan: {', '.join(other)}")
    if other := [name for name in _PAGES if files.get(name) != made.get(name)]:
        return BundleCheck(name="card", holds=False, words=f"does not follow from plan and data: {', '.join(other)}")
    return BundleCheck(name="card", holds=True, words=f"{words}; cards and chart follow from plan and data")
