"""What can be chosen about an attack: few values each, so that all results that there can be are few, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from discreet.errors import UsageError

_EPSILONS = ("0.1", "0.5", "1", "2", "4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A thing to choose: its name in forms, its words, its values, and the usual one."""

    name: str
    words: str
    values: tuple[str, ...]
    usual: str

    def __post_init__(self) -> None:
        if self.usual not in self.values:
            raise ValueError(f"{self.usual!r} is no value of {self.name}")


CHOICES: dict[str, tuple[Choice, ...]] = {
    "sampling": (Choice(name="share", words="Share that is published", values=("0.001", "0.01", "0.1"), usual="0.01"),),
    "differencing": (
        Choice(name="tale", words="Tale", values=("patients", "name", "class"), usual="patients"),
        Choice(name="epsilon", words="Discreet's whole budget, epsilon", values=_EPSILONS, usual="1"),
    ),
    "averaging": (
        Choice(name="repeats", words="Times that the question is asked", values=("10", "100", "1000"), usual="1000"),
        Choice(name="epsilon", words="Discreet's whole budget, epsilon", values=_EPSILONS, usual="1"),
    ),
    "reconstruction": (
        Choice(name="people", words="People", values=("40", "200", "1000", "2000"), usual="2000"),
        Choice(name="questions", words="Questions for each person", values=("1", "2", "4", "8"), usual="4"),
        Choice(
            name="noise",
            words="Largest error of an answer, in roots of the number of people",
            values=("0", "0.1", "0.25", "0.5", "1", "2", "4"),
            usual="0.25",
        ),
    ),
}


def chosen(attack: str, told: Callable[[str, str], str]) -> dict[str, str]:
    """What was chosen about an attack: `told` gives a text by its name, or what it is given for none."""
    found = {each.name: told(each.name, each.usual) for each in CHOICES.get(attack, ())}
    check(attack, found)
    return found


def check(attack: str, given: Mapping[str, str]) -> None:
    """Refuse what is not on the list."""
    known = {each.name: each for each in CHOICES.get(attack, ())}
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{name[:40]!r} is nothing to choose about {attack}")
        if value not in known[name].values:
            raise UsageError(f"{value[:40]!r} cannot be chosen", hint=", ".join(known[name].values))
