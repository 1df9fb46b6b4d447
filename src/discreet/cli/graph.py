"""`discreet graph`: what a network is like, told without telling who is in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable
from rich.text import Text as RichText

import discreet
from discreet.cli import terminal
from discreet.cli.flags import (
    HERE,
    Analyst,
    Edges,
    Ends,
    Epsilon,
    Folder,
    Fresh,
    Gaussian,
    Json,
    Key,
    NodeGroups,
    Nodes,
    two_ends,
)
from discreet.cli.graph_spread import plain_lines, spread
from discreet.cli.graph_synth import synth
from discreet.cli.verb_app import VerbApp
from discreet.errors import Flag, Message, UsageError
from discreet.present.cell_text import cell_text, format_with_noise
from discreet.release import legend

if TYPE_CHECKING:
    from discreet.graph.graph_estimates import DegreeCurve, GraphEstimate
    from discreet.graph.mixing_matrix import MixingMatrix
    from discreet.graph.statistics_release import GraphStats
    from discreet.graph.statistics_request import GraphQuote
    from discreet.project.project import BudgetStatus

graph_app = VerbApp(no_args_is_help=True, help="Networks: private statistics, and models to sample from.")

#: How wide a bar is, and at which degrees there is one.
_WIDE = 40
_DOUBLING = 2

#: The curves of degrees, and what they count.
_CURVES = {"degrees": "edges", "out_degrees": "outgoing edges", "in_degrees": "incoming edges"}


@graph_app.command()
def stats(
    table: Edges,
    epsilon: Epsilon = None,
    delta: Gaussian = None,
    nodes: Nodes = None,
    key: Key = None,
    by: NodeGroups = None,
    ends: Ends = None,
    edges_per_node: Annotated[
        int | None,
        typer.Option(
            "--edges-per-node",
            help="With --by A,B: count at most N edges of a node, and protect its group in all of them.",
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", help="Measure only these statistics, such as edges,degrees.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only show the price and the expected error. Free.")] = False,
    fresh: Fresh = False,
    analyst: Analyst = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Measure nodes, edges, degrees, mixing and triangles of a network. Charged once; repeating it is free."""
    if epsilon is None:
        raise UsageError(
            "say how much to spend",
            hint=Message(Flag("epsilon", 1), "; add ", Flag("plan", True), " to see the expected error first, free"),
        )
    opened_project = discreet.open(project)
    network = opened_project.graph(
        table, ends=two_ends(ends), nodes=nodes, key=key, by=by, edges_per_node=edges_per_node
    )
    if plan:
        quoted = network.plan(epsilon=epsilon, delta=delta, only=only)
        terminal.print_result(quoted.to_data(), plain_lines(_plan_words(quoted)), as_json=as_json)
        return
    with terminal.progress("measuring"):
        made = network.stats(epsilon=epsilon, delta=delta, only=only, fresh=fresh, analyst=analyst)
    budget_status = opened_project.budget(table)
    terminal.print_result(
        {**made.to_data(), **budget_status.after_data()}, plain_lines(_words(made, budget_status)), as_json=as_json
    )


graph_app.command()(synth)
graph_app.command()(spread)


def _plan_words(quoted: GraphQuote) -> list[Any]:
    data = quoted.to_data()
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    alone = {part["name"]: part | {"only": each["only"]} for each in data["alone"] for part in each["parts"]}
    names = ("statistic", "share of cost", "mechanism", "±", *(["± if asked for alone"] if alone else []))
    for name in names:
        table.add_column(name, justify="left" if name in ("statistic", "mechanism") else "right", no_wrap=True)
    for part in data["parts"]:
        label, share = _label_of(part["name"]), f"{100 * part['share']:.0f}%"
        noise = [_noise_words(each) for each in (part, alone.get(part["name"], {}))][: 1 + bool(alone)]
        table.add_row(label, share, part["mechanism"], *noise)
    epsilon = data["cost"]["epsilon"]
    lines: list[Any] = [table, ""]
    for part in data["parts"]:
        errors = part.get("plus_minus_if_an_edge_moves_it_by", {})
        if errors:
            each = _ladder_words(errors)
            lines.append(f"The error of {part['name']} depends on how much one edge can change their number: {each}.")
            narrower = alone.get(part["name"])
            if narrower is not None:
                each = _ladder_words(narrower["plus_minus_if_an_edge_moves_it_by"])
                lines.append(f"Asked for alone (--only {narrower['only']}), at the same price: {each}.")
    if quoted.shape.chooses:
        lines.append(
            f"The limit on edges per person is chosen privately first; this plan assumes {quoted.limit}. "
            "Noise grows in proportion to the limit."
        )
    price = f"rho {data['cost']['rho']:g}" if epsilon is None else f"epsilon {epsilon:g}"
    return [*lines, f"costs {price}, once; this plan charged nothing and read no edges"]


