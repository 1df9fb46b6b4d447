"""What the steps of a program measured: stored beside them, and held against the digests that were charged.

A row lies in one cell of each table by axes, whatever these are: so the rules ask how many rows, or how much weight, a
unit has in all, and how many tables there are. A choice has scores that move by a weight for each row; its mechanism
divides by that, as a quantile's does.
"""

from json import loads
from math import prod
from typing import Any

from measured import Steps, check_noise, closed, digest, maybe, moves, parted, question_digest, shaped, size_of
from members import DIGEST, check_nodes, check_question, check_relation, no_objects
from networks import Network
from relation import Broken, Node, Open, Relation, columns, derive, same, text, unit, whole
from stored import MEASUREMENT
from strategies import far_by, law_of, shortened

#: What all rows of a person weigh together, where they are weighted; what is made of persons, and how far one moves it.
WEIGHT = 5_040
PERSONS = {"RecordProgram": 1, "StepProgram": WEIGHT, "RowProgram": WEIGHT}
TABLE = "axes groups coarser persons"
#: The members of what a step measured, of which the first says what it is; and what is stored beside its numbers.
KINDS = {kind: {kind, *more.split()} for kind, more in {
    "run": "inquiry", "measure": TABLE, "linear": "axes rows added", "choose": f"weight {TABLE}", "limits": "of",
    "distances": f"parts {TABLE}", "network": "of", "climbed": "of floor", "changes": "persons", "earlier": "persons",
}.items()} | {"counted": {"persons"}}  # fmt: skip
BESIDE = {kind: {"noisy", "of"} for kind in ("network", "climbed", "counted")}
BESIDE |= {"linear": {"noisy", "beside"}, "limits": {"chosen", "of"}}
#: The releases of a network.
NETWORKS = ("graph", "graph model")


def formatted(content: str) -> list[Any]:
    """The contents of all steps, if their text is as Discreet writes it."""
    contents = loads(content)
    if text(contents) != content or not isinstance(contents, list):
        raise Broken("what the steps measured is not formatted as Discreet formats it")
    return contents


def check_contents(plan: Node, contents: list[Any], drawn: list[Any], stored: Node) -> str:
    """Every step: its digest is that of its content, and its event that of noise on what moves so far."""
    declared = plan["schemas"][plan["table"]]["declared"]
    is_row, rows = unit(declared, of_network=plan["kind"] in NETWORKS)
    network = Network(plan, stored)
    laws = [stored["law"]] if stored.get("adaptive") is False else [grid["law"] for grid in stored.get("grids", [])]
    for content, step, values in zip(contents, plan["steps"], drawn, strict=True):
        (kind,) = KINDS.keys() & set(content) or {"counted"}
        closed(content, KINDS[kind], "what a step measured")
        for name, part in content.items():
            form = MADE if name == "persons" and isinstance(part, dict) else FORMS.get(name, no_objects)
            shaped(part, form, f"{name} of what a step measured")
        events = parted(step["event"])
        check_stored(kind, content, values)
        if kind != "run" and digest(content) != step["of"]:
            raise Broken("a step measured something other than was charged")
        if "of" in content and network.of_persons:
            raise Broken("edges of a network whose rows belong to persons")
        if kind == "run":
            check_run(content, step, values, plan)
        elif kind == "linear":
            check_linear(content, events, values, plan, stored)
            if laws:
                same(list(map(law_of, events)), [laws.pop(0)] * len(events), "the noise of a strategy")
        elif "of" in content:
            network.check(kind, content, events, values)
        elif is_row and "persons" in content:
            raise Broken("records of persons, where each row is a unit")
        elif kind == "counted":
            table, number = content["persons"]
            Relation({"roster": table, "version": number}, plan["schemas"], iter(()), 1)
            check_noise(events, [values["noisy"]], [(1, 1, 1)])
        else:
            made = content.get("persons", {}).get("of")
            if made is None and "axes" in content:
                check_axes(content["axes"], declared.get("columns", {}))
            RULES[kind](content, events, values, rows if made is None else PERSONS[made])
    most = "" if network.limit is None else f", of which at most {network.limit} count"
    whom = f"one node with all of its edges{most}" if network.of_nodes else f"{rows} rows per unit"
    return f"each step measured what was charged, with noise for {whom}"


