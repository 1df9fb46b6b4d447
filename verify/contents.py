"""What the steps of a program measured: stored beside them, and held against the digests that were charged.

A row lies in one cell of each table by axes, whatever these are: so the rules ask how many rows, or how much weight, a
unit has in all, and how many tables there are. A choice has scores that move by a weight for each row; its mechanism
divides by that, as a quantile's does.
"""

import base64
import zlib
from itertools import pairwise
from json import loads
from math import prod
from typing import Any

from measured import Steps, closed, digest, noise_of, numbers, parted, question_digest, text
from members import check_question
from relation import Broken, Node, Relation, unit, whole

#: What all rows of a person weigh together, where they are weighted; what is made of persons, and how far one moves it.
WEIGHT = 5_040
PERSONS = {"RecordProgram": 1, "StepProgram": WEIGHT, "RowProgram": WEIGHT}
TABLE = {"axes", "groups", "coarser", "persons"}
KINDS = {
    "run": {"run", "inquiry"},
    "measure": {"measure"} | TABLE,
    "choose": {"choose", "weight"} | TABLE,
    "distances": {"distances", "parts"} | TABLE,
    "changes": {"changes", "persons"},
    "earlier": {"earlier", "persons"},
}
MOST_BYTES = 2**26


def unpacked(packed: str) -> list[Any]:
    """The contents of all steps: compressed, base 64, and nothing after them."""
    unpacking, raw = zlib.decompressobj(), base64.b64decode(packed, validate=True)
    try:
        told = unpacking.decompress(raw, MOST_BYTES)
    except zlib.error:
        raise Broken("what the steps measured cannot be unpacked") from None
    if not unpacking.eof or unpacking.unused_data or base64.b64encode(raw).decode() != packed:
        raise Broken("what the steps measured is too long, cut off, or followed by something else")
    found = loads(told)
    if text(found).encode() != told or not isinstance(found, list):
        raise Broken("what the steps measured is not formatted as Discreet formats it")
    return found


def check_contents(plan: Node, packed: str, drawn: list[Any]) -> str:
    """Every step: its digest is that of its content, and its event that of noise on what moves so far."""
    is_row, rows = unit(plan["schemas"][plan["table"]]["declared"])
    for told, step, values in zip(unpacked(packed), plan["steps"], drawn, strict=True):
        (kind,) = KINDS.keys() & set(told)
        closed(told, KINDS[kind], "what a step measured")
        if kind == "run":
            check_run(told, step, values, plan)
            continue
        if digest(told) != step["of"]:
            raise Broken("a step measured something other than was charged")
        each = PERSONS[told["persons"]["of"]] if "of" in told.get("persons", {}) else rows
        if is_row and "persons" in told:
            raise Broken("records of persons, where each row is a unit")
        RULES[kind](told, parted(step["event"]), values, each)
    return f"each step measured what was charged, with noise for {rows} rows per unit"


def check_run(told: Node, step: Node, values: Any, plan: Node) -> None:
    """A question of its own: counts, bounds or keys, derived as those of an answer."""
    inquiry = told["inquiry"]
    closed(inquiry, {"plan", "sets", "statistics", "quantiles", "keys", "top"}, "a query")
    check_question(inquiry)
    if [digest({"run": told["run"]}), question_digest(inquiry)] != [step["of"], told["run"]]:
        raise Broken("a step asked something other than was charged")
    if text([values["id"], values["text"], values["also"], values["event"]]) != text(
        [plan["release"], "", [], step["event"]]
    ):
        raise Broken("a step stores something other than it was charged for")
    relation = Relation(inquiry["plan"], plan["schemas"], iter(()), 1)
    Steps(inquiry, relation).of(values, [{}] * len(values["parts"]))


def sizes(told: Node) -> list[int]:
    """How many cells each axis has, after its own were put together."""
    found = []
    for (_, edges, null), group in zip(told["axes"], told["groups"], strict=True):
        if len(edges) < 2 or any(whole(low) >= whole(high) for low, high in pairwise(edges)):
            raise Broken("bins that are not consecutive")
        if len(group) != len(edges) - 1 + (null is True):
            raise Broken("cells that are put together are not those of the axis")
        found.append(merged(group))
    return found


def merged(group: list[Any]) -> int:
    """How many cells there are after others were put together, each of which goes to one."""
    if min(map(whole, group)) != 0:
        raise Broken("cells that are put together have no numbers")
    return int(max(group)) + 1


def cells(own: Any, told: Node) -> int:
    """How many cells a table by some axes has: as they are, or with fewer cells."""
    size = sizes(told)
    if own and isinstance(own[0], list):
        axes, groups = own
        if any(len(told["coarser"][number]) != size[axis] for axis, number in zip(axes, groups, strict=True)):
            raise Broken("cells that are put together are not those of the axis")
        return prod(merged(told["coarser"][number]) for number in groups)
    if len(set(own)) < len(own):
        raise Broken("a table by one axis twice")
    return prod(size[whole(axis)] for axis in own)


def check_tables(told: Node, events: list[Node], values: Any, rows: int) -> None:
    """A row is in one cell of each table."""
    if len(told["measure"]) != len(events) or len(values) != len(events):
        raise Broken("the number of tables differs from the number of events")
    for own, event, noisy in zip(told["measure"], events, values, strict=True):
        if event != noise_of(event, rows, rows**2):
            raise Broken(f"the noise covers fewer than {rows} rows per unit")
        if len(numbers(noisy)) != cells(own, told):
            raise Broken("the number of noisy numbers differs from the number of cells")


def check_choice(told: Node, events: list[Node], values: Any, rows: int) -> None:
    """One of some tables, by an exponential mechanism on how far each is from numbers that are public."""
    if [event["kind"] for event in events] != ["exponential"] or whole(told["weight"]) < 1:
        raise Broken("a choice that is not made by an exponential mechanism")
    if not 0 <= whole(values) < len(told["choose"]):
        raise Broken("a choice of something that was not offered")


def check_distances(told: Node, events: list[Node], values: Any, rows: int) -> None:
    """Sums of distances of tables from public numbers, in parts of a row: a row moves that of each table by one."""
    far = [whole(told["parts"]) * rows * len(group) for group in told["distances"]]
    check_numbers(events, values, len(far), sum(far), sum(each**2 for each in far))


def check_persons(told: Node, events: list[Node], values: Any, rows: int) -> None:
    """Numbers of persons of whom something is true: all, or those with several rows, and one for each fact."""
    facts = [*told["changes"][0], *told["changes"][1]] if "changes" in told else told["earlier"]
    check_numbers(events, values, 1 + len(facts), 1 + len(facts), 1 + len(facts))


def check_numbers(events: list[Node], values: Any, count: int, l1: int, l2_squared: int) -> None:
    if len(events) != 1 or events[0] != noise_of(events[0], l1, l2_squared):
        raise Broken("the noise covers less than one unit")
    if len(numbers(values)) != count:
        raise Broken("the number of noisy numbers differs from the number of facts")


RULES = {
    "measure": check_tables,
    "choose": check_choice,
    "distances": check_distances,
    "changes": check_persons,
    "earlier": check_persons,
}
