"""One style for every page: its colours are the console's, and text can be read on them."""

import re
from pathlib import Path

import pytest

import discreet.console
from discreet.present.charts.svg import standalone_svg
from discreet.present.html import TEMPLATES

STATIC = Path(discreet.console.__file__).parent / "static"


def palettes(*paths):
    """The colours by name, on light and on dark screens: the blocks of variables in order."""
    found = ({}, {})
    for path in paths:
        for turn, block in enumerate(re.findall(r":root\s*{([^}]*)}", path.read_text())):
            found[turn].update(re.findall(r"--([a-z0-9-]+):\s*(#[0-9a-f]+)", block))
    return found


PAGE = palettes(TEMPLATES / "page.css")
CONSOLE = palettes(STATIC / "style.css", STATIC / "charts.css")


@pytest.mark.parametrize("turn", [0, 1], ids=("light", "dark"))
def test_pages_have_the_colours_of_the_console(turn):
    shared = PAGE[turn].keys() & CONSOLE[turn].keys()
    assert len(shared) >= 15 and PAGE[turn].keys() - shared == {"heat"}
    assert {name: PAGE[turn][name] for name in shared} == {name: CONSOLE[turn][name] for name in shared}


def test_pages_have_the_font_of_the_console():
    fonts = [
        re.search(r"font: (1rem/1.55 [^;]*)", path.read_text())[1]
        for path in (TEMPLATES / "page.css", STATIC / "style.css")
    ]
    assert fonts[0] == fonts[1]


def test_notebooks_and_files_have_no_colours_of_their_own():
    notebook = (TEMPLATES / "notebook.css").read_text()
    known = set(PAGE[0].values()) | set(PAGE[1].values())
    assert set(re.findall(r"#[0-9a-f]{3,6}\b", notebook)) <= known
    alone = standalone_svg(discreet.present.charts.bars([], title="t", name="t"))
    assert set(re.findall(r"#[0-9a-f]{3,6}\b", alone)) <= set(PAGE[0].values()) | {"#fff"}


@pytest.mark.parametrize("palette", PAGE, ids=("light", "dark"))
def test_text_can_be_read(palette):
    for name in ("ink", "soft", "accent", "chart-0", "chart-1", "chart-2", "chart-3", "chart-4"):
        assert contrast(palette[name], palette["paper"]) >= 4.5, name
    assert contrast(palette["warn-ink"], palette["warn"]) >= 4.5
    strongest = mix(palette["heat"], palette["paper"], 0.8)
    assert contrast(palette["ink"], strongest) >= 4.5


def channels(colour):
    return [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]


def mix(colour, paper, part):
    mixed = [part * a + (1 - part) * b for a, b in zip(channels(colour), channels(paper), strict=True)]
    return "#" + "".join(f"{round(255 * each):02x}" for each in mixed)


def contrast(one, other):
    """As the Web Content Accessibility Guidelines define it."""

    def light(colour):
        linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels(colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)
