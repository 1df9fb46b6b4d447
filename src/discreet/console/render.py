"""Pages as HTML, JSON and CSV: three faces of one answer."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from discreet.console.assets import with_digest
from discreet.console.console_text import page_hint, page_sentence
from discreet.console.help_links import help_address
from discreet.console.manual_pages import html_of
from discreet.console.pages.release_view import with_labels
from discreet.console.qr_code import qr_svg
from discreet.console.responses import Page, PageTable
from discreet.console.visitor import Visitor
from discreet.present import charts
from discreet.present.cell_text import DASH, counted, percent
from discreet.present.html import environment

if TYPE_CHECKING:
    import jinja2

HERE = Path(__file__).parent


@cache
def _environment() -> jinja2.Environment:
    made = environment(HERE / "templates")
    made.filters.update(counted=counted, percent=percent)
    made.filters.update(part=part, number=number, figures=figures, numeric=numeric, with_labels=with_labels)
    made.filters.update(manual_page=html_of, sentence=page_sentence, hint=page_hint)
    made.globals.update(charts=charts, models=_models(), qr_svg=qr_svg)
    return made


def _models() -> Any:
    from discreet.console import model_drawings

    return model_drawings


def html(page: Page, visitor: Visitor, *, path: str, query: str = "", practice: bool = False) -> str:
    """A page as people see it. Templates get its data by name, `visitor`, `path` and what its twins are reached by.

    practice: the project is for generated or public data, and every page says so.
    """
    template = _environment().get_template(page.template)
    about = {"visitor": visitor, "path": path, "query": f"?{query}" if query else "", "practice": practice}
    about["help"] = help_address(path)
    return with_digest(template.render({**page.data, **about}))


def text(data: Any) -> str:
    """Data as JSON; what is no JSON is a defect of the handler, and raises."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


#: A cell that begins like this is a formula to programs that open tables.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_of(grid: PageTable) -> str:
    """Rows as CSV. A text that a spreadsheet would run is quoted by an apostrophe."""
    out = _Lines()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([_cell(name) for name in grid.columns])
    writer.writerows([_cell(cell) for cell in row] for row in grid.rows)
    return "".join(out.lines)


class _Lines:
    """Lines of CSV. The writer puts in quotes what ends a line, and must think that CR does too: a spreadsheet does."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, line: str) -> None:
        self.lines.append(line.removesuffix("\r\n") + "\n")


def flat(data: Any) -> PageTable:
    """All that a page without a table tells, as names and values.

    >>> flat({"wish": {"table": "patients", "columns": ["age", "sex"]}, "quote": None}).rows
    [('wish.table', 'patients'), ('wish.columns.0', 'age'), ('wish.columns.1', 'sex'), ('quote', None)]
    """
    return PageTable(columns=("name", "value"), rows=list(_flat("", data)))


def _flat(name: str, data: Any) -> Iterator[tuple[str, Any]]:
    match data:
        case Mapping():
            parts: Iterable[tuple[Any, Any]] = data.items()
        case list() | tuple():
            parts = enumerate(data)
        case _:
            yield name, data
            return
    for part_name, part_data in parts:
        yield from _flat(f"{name}.{part_name}" if name else str(part_name), part_data)


def _cell(cell: Any) -> Any:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, str) and cell.startswith(_FORMULA):
        return f"'{cell}"
    return "" if cell is None else cell


def part(text: object) -> str:
    """A name as a part of a path."""
    return quote(str(text), safe="")


#: A number, perhaps with its noise, as answers are written: 1,230 ± 120, 5.02 (4.9 to 5.3), 12.5%.
_NUMBER = r"[-+\u2212]?[0-9][0-9,.]*(e[-+]?[0-9]+)?%?"
# Each part begins with one word and can be read in one way only: a text of many parts costs no more than its length.
_FIGURES = re.compile(rf"{_NUMBER}( (±|to|\() ?({_NUMBER}|\?)\)?)*|{DASH}")


def figures(cell: object) -> bool:
    """Whether a cell is a number to people, and stands at the right of its column.

    >>> [figures(cell) for cell in (12, "73 ± 5", "5.02 (4.9 to 5.3)", "1.5% to 3%", "2026-01-05", "w0", True, None)]
    [True, True, True, True, False, False, False, False]
    """
    if isinstance(cell, str):
        return _FIGURES.fullmatch(cell) is not None
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def numeric(rows: Iterable[Sequence[object]], place: int) -> bool:
    """Whether a column holds figures alone, so that its name stands over them."""
    cells = [row[place] for row in rows if row[place] is not None]
    return bool(cells) and all(map(figures, cells))


def number(value: object, digits: int = 4) -> str:
    """A number for people; None is a dash.

    >>> number(1234567.0), number(0.000123456), number(12345), number(None)
    ('1,235,000', '0.0001235', '12,345', '–')
    """
    if value is None:
        return DASH
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    rounded = float(f"{value:.{digits}g}")
    # So many digits count, and people read no exponents.
    return f"{rounded:,.0f}" if 10**digits <= abs(rounded) < 1e15 else f"{value:,.{digits}g}"
