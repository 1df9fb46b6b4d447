"""Make a bundle: all its files as bytes, in a folder, or in one archive. The same release gives the same bytes."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.answers.caveats import PRACTICE
from discreet.bundle import card_yaml, manifest, number_names, proof, sheet
from discreet.bundle.about import About
from discreet.bundle.answer_replay import schema_of
from discreet.bundle.card_page import page_of
from discreet.bundle.content import BundleContent, content_of
from discreet.bundle.guarantee_check import PRACTICE_MARK
from discreet.bundle.registry_card import card_of, rho_in_words
from discreet.bundle.sheet import Sheet
from discreet.bundle.sheet_chart import chart_of, room_of
from discreet.bundle.signing_key import Signer
from discreet.errors import Flag, Message, UsageError
from discreet.present.charts import standalone_svg
from discreet.project.folder import refuse_state_inside
from discreet.storage.program_version import VERSION

if TYPE_CHECKING:
    from markupsafe import Markup

    from discreet.project.project import Project

Files = Mapping[str, bytes]

#: The first day that an archive can name: a real one would make two archives of one release differ.
_DAY = (1980, 1, 1, 0, 0, 0)


def make_bundle(project: Project, release: str, about: About | None = None) -> dict[str, bytes]:
    """Every file of a release's bundle, by name, signed by this state folder's key. Free."""
    refuse_state_inside(project.folder)
    return signed_files(content_of(project, release, about), Signer.load_or_make())


def signed_files(content: BundleContent, signer: Signer) -> dict[str, bytes]:
    """The files of what a bundle tells, and the manifest, signed."""
    files = unsigned_files(content)
    digests = {name: manifest.digest(files[name]) for name in sorted(files)}
    signed = manifest.BundleManifest(
        release=content.release,
        discreet=VERSION,
        files=digests,
        claims=content.claims,
        ledger=content.ledger,
    ).sign(signer)
    return {**{name: files[name] for name in digests}, manifest.NAME: signed}


def unsigned_files(content: BundleContent) -> dict[str, bytes]:
    """The files of what a bundle tells, all but the manifest."""
    plan = content.to_plan()
    files = {
        **pages(content),
        "data.json": sheet.to_json(content.sheets, release=content.release, confidence=float(content.confidence)),
        "plan.json": plan_file(plan),
        proof.NAME: proof.proof_bytes(proof.proof_of(plan, ledger=content.ledger, derivation=content.derivation)),
    }
    for name, each in sheets_by_file_name(content.sheets).items():
        files |= {f"{name}.csv": sheet.to_csv(each), f"{name}.parquet": sheet.to_parquet(each)}
    return files


def plan_file(plan: Mapping[str, Any]) -> bytes:
    """The file of a plan."""
    return (json.dumps(plan, ensure_ascii=False, sort_keys=True, indent=1) + "\n").encode()


def pages(content: BundleContent) -> dict[str, bytes]:
    """The files for people: both cards, and the chart where there is one."""
    card, chart = card_of(content), _chart(content)
    practice = (PRACTICE,) if str(content.ledger["ledger"]).startswith(PRACTICE_MARK) else ()
    warnings = (*practice, *content.warnings)
    page = page_of(card, content.sheets, chart, warnings=warnings, words=rho_in_words(content), sampled=content.sampled)
    return {
        "card.html": page.encode(),
        "card.yaml": card_yaml.write(card).encode(),
        **({"chart.svg": standalone_svg(chart).encode()} if chart else {}),
    }


def _chart(content: BundleContent) -> Markup | None:
    """The chart of the first table; None for a model: bars of single sampled rows would say nothing.

    Of numbers as they were drawn, those that count something are shown under its name.
    """
    if content.kind == "model":
        return None
    first = content.sheets[0] if content.sheets else Sheet(columns=(), rows=(), intervals=())
    note, is_ordered = "", False
    if content.kind in number_names.KINDS:
        schema = schema_of(content.table, content.schemas)
        names = number_names.names_of(content.kind, content.payloads, content.release, schema, room=room_of(first))
        if names.lists:
            first, note, is_ordered = number_names.with_names(first, names.lists), names.note, names.is_ordered
    return chart_of(first, title=content.text or content.release, note=note, ordered=is_ordered)


def sheets_by_file_name(sheets: tuple[Sheet, ...]) -> dict[str, Sheet]:
    """Sheets by the names of their files: data, data-2, data-3 and so on."""
    return {"data" if number == 1 else f"data-{number}": each for number, each in enumerate(sheets, start=1)}


def write(files: Files, folder: Path) -> None:
    """Write a bundle into a new or empty folder. The manifest comes last: without it there is no bundle."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(
                f"{str(folder)!r} already exists and is not empty",
                hint=Message(Flag("output", short="o"), " a new folder"),
            )
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            with (folder / name).open("xb") as stream:
                stream.write(content)
    except OSError as problem:
        raise UsageError(f"the bundle cannot be written to {str(folder)!r}: {problem.strerror}") from None


def archive(files: Files, *, name: str) -> bytes:
    """A bundle as one ZIP file with a folder in it; the same files give the same bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for file, content in files.items():
            entry = zipfile.ZipInfo(f"{name}/{file}", date_time=_DAY)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            packed.writestr(entry, content)
    return stream.getvalue()
