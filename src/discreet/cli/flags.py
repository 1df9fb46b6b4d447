"""Flags that verbs share, and the check of a file that they write to."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.project.project import Project


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


Folder = Annotated[Path, typer.Option("--project", help="The project folder; else the nearest one above.")]


Ignored = Annotated[Path, typer.Option("--project", help="Every verb takes it; this one needs no project.")]


Epsilon = Annotated[str | None, typer.Option("--epsilon", help="How much privacy loss to spend.")]


Within = Annotated[str | None, typer.Option("--within", help="Spend what it takes to be this exact.")]


Confidence = Annotated[str, typer.Option("--confidence", help="The confidence of intervals.")]


Delta = Annotated[str | None, typer.Option("--delta", help="The delta for keys that are discovered.")]


Analyst = Annotated[str | None, typer.Option("--analyst", help="Who asks.")]


Fresh = Annotated[bool, typer.Option("--fresh", help="Measure anew, and pay.")]


#: How verbs about networks name them.
Edges = Annotated[str, typer.Argument(help="A declared table whose rows are edges.")]
Nodes = Annotated[str | None, typer.Option("--nodes", help="The table of its nodes.")]
Key = Annotated[str | None, typer.Option("--key", help="The column of a public table of nodes that names each once.")]
By = Annotated[str | None, typer.Option("--by", help="A public attribute of nodes; its values are blocks.")]
Ends = Annotated[str | None, typer.Option("--ends", help="A,B: the columns that name the ends of an edge.")]
Gaussian = Annotated[str | None, typer.Option("--delta", help="With it: Gaussian noise for (epsilon, delta).")]


HERE = Path(".")


def require_one_price(epsilon: str | None, within: str | None) -> None:
    """Refuse a question that does not say how much to spend, or says it twice."""
    if epsilon is None and within is None:
        raise UsageError("say how much to spend, or how exact to be", hint="--epsilon 0.1, or --within 50")
    if epsilon is not None and within is not None:
        raise UsageError("--epsilon and --within say the same thing twice", hint="give one of the two")


def two_ends(ends_text: str | None) -> tuple[str, str] | None:
    """--ends FROM,TO as two names of columns."""
    if ends_text is None:
        return None
    first, _, second = (part.strip() for part in ends_text.partition(","))
    if not first or not second or "," in second or first.lower() == second.lower():
        raise UsageError("--ends names two columns", hint="--ends from,to")
    return first, second


def refuse_unwritable_path(path: Path) -> None:
    """Refuse an output that cannot be written where it should be: told before the work, and before any charge."""
    try:
        folder = path.resolve().parent
        if path.is_dir():
            raise UsageError(f"{str(path)!r} cannot be written: it is a folder", hint="name a file")
        if not folder.is_dir():
            raise UsageError(
                f"{str(path)!r} cannot be written: there is no folder {folder.name!r}",
                hint="create that folder, or name a file in another one",
            )
        _try_to_open(path, folder)
    except OSError as problem:
        raise UsageError(f"{str(path)[:200]!r} cannot be written: {problem.strerror}") from None


def _try_to_open(path: Path, folder: Path) -> None:
    """Open an output, and a file beside it, as those who write it whole will. Nothing is left, nothing changed."""
    if path.exists() and not path.is_file():  # a pipe or a device: opening it may wait for its reader
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return
    there = path.exists()
    with path.open("ab"), tempfile.TemporaryFile(dir=folder):
        pass
    if not there:
        path.unlink()


def refuse_unwritable_output(path: Path | None, project: Project) -> None:
    """Refuse, before anything is charged, an output that cannot be written or would destroy the project."""
    if path is None:
        return
    refuse_unwritable_path(path)
    if project.owns_file(path):
        raise UsageError(f"{str(path)!r} belongs to the project and would be lost", hint="write to another file")
