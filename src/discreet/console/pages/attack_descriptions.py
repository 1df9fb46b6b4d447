"""What each attack shows, in three sentences; and what can be chosen about it: few values each, so that all results
that there can be are few, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from discreet.errors import UsageError

ATTACK_DESCRIPTIONS: dict[str, tuple[str, str, str]] = {
    "linkage": (
        "Names were taken out of a hospital's file, but ZIP code, birth date and sex stayed in it.",
        "A voter list has names and the same three columns, and most people have a combination that nobody else has.",
        "Counts with noise protect people: no rows are released that could be matched.",
    ),
    "ratings": (
        "A film service published ratings under numbers instead of names.",
        "A few ratings that a person mentioned, even if some are wrong, identify their record among thousands.",
        "Records with many columns about each person are useful, and recognisable for the same reason.",
    ),
    "sampling": (
        "Only one person in a hundred was published, and nobody knows who.",
        "This does not protect the people in the sample: most of them are unique among everybody.",
        "Sampling lowers the average risk, but not the risk of those who were drawn.",
    ),
    "homogeneity": (
        "Everybody is hidden among at least four others who look alike: the table is 5-anonymous.",
        "In many of these groups everybody has the same condition, so the group hides nothing.",
        "A guarantee about groups is not a guarantee about a person.",
    ),
    "background": (
        "In every group there are at least three different conditions.",
        "Somebody who can rule out two of them for a person knows the third.",
        "Differential privacy holds whatever an attacker knows already; this protection depends on it.",
    ),
    "minimality": (
        "A table was made just as coarse as its rule demands, and no coarser.",
        "A reader who knows the rule sees where it had to act, and this reveals more than the rule allows.",
        "How a table was made is part of what is released, unless its choices are made under noise and paid for.",
    ),
    "intersection": (
        "Two hospitals each published an anonymous table, each of them safe on its own.",
        "A person who went to both is in one group of each table, and few values are in both groups.",
        "Such guarantees do not compose. Losses of differential privacy add up, and a ledger can count them.",
    ),
    "differencing": (
        "Two exact counts that differ in one person reveal that person's secret.",
        "Noise alone is not enough if anybody can ask as many pairs of counts as they like.",
        "A ledger that charges every different query stops the attack before much is known.",
    ),
    "averaging": (
        "The same query is asked again and again, with new noise each time.",
        "The noise averages out, and the secret remains.",
        "Discreet repeats its stored answer for free, and charges every new draw until nothing is left.",
    ),
    "reconstruction": (
        "A server answers thousands of counts, each of them a little wrong.",
        "Together the answers are a system of equations, and its solution is everybody's secret.",
        "Only noise that grows with the number of answers withstands this attack. A budget makes sure of that.",
    ),
    "census": (
        "A statistical office published exact tables about seven people, and left the small cells out.",
        "A solver tries all sets of people that fit the tables: only one is left.",
        "When the tables are published with noise, no set of people fits them, or very many do.",
    ),
    "auditing": (
        "A server refuses each query whose answer would reveal somebody's value.",
        "It looks at the data to decide, so its refusals reveal what its answers do not.",
        "A refusal must depend only on the queries and on public facts, as it does here.",
    ),
    "floats": (
        "The noise has the right distribution, but is made of floating-point numbers, as in many libraries.",
        "Some outputs can come from only one input, and one such output is often enough to know the input.",
        "Discreet's noise is drawn on whole numbers by whole-number arithmetic, and has no such gaps.",
    ),
    "synthetic": (
        "Three synthetic tables were made of the same people: a jittered copy, independent columns, and Discreet's.",
        "In the copy, people can be found again, although no row of it is real.",
        "A model that is fitted to noisy counts withstands the same attacks, as far as its epsilon guarantees.",
    ),
    "network": (
        "Somebody published the number of links between each pair of places.",
        "If only one person lives in each of two places, that number says whether these two know each other.",
        "Noise that hides any one link also hides this one. To hide a person, the noise must hide all of their links.",
    ),
}


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
