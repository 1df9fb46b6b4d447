"""A network: who is a friend of whom, and in which ward everybody lives, which is public."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.lab.samples.generated_chance import GeneratedChance
from discreet.lab.samples.sample_table import Sample, SampleColumn, SampleRow, SampleTable

WARDS = ("east", "north", "south", "west")

#: The form has room for so many friends.
MOST_FRIENDS = 20

FRIENDS = SampleTable(
    name="friends",
    add_flags=(("ends", "from,to"), ("rows-per-person", MOST_FRIENDS)),
    columns=(
        SampleColumn(name="from", type="text", label="One of the two friends"),
        SampleColumn(name="to", type="text", label="The other one"),
    ),
)
MEMBERS = SampleTable(
    name="members",
    add_flags=(("public", True),),
    columns=(
        SampleColumn(name="person", type="text", label="Number of the person"),
        SampleColumn(name="ward", type="text", label="Ward where the person lives"),
    ),
)


def _generate(rows: int) -> Mapping[str, Iterable[SampleRow]]:
    chance = GeneratedChance("network")
    wards = [chance.weighted(WARDS, (40, 30, 20, 10)) for _ in range(rows // 4 + 12)]
    return {
        FRIENDS.name: _friends(rows, wards, chance),
        MEMBERS.name: [(_number(member), ward) for member, ward in enumerate(wards)],
    }


def _friends(rows: int, wards: list[str], chance: GeneratedChance) -> Iterable[SampleRow]:
    """Three quarters of all friends live in the same ward, and low numbers have more friends than high ones."""
    degrees, edges = [0] * len(wards), set[tuple[int, int]]()
    while len(edges) < rows:
        one = chance.below(1 + chance.below(len(wards)))
        other = chance.below(len(wards))
        edge = (min(one, other), max(one, other))
        is_crowded = degrees[one] >= MOST_FRIENDS or degrees[other] >= MOST_FRIENDS
        if one == other or edge in edges or is_crowded or (wards[one] != wards[other] and chance.is_true(0.8)):
            continue
        edges.add(edge)
        degrees[one] += 1
        degrees[other] += 1
        yield [_number(one), _number(other)]


def _number(member: int) -> str:
    return f"N{member + 1:06d}"


FRIENDSHIP_NETWORK = Sample(
    name="network",
    about="friendships between persons, one row each, and a public table of their wards; for networks",
    tables=(FRIENDS, MEMBERS),
    rows=2_000,
    generate=_generate,
)
