"""All attacks on one synthetic table, and the strongest of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from discreet.errors import Flag, Message, UsageError
from discreet.lab import pictures
from discreet.lab.attacks.synthetic.attribute_inference import inference
from discreet.lab.attacks.synthetic.coded_tables import CodedTables, code_tables
from discreet.lab.attacks.synthetic.control import CONFIDENCE
from discreet.lab.attacks.synthetic.membership import density_ratio
from discreet.lab.attacks.synthetic.nearest_record import distances
from discreet.lab.attacks.synthetic.singling_out import multivariate, univariate
from discreet.lab.evidence import Evidence, percent
from discreet.lab.phrases import shorten_list

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
    known_columns: Sequence[str] | None = None,
    attacks: int = 500,
    epsilon: float | None = None,
    delta: float = 0.0,
    seed: int = 0,
) -> Evidence:
    """Run every attack on a synthetic table that the given tables allow, and report the strongest.

    The intervals of all attacks hold together at 95% confidence (Bonferroni). A claimed epsilon bounds guesses about
    one person, which all attacks except singling out make. The evidence is about the attack that exceeds that bound; if
    none does, about the strongest one that exceeds chance; if none does, about the one that tests the claim. `seed`
    selects the same targets again; it is safe here, because attacks protect nobody.
    """
    if attacks < 1:
        raise UsageError(f"attacks must be at least 1, got {attacks}")
    tables = code_tables(original, synthetic, control)
    _refuse_control_is_original(tables)
    if epsilon is not None and tables.control.shape[1] < _LEAST_CONTROL:
        raise UsageError(
            "a claimed epsilon is tested by membership inference, which needs a control table",
            hint=Message(Flag("control", "FILE"), ": similar people who were not used to make the synthetic table"),
        )
    outcomes = run_attacks(
        tables, secret=secret, known_columns=known_columns, attacks=attacks, epsilon=epsilon, delta=delta, seed=seed
    )
    if not outcomes:
        raise UsageError("these tables cannot be attacked: no column has two values")
    strongest = max(outcomes, key=_margin_over_chance)
    shown = max(outcomes, key=_evidence_rank)
    leaks = [each.attack for each in outcomes if each.breaks]
    return Evidence(
        attack="synthetic",
        success=shown.success,
        chance=shown.chance,
        bound=shown.bound,
        n=shown.n,
        seconds=sum(each.seconds for each in outcomes),
        interval=shown.interval,
        confidence=shown.confidence,
        judged=shown.judged,
        story=_story(tables, outcomes, strongest, shown),
        details={
            "shown": shown.attack,
            "strongest": strongest.attack,
            "not_run": _not_run(outcomes),
            "control_in_original": _overlap(tables),
            "leaks": leaks,
            "not_judged": [each.attack for each in outcomes if not each.judged],
            "attacks": {each.attack: each.to_data() for each in outcomes},
            "rows": {
                "original": tables.original.shape[1],
                "synthetic": tables.synthetic.shape[1],
                "control": tables.control.shape[1],
            },
            "columns": list(tables.names),
            "left_out": list(tables.left_out),
        },
        picture=partial(_picture, outcomes),
    )


def run_attacks(
    tables: CodedTables,
    *,
    secret: str | None = None,
    known_columns: Sequence[str] | None = None,
    attacks: int = 500,
    epsilon: float | None = None,
    delta: float = 0.0,
    seed: int = 0,
) -> list[Evidence]:
    """Every attack that these tables allow, membership first; their intervals hold together at 95%."""
    guess = partial(inference, secret=secret, known_columns=known_columns, epsilon=epsilon, delta=delta)
    attack_functions: list[Callable[..., Evidence | None]] = [guess, univariate, multivariate]
    if tables.control.shape[1] >= _LEAST_CONTROL and tables.original.shape[1] > 1:
        membership = partial(density_ratio, epsilon=epsilon, delta=delta)
        attack_functions = [membership, *attack_functions, partial(distances, epsilon=epsilon, delta=delta)]
    confidence = 1 - (1 - CONFIDENCE) / len(attack_functions)
    outcomes = [each(tables, attacks=attacks, confidence=confidence, seed=seed) for each in attack_functions]
    return [each for each in outcomes if each is not None]


def _evidence_rank(outcome: Evidence) -> tuple[bool, bool, bool, tuple[bool, float]]:
    """What the evidence is of: the attack that goes beyond a claim, or beyond chance, or tests a claim, or is best."""
    if outcome.bound is None:
        return False, outcome.breaks, False, _margin_over_chance(outcome)
    return outcome.breaks, outcome.breaks, True, (outcome.judged, outcome.interval[0] - outcome.bound)


def _margin_over_chance(outcome: Evidence) -> tuple[bool, float]:
    """How far an attack surely is above chance; one that cannot be judged comes after all others."""
    return outcome.judged, outcome.interval[0] - outcome.chance


def _not_run(outcomes: Sequence[Evidence]) -> list[str]:
    return [name for name in ATTACKS if name not in {each.attack for each in outcomes}]


def _refuse_control_is_original(tables: CodedTables) -> None:
    """Refuse a control that is the original: no attack does better on people than on the same people."""
    if tables.original.shape == tables.control.shape:
        one, other = (codes[:, np.lexsort(codes)] for codes in (tables.original, tables.control))
        if np.array_equal(one, other):
            raise UsageError(
                "the control table has the same rows as the original: it must have other people, who were not used",
                hint=Message(Flag("control", "FILE"), ": similar people who were not used to make the synthetic table"),
            )


def _overlap(tables: CodedTables) -> float | None:
    """The share of the control's rows that the original has, too; None without a control."""
    if not tables.has_control:
        return None
    original_rows = {row.tobytes() for row in np.ascontiguousarray(tables.original.T)}
    return float(np.mean([row.tobytes() in original_rows for row in np.ascontiguousarray(tables.control.T)]))


