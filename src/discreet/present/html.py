"""HTML from templates: every text is escaped, and a name that is not given is an error.

Jinja is imported when the first template is used: a query in a terminal never needs it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.present.cell_text import DASH, cell_text, or_dash, visible_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import jinja2
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"


def environment(folder: Path, finalize: Callable[[Any], Any] | None = None) -> jinja2.Environment:
    """The templates of a folder. `finalize` sees each value before it is escaped."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
    )
    made.filters.update(cell_text=cell_text, dash=or_dash)
    made.globals.update(DASH=DASH)
    return made


def render(template: str, **data: object) -> str:
    """A page from a template of this folder.

    Guarantee: no text in `data` becomes markup or hides a letter, unless it is Markup already.
    Because: the environment escapes all values, after `_finalize` has put a mark for each letter that is not visible.
    """
    return _pages().get_template(template).render(data) + "\n"


def macro(template: str, name: str) -> Callable[..., Markup]:
    """A macro of a template of this folder."""
    made: Callable[..., Markup] = getattr(_pages().get_template(template).module, name)
    return made


@cache
def _pages() -> jinja2.Environment:
    made = environment(TEMPLATES, _finalize)
    made.filters.update(lines=_lines)
    made.globals.update(stylesheet=stylesheet)
    return made


def _finalize(value: Any) -> Any:
    """Text on one line, letter by letter. A value that is missing has to say how it is shown."""
    if value is None:
        raise TypeError("None in a template: use cell_text or dash")
    return value if hasattr(value, "__html__") else visible_text(value)


def _lines(text: object) -> Markup:
    """Text that keeps its line breaks and tabs."""
    from markupsafe import escape

    return escape(visible_text(text, keep="\n\t"))


@cache
def stylesheet(name: str) -> Markup:
    """A style sheet of this folder, to be put into a page: it names nothing outside."""
    from markupsafe import Markup

    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704 - a file of this package
