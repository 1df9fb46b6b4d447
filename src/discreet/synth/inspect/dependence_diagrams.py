"""Diagrams of pairs and parts: how columns depend on each other, and what the guarantee went to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from discreet.present.cell_text import DASH
from discreet.present.charts import svg
from discreet.synth.inspect.dependence import Dependence
from discreet.synth.inspect.histogram_svg import WIDTH, drawing
from discreet.synth.inspect.report_text import crossed_names, percent, shorten


def heatmap(columns: Sequence[str], pairs: Sequence[Dependence], *, noisy: bool = False) -> Markup:
    """A triangle of all pairs, each column's name at the end of its row. Framed: measured together.

    `noisy`: what the noisy tables say by themselves; else what the model says.
    """
    side = min(28.0, (WIDTH - 90) / max(1, len(columns) - 1))
    places = {name: turn for turn, name in enumerate(columns)}
    body = []
    for pair in pairs:
        column, row = (places[name] for name in pair.columns)
        x, y = column * side, row * side
        body.append(_square(pair, x, y, side, noisy=noisy))
    letters_size = min(11.0, max(6.5, 1.1 * side))  # names of narrow rows must not meet
    for name, turn in places.items():
        x = turn * side + 5
        letters = min(16, int((WIDTH - x) / (0.62 * letters_size)))
        body.append(_name(x, turn * side + side / 2 + letters_size / 3, name, letters=letters, size=letters_size))
    source = "in the noisy measurements" if noisy else "in the model"
    label = f"Dependence of each pair of columns {source}; the report lists the numbers"
    moved = svg.tag("g", *body, transform="translate(0 4)")  # letters are higher than narrow rows
    return drawing(len(columns) * side + 6, label, [moved])


def _name(x: float, y: float, name: str, *, letters: int, size: float) -> Markup:
    """A column's name, cut to so many letters; a pointer that rests on it shows all of it."""
    return svg.tag("text", svg.words(shorten(name, letters)), svg.title(name), x=x, y=y, font_size=size)


def _square(pair: Dependence, x: float, y: float, side: float, *, noisy: bool) -> Markup:
    strength = pair.noisy_strength if noisy else pair.strength
    measured_text = "measured together" if pair.measured else "never measured together"
    square = {"x": x + 1, "y": y + 1, "width": side - 2, "height": side - 2}
    parts = [
        svg.title(f"{crossed_names(pair.columns)}: {_strength_text(pair, noisy=noisy)}, {measured_text}"),
        svg.tag("rect", class_="cell", fill_opacity=0.8 * (strength or 0.0) ** 0.5, **square),
        svg.tag("rect", class_="measured" if pair.measured else "frame", **square),
    ]
    if side >= 24:
        number = DASH if strength is None else f"{strength:.2f}"
        place = {"x": x + side / 2, "y": y + side / 2 + 3}
        parts.append(svg.tag("text", svg.words(number), text_anchor="middle", font_size=9, **place))
    return svg.tag("g", *parts)


def _strength_text(pair: Dependence, *, noisy: bool) -> str:
    if pair.constant:
        return f"not shown, because {' and '.join(pair.constant)} may have only one value"
    if noisy and pair.below_noise:
        return "not above the noise"
    if noisy and not pair.measured:
        return "not known"
    strength = pair.noisy_strength if noisy else pair.strength
    return "too large to compute" if strength is None else f"{strength:.2f}"


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
