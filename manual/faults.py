"""The page of errors: every error that can reach a user, with its exit code and its docstring."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from manual.tables import code, page, table
from manual.words import Undocumented

import discreet
from discreet.errors import DiscreetError

OPENING = """\
Every error says what is wrong, where, and what you can do; it never contains data. The number is the exit code of the
command line. In Python the classes are raised; catch those of `discreet.errors`. Wrong usage, a refusal and an
exceeded budget cost nothing; `QueryFailed` and its subclasses are raised after the charge."""


def errors() -> list[type[DiscreetError]]:
    """Every error of the package, its parents before it."""
    for module in pkgutil.walk_packages(discreet.__path__, "discreet."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return _below(DiscreetError)


def _below(kind: type[DiscreetError]) -> list[type[DiscreetError]]:
    found = [kind]
    for child in sorted(kind.__subclasses__(), key=lambda each: (each.exit_code, each.__module__, each.__name__)):
        if child.__module__.startswith("discreet."):
            found += _below(child)
    return found


def text(kinds: list[type[DiscreetError]] | None = None) -> str:
    """The page."""
    kinds = kinds or errors()
    everybody = [kind for kind in kinds if kind.__module__ in ("discreet.errors", "discreet.ledger.anchor")]
    inner = [kind for kind in kinds if kind not in everybody]
    return page(
        "Errors",
        OPENING,
        table(("error", "exit code", "is a", "meaning"), [_row(kind) for kind in everybody]),
        "## Subclasses\n\nThey behave like their parent, and are listed here for readers of tracebacks.\n",
        table(("error", "exit code", "is a", "meaning"), [_row(kind) for kind in inner]),
    )


def _row(kind: type[DiscreetError]) -> tuple[str, str, str, str]:
    said = inspect.cleandoc(kind.__doc__ or "")
    if not said:
        raise Undocumented(f"{kind.__name__} has no docstring")
    parent = kind.__mro__[1].__name__
    return (
        code(kind.__name__),
        str(kind.exit_code),
        code("" if parent == "Exception" else parent),
        said.split("\n\n")[0],
    )
