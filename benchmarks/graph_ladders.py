"""How wide a ladder's interval is on average, by its public constants: for widths of rungs, without any network.

    ./do bench graph --only ladders

An edge moves a count by `width`; the width is measured with a part of epsilon 1, the ladder drawn with the rest. The
constants of src/discreet/mechanisms/ladder_plan.py and the parts of graph_shape.py are those of the middle column.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.mechanisms import ladder_plan
from discreet.mechanisms.floored_ladder import FlooredLadder
from discreet.mechanisms.ladder_plan import LadderPlan
from discreet.mechanisms.laplace import DiscreteLaplace

CONFIDENCE = Fraction(95, 100)
WIDTHS = (2, 4, 9, 20, 60)
TRIED = ((4, 2), (5, 3), (7, 4), (8, 3), (8, 6), (12, 8))


def expected(width: int, part: Fraction, constants: tuple[int, int] | None) -> float:
    """The mean half width over the noise of the width. No constants: the ladder of before, with a constant decay."""
    law, share = DiscreteLaplace(scale=1 / part), 1 - part
    if constants is not None:
        ladder_plan._LEAST, ladder_plan._MARGIN = constants
        ladder_plan._factor.cache_clear()
        plan = LadderPlan(epsilon=share, step=1, is_pure=True)
    else:
        before = FlooredLadder.of(share, step=1, is_pure=True)
    total = 0.0
    for noise in range(-60, 61):
        if constants is None:
            half_width = before.above(width + noise).half_width(law, CONFIDENCE)
        else:
            half_width = plan.half_width(plan.above(width + noise).floor, law, CONFIDENCE)
        total += float(law.mass(noise)) * half_width
    return total


def main() -> None:
    """Measure and print."""
    print("| part of the width | least floor, margin | " + " | ".join(f"width {width}" for width in WIDTHS) + " |")
    print("|---|---|" + "---:|" * len(WIDTHS))
    for part in (Fraction(1, 10), Fraction(1, 5), Fraction(3, 10)):
        for constants in (None, *TRIED):
            name = "as before" if constants is None else f"{constants[0]}, {constants[1]}"
            row = " | ".join(f"{expected(width, part, constants):.0f}" for width in WIDTHS)
            print(f"| {float(part):.1f} | {name} | {row} |", flush=True)


if __name__ == "__main__":
    main()
