"""`discreet audit measure`: what is installed, measured from outside."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as RichTable

from discreet.cli import terminal
from discreet.cli.evidence_output import Plot, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json

if TYPE_CHECKING:
    from discreet.lab.privacy_audit.audit_suite import AuditReport

#: A claim was caught, or could not be measured.
FAILED = 1


def measure(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="What to audit: mechanisms, sql, local, synth, or a name from --list."
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", help="Number of outputs to draw from each of two neighbouring inputs.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Use fewer samples and fewer fits.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Only list what can be audited.")] = False,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence", help="Confidence that every claim reported as broken is broken, over all targets together."
        ),
    ] = 0.99,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Measure the epsilon of the installed code. Exit code 1 if a claim does not hold or cannot be measured."""
    refuse_unwritable_plot(plot)
    from discreet.lab.privacy_audit.audit_suite import audit
    from discreet.lab.privacy_audit.target_list import all_targets

    if listed:
        targets = [{"name": target.name, "kind": target.kind, "method": target.method} for target in all_targets()]
        terminal.print_result(
            {"targets": targets}, [f"{each['kind']}  {each['name']}" for each in targets], as_json=as_json
        )
        return
    done = audit(names or (), samples=samples, quick=quick, confidence=confidence, progress=_progress)
    evidence = done.evidence()
    if plot is not None:
        evidence.plot(plot)
    terminal.print_result(evidence.to_data(), [_table(done), *evidence.story], as_json=as_json)
    if not done.passed:
        raise typer.Exit(FAILED)


def _progress(name: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[Kmeasuring {name}", end="\r", file=sys.stderr, flush=True)


def _table(done: AuditReport) -> RichTable:
    table = RichTable(box=None, pad_edge=False)
    for title, side in (
        ("target", "left"),
        ("method", "left"),
        ("claimed", "right"),
        ("measured at least", "right"),
        ("", "left"),
    ):
        table.add_column(title, justify=side)  # type: ignore[arg-type]
    for line in done.lines:
        target = line.target
        claimed = "" if target.epsilon is None else f"{target.epsilon:.4g}"
        delta = f", {target.delta:.2g}" if target.delta else ""
        lower = "" if line.lower is None else f"{line.lower:.3f}"
        table.add_row(target.name, target.method, claimed + delta, lower, line.verdict)
    return table