def check_joined(told: Any) -> None:
    """Rows of joined tables: a relation, which expressions are the same, and relations of rows that refer to them."""
    joined, same, referring = told
    for plan, *more in [[joined, same], *referring]:
        check_relation(plan)
        check_nodes(more)


#: What is made of persons, by which a table of them is cut; a network. Of others nothing is an object.
COLUMN = {"of": "row|previous|rows|gap|after|previous_after", "code": maybe(int)}
MADE = {"of": "|".join(PERSONS), "columns": [COLUMN], "axes": check_nodes, "codes": check_nodes, "joined": check_joined}
NETWORK: Node = dict.fromkeys(("labels", "trait"), no_objects)
NETWORK |= {"ends": maybe([str]), "directed": bool, "keys": maybe(DIGEST)}
LIMITS = {"epsilon": str, "price": int, "candidates": [int]}
FORMS = {"axes": check_nodes, "of": NETWORK, "limits": LIMITS, "inquiry": None, "added": None}


def check_stored(kind: str, content: Node, values: Any) -> None:
    """What a step stores beside its numbers is what it measured, and nothing else: whatever is not read is a place for
    an exact number.
    """
    if kind == "run":
        closed(values, MEASUREMENT.keys() - {"surer"}, "what a step stores")
    elif isinstance(values, dict):
        closed(values, BESIDE.get(kind, {"type", "data"}), "what a step stores")
        same(values.get("of", content), content, "what a step stores")


def check_axes(axes: list[Any], known: Any) -> None:
    """Tables are by columns of the rows that were counted: how many rows a unit has of others, nothing says."""
    if not set().union(*(columns(axis[0]) for axis in axes)) <= set(known):
        raise Broken("a table by columns of other rows than were counted")


def check_linear(content: Node, events: list[Node], values: Any, plan: Node, stored: Node) -> None:
    """Strategies on a table: those that the content tells by digests are written whole beside it, or in the release."""
    size = prod(map(size_of, content["axes"]))
    written = [values["beside"], stored.get("strategy"), *(grid["strategy"] for grid in stored.get("grids", []))]
    if values["beside"] is not None and text(shortened(values["beside"])) not in text(content["linear"]):
        raise Broken("a strategy stands beside numbers that it did not make")
    declared = plan["schemas"][plan["table"]]["declared"]
    added, known = unit(declared)[1], declared.get("columns", {})
    if "added" in content:
        added, known = most_added(content["added"], plan)
    elif plan["kind"] == "batch":
        raise Broken("a grid of a batch that does not say what is added up")
    if content.get("rows") != stored.get("meaning"):
        raise Broken("a step counted other rows than the release says")
    own = [{"column": name} for name in (*stored.get("by", []), stored.get("column"))]
    if plan["kind"] == "ranges" and [axis[0] for axis in content["axes"]] != own:
        raise Broken("a step counted by other columns than the release says")
    check_axes(content["axes"], known)
    check_noise(events, values["noisy"], far_by(content["linear"], [each for each in written if each], size, added))


def check_run(content: Node, step: Node, values: Any, plan: Node) -> None:
    """A question of its own: counts, bounds or keys, derived as those of an answer."""
    inquiry = content["inquiry"]
    check_question(inquiry)
    if [digest({"run": content["run"]}), question_digest(inquiry)] != [step["of"], content["run"]]:
        raise Broken("a step asked something other than was charged")
    own = {"id": plan["release"], "text": "", "also": [], "event": step["event"]}
    same(values, own | {"parts": values["parts"]}, "what a step stores")
    relation = related(inquiry["plan"], plan)
    Steps(inquiry, relation).of(values, [{}] * len(values["parts"]))


def sizes(content: Node) -> list[int]:
    """How many cells each axis has, after its own were put together."""
    pairs = list(zip(content["axes"], content["groups"], strict=True))
    if any(len(group) != size_of(axis) for axis, group in pairs):
        raise Broken("cells that are put together are not those of the axis")
    return [merged(group) for _, group in pairs]


