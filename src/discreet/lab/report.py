"""All evidence on one page that needs nothing else: no network, no script, no font, no picture beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from discreet.errors import MissingPackage
from discreet.lab.evidence import Evidence, confidence_text, percent
from discreet.lab.pictures import inline_picture
from discreet.lab.registry import AttackEntry
from discreet.present.html import render

#: An attack, and what it found.
AttackResult = tuple[AttackEntry, Evidence]
#: An attack that did not run, and what it lacks.
SkippedAttack = tuple[AttackEntry, MissingPackage]


def page(results: Sequence[AttackResult], *, version: str, left_out: Sequence[SkippedAttack] = ()) -> str:
    """The whole page. The template escapes everything that comes from data; pictures are drawn by this package."""
    return render(
        "lab_report.html",
        title="What breaks, and what holds",
        version=version,
        results=[_result(listed, evidence) for listed, evidence in results],
        left_out=left_out,
        broken=sum(evidence.breaks for _, evidence in results),
        seconds=sum(evidence.seconds for _, evidence in results),
        percent=percent,
    )


def _result(listed: AttackEntry, evidence: Evidence) -> dict[str, Any]:
    """What the page says of one attack. `width`, `mark`: success and chance on its bar, in percent."""
    low, high = evidence.interval
    width, mark = (100 * min(max(value, 0.0), 1.0) for value in (evidence.success, evidence.chance))
    return {
        "listed": listed,
        "evidence": evidence,
        "verdict": verdict(evidence),
        "protected": listed.protected_success(evidence),
        "falls_too": listed.falls_too(evidence),
        "width": width,
        "mark": mark,
        "picture": "" if evidence.picture is None else inline_picture(evidence.picture()),
        "facts": {
            "success": percent(evidence.success),
            f"{confidence_text(evidence.confidence)} confidence interval": f"{percent(low)} to {percent(high)}",
            "chance": percent(evidence.chance),
            "the claim allows": "no claim" if evidence.bound is None else percent(evidence.bound),
            "tried": f"{evidence.n:,}",
            "CPU seconds": f"{evidence.seconds:.2f}",
        },
    }


def verdict(evidence: Evidence) -> Literal["falls", "stands"]:
    """Whether what was attacked held."""
    return "falls" if evidence.breaks else "stands"
