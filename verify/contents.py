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

from measured import (
    SIZES,
    Steps,
    closed,
    digest,
    hashed,
    moves,
    noise_of,
    norms,
    numbers,
    parted,
    question_digest,
    text,
)
from members import check_question, check_relation
from relation import Broken, Node, Open, Relation, derive, unit, whole

#: What all rows of a person weigh together, where they are weighted; what is made of persons, and how far one moves it.
WEIGHT = 5_040
PERSONS = {"RecordProgram": 1, "StepProgram": WEIGHT, "RowProgram": WEIGHT}
TABLE = {"axes", "groups", "coarser", "persons"}
KINDS = {
    "run": {"run", "inquiry"},
    "measure": {"measure"} | TABLE,
    "linear": {"linear", "axes", "rows", "added"},
    "choose": {"choose", "weight"} | TABLE,
    "distances": {"distances", "parts"} | TABLE,
    "changes": {"changes", "persons"},
    "earlier": {"earlier", "persons"},
}
MOST_BYTES = 2**26


def unpacked(packed: str) -> str:
    """A text that is stored compressed, in base 64, with nothing after it."""
    unpacking, raw = zlib.decompressobj(), base64.b64decode(packed, validate=True)
    try:
        told = unpacking.decompress(raw, MOST_BYTES)
    except zlib.error:
        raise Broken("what the steps measured cannot be unpacked") from None
    if not unpacking.eof or unpacking.unused_data or base64.b64encode(raw).decode() != packed:
        raise Broken("what the steps measured is too long, cut off, or followed by something else")
    return told.decode()


def formatted(told: str) -> list[Any]:
    """The contents of all steps, if their text is as Discreet writes it."""
    found = loads(told)
    if text(found) != told or not isinstance(found, list):
        raise Broken("what the steps measured is not formatted as Discreet formats it")
    return found


def check_contents(plan: Node, contents: list[Any], drawn: list[Any], stored: Node) -> str:
    """Every step: its digest is that of its content, and its event that of noise on what moves so far.

    stored: of ranges and batches, where strategies are written whole.
    """
    is_row, rows = unit(plan["schemas"][plan["table"]]["declared"])
    laws = [stored["law"]] if stored.get("adaptive") is False else [grid["law"] for grid in stored.get("grids", [])]
    for told, step, values in zip(contents, plan["steps"], drawn, strict=True):
        (kind,) = KINDS.keys() & set(told)
        closed(told, KINDS[kind], "what a step measured")
        if kind == "run":
            check_run(told, step, values, plan)
            continue
        if digest(told) != step["of"]:
            raise Broken("a step measured something other than was charged")
        each = PERSONS[told["persons"]["of"]] if "of" in told.get("persons", {}) else rows
        if kind == "linear":
            whole_ = [values["beside"], stored.get("strategy"), *(grid["strategy"] for grid in stored.get("grids", []))]
            added = most_added(told["added"], plan["schemas"]) if "added" in told else rows
            events = parted(step["event"])
            check_linear(told, events, values, added, [each for each in whole_ if each is not None])
            law = laws.pop(0) if laws else law_of(events[0])
            if text([law_of(each) for each in events]) != text([law] * len(events)):
                raise Broken("the event of a strategy names another noise than its law")
            continue
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
    relation = related(inquiry["plan"], plan["schemas"], 1)
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


def law_of(event: Node) -> Node:
    name = SIZES.get(event["kind"], "")
    return {"kind": f"discrete-{event['kind']}", name: event[name]}


def related(node: Node, schemas: Node, fewest: int) -> Relation:
    if '"public":' in text(node):
        raise Open("a step joins a public table, which is not in the bundle")
    return Relation(node, schemas, iter(()), fewest)


def most_added(told: Node, schemas: Node) -> int:
    """How much a unit adds to all cells together: its rows of a relation, each at most once or by its largest term."""
    closed(told, {"plan", "statistic"}, "what is added up")
    check_relation(told["plan"])
    relation = related(told["plan"], schemas, 0)
    terms = derive(told["statistic"][1], relation.known) if told["statistic"][0] == "sum" else None
    if told["statistic"][0] not in ("rows", "sum") or told["statistic"][3:4] not in ([], [1]):
        raise Broken("cells of something that does not add up")
    return moves(told["statistic"], relation.rows, 1, terms)["l1"]