def merged(group: list[Any]) -> int:
    """How many cells there are after others were put together, each of which goes to one."""
    if min(map(whole, group)) != 0:
        raise Broken("cells that are put together have no numbers")
    return int(max(group)) + 1


def cells(own: Any, content: Node) -> int:
    """How many cells a table by some axes has: as they are, or with fewer cells."""
    size = sizes(content)
    if own and isinstance(own[0], list):
        axes, groups = own
        if any(len(content["coarser"][number]) != size[axis] for axis, number in zip(axes, groups, strict=True)):
            raise Broken("cells that are put together are not those of the axis")
        return prod(merged(content["coarser"][number]) for number in groups)
    if len(set(own)) < len(own):
        raise Broken("a table by one axis twice")
    return prod(size[whole(axis)] for axis in own)


def check_tables(content: Node, events: list[Node], values: Any, rows: int) -> None:
    """A row is in one cell of each table."""
    check_noise(events, values, [(cells(own, content), rows, rows**2) for own in content["measure"]])


def check_choice(content: Node, events: list[Node], values: Any, rows: int) -> None:
    """One of some tables, by an exponential mechanism on how far each is from numbers that are public."""
    if [event["kind"] for event in events] != ["exponential"] or whole(content["weight"]) < 1:
        raise Broken("a choice that is not made by an exponential mechanism")
    if not 0 <= whole(values) < len([cells(own, content) for own in content["choose"]]):
        raise Broken("a choice of something that was not offered")


def check_distances(content: Node, events: list[Node], values: Any, rows: int) -> None:
    """Sums of distances of tables from public numbers, in parts of a row: a row moves that of each table by one."""
    far = [
        whole(content["parts"]) * rows * len([cells(own, content) for own in group]) for group in content["distances"]
    ]
    check_noise(events, [values], [(len(far), sum(far), sum(each**2 for each in far))])


def check_persons(content: Node, events: list[Node], values: Any, rows: int) -> None:
    """Numbers of persons of whom something is true: all, or those with several rows, and one for each fact."""
    if "persons" not in content:
        raise Broken("numbers of persons of nobody")
    facts = [*content["changes"][0], *content["changes"][1]] if "changes" in content else content["earlier"]
    check_noise(events, [values], [(1 + len(facts),) * 3])


def related(node: Node, plan: Node, fewest: int = 1) -> Relation:
    """A relation whose rows belong to the same kind of unit as those of the release."""
    if '"public":' in text(node):
        raise Open("a step joins a public table, which is not in the bundle")
    relation = Relation(node, plan["schemas"], iter(()), fewest)
    if relation.is_row != unit(plan["schemas"][plan["table"]]["declared"])[0]:
        raise Broken("a step counts rows of other units than the release protects")
    return relation


def check_condition(plan: Node, rows: Node, meaning: str) -> None:
    """The rows of the declared table under a condition, by their digest: a unit has no more of them than in it."""
    check_relation(rows)
    facts = related(rows, plan).facts
    if digest(rows) != meaning or [facts[0]["table"], *(told["node"] for told in facts)] != [
        plan["table"], "scan", *["filter"] * (len(facts) - 1)
    ]:  # fmt: skip
        raise Broken("the steps counted other rows than those of the declared table under a condition")


def most_added(content: Node, plan: Node) -> tuple[int, Node]:
    """How much a unit adds to all cells together: its rows of a relation, each at most once or by its largest term.

    Also which columns the relation has.
    """
    closed(content, {"plan", "statistic"}, "what is added up")
    check_relation(content["plan"])
    check_nodes(content["statistic"])
    relation = related(content["plan"], plan, 0)
    terms = derive(content["statistic"][1], relation.known) if content["statistic"][0] == "sum" else None
    if content["statistic"][0] not in ("rows", "sum") or content["statistic"][3:4] not in ([], [1]):
        raise Broken("cells of something that does not add up")
    return moves(content["statistic"], relation.rows, 1, terms)["l1"], relation.known


RULES = dict.fromkeys(("changes", "earlier"), check_persons)
RULES |= {"measure": check_tables, "choose": check_choice, "distances": check_distances}
