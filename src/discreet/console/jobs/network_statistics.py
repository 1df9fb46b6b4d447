"""Statistics of a network, from one charge: how many links people have, and who resembles whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.console import forms
from discreet.console.jobs import noisy_charts, release_store
from discreet.console.responses import PageTable
from discreet.errors import Flag, Message, UsageError
from discreet.present.cell_text import cell_text, format_with_noise
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease
from discreet.schema.column import CategoryColumn, NumberColumn, TextColumn
from discreet.schema.edge_table import PAIRS
from discreet.schema.schema import Table

if TYPE_CHECKING:
    from discreet.graph.project_network import Network

#: The fields of a request besides epsilon and delta; texts, all of them.
FIELDS = ("nodes", "key", "by", "ends", "edges_per_node", "only")
#: The longest text of a field.
LONGEST = 500
#: What differs from one call to the next, and is kept with no release.
_OF_THE_CALL = ("cost", "cached", "spent", "remaining")
#: Curves, and what they count.
CURVES = {"degrees": "edges", "out_degrees": "outgoing edges", "in_degrees": "incoming edges"}


def wish_of(texts: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """What a form, or an address, says."""

    def one(name: str) -> str:
        return texts.get(name, ("",))[0].strip()

    return checked({
        "table": one("table"),
        "epsilon": forms.number_text(one("epsilon"), "epsilon"),
        "delta": forms.number_text(one("delta"), "delta"),
        **{name: one(name) or None for name in FIELDS},
    })  # fmt: skip


def checked(wish: dict[str, Any]) -> dict[str, Any]:
    """A wish whose texts are not too long."""
    for name in FIELDS:
        if len(wish[name] or "") > LONGEST:
            raise UsageError(f"{name} must have at most {LONGEST} letters")
    return wish


def _network(project: Project, wish: Mapping[str, Any]) -> Network:
    limit = wish["edges_per_node"]
    return project.graph(
        wish["table"],
        ends=_two_names(wish["ends"]),
        nodes=wish["nodes"],
        key=wish["key"],
        by=wish["by"],
        edges_per_node=None
        if limit is None
        else forms.whole_number(limit, "the limit on edges per node", least=1, most=1_000_000),
    )


def _two_names(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise UsageError("name the two columns of the ends", hint=Message(Flag("ends", ("from", "to"))))
    return names[0], names[1]


def _spend(wish: Mapping[str, Any]) -> dict[str, Any]:
    return {name: wish[name] for name in ("epsilon", "delta", "only")}


def quote_statistics(project: Project, wish: Mapping[str, Any]) -> dict[str, Any]:
    """What it would cost, and how exact it would be. Free: no edge is read."""
    network = _network(project, wish)
    quoted = network.plan(**_spend(wish))
    version = project.versions.peek(network.table)
    return {**quoted.to_data(), "price": forms.price_json(project, network.table, quoted.event, version=version)}


def measure_statistics(project: Project, wish: Mapping[str, Any], *, analyst: str | None) -> dict[str, Any]:
    """Measure, and pay, or read what is stored; everything that `discreet graph stats --json` says."""
    made = _network(project, wish).stats(**_spend(wish), analyst=analyst).to_data()
    made |= project.budget(made["table"]).after_data()
    if release_store.find_release(project.folder, made["release"]) is None:
        data = {name: part for name, part in made.items() if name not in _OF_THE_CALL}
        release_store.store_release(project.folder, made["release"], {"kind": "graph", **data})
    return made


def network_tables(project: Project) -> dict[str, list[str]]:
    """The private tables whose rows are links, by their declaration: `networks`; and those that may be if somebody
    names the two columns of their ends: `others`.
    """
    tables = [table for table in project.file.tables.values() if not table.public]
    return {
        "networks": [table.name for table in tables if is_network(table)],
        "others": [table.name for table in tables if not is_network(table) and _may_be_network(table)],
    }


def is_network(table: Table) -> bool:
    """Whether its rows are links: it declares ends, or protects rows and has one pair of columns with names of ends."""
    names = {column.name.lower() for column in table.schema.columns}
    pairs = [pair for pair in PAIRS if set(pair) <= names]
    return bool(table.schema.unit.ends) or (table.schema.unit.is_row and len(pairs) == 1)


def _may_be_network(table: Table) -> bool:
    kinds = (TextColumn, CategoryColumn)
    ends = [
        column
        for column in table.schema.columns
        if isinstance(column, kinds) or (isinstance(column, NumberColumn) and column.type == "integer")
    ]
    return table.schema.unit.is_row and len(ends) > 1


def page_of(release: str) -> str:
    """The address of a release."""
    return f"/tables/{release}"


def statistics_page(project: Project, recalled_release: RecalledRelease) -> dict[str, Any] | None:
    """All numbers of a release; None where nothing is kept of it here."""
    data = release_store.find_release(project.folder, recalled_release.id)
    if data is None:
        return None
    statistics = data["statistics"]
    return {
        **data,
        "lines": [
            [name.replace("_", " "), f"{each['value']:,} (public)" if "exact" in each else _words(*each.values())]
            for name, each in statistics.items()
            if name not in (*CURVES, "mixing")
        ],
        "curves": [_curve(statistics[name], words) for name, words in CURVES.items() if name in statistics],
        "matrix": None if "mixing" not in statistics else _matrix(statistics["mixing"]),
    }


def _words(value: float, ends: Sequence[float]) -> str:
    return format_with_noise(value, ends[0], ends[1])


def _curve(curve: Mapping[str, Any], words: str) -> dict[str, Any]:
    points = _points(curve)
    return {
        "words": words,
        "rows": [[degree, _words(round(value), ends)] for degree, value, ends in points],
        "chart": noisy_charts.bars(
            f"Nodes with at least this many {words}",
            [[f"{degree:,}", value, ends] for degree, value, ends in points],
            ordered=True,
        ),
    }


def _points(curve: Mapping[str, Any]) -> list[tuple[int, float, list[float]]]:
    """Degrees that double, as long as there is anybody."""
    points: list[tuple[int, float, list[float]]] = []
    for degree, value, ends in zip(curve["at_least"], curve["nodes"], curve["intervals"], strict=True):
        if points and degree < 2 * points[-1][0]:
            continue
        points.append((degree, value, ends))
        if ends[0] == 0 and value <= (ends[1] - ends[0]) / 2:
            break  # what follows is noise
    return points


def _matrix(mixing: Mapping[str, Any]) -> dict[str, Any]:
    labels = [cell_text(label) for label in mixing["labels"]]
    lines = zip(labels, mixing["edges"], mixing["intervals"], strict=True)
    rows = [[label, *map(_words, values, ends)] for label, values, ends in lines]
    return {"by": mixing["by"], "columns": [mixing["by"], *labels], "rows": rows}


def grid(data: Mapping[str, Any]) -> PageTable:
    """All numbers, as a file has them."""
    rows: list[list[Any]] = []
    for name, each in data["statistics"].items():
        if name in CURVES:
            points = zip(each["at_least"], each["nodes"], each["intervals"], strict=True)
            rows += [[name, str(degree), "", value, *ends] for degree, value, ends in points]
        elif name == "mixing":
            labels = [cell_text(label) for label in each["labels"]]
            for label, values, ends in zip(labels, each["edges"], each["intervals"], strict=True):
                rows += [[name, label, *cell[:2], *cell[2]] for cell in zip(labels, values, ends, strict=True)]
        else:
            rows.append([name, "", "", each["value"], *each["interval"]])
    return PageTable(columns=("statistic", "at", "and", "value", "low", "high"), rows=rows)
