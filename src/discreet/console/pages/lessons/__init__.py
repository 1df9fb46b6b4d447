"""The lessons: pages that can be played. Each is plain data; what is drawn is generated, and nobody's.

A lesson is made once and kept while the server runs, so that a page, its JSON and its CSV tell the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from discreet.console.pages.lessons.lesson import Lesson

#: First what fails, then what holds; each is a module here.
NAMES = (
    "anonymity",
    "block",
    "reconstruction",
    "two-coins",
    "phones",
    "laplace",
    "intervals",
    "composition",
    "game",
    "synthetic",
    "bayes",
    "friends",
)


@cache
def lesson(name: str) -> Lesson:
    """The lesson of one of `NAMES`."""
    if name not in NAMES:
        raise KeyError(name)
    make: Callable[[], Lesson] = import_module(f"{__name__}.{name.replace('-', '_')}").make
    return make()
