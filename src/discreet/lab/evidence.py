"""What an attack or an audit shows: how often it succeeds, beside chance and beside what a guarantee allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import Flag, Message, UsageError
from discreet.present import notebook

#: A run that says that what should stand has fallen is wrong less often than this.
DOUBT = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One attack's outcome.

    `success`: the share of the `n` targets, or trials, on which it succeeded. `chance`: the share that guessing gives.
    `bound`: the most that any attacker could reach under the claimed guarantee; None if nothing is claimed. `interval`:
    the confidence interval of the true success rate, at `confidence`. `story`: what happened, as sentences. `details`:
    plain data. `judged`: False if there is no measurement to compare the success with; then it shows neither a leak nor
    safety, and `chance` is only an approximation.
    """

    attack: str
    success: float
    chance: float
    n: int
    seconds: float
    interval: tuple[float, float]
    bound: float | None = None
    confidence: float = 0.95
    story: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    judged: bool = True
    #: Draws the picture as SVG when it is asked for.
    picture: Callable[[], str] | None = None

    def __post_init__(self) -> None:
        low, high = self.interval
        if self.n < 0 or not low <= high or not all(map(math.isfinite, (self.success, self.chance, low, high))):
            raise ValueError(f"not evidence: {self.attack}")

    @property
    def breaks(self) -> bool:
        """Whether it is significantly better than the guarantee allows or, if nothing is claimed, than chance."""
        return self.judged and self.interval[0] > (self.chance if self.bound is None else self.bound)

    def to_data(self) -> dict[str, Any]:
        """Return the evidence as plain data for JSON."""
        return {
            "attack": self.attack,
            "success": self.success,
            "chance": self.chance,
            "bound": self.bound,
            "breaks": self.breaks if self.judged else None,
            "confidence_interval": list(self.interval),
            "n": self.n,
            "seconds": self.seconds,
            "details": dict(self.details),
        }

    def lines(self) -> list[str]:
        """Return the evidence as lines of text."""
        low, high = self.interval
        # An interval without width was proved, not sampled.
        sure = "exactly" if low == high else f"{percent(low)} to {percent(high)} at {confidence_text(self.confidence)}"
        sentences = [
            f"{self.attack}: there were no cases to try, so this shows nothing, neither for nor against"
            if not self.n
            else f"{self.attack}: succeeds {percent(self.success)} of the time ({sure}, n = {self.n:,}); "
            f"chance is {percent(self.chance)}"
        ]
        if self.bound is not None:
            sentences.append(f"under the claimed guarantee, no attacker can exceed {percent(self.bound)}")
        if not self.judged:
            sentences.append("this cannot be judged: there is no measurement to compare it with")
        return [*sentences, *self.story]

    def plot(self, path: Path) -> None:
        """Write the picture to an SVG file."""
        if self.picture is None:
            raise UsageError(f"there is no picture of {self.attack}")
        if path.suffix.lower() != ".svg":
            raise UsageError(
                f"{path.name!r} is not an .svg file", hint=Message(Flag("output", "picture.svg", short="o"))
            )
        path.write_text(self.picture(), encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Evidence of {self.attack}: {percent(self.success)}, chance {percent(self.chance)}, n = {self.n:,}>"

    def _repr_html_(self) -> str:
        """The evidence in a notebook: success beside chance and beside what the claim allows."""
        return notebook.notebook_html(self._notebook_parts, lambda: repr(self))

    def _notebook_parts(self) -> Iterator[str]:
        first, *rest = self.lines()
        yield notebook.head(first)
        rest = rest if self.bound is None else rest[1:]  # the table says it
        if self.n:
            shares = [("success", self.success, self.interval), ("chance", self.chance, None)]
            shares += [] if self.bound is None else [("most allowed by the claim", self.bound, None)]
            yield notebook.table(["", "share"], [_row(*each) for each in shares], reach=1.0)
        for sentence in rest:
            yield notebook.line(sentence)
        if self.judged and self.n:
            against = "chance" if self.bound is None else "the claimed guarantee"
            sure = (
                f"Significantly better than {against}."
                if self.breaks
                else f"Not significantly better than {against}, at this n."
            )
            yield notebook.small_print(sure)


def _row(name: str, share: float, interval: tuple[float, float] | None) -> list[notebook.NotebookCell]:
    low, high = interval or (share, share)
    return [
        notebook.NotebookCell(text=name),
        notebook.NotebookCell(
            text=percent(share), number=True, below_noise=interval is None, plotted=(share, low, high)
        ),
    ]


def percent(share: float) -> str:
    """A share as people read it: one place, more where there would be nothing left of it, or of the rest.

    >>> percent(0.873), percent(0.00001), percent(0.0), percent(1.0), percent(0.9999)
    ('87.3%', '0.001%', '0%', '100%', '99.99%')
    """
    places = 1
    while places < 6 and 0 < share < 1 and round(100 * min(share, 1 - share), places) == 0:
        places += 1
    return f"{share:.0%}" if share in (0, 1) else f"{share:.{places}%}"


def confidence_text(confidence: float) -> str:
    """A confidence as people read it; 99.75% is not 100%.

    >>> confidence_text(0.95), confidence_text(0.9975), confidence_text(1 - 0.05 / 3), confidence_text(1 - 1e-7)
    ('95%', '99.75%', '98.33%', '99.99999%')
    """
    places = 4
    while places < 15 and confidence < 1 and float(f"{100 * confidence:.{places}g}") >= 100:
        places += 1
    return f"{100 * confidence:.{places}g}%"


def best_under(epsilon: float, delta: float = 0.0) -> float:
    """The most often that anybody guesses right which of two neighbouring tables was used, each with chance 1/2.

    Because: under (epsilon, delta) the true and the false positive rates have t <= e^epsilon f + delta, both ways.
    """
    grown = math.exp(min(epsilon, 700.0))
    return min(1.0, (grown + delta) / (1 + grown))


def replacement_guarantee(epsilon: float, delta: float = 0.0) -> tuple[float, float]:
    """What a claim says of two tables that differ in one person put in another's place.

    Because: taking one out and putting one in are two steps, P <= e^epsilon (e^epsilon Q + delta) + delta.
    """
    return 2 * epsilon, min(1.0, delta * (1 + math.exp(min(epsilon, 700.0))))


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """An interval for the probability of success that holds at least so often, however few trials there were."""
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} trials")
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else _bisect_probability(lambda p: binomial_upper_tail(successes, n, p) < tail)
    high = 1.0 if successes == n else _bisect_probability(lambda p: binomial_upper_tail(successes + 1, n, p) < 1 - tail)
    return low, high


def _bisect_probability(below: Callable[[float], bool]) -> float:
    """The probability from which on `below` is false."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2


def binomial_upper_tail(successes: int, n: int, chance: float) -> float:
    """P(Binomial(n, chance) >= successes): the incomplete beta function I(chance; successes, n - successes + 1)."""
    if chance <= 0 or chance >= 1:
        return float(chance >= 1)
    return _beta(chance, successes, n - successes + 1)


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz), where that converges fast."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    value, c, d = 1.0, 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 10_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + step * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + step / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * value
