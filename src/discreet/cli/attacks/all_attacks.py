"""`discreet attack all`: every attack on its generated data, and a page of what falls and what stands."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import __version__
from discreet.cli import standard_streams, terminal
from discreet.cli.flags import HERE, Ignored, Json, refuse_unwritable_path
from discreet.errors import MissingPackage, UsageError

if TYPE_CHECKING:
    from discreet.lab.report import AttackResult, SkippedAttack

Report = Annotated[Path | None, typer.Option("-o", "--output", help="Folder for a report page, index.html.")]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("all")(everything)


#: The exit code where something fell that should stand.
FELL = 1


def everything(report: Report = None, project: Ignored = HERE, as_json: Json = False) -> None:
    """Run every attack on generated data. Reports what breaks and what holds; -o FOLDER writes a page with charts.

    Attacks whose package is not installed are left out and listed. The exit code covers the attacks that ran.
    """
    if report is not None:
        _folder(report)
    outcomes, left_out = _run_attacks()
    if report is not None:
        from discreet.lab.report import page

        text = page(outcomes, version=__version__, left_out=left_out)
        (report / "index.html").write_text(text, encoding="utf-8")
    terminal.print_result(_data(outcomes, left_out), [*_lines(outcomes, left_out), *_wrote(report)], as_json=as_json)
    if any(listed.falls_too(evidence) for listed, evidence in outcomes):
        raise typer.Exit(FELL)


def _folder(report: Path) -> None:
    """Make the folder, or refuse before the work."""
    try:
        report.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UsageError(f"the folder {str(report)!r} cannot be created: {problem.strerror}") from None
    refuse_unwritable_path(report / "index.html")


def _run_attacks() -> tuple[list[AttackResult], list[SkippedAttack]]:
    """Every attack, one after the other; on stderr which one is running, and how long it took."""
    from discreet.lab.registry import ATTACKS

    outcomes: list[AttackResult] = []
    left_out: list[SkippedAttack] = []
    for place, listed in enumerate(ATTACKS, 1):
        start = perf_counter()
        standard_streams.print_stderr(f"[{place}/{len(ATTACKS)}] {listed.name} ", end="")
        try:
            outcomes.append((listed, listed.run()))
        except MissingPackage as problem:
            left_out.append((listed, problem))
            standard_streams.print_stderr("left out")
            continue
        standard_streams.print_stderr(f"{perf_counter() - start:.1f} s")
    if not outcomes:
        raise left_out[0][1]
    return outcomes, left_out


def _data(outcomes: list[AttackResult], left_out: list[SkippedAttack]) -> dict[str, Any]:
    """As other attacks have it: the share of attacks that break what they attack, each one in the details."""
    share = sum(evidence.breaks for _, evidence in outcomes) / len(outcomes)
    return {
        "attack": "all",
        "success": share,
        "chance": 0.0,
        "bound": None,
        "confidence_interval": [share, share],
        "n": len(outcomes),
        "seconds": sum(evidence.seconds for _, evidence in outcomes),
        "details": {
            "attacks": {
                listed.name: {
                    **evidence.to_data(),
                    "breaks": evidence.breaks,
                    "story": list(evidence.story),
                    "withstood": listed.protected_success(evidence),
                    "outsiders": listed.outsiders(evidence),
                    "falls_too": listed.falls_too(evidence),
                }
                for listed, evidence in outcomes
            },
            "left_out": {listed.name: {"reason": problem.reason, "hint": problem.hint} for listed, problem in left_out},
        },
    }


def _wrote(report: Path | None) -> list[str]:
    return [] if report is None else [f"wrote {report / 'index.html'}"]


def _lines(outcomes: list[AttackResult], left_out: list[SkippedAttack]) -> list[str]:
    from discreet.lab.evidence import percent

    width = max(len(listed.name) for listed, _ in outcomes)
    lines = []
    for listed, evidence in outcomes:
        share = listed.protected_success(evidence)
        others = listed.outsiders(evidence)
        beside = "" if others is None else f"; {percent(others)} about people who are not in it"
        protection = listed.stands + ("" if share is None else f" ({percent(share)}{beside})")
        stands = "ALSO BROKEN" if listed.falls_too(evidence) else "holds"
        word, what = ("broken", f"{listed.falls}; {stands}: {protection}") if evidence.breaks else (stands, protection)
        lines.append(
            f"{listed.name:{width}}  {word:6}  {percent(evidence.success):>6} "
            f"(chance {percent(evidence.chance):>7})  {what}"
        )
    broken = sum(evidence.breaks for _, evidence in outcomes)
    seconds = sum(evidence.seconds for _, evidence in outcomes)
    lines.append(f"{broken} of {len(outcomes)} attacks break what they attack; {seconds:.1f} CPU seconds")
    return lines + [
        f"left out: {listed.name}, because {problem.reason} ({problem.hint})" for listed, problem in left_out
    ]
