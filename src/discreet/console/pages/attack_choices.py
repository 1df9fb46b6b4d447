"""What can be chosen about an attack: few values each, so that all results that there can be are few, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from discreet.errors import UsageError

_EPSILONS = ("0.1", "0.5", "1", "2", "4")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackChoice:
    """A thing to choose: its name in forms, its words, its values, and the usual one."""

    name: str
    words: str
    values: tuple[str, ...]
    usual: str

    def __post_init__(self) -> None:
        if self.usual not in self.values:
            raise ValueError(f"{self.usual!r} is not a value of {self.name}")


CHOICES: dict[str, tuple[AttackChoice, ...]] = {
    "sampling": (
        AttackChoice(name="share", words="Share of people published", values=("0.001", "0.01", "0.1"), usual="0.01"),
    ),
    "differencing": (
        AttackChoice(name="tale", words="Scenario", values=("patients", "name", "class"), usual="patients"),
        AttackChoice(name="epsilon", words="Total budget of Discreet, epsilon", values=_EPSILONS, usual="1"),
    ),
    "averaging": (
        AttackChoice(
            name="repeats", words="Number of times the query is asked", values=("10", "100", "1000"), usual="1000"
        ),
        AttackChoice(name="epsilon", words="Total budget of Discreet, epsilon", values=_EPSILONS, usual="1"),
    ),
    "reconstruction": (
        AttackChoice(name="people", words="People", values=("40", "200", "1000", "2000"), usual="2000"),
        AttackChoice(name="questions", words="Queries per person", values=("1", "2", "4", "8"), usual="4"),
        AttackChoice(
            name="noise",
            words="Largest error of an answer, in square roots of the number of people",
            values=("0", "0.1", "0.25", "0.5", "1", "2", "4"),
            usual="0.25",
        ),
    ),
}


def read_choices(attack: str, read_text: Callable[[str, str], str]) -> dict[str, str]:
    """What was chosen about an attack: `read_text` gives a text by its name, or what it is given for none."""
    values = {each.name: read_text(each.name, each.usual) for each in CHOICES.get(attack, ())}
    check_choices(attack, values)
    return values


def check_choices(attack: str, given: Mapping[str, str]) -> None:
    """Refuse what is not on the list."""
    allowed = {each.name: each for each in CHOICES.get(attack, ())}
    for name, value in given.items():
        if name not in allowed:
            raise UsageError(f"{name[:40]!r} is not a setting of {attack}")
        if value not in allowed[name].values:
            raise UsageError(f"{value[:40]!r} is not one of the choices", hint=", ".join(allowed[name].values))
