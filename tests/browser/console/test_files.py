"""What the package holds for browsers: small, and without a script or style inside a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from browser.console.conftest import LARGEST
from discreet.console.render import HERE

ROOT = Path(__file__).resolve().parents[3]

TEMPLATES = sorted((HERE / "templates").rglob("*.html"))
STATIC = sorted(path for path in (HERE / "static").rglob("*") if path.suffix in (".js", ".css"))

#: What runs or paints from inside a page, and what would stop escaping.
INLINE = {
    "a script inside": re.compile(r"<script(?![^>]*\bsrc=)", re.I),
    "a style inside": re.compile(r"<style\b|\sstyle\s*=", re.I),
    "a handler inside": re.compile(r"""\son[a-z]+\s*=\s*["']?""", re.I),
    "an address that runs": re.compile(r"""=\s*["']?\s*(?:javascript|data|vbscript):""", re.I),
    "something from elsewhere": re.compile(r"""(?:src|href|action)\s*=\s*["']?(?:https?:)?//""", re.I),
    "text that is not escaped": re.compile(r"\|\s*safe\b|autoescape\s+false|\bMarkup\b"),
}
#: Each with its reason. None is needed: charts are drawn by `present.charts.svg`, which escapes, and come as Markup.
ALLOWED: dict[tuple[str, str], str] = {}


def test_our_script_and_style_together_are_below_125_kilobytes() -> None:
    """The editor is one file of others, with its licence beside it."""
    assert {path.suffix for path in STATIC} == {".js", ".css"}
    ours = [path for path in STATIC if path.name != "codemirror.js"]
    assert len(ours) == len(STATIC) - 1 and sum(path.stat().st_size for path in ours) < 125_000
    assert sum(path.stat().st_size for path in STATIC) < 550_000


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_has_nothing_inside_that_runs(path: Path) -> None:
    text = re.sub(r"\{#.*?#\}", "", path.read_text(), flags=re.S)
    found = [what for what, pattern in INLINE.items() if pattern.search(text)]
    assert [what for what in found if (path.name, what) not in ALLOWED] == []


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("a script inside", "<script>1</script>"),
        ("a style inside", '<p style="color: red">'),
        ("a handler inside", "<p onclick=go()>"),
        ("an address that runs", '<a href="javascript:1">'),
        ("something from elsewhere", '<img src="//example.org/x.png">'),
        ("text that is not escaped", "{{ name | safe }}"),
    ],
)
def test_what_is_looked_for_would_be_found(what: str, text: str) -> None:
    assert INLINE[what].search(text)


def test_scripts_write_text_and_never_marks() -> None:
    marks = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|DOMParser")
    parsed = {"publish.js"}  # moves a part of our own page, which a template escaped
    assert {path.name for path in STATIC if path.suffix == ".js" and marks.search(path.read_text())} <= parsed
    assert marks.search("node.innerHTML = text")


def test_markup_is_made_in_few_places() -> None:
    """Text that is taken for marks as it is: by modules that draw, by the renderer of the manual, which escapes, and
    for a picture that this package drew."""
    found = {
        path.relative_to(HERE).as_posix() for path in HERE.rglob("*.py") if re.search(r"\bMarkup\(", path.read_text())
    }
    assert found <= {"present/charts/svg.py", "pages/lab.py", "qr_code.py", "manual_pages.py"}


def test_pictures_of_the_manual_are_there_and_made_by_tests() -> None:
    manual = (ROOT / "docs" / "console.md").read_text()
    named = re.findall(r"!\[[^\]]+\]\(pictures/([a-z-]+)\.png\)", manual)
    assert named
    assert len(named) == len(re.findall(r"!\[", manual))
    made = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    for name in named:
        assert (ROOT / "docs" / "pictures" / f"{name}.png").stat().st_size < LARGEST
        assert f', "{name}")' in made, name
