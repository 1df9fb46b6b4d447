"""Make a bundle: all its files as bytes, in a folder, or in one archive. The same release gives the same bytes."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import __version__
from discreet.bundle import manifest, naming, proof, sheet, yaml
from discreet.bundle.about import About
from discreet.bundle.card import card_of, in_words
from discreet.bundle.chart import chart_of, room_of
from discreet.bundle.content import Content, content_of
from discreet.bundle.page import page_of
from discreet.bundle.reread import schema_of
from discreet.bundle.sheet import Sheet
from discreet.bundle.signing import Signer
from discreet.errors import UsageError
from discreet.folder import refuse_state_inside

if TYPE_CHECKING:
    from discreet.api import Project

Files = Mapping[str, bytes]

#: The first day that an archive can name: a real one would make two archives of one release differ.
_DAY = (1980, 1, 1, 0, 0, 0)


def bundle(project: Project, release: str, about: About | None = None) -> dict[str, bytes]:
    """Every file of a release's bundle, by name, signed by this state folder's key. Free."""
    refuse_state_inside(project.folder)
    return files_of(content_of(project, release, about), Signer.here())


def files_of(content: Content, signer: Signer) -> dict[str, bytes]:
    """The files of what a bundle tells, and the manifest, signed."""
    found = unsigned(content)
    digests = {name: manifest.digest(found[name]) for name in sorted(found)}
    signed = manifest.Manifest(
        release=content.release,
        discreet=__version__,
        files=digests,
        claims=content.claims,
        ledger=content.ledger,
    ).signed(signer)
    return {**{name: found[name] for name in digests}, manifest.NAME: signed}


def unsigned(content: Content) -> dict[str, bytes]:
    """The files of what a bundle tells, all but the manifest."""
    plan = content.to_plan()
    found = {
        **pages(content),
        "data.json": sheet.to_json(content.sheets, release=content.release, confidence=float(content.confidence)),
        "plan.json": plan_file(plan),
        proof.NAME: proof.written(proof.proof_of(plan, ledger=content.ledger, derivation=content.derivation)),
    }
    for name, each in named(content.sheets).items():
        found |= {f"{name}.csv": sheet.to_csv(each), f"{name}.parquet": sheet.to_parquet(each)}
    return found


def plan_file(plan: Mapping[str, Any]) -> bytes:
    """The file of a plan."""
    return (json.dumps(plan, ensure_ascii=False, sort_keys=True, indent=1) + "\n").encode()


def pages(content: Content) -> dict[str, bytes]:
    """The files for people: both cards, and the chart where there is one."""
    card, chart = card_of(content), _chart(content)
    page = page_of(
        card, content.sheets, chart, warnings=content.warnings, words=in_words(content), sampled=content.sampled
    )
    return {
        "card.html": page.encode(),
        "card.yaml": yaml.write(card).encode(),
        **({"chart.svg": chart.encode()} if chart else {}),
    }


def _chart(content: Content) -> str:
    """The chart of the first table; empty for a model: bars of single sampled rows would say nothing.

    Of numbers as they were drawn, those that count something are shown under its name.
    """
    if content.kind == "model":
        return ""
    first, note = content.sheets[0] if content.sheets else Sheet(columns=(), rows=(), intervals=()), ""
    if content.kind in naming.KINDS:
        schema = schema_of(content.table, content.schemas)
        names = naming.names_of(content.kind, content.payloads, content.release, schema, room=room_of(first))
        first, note = (naming.named(first, names.lists), names.note) if names.lists else (first, "")
    return chart_of(first, title=content.text or content.release, note=note)


def named(sheets: tuple[Sheet, ...]) -> dict[str, Sheet]:
    """Sheets by the names of their files: data, data-2, data-3 and so on."""
    return {"data" if number == 1 else f"data-{number}": each for number, each in enumerate(sheets, start=1)}


def write(files: Files, folder: Path) -> None:
    """Write a bundle into a new or empty folder. The manifest comes last: without it there is no bundle."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{str(folder)!r} is there already, and not empty", hint="--to a new folder")
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