def _story(tables: CodedTables, outcomes: list[Evidence], strongest: Evidence, shown: Evidence) -> tuple[str, ...]:
    lines = [f"The strongest attack, compared with chance, is {strongest.attack}."] if strongest.judged else []
    if shown is not strongest:
        lines.append(f"The figures above are for {shown.attack}{', which epsilon limits' * (shown.bound is not None)}.")
    lines += [f"  {each.attack}: {' '.join(each.story)}" for each in outcomes]
    beyond = [each.attack for each in outcomes if each.breaks and each.bound is not None]
    leaks = [each.attack for each in outcomes if each.breaks and each.bound is None]
    if beyond:
        lines.append(f"The synthetic table reveals more about its people than epsilon allows: {', '.join(beyond)}.")
    within_claim = [each for each in outcomes if each.bound is not None and not each.breaks]
    lines += [
        f"Within the limit that epsilon sets ({percent(each.bound or 0)}): {each.attack}." for each in within_claim
    ]
    if leaks:
        lines.append(f"It reveals more about its own people than about other people: {', '.join(leaks)}.")
    if not beyond and not leaks:
        what = "No attack is" if all(each.judged for each in outcomes) else "No attack that can be judged is"
        lines.append(f"{what} significantly better on the people in it than it should be. This is no proof of safety.")
    return (*lines, *_limits(tables, outcomes))


def _limits(tables: CodedTables, outcomes: list[Evidence]) -> list[str]:
    """What was compared, what could not be, and whether the control is one."""
    lines = [f"Compared on: {shorten_list(tables.names)}."]
    if tables.left_out:
        lines.append(f"Left out, because not all tables have them: {shorten_list(tables.left_out)}.")
    if any(each.bound is not None for each in outcomes) and any("singling" in each.attack for each in outcomes):
        lines.append(
            "Singling out is compared with luck only: epsilon limits what one person's row can change, but whether a "
            "condition holds for exactly one person depends on everybody's rows."
        )
    if missing := _not_run(outcomes):
        lines.append(f"These attacks could not run on these tables: {', '.join(missing)}.")
    if not tables.has_control:
        lines.append(
            Message(
                "Without a control table (",
                Flag("control"),
                "), membership, nearest records and attribute inference cannot be judged: "
                "they show neither a leak nor safety.",
            )
        )
    overlap = _overlap(tables)
    if overlap is not None and overlap >= MUCH_OVERLAP:
        lines.append(
            f"{percent(overlap)} of the control's rows are equal to a row of the original. If these are the same "
            "people, the control is not valid, and attacks look weaker than they are."
        )
    return lines


def _picture(outcomes: list[Evidence]) -> str:
    """Each attack's success beside what it reaches on other people, and beside what a claimed epsilon allows."""
    values = {each.attack: (each.success, each.chance) for each in outcomes}
    bounds = {each.attack: each.bound for each in outcomes if each.bound is not None}
    title = "Success of attacks on the synthetic table"
    return pictures.bars_with_marks(title, values, mark="on people who are not in it", bounds=bounds)