def _noise_words(part: Mapping[str, Any]) -> str:
    return "" if part.get("plus_minus") is None else f"{part['plus_minus']:,}"


def _ladder_words(errors: Mapping[str, int]) -> str:
    return ", ".join(f"± {error:,} for a change of {int(first):,}" for first, error in errors.items())


def _words(made: GraphStats, budget_status: BudgetStatus) -> list[Any]:
    table = RichTable(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name in (
        "nodes", "edges", "density", "mean_degree", "triangles", "wedges", "clustering", "assortativity", "homophily",
    ):  # fmt: skip
        estimate: GraphEstimate | None = getattr(made, name)
        if estimate is not None:
            table.add_row(_label_of(name), f"{estimate.value:,} (public)" if estimate.exact else _number(estimate))
    lines: list[Any] = [table]
    for name in _CURVES:
        curve: DegreeCurve | None = getattr(made, name)
        if curve is not None:
            lines += ["", f"nodes with at least this many {_CURVES[name]}:", _chart(curve)]
    if made.mixing is not None:
        lines += ["", f"edges between groups of {made.mixing.by}:", _matrix(made.mixing)]
    return [*lines, "", *_ending(made, budget_status)]


def _ending(made: GraphStats, budget_status: BudgetStatus) -> list[str]:
    paid = "stored release: free" if made.cached else f"cost {made.cost}"
    lines = [
        legend(0.95, whose="per number, degrees all together"),
        f"Protected: {made.card['protected']} (the unit is {made.card['unit']}).",
        *(f"Not protected: {each}." for each in made.card["not_protected"]),
    ]
    if made.limit is not None:
        chosen = "chosen privately" if made.chosen else "declared"
        lines.append(f"At most {made.limit:,} edges per person are counted ({chosen}).")
    lines.append(f"{paid}; {terminal.spent_words(budget_status)}. Release {made.release}, version {made.version}.")
    return [*lines, *(f"note: {warning}" for warning in made.warnings)]


def _label_of(name: str) -> str:
    """A part or statistic, for people."""
    words = {
        "limit": "limit on edges",
        "triangles_width": "triangles: largest change by one edge",
        "wedges_width": "wedges: largest change by one edge",
    }
    return words.get(name, name.replace("_", " "))


def _number(estimate: GraphEstimate) -> str:
    low, high = estimate.interval
    return format_with_noise(estimate.value, low, high)


def _chart(curve: DegreeCurve) -> RichTable:
    """Bars at degrees that double, as long as there is anybody."""
    table = RichTable(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    most, shown = max(*curve.values, 1.0), 1
    for place, degree in enumerate(curve.at_least):
        low, high = curve.lows[place], curve.highs[place]
        if degree < shown:
            continue
        shown = degree * _DOUBLING
        bar = "#" * round(_WIDE * max(0.0, curve.values[place]) / most)
        table.add_row(f"{degree:,}", bar, format_with_noise(round(curve.values[place]), low, high))
        if low == 0 and curve.values[place] <= (high - low) / 2:
            break  # what follows is noise
    return table


def _matrix(mixing: MixingMatrix) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    heads = [_cell(cell_text(label)) for label in mixing.labels[: terminal.MOST_ROWS]]
    table.add_column(_cell(mixing.by), no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for head, row in zip(heads, mixing.edges[: terminal.MOST_ROWS], strict=True):
        table.add_row(head, *(_number(each) for each in row[: terminal.MOST_ROWS]))
    return table


def _cell(text: str) -> RichText:
    """A text of data or of a declaration: brackets in it are no markup, and it commands no terminal."""
    from discreet.graph.graph_card import plain

    return RichText(plain(text))
