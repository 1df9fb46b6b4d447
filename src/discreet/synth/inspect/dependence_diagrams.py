"""Diagrams of pairs and parts: how columns depend, which were measured together, what the guarantee went to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from discreet.present.cell_text import DASH
from discreet.present.charts import svg
from discreet.synth.inspect.dependence import Dependence
from discreet.synth.inspect.histogram_svg import WIDTH, drawing
from discreet.synth.inspect.report_text import crossed_names, percent, shorten


def heatmap(columns: Sequence[str], pairs: Sequence[Dependence]) -> Markup:
    """A triangle of all pairs, each column's name at the end of its row. Framed: measured together."""
    side = min(28.0, (WIDTH - 90) / max(1, len(columns) - 1))
    places = {name: turn for turn, name in enumerate(columns)}
    body = []
    for pair in pairs:
        column, row = (places[name] for name in pair.columns)
        x, y = column * side, row * side
        body.append(_square(pair, x, y, side))
    for name, turn in places.items():
        body.append(_name(turn * side + 5, turn * side + side / 2 + 4, name, letters=16))
    label = "Dependence of each pair of columns in the model; the report lists the numbers"
    return drawing(len(columns) * side, label, body)


def _name(x: float, y: float, name: str, *, letters: int, anchor: str = "") -> Markup:
    """A column's name, cut to so many letters; a pointer that rests on it shows all of it."""
    return svg.tag("text", svg.words(shorten(name, letters)), svg.title(name), x=x, y=y, text_anchor=anchor)


def _square(pair: Dependence, x: float, y: float, side: float) -> Markup:
    strength = pair.strength or 0.0
    measured_text = "measured together" if pair.measured else "never measured together"
    square = {"x": x + 1, "y": y + 1, "width": side - 2, "height": side - 2}
    parts = [
        svg.title(f"{crossed_names(pair.columns)}: {_strength_text(pair)}, {measured_text}"),
        svg.tag("rect", class_="cell", fill_opacity=0.8 * strength**0.5, **square),
        svg.tag("rect", class_="measured" if pair.measured else "frame", **square),
    ]
    if side >= 24:
        number = DASH if pair.strength is None else f"{strength:.2f}"
        place = {"x": x + side / 2, "y": y + side / 2 + 3}
        parts.append(svg.tag("text", svg.words(number), text_anchor="middle", font_size=9, **place))
    return svg.tag("g", *parts)


def _strength_text(pair: Dependence) -> str:
    if pair.constant:
        return f"not shown, because {' and '.join(pair.constant)} may have only one value"
    return "too large to compute" if pair.strength is None else f"{pair.strength:.2f}"


def network(columns: Sequence[str], sets: Sequence[tuple[str, ...]], pairs: Sequence[Dependence]) -> Markup:
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
        body.append(svg.tag("circle", class_="node", cx=left, cy=y, r=3))
        body.append(_name(left - 10, y + 4, name, letters=18, anchor="end"))
    label = "Columns that were measured together: " + ("; ".join(" and ".join(own) for own in sets) or "none")
    return drawing(len(columns) * step, label, body)


def _arc(own: tuple[str, ...], one: float, other: float, strength: float, left: float, longest: float) -> Markup:
    reach = 24 + (WIDTH - left - 40) * abs(other - one) / longest
    curve = f"M{left:g} {one:g}C{left + reach:.1f} {one:g} {left + reach:.1f} {other:g} {left:g} {other:g}"
    kind = "arc" if len(own) == 2 else "arc three"
    return svg.tag("path", svg.title(crossed_names(own)), class_=kind, stroke_width=1 + 4 * strength, d=curve)


def share_bar(shares: Mapping[str, float]) -> Markup:
    """What the guarantee went to, as parts of one bar."""
    x, body = 0.0, []
    for turn, (word, share) in enumerate(shares.items()):
        wide = WIDTH * share
        opacity = 0.85 - 0.6 * turn / max(1, len(shares) - 1)
        title = svg.title(f"{word}: {percent(share)}")
        place = {"x": x, "y": 0, "width": max(0.5, wide - 1.5), "height": 14}
        body.append(svg.tag("rect", title, class_="cell", fill_opacity=opacity, **place))
        x += wide
    share_text = ", ".join(f"{word} {percent(share)}" for word, share in shares.items())
    return drawing(14, f"How the privacy budget was split: {share_text}", body)
