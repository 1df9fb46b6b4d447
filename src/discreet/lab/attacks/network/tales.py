"""What the attacker is after, and what was published: tales of two networks.

They differ by one unit of privacy, and a coin says which of them is the true one. The attacker knows both, as
differential privacy allows them to: all links but the one, all people but the one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from discreet.lab.attacks.network.graphs import SmallGraph, random_town

PEOPLE, LINKS = 240, 720
#: The most that anybody of the town knows, and how many the newcomer does.
MOST, NEW = 12, 16
#: Accounts of the attacker, each of them linked with both of the two.
PLANTED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Tale:
    """Two networks, whose privacy is at stake, which statistics are published, and how often.

    twice: once before the coin, when the network surely was `without`, and once after it; the attacker subtracts.
    """

    without: SmallGraph
    with_it: SmallGraph
    unit: Literal["edge", "node"]
    only: tuple[str, ...]
    twice: bool
    story: str

    def __post_init__(self) -> None:
        if not self.without.links < self.with_it.links:
            raise ValueError("the two networks must differ only by what was added")

    @property
    def limit(self) -> int | None:
        """What the owner declares of a person's links, under node privacy: nobody has more, so nothing is cut off."""
        return max(len(each) for each in self.with_it.neighbours) if self.unit == "node" else None


def friends() -> Tale:
    """Two people of a town may have met."""
    base = random_town(PEOPLE, LINKS, most=MOST)
    link = next((0, other) for other in range(1, PEOPLE) if (0, other) not in base.links)
    return Tale(
        without=base,
        with_it=base.with_links(link),
        unit="edge",
        only=("edges", "degrees"),
        twice=True,
        story="The number of links, and how many people have at least 1, 2, 3 … links, is published in March and in "
        "April: the difference shows whether two people met.",
    )


def newcomer() -> Tale:
    """Somebody may have moved in, and got to know people."""
    base = random_town(PEOPLE, LINKS, most=MOST)
    return Tale(
        without=base,
        with_it=base.with_links(*((friend, PEOPLE) for friend in range(NEW))),
        unit="node",
        only=("edges", "degrees"),
        twice=True,
        story=f"The number of links, and how many people have at least 1, 2, 3 … links, is published in March and in "
        f"April: the difference shows whether somebody who knows {NEW} people moved in.",
    )


def accounts() -> Tale:
    """Two people whom all accounts of an attacker know."""
    base = random_town(PEOPLE, LINKS, most=MOST)
    made = [(end, PEOPLE + number) for number in range(PLANTED) for end in (0, 1)]
    around = SmallGraph(people=base.people, links=base.links - {(0, 1)}).with_links(*made)
    return Tale(
        without=around,
        with_it=around.with_links((0, 1)),
        unit="edge",
        only=("triangles",),
        twice=False,
        story=f"An attacker has {PLANTED} accounts, all linked with the same two people. If these two know each other, "
        f"the network has {PLANTED} more triangles.",
    )


#: Each tale by its name. `keepers`, of many pairs at once, and `alice`, of two questions, have files of their own.
TALE_MAKERS: dict[str, Callable[[], Tale]] = {"friends": friends, "newcomer": newcomer, "accounts": accounts}
TALES = ("keepers", *TALE_MAKERS, "alice")
