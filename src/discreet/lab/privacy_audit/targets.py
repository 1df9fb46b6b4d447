"""What is audited, and the ways to audit it. Each way ends in a p-value against the claim, valid at any sample size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.lab.evidence import binomial_upper_tail
from discreet.lab.privacy_audit import binomial, one_run_audit
from discreet.lab.privacy_audit.epsilon_lower_bound import count_output_set

#: The p-value of a claim that fails for certain: no sampling was involved.
CERTAIN = 0.0
SAMPLES, QUICK_SAMPLES = 80_000, 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOutcome:
    """One audit's outcome.

    `p_value`: the chance, at most, of what was seen where the claim holds. `lower`: a bound on epsilon at a
    confidence, None where epsilon is not what was measured. `n`: samples, canaries or games. `note`: why it fails.
    `measured`: False where nothing could be seen, which speaks neither for the claim nor against it.
    """

    p_value: float
    n: int
    lower: Callable[[float], float] | None = None
    note: str = ""
    measured: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTarget:
    """A part of Discreet, what it claims, and how to measure it with about so many samples.

    `name` is "part: what is looked at". `quick`: whether a quick audit measures it. `epsilon` is None where the claim
    is a law or an identity rather than an epsilon.
    """

    name: str
    kind: str
    method: str
    epsilon: float | None
    delta: float = 0.0
    quick: bool = True
    measure: Callable[[int], AuditOutcome]

    def outcome(self, samples: int) -> AuditOutcome:
        """What measuring it shows. A target that raises is a line of the table, and no end of the audit."""
        try:
            return self.measure(samples)
        except Exception as problem:
            words = " ".join(str(problem).split())[:120]
            note = f"{type(problem).__name__}: {words}" if words else type(problem).__name__
            return AuditOutcome(p_value=1.0, n=0, note=note, measured=False)


def pair_target(
    name: str,
    kind: str,
    epsilon: float,
    draw: Callable[[int, int], NDArray[Any]],
    *,
    delta: float = 0.0,
    share: float = 1.0,
    quick: bool = True,
) -> AuditTarget:
    """Two neighbouring worlds: `draw(world, size)` gives outputs as numbers.

    `share`: how much of the samples is drawn, where they are dear.
    """

    def measure(samples: int) -> AuditOutcome:
        size = max(100, int(samples * share))
        seen = count_output_set(draw(0, size), draw(1, size), delta=delta)
        return AuditOutcome(p_value=seen.p_value(epsilon), n=2 * size, lower=seen.lower)

    return AuditTarget(
        name=name, kind=kind, method="samples", epsilon=epsilon, delta=delta, quick=quick, measure=measure
    )


def canary_target(
    name: str,
    kind: str,
    epsilon: float,
    run: Callable[[NDArray[np.bool_]], NDArray[np.float64]],
    *,
    delta: float = 0.0,
    most: int = 4_000,
    quick: bool = True,
) -> AuditTarget:
    """One run of a whole release: `run(included)` gives a score for each canary, the higher the likelier it is in."""

    def measure(samples: int) -> AuditOutcome:
        included = canary_coins(min(most, samples))
        return one_run_outcome(included, run(included), epsilon=epsilon, delta=delta)

    return AuditTarget(
        name=name, kind=kind, method="one run", epsilon=epsilon, delta=delta, quick=quick, measure=measure
    )


def canary_coins(many: int) -> NDArray[np.bool_]:
    """Who of at least 40 canaries is in the table. The auditor's coins: they protect nobody."""
    return np.random.default_rng().random(max(40, many)) < 0.5


def one_run_outcome(
    included: NDArray[np.bool_], scores: NDArray[np.float64], *, epsilon: float, delta: float = 0.0, note: str = ""
) -> AuditOutcome:
    """What the scores of canaries say against a claim: half of the canaries are guessed."""
    many = len(included)
    signs = one_run_audit.guess_canaries(scores, many // 2)
    right, total = int((signs == np.where(included, 1, -1)).sum()), int(np.abs(signs).sum())
    return AuditOutcome(
        p_value=one_run_audit.p_value(right, total, canaries=many, epsilon=epsilon, delta=delta),
        n=many,
        lower=lambda confidence: one_run_audit.lower_bound(
            right, total, canaries=many, delta=delta, confidence=confidence
        ),
        note=note,
    )


def games_outcome(right: int, games: int, *, epsilon: float, delta: float = 0.0, note: str = "") -> AuditOutcome:
    """For what is dear: so many games, each in one of two worlds by a fair coin, and a guess each time.

    Because: under (epsilon, delta) a guess is right with a chance of at most (e^epsilon + delta) / (1 + e^epsilon),
        and the games are independent.
    """

    def lower(confidence: float) -> float:
        least = binomial.lower_confidence_limit(right, games, 1 - confidence)
        return max(0.0, math.log((least - delta) / (1 - least))) if delta < least < 1 else 0.0

    grown = math.exp(epsilon)
    chance = binomial_upper_tail(right, games, min(1.0, (grown + delta) / (1 + grown))) if right else 1.0
    return AuditOutcome(p_value=chance, n=games, lower=lower, note=note)


def law_target(name: str, kind: str, check: Callable[[int], tuple[float, int]], *, quick: bool = True) -> AuditTarget:
    """A known law: `check(samples)` gives the p-value of draws against it, and how many draws there were."""

    def measure(samples: int) -> AuditOutcome:
        chance, n = check(samples)
        return AuditOutcome(p_value=chance, n=n, note="its draws do not follow its distribution")

    return AuditTarget(name=name, kind=kind, method="law", epsilon=None, quick=quick, measure=measure)


def exact_target(
    name: str, kind: str, epsilon: float, value: Callable[[], float], *, quick: bool = True
) -> AuditTarget:
    """The epsilon of a law that is known in full, computed without samples."""

    def measure(samples: int) -> AuditOutcome:
        computed_epsilon = value()
        return AuditOutcome(
            p_value=_claim_p_value(computed_epsilon, epsilon), n=0, lower=lambda confidence: computed_epsilon
        )

    return AuditTarget(name=name, kind=kind, method="exact", epsilon=epsilon, quick=quick, measure=measure)


def exact_delta_target(name: str, kind: str, epsilon: float, delta: float, value: Callable[[], float]) -> AuditTarget:
    """The delta of a law that is known in full, at its epsilon."""

    def measure(samples: int) -> AuditOutcome:
        computed_delta = value()
        return AuditOutcome(p_value=_claim_p_value(computed_delta, delta), n=0, note=f"delta is {computed_delta:.3g}")

    return AuditTarget(name=name, kind=kind, method="exact", epsilon=epsilon, delta=delta, measure=measure)


def _claim_p_value(computed: float, claimed: float) -> float:
    """1 or 0: whether a number that float64 arithmetic gave is within a claim."""
    return 1.0 if computed <= claimed * (1 + 1e-9) else CERTAIN


def identity_target(name: str, kind: str, fault: Callable[[], str], *, quick: bool = True) -> AuditTarget:
    """Something that must always be so: `fault()` says in words what is not, or nothing."""

    def measure(samples: int) -> AuditOutcome:
        fault_text = fault()
        return AuditOutcome(p_value=CERTAIN if fault_text else 1.0, n=0, note=fault_text)

    return AuditTarget(name=name, kind=kind, method="identity", epsilon=None, quick=quick, measure=measure)
