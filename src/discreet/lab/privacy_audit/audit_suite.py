"""The whole audit: every target, one table, and a verdict that holds for all of them at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import Flag, Message, UsageError
from discreet.lab.evidence import Evidence
from discreet.lab.pictures import bars
from discreet.lab.privacy_audit.epsilon_lower_bound import doubt_of
from discreet.lab.privacy_audit.target_list import all_targets
from discreet.lab.privacy_audit.targets import QUICK_SAMPLES, SAMPLES, AuditOutcome, AuditTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """One line of the table. `lower`: a bound on epsilon; all bounds of the table hold together."""

    target: AuditTarget
    outcome: AuditOutcome
    adjusted: float
    lower: float | None
    caught: bool
    seconds: float

    @property
    def verdict(self) -> str:
        if not self.outcome.measured:
            return f"could not be measured: {self.outcome.note}"
        return "stands" if not self.caught else f"caught: {self.outcome.note or 'epsilon is larger than claimed'}"

    @property
    def verdict_word(self) -> str:
        """The verdict in one word."""
        return "unmeasured" if not self.outcome.measured else "caught" if self.caught else "stands"

    def to_data(self) -> dict[str, Any]:
        return {
            "name": self.target.name,
            "kind": self.target.kind,
            "method": self.target.method,
            "claimed": None
            if self.target.epsilon is None
            else {"epsilon": self.target.epsilon, "delta": self.target.delta},
            "lower_bound": self.lower,
            "p_value": self.outcome.p_value if self.outcome.measured else None,
            "adjusted_p_value": self.adjusted if self.outcome.measured else None,
            "n": self.outcome.n,
            "seconds": self.seconds,
            "verdict": self.verdict_word,
            "note": "" if self.verdict_word == "stands" else self.outcome.note,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What an audit found."""

    lines: tuple[AuditLine, ...]
    doubt: float
    seconds: float

    @property
    def caught(self) -> tuple[AuditLine, ...]:
        return tuple(line for line in self.lines if line.caught)

    @property
    def unmeasured(self) -> tuple[AuditLine, ...]:
        """What raised instead of answering: nothing is known of it."""
        return tuple(line for line in self.lines if not line.outcome.measured)

    @property
    def passed(self) -> bool:
        """Whether everything was measured and nothing was caught."""
        return not self.caught and not self.unmeasured

    def evidence(self) -> Evidence:
        """As evidence: `success` is the share of claims that do not hold.

        At the confidence of the audit every one that is caught is broken, so that the true share is at least that.
        """
        many, broken, unknown = len(self.lines), self.caught, self.unmeasured
        share = len(broken) / many
        seen = f"{many - len(unknown)} claims were measured in {self.seconds:.1f} CPU seconds"
        story = [f"{seen}; {len(broken)} do not hold."]
        if unknown:
            story.append(f"{len(unknown)} could not be measured: nothing is known about them.")
        story += [f"{line.target.name}: {line.verdict}" for line in (*broken, *unknown)]
        if self.passed:
            story.append(
                "An audit can show that a claim is false, but not that it is true: that is what the proofs are for."
            )
        return Evidence(
            attack="audit",
            success=share,
            chance=0.0,
            n=many,
            seconds=self.seconds,
            interval=(share, 1.0),
            confidence=1 - self.doubt,
            story=tuple(story),
            details={
                "caught": [line.target.name for line in broken],
                "unmeasured": [line.target.name for line in unknown],
                "confidence": 1 - self.doubt,
                "targets": [line.to_data() for line in self.lines],
            },
            picture=lambda: _picture(self.lines),
        )


def audit(
    names: Sequence[str] = (),
    *,
    samples: int | None = None,
    quick: bool = False,
    confidence: float = 0.99,
    targets: Sequence[AuditTarget] | None = None,
    progress: Callable[[str], None] = lambda name: None,
) -> AuditReport:
    """Measure the installed version. `names`: measure only the targets with these names or of these kinds.

    Guarantee: if all claims are true, the probability that any of them is caught is at most 1 - confidence.
    Because: each p-value is valid by itself, and Holm's correction covers them all.
    """
    doubt = doubt_of(confidence)
    many = samples if samples is not None else QUICK_SAMPLES if quick else SAMPLES
    if not 100 <= many <= 10_000_000:
        raise UsageError(f"an audit takes 100 to 10,000,000 samples, not {many:,}")
    start = time.process_time()
    chosen = _select_targets(all_targets() if targets is None else targets, names, quick=quick)
    measured: list[tuple[AuditTarget, AuditOutcome, float]] = []
    for target in chosen:
        progress(target.name)
        begun = time.process_time()
        measured.append((target, target.outcome(many), time.process_time() - begun))
    adjusted = holm([outcome.p_value for _, outcome, _ in measured])
    lines = tuple(
        AuditLine(
            target=target,
            outcome=outcome,
            adjusted=value,
            lower=None if outcome.lower is None else outcome.lower(1 - doubt / len(measured)),
            caught=outcome.measured and value <= doubt,
            seconds=seconds,
        )
        for (target, outcome, seconds), value in zip(measured, adjusted, strict=True)
    )
    return AuditReport(lines=lines, doubt=doubt, seconds=time.process_time() - start)


def _select_targets(targets: Sequence[AuditTarget], names: Sequence[str], *, quick: bool) -> list[AuditTarget]:
    for name in names:
        if not any(_is_named(target, name) for target in targets):
            kind_names = ", ".join(dict.fromkeys(target.kind for target in targets))
            raise UsageError(
                f"there is no audit target {name!r}", hint=Message(f"one of {kind_names}, or of audit ", Flag("list"))
            )
    if names:
        targets = [target for target in targets if any(_is_named(target, name) for name in names)]
    kinds = {target.kind for target in targets}
    named = [name for name in names if name not in kinds]  # what is named by its own name is measured in any case
    return [target for target in targets if target.quick or not quick or any(_is_named(target, name) for name in named)]


def _is_named(target: AuditTarget, name: str) -> bool:
    return target.kind == name or target.name == name or target.name.startswith((f"{name}:", f"{name},"))


def _picture(lines: Sequence[AuditLine]) -> str:
    shown = [line for line in lines if line.lower is not None and line.target.epsilon][:12]
    most = max([1.0, *(line.lower / line.target.epsilon for line in shown if line.lower and line.target.epsilon)])
    return bars(
        "lower bound on epsilon, as a share of the claimed epsilon",
        {line.target.name.split(":")[0][:9]: (line.lower or 0.0) / (line.target.epsilon or 1.0) for line in shown},
        most=most,
        marks={"claimed": 1.0},
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p-value, adjusted for there being so many (Holm 1979).

    Guarantee: rejecting those that come out at or below alpha rejects any true hypothesis with a chance of
        at most alpha, however the tests depend on each other.
    Because: let t of the hypotheses be true. The first true one to be rejected stands at a place where at most
        so many p-values are smaller that its factor is t or more; so its p-value is at most alpha / t, and by the
        union bound one of t does that with a chance of at most alpha.

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for place, which in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[which]))
        adjusted[which] = largest
    return adjusted
