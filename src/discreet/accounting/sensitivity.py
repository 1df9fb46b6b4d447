"""How far the exact cells can move when one privacy unit is added or removed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """Bounds on |q(D) - q(D')| in cells touched, total, Euclidean (squared, so it stays whole) and largest.

    `because` is the reasoning that `explain` prints.
    """

    l0: int
    l1: int
    l2_squared: int
    linf: int
    because: tuple[str, ...]

    def __post_init__(self) -> None:
        if not (self.l0 >= 1 and 1 <= self.linf <= self.l1 and self.linf**2 <= self.l2_squared):
            raise ValueError(f"not a sensitivity: {self}")
        if self.l1 > self.l0 * self.linf or self.l2_squared > self.l0 * self.linf**2:
            raise ValueError(f"the sensitivity is not tight: {self}")
