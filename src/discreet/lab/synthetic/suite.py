"""All attacks on one synthetic table, and the strongest of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa

from discreet.errors import UsageError
from discreet.lab import pictures
from discreet.lab.evidence import Evidence
from discreet.lab.synthetic.attributes import inference
from discreet.lab.synthetic.coded import Coded, coded
from discreet.lab.synthetic.control import CONFIDENCE
from discreet.lab.synthetic.membership import density_ratio
from discreet.lab.synthetic.nearest import distances
from discreet.lab.synthetic.singling import multivariate, univariate

#: A control of fewer people cannot be split into targets and a reference.
_LEAST_CONTROL = 4


def attack(
    original: pa.Table,
    synthetic: pa.Table,
    control: pa.Table | None = None,
    *,
    secret: str | None = None,
    known: Sequence[str] | None = None,
    attacks: int = 500,
    epsilon: float | None = None,
    delta: float = 0.0,
    seed: int = 0,
) -> Evidence:
    """Attack a synthetic table in every way that the tables allow, and tell of the strongest.

    Each attack's interval holds at a confidence that makes all of them hold together at 95% (Bonferroni). Where an
    epsilon is claimed the evidence is of membership inference, which is what the claim bounds. `seed`: the same
    targets again; attacks protect nobody.
    """
    if attacks < 1:
        raise UsageError(f"attacks must be at least 1, got {attacks}")
    held = coded(original, synthetic, control)
    if epsilon is not None and held.control.shape[1] < _LEAST_CONTROL:
        raise UsageError(
            "a claimed epsilon is tested by membership inference, which needs a control table",
            hint="--control FILE: people of the same kind who were not used",
        )
    found = run(held, secret=secret, known=known, attacks=attacks, epsilon=epsilon, delta=delta, seed=seed)
    if not found:
        raise UsageError("nothing in these tables can be attacked: no column has two values")
    strongest = found[0] if epsilon is not None else max(found, key=lambda each: each.interval[0] - each.chance)
    leaks = [each.attack for each in found if each.breaks]
    return Evidence(
        attack="synthetic",
        success=strongest.success,
        chance=strongest.chance,
        bound=strongest.bound,
        n=strongest.n,
        seconds=sum(each.seconds for each in found),
        interval=strongest.interval,
        confidence=strongest.confidence,
        story=_story(held, found, strongest, leaks),
        details={
            "strongest": strongest.attack,
            "leaks": leaks,
            "attacks": {each.attack: each.to_data() for each in found},
            "rows": {
                "original": held.original.shape[1],
                "synthetic": held.synthetic.shape[1],
                "control": held.control.shape[1],
            },
            "columns": list(held.names),
            "left_out": list(held.left_out),
        },
        picture=partial(_picture, found),
    )


def run(
    held: Coded,
    *,
    secret: str | None = None,
    known: Sequence[str] | None = None,
    attacks: int = 500,
    epsilon: float | None = None,
    delta: float = 0.0,
    seed: int = 0,
) -> list[Evidence]:
    """Every attack that these tables allow, membership first; their intervals hold together at 95%."""
    wanted: list[Callable[..., Evidence | None]] = [partial(inference, secret=secret, known=known), univariate]
    wanted.append(multivariate)
    if held.control.shape[1] >= _LEAST_CONTROL and held.original.shape[1] > 1:
        wanted = [partial(density_ratio, epsilon=epsilon, delta=delta), *wanted, distances]
    confidence = 1 - (1 - CONFIDENCE) / len(wanted)
    found = [each(held, attacks=attacks, confidence=confidence, seed=seed) for each in wanted]
    return [each for each in found if each is not None]


def _story(held: Coded, found: list[Evidence], strongest: Evidence, leaks: list[str]) -> tuple[str, ...]:
    lines = [f"The strongest attack is {strongest.attack}."]
    lines += [f"  {each.attack}: {' '.join(each.story)}" for each in found]
    beyond = "what epsilon allows" if strongest.bound is not None else "what it would know of people who are not in it"
    if leaks:
        lines.append(f"The synthetic table tells of its people beyond {beyond}: {', '.join(leaks)}.")
    else:
        lines.append("No attack does surely better on the people in it than it should. That is no proof of safety.")
    if not held.has_control:
        lines.append("Without a control table (--control) membership and nearest records cannot be judged.")
    if held.left_out:
        lines.append(f"Left out, for not all tables have them: {', '.join(held.left_out)[:200]}.")
    return tuple(lines)


def _picture(found: list[Evidence]) -> str:
    """Each attack's success beside what it reaches on other people."""
    values = {each.attack: (each.success, each.chance) for each in found}
    return pictures.against("How often attacks on the synthetic table succeed", values, mark="on people not in it")
