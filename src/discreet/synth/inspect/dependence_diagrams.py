"""Diagrams of pairs and parts: how columns depend, which were measured together, what the guarantee went to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.synth.inspect.dependence import Dependence
from discreet.synth.inspect.histogram_svg import WIDTH, svg
from discreet.synth.inspect.report_text import escape_html, percent, shorten


def heatmap(columns: Sequence[str], pairs: Sequence[Dependence]) -> str:
    """A triangle of all pairs, each column's name at the end of its row. Framed: measured together."""
    side = min(28.0, (WIDTH - 90) / max(1, len(columns) - 1))
    places = {name: turn for turn, name in enumerate(columns)}
    body = []
    for pair in pairs:
        column, row = (places[name] for name in pair.columns)
        x, y = column * side, row * side
        body.append(_square(pair, x, y, side))
    for name, turn in places.items():
        body.append(
            f'<text x="{turn * side + 5:.1f}" y="{turn * side + side / 2 + 4:.1f}">{escape_html(shorten(name, 16))}'
            f"<title>{escape_html(name)}</title></text>"
        )
    return svg(
        len(columns) * side,
        "Dependence of each pair of columns in the model; the report lists the numbers",
        "".join(body),
    )


def _square(pair: Dependence, x: float, y: float, side: float) -> str:
    strength = pair.strength or 0.0
    measured_text = "measured together" if pair.measured else "never measured together"
    strength_text = _strength_text(pair)
    framed = "held" if pair.measured else "frame"
    inner = side - 2
    number = (
        f'<text x="{x + side / 2:.1f}" y="{y + side / 2 + 3:.1f}" text-anchor="middle" style="font-size:9px">'
        f"{'–' if pair.strength is None else f'{strength:.2f}'}</text>"
        if side >= 24
        else ""
    )
    return (
        f"<g><title>{' × '.join(map(escape_html, pair.columns))}: {strength_text}, {measured_text}</title>"
        f'<rect class="cell" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{inner:.1f}" height="{inner:.1f}" '
        f'fill-opacity="{0.8 * strength**0.5:.3f}"/>'
        f'<rect class="{framed}" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{inner:.1f}" height="{inner:.1f}"/>{number}</g>'
    )


def _strength_text(pair: Dependence) -> str:
    if pair.constant:
        return f"not shown, because {' and '.join(map(escape_html, pair.constant))} may have only one value"
    return "too large to compute" if pair.strength is None else f"{pair.strength:.2f}"


def network(columns: Sequence[str], sets: Sequence[tuple[str, ...]], pairs: Sequence[Dependence]) -> str:
    """The columns in a line, and an arc for each two that were measured together; dashed where with a third one."""
    left, step = 122.0, 22.0 if len(columns) <= 24 else 16.0
    places = {name: turn * step + step / 2 for turn, name in enumerate(columns)}
    strengths = {pair.columns: pair.strength or 0.0 for pair in pairs}
    longest = max([1.0, *(abs(places[a] - places[b]) for own in sets for a in own for b in own)])
    body = []
    for own in sorted(sets, key=len):
        for number, one in enumerate(own):
            for other in own[number + 1 :]:
                body.append(_arc(own, places[one], places[other], strengths.get((one, other), 0.0), left, longest))
    for name, y in places.items():
        body.append(
            f'<circle class="node" cx="{left:g}" cy="{y:g}" r="3"/><text x="{left - 10:g}" y="{y + 4:g}" '
            f'text-anchor="end">{escape_html(shorten(name, 18))}<title>{escape_html(name)}</title></text>'
        )
    label = "Columns that were measured together: " + ("; ".join(" and ".join(own) for own in sets) or "none")
    return svg(len(columns) * step, label, "".join(body))


def _arc(own: tuple[str, ...], one: float, other: float, strength: float, left: float, longest: float) -> str:
    reach = 24 + (WIDTH - left - 40) * abs(other - one) / longest
    three = "" if len(own) == 2 else " three"
    return (
        f'<path class="arc{three}" stroke-width="{1 + 4 * strength:.1f}" '
        f'd="M{left:g} {one:g}C{left + reach:.1f} {one:g} {left + reach:.1f} {other:g} {left:g} {other:g}">'
        f"<title>{' × '.join(map(escape_html, own))}</title></path>"
    )


def share_bar(shares: Mapping[str, float]) -> str:
    """What the guarantee went to, as parts of one bar."""
    x, body = 0.0, []
    for turn, (word, share) in enumerate(shares.items()):
        wide = WIDTH * share
        body.append(
            f'<rect class="cell" x="{x:.1f}" y="0" width="{max(0.5, wide - 1.5):.1f}" height="14" '
            f'fill-opacity="{0.85 - 0.6 * turn / max(1, len(shares) - 1):.2f}">'
            f"<title>{escape_html(word)}: {percent(share)}</title></rect>"
        )
        x += wide
    share_text = ", ".join(f"{word} {percent(share)}" for word, share in shares.items())
    return svg(14, f"How the privacy budget was split: {share_text}", "".join(body))
