"""All attacks on one synthetic table, and the strongest of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from discreet.errors import UsageError
from discreet.lab import pictures
from discreet.lab.evidence import Evidence, percent
from discreet.lab.synthetic.attributes import inference
from discreet.lab.synthetic.coded import Coded, coded
from discreet.lab.synthetic.control import CONFIDENCE
from discreet.lab.synthetic.membership import density_ratio
from discreet.lab.synthetic.nearest import distances
from discreet.lab.synthetic.singling import multivariate, univariate
from discreet.lab.words import some

ATTACKS = (
    "membership inference",
    "attribute inference",
    "singling out, one column",
    "singling out, several columns",
    "nearest record",
)
#: From this share of a control's rows on that the original has, too, a warning is given.
MUCH_OVERLAP = 0.2
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

    Each attack's interval holds at a confidence that makes all of them hold together at 95% (Bonferroni). A claimed
    epsilon bounds guesses about one person, which is all but singling out: where one goes beyond it, the evidence is of
    that; else of the strongest that goes beyond chance; else of the one that tests the claim. `seed`: the same targets
    again; attacks protect nobody.
    """
    if attacks < 1:
        raise UsageError(f"attacks must be at least 1, got {attacks}")
    held = coded(original, synthetic, control)
    _refuse_same(held)
    if epsilon is not None and held.control.shape[1] < _LEAST_CONTROL:
        raise UsageError(
            "a claimed epsilon is tested by membership inference, which needs a control table",
            hint="--control FILE: people of the same kind who were not used",
        )
    found = run(held, secret=secret, known=known, attacks=attacks, epsilon=epsilon, delta=delta, seed=seed)
    if not found:
        raise UsageError("nothing in these tables can be attacked: no column has two values")
    strongest = max(found, key=_margin)
    shown = max(found, key=_telling)
    leaks = [each.attack for each in found if each.breaks]
    return Evidence(
        attack="synthetic",
        success=shown.success,
        chance=shown.chance,
        bound=shown.bound,
        n=shown.n,
        seconds=sum(each.seconds for each in found),
        interval=shown.interval,
        confidence=shown.confidence,
        judged=shown.judged,
        story=_story(held, found, strongest, shown),
        details={
            "shown": shown.attack,
            "strongest": strongest.attack,
            "not_run": _not_run(found),
            "control_in_original": _overlap(held),
            "leaks": leaks,
            "not_judged": [each.attack for each in found if not each.judged],
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
    guess = partial(inference, secret=secret, known=known, epsilon=epsilon, delta=delta)
    wanted: list[Callable[..., Evidence | None]] = [guess, univariate, multivariate]
    if held.control.shape[1] >= _LEAST_CONTROL and held.original.shape[1] > 1:
        membership = partial(density_ratio, epsilon=epsilon, delta=delta)
        wanted = [membership, *wanted, partial(distances, epsilon=epsilon, delta=delta)]
    confidence = 1 - (1 - CONFIDENCE) / len(wanted)
    found = [each(held, attacks=attacks, confidence=confidence, seed=seed) for each in wanted]
    return [each for each in found if each is not None]


def _telling(found: Evidence) -> tuple[bool, bool, bool, tuple[bool, float]]:
    """What the evidence is of: the attack that goes beyond a claim, or beyond chance, or tests a claim, or is best."""
    if found.bound is None:
        return False, found.breaks, False, _margin(found)
    return found.breaks, found.breaks, True, (found.judged, found.interval[0] - found.bound)


def _margin(found: Evidence) -> tuple[bool, float]:
    """How far an attack surely is above chance; one that cannot be judged comes after all others."""
    return found.judged, found.interval[0] - found.chance


def _not_run(found: Sequence[Evidence]) -> list[str]:
    return [name for name in ATTACKS if name not in {each.attack for each in found}]


def _refuse_same(held: Coded) -> None:
    """Refuse a control that is the original: no attack does better on people than on the same people."""
    if held.original.shape == held.control.shape:
        one, other = (codes[:, np.lexsort(codes)] for codes in (held.original, held.control))
        if np.array_equal(one, other):
            raise UsageError(
                "the control table has the rows of the original: it must be other people, whose rows were not used",
                hint="--control FILE: people of the same kind who were not used",
            )


def _overlap(held: Coded) -> float | None:
    """The share of the control's rows that the original has, too; None without a control."""
    if not held.has_control:
        return None
    known = {row.tobytes() for row in np.ascontiguousarray(held.original.T)}
    return float(np.mean([row.tobytes() in known for row in np.ascontiguousarray(held.control.T)]))


def _story(held: Coded, found: list[Evidence], strongest: Evidence, shown: Evidence) -> tuple[str, ...]:
    lines = [f"The strongest attack, over chance, is {strongest.attack}."] if strongest.judged else []
    if shown is not strongest:
        lines.append(f"The figures above are of {shown.attack}{', which epsilon bounds' * (shown.bound is not None)}.")
    lines += [f"  {each.attack}: {' '.join(each.story)}" for each in found]
    beyond = [each.attack for each in found if each.breaks and each.bound is not None]
    leaks = [each.attack for each in found if each.breaks and each.bound is None]
    if beyond:
        lines.append(f"The synthetic table tells of its people beyond what epsilon allows: {', '.join(beyond)}.")
    held_to = [each for each in found if each.bound is not None and not each.breaks]
    lines += [f"Within what epsilon allows ({percent(each.bound or 0)}): {each.attack}." for each in held_to]
    if leaks:
        lines.append(f"It tells more of its people than of people who are not in it: {', '.join(leaks)}.")
    if not beyond and not leaks:
        what = "No attack" if all(each.judged for each in found) else "No attack that can be judged"
        lines.append(f"{what} does surely better on the people in it than it should. That is no proof of safety.")
    return (*lines, *_limits(held, found))


def _limits(held: Coded, found: list[Evidence]) -> list[str]:
    """What was compared, what could not be, and whether the control is one."""
    lines = [f"Compared on: {some(held.names)}."]
    if held.left_out:
        lines.append(f"Left out, for not all tables have them: {some(held.left_out)}.")
    if any(each.bound is not None for each in found) and any("singling" in each.attack for each in found):
        lines.append(
            "Singling out is held against luck alone: epsilon limits what one person's row can change, and whether a "
            "condition holds for exactly one person hangs on everybody's."
        )
    if missing := _not_run(found):
        lines.append(f"Could not be run on these tables: {', '.join(missing)}.")
    if not held.has_control:
        lines.append(
            "Without a control table (--control) membership, nearest records and attribute inference cannot be judged, "
            "neither as a leak nor as safe."
        )
    overlap = _overlap(held)
    if overlap is not None and overlap >= MUCH_OVERLAP:
        lines.append(
            f"{percent(overlap)} of the control's rows have all the values of a row of the original. If these are the "
            "same people, the control is none, and attacks look weaker than they are."
        )
    return lines


def _picture(found: list[Evidence]) -> str:
    """Each attack's success beside what it reaches on other people, and beside what a claimed epsilon allows."""
    values = {each.attack: (each.success, each.chance) for each in found}
    bounds = {each.attack: each.bound for each in found if each.bound is not None}
    title = "How often attacks on the synthetic table succeed"
    return pictures.against(title, values, mark="on people not in it", bounds=bounds)
