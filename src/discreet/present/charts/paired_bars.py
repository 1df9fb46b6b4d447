"""Shares in pairs: without and with something, beside what chance gives and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from discreet.present.charts import axis, svg
from discreet.present.charts.scale import Scale, check_finite

_WORDS, _THICK, _GAP = 17.0, 9.0, 9.0
#: Shares, in percent.
_MOST = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPair:
    """Two shares in percent under one name, and two marks over both. None: there is no such number."""

    label: str
    first: float | None
    second: float | None = None
    chance: float | None = None
    bound: float | None = None

    def __post_init__(self) -> None:
        for share in (self.first, self.second, self.chance, self.bound):
            check_finite(share, of="a share")
            if share is not None and not 0 <= share <= _MOST:
                raise ValueError("a share is from 0 to 100 percent")


def paired_bars(given: Sequence[BarPair], *, title: str, names: Sequence[str], name: str = "") -> Markup:
    """A pair for each, in the order given. `names`: of the first bars, the second ones, chance and the bound."""
    called = svg.name(name)
    if not given:
        body, height = svg.nothing()
        return svg.drawing(called, says=title, describes=svg.NOTHING, height=height, body=body)
    first, second, chance, bound = names
    marks, top = axis.legend(
        [
            (first, svg.rect(0, -5, 12, 5, class_="chart-pair-first")),
            (second, svg.rect(0, -5, 12, 5, class_="chart-pair-second")),
            (chance, svg.line(6, -7, 6, 7, class_="chart-pair-chance")),
            (bound, svg.line(6, -7, 6, 7, class_="chart-pair-bound")),
        ],
        top=0,
    )
    scale = Scale(low=0.0, high=_MOST, start=0.0, end=svg.WIDTH - 14.0)
    each = _WORDS + 2 * _THICK + _GAP
    bottom = top + 6 + each * len(given)
    marks += axis.horizontal_axis(scale, top=top + 4, bottom=bottom)
    marks += [_pair(pair, names, scale, top + 6 + place * each) for place, pair in enumerate(given)]
    describes = " ".join(f"{_description(pair, names)}." for pair in given)
    return svg.drawing(called, says=title, describes=describes, height=bottom + 20, body=marks)


def _description(pair: BarPair, names: Sequence[str]) -> str:
    shares = zip(names, (pair.first, pair.second, pair.chance, pair.bound), strict=True)
    numbers = ", ".join(f"{word} {share:.1f}%" for word, share in shares if share is not None)
    return f"{svg.clean(pair.label)}: {numbers or 'no number'}"


def _pair(pair: BarPair, names: Sequence[str], scale: Scale, top: float) -> Markup:
    middle, bottom = top + _WORDS + _THICK, top + _WORDS + 2 * _THICK
    parts = [svg.title(_description(pair, names)), svg.text(0, top + 13, svg.shorten(svg.clean(pair.label), svg.WIDTH))]
    if pair.first is not None:
        parts.append(svg.rect(0, top + _WORDS, scale.at(pair.first), middle, class_="chart-pair-first"))
    if pair.second is not None:
        parts.append(svg.rect(0, middle, scale.at(pair.second), bottom, class_="chart-pair-second"))
    for share, word in ((pair.chance, "chance"), (pair.bound, "bound")):
        if share is not None:
            x = scale.at(share)
            parts.append(svg.line(x, top + _WORDS - 2, x, bottom + 2, class_=f"chart-pair-{word}"))
    return svg.tag("g", *parts)
