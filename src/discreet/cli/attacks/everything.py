"""`discreet attack all`: every attack on its generated data, and a page of what falls and what stands."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import __version__
from discreet.cli import show
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.lab.report import Found

Report = Annotated[Path | None, typer.Option("--report", help="A folder for a page, index.html, of all of it.")]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("all")(everything)


#: The exit code where something fell that should stand.
FELL = 1


def everything(report: Report = None, project: Ignored = HERE, as_json: Json = False) -> None:
    """Run every attack on generated data. Says what falls and what stands; with --report, as one page with pictures."""
    if report is not None:
        _folder(report)
    found = _run()
    if report is not None:
        from discreet.lab.report import page

        (report / "index.html").write_text(page(found, version=__version__), encoding="utf-8")
    show.out(_data(found), _lines(found, report), as_json=as_json)
    if any(listed.falls_too(evidence) for listed, evidence in found):
        raise typer.Exit(FELL)


def _folder(report: Path) -> None:
    """Make the folder, or refuse before the work."""
    from discreet.cli.flags import has_place

    try:
        report.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UsageError(f"{str(report)!r} cannot be made: {problem.strerror}") from None
    has_place(report / "index.html")


def _run() -> list[Found]:
    """Every attack, one after the other; on stderr which one is running, and how long it took."""
    from discreet.lab.registry import ATTACKS

    found = []
    for place, listed in enumerate(ATTACKS, 1):
        start = perf_counter()
        print(f"[{place}/{len(ATTACKS)}] {listed.name} ", end="", file=sys.stderr, flush=True)
        found.append((listed, listed.run()))
        print(f"{perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return found


def _data(found: list[Found]) -> dict[str, Any]:
    """As other attacks have it: the share of attacks that break what they attack, each one in the details."""
    share = sum(evidence.breaks for _, evidence in found) / len(found)
    return {
        "attack": "all",
        "success": share,
        "chance": 0.0,
        "bound": None,
        "confidence_interval": [share, share],
        "n": len(found),
        "seconds": sum(evidence.seconds for _, evidence in found),
        "details": {
            "attacks": {
                listed.name: {
                    **evidence.to_data(),
                    "breaks": evidence.breaks,
                    "story": list(evidence.story),
                    "withstood": listed.withstood(evidence),
                    "falls_too": listed.falls_too(evidence),
                }
                for listed, evidence in found
            }
        },
    }


def _lines(found: list[Found], report: Path | None) -> list[str]:
    from discreet.lab.evidence import percent

    width = max(len(listed.name) for listed, _ in found)
    lines = []
    for listed, evidence in found:
        share = listed.withstood(evidence)
        held = listed.stands + ("" if share is None else f" ({percent(share)})")
        stands = "FALLS TOO" if listed.falls_too(evidence) else "stands"
        word, what = ("falls", f"{listed.falls}; {stands}: {held}") if evidence.breaks else (stands, held)
        lines.append(
            f"{listed.name:{width}}  {word:6}  {percent(evidence.success):>6} "
            f"(chance {percent(evidence.chance):>7})  {what}"
        )
    broken = sum(evidence.breaks for _, evidence in found)
    seconds = sum(evidence.seconds for _, evidence in found)
    lines.append(f"{broken} of {len(found)} attacks break what they attack; {seconds:.1f} CPU seconds")
    if report is not None:
        lines.append(f"wrote {report / 'index.html'}")
    return lines