def check_linear(told: Node, events: list[Node], values: Any, added: int, whole_: list[Any]) -> None:
    """What strategies make of a table: each column says how far what is added to one cell moves them all."""
    size = prod(len(edges) - 1 + (null is True) for _, edges, null in told["axes"])
    if len(told["linear"]) != len(events) or len(values["noisy"]) != len(events):
        raise Broken("the number of strategies differs from the number of events")
    for data, event, noisy in zip(told["linear"], events, values["noisy"], strict=True):
        cells_, count, l1, l2 = reach(data, whole_)
        if event != noise_of(event, added * l1, added**2 * l2) or cells_ != size:
            raise Broken("the sensitivity of a strategy does not follow from its columns and from what a unit adds")
        if len(numbers(noisy)) != count:
            raise Broken("the number of noisy numbers differs from the rows of a strategy")


def reach(data: Any, whole_: list[Any]) -> tuple[int, int, int, int]:
    """Of a strategy its cells, how many numbers it makes, and how far one row moves them: in sum, in squared length.

    Unevenness: for each block of s cells a unit / s of the sum of |s count - sum|, which a row moves by 2 (s - 1). The
    evenest partition is the least of sums in which a row is in one block.
    """
    if data[0] in ("unevenness", "evenest"):
        size, blocks = (data if data[0] == "unevenness" else data[1])[1:]
        if any(whole(block) < 2 or block & (block - 1) for block in blocks):
            raise Broken("blocks whose sizes are not powers of two")
        unit_ = max(blocks)
        if data[0] == "evenest":
            return size, 1, 2 * unit_, 4 * unit_**2
        far = [2 * (unit_ - unit_ // block) for block in blocks]
        padded = -(-size // unit_) * unit_
        return size, sum(padded // block for block in blocks), sum(far), sum(each**2 for each in far)
    told = described(data, whole_)
    columns_ = norms(told)
    return len(columns_), made(told), max(one for one, _ in columns_), max(two for _, two in columns_)


def described(data: Any, whole_: list[Any]) -> Node:
    """A strategy as it is written whole, by its short form in what was charged."""
    kind, *parts = data
    if kind == "identity":
        return {"kind": kind, "size": parts[0]}
    if kind == "levels":
        return {"kind": kind, "size": parts[0], "levels": parts[1]}
    for told in whole_:
        if shortened(told) == data:
            return dict(told)
    if kind == "merged":
        return {"kind": kind, "groups": parts[0], "inner": described(parts[1], whole_)}
    if kind == "product":
        return {"kind": kind, "factors": [described(each, whole_) for each in parts[0]]}
    raise Broken("a strategy that is not in the bundle")


def shortened(told: Node) -> list[Any]:
    """The short form of a strategy: long lists by their digests."""
    kind = told["kind"]
    if kind in ("identity", "levels"):
        return [kind, told["size"], *([told["levels"]] if kind == "levels" else [])]
    if kind == "groups":
        return [kind, told["count"], hashed(numbers(told["groups"]))]
    if kind == "diagonal":
        return [kind, hashed(numbers(told["weights"]))]
    if kind == "matrix":
        entries = numbers(told["entries"])
        return [kind, len(entries) // told["cells"], hashed(entries)]
    if kind == "merged":
        return [kind, numbers(told["groups"]), shortened(told["inner"])]
    return [kind, [shortened(each) for each in told["parts" if kind == "stack" else "factors"]]]


def made(told: Node) -> int:
    """How many numbers a strategy makes."""
    kind = told["kind"]
    if kind == "identity":
        return int(told["size"])
    if kind == "levels":
        return sum(-(-told["size"] // size) for size, _ in told["levels"])
    if kind == "groups":
        return whole(told["count"])
    if kind == "diagonal":
        return len(numbers(told["weights"]))
    if kind == "matrix":
        return len(numbers(told["entries"])) // whole(told["cells"])
    if kind == "merged":
        return made(told["inner"])
    parts = [made(each) for each in told["parts" if kind == "stack" else "factors"]]
    return sum(parts) if kind == "stack" else prod(parts)


RULES = {
    "measure": check_tables,
    "choose": check_choice,
    "distances": check_distances,
    "changes": check_persons,
    "earlier": check_persons,
}
