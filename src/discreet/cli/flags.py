"""Flags that verbs share, and the check of a file that they write to."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import Flag, Message, UsageError

if TYPE_CHECKING:
    from discreet.project.project import Project


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


Folder = Annotated[Path, typer.Option("--project", help="Project folder. Default: the nearest one, here or above.")]


Ignored = Annotated[Path, typer.Option("--project", help="Accepted by every verb; this one needs no project.")]


CardName = Annotated[str | None, typer.Option("--name", help="The name on the card.")]


CardDescription = Annotated[str | None, typer.Option("--description", help="The description on the card.")]


CardIntendedUse = Annotated[str | None, typer.Option("--intended-use", help="The intended use on the card.")]


CardAboutFile = Annotated[
    Path | None, typer.Option("--about", metavar="FILE.toml", help="A file with these and all other texts of the card.")
]


Epsilon = Annotated[str | None, typer.Option("--epsilon", help="How much privacy loss to spend.")]


Within = Annotated[
    str | None,
    typer.Option("--within", help="Spend just enough for every number to be within ±W, or within W% of itself."),
]


ShareOfGroups = Annotated[
    str | None, typer.Option("--for", help="With --within: for what share of the groups, such as 90%. Default: all.")
]


AtMost = Annotated[
    str | None,
    typer.Option(
        "--at-most", help="With --within: the largest epsilon to spend in all. Default: a tenth of the table's limit."
    ),
]


NoInterval = Annotated[
    bool, typer.Option("--no-interval", help="Spend nothing on the confidence intervals of quantiles.")
]


Confidence = Annotated[str, typer.Option("--confidence", help="Confidence level of the intervals.")]


Delta = Annotated[str | None, typer.Option("--delta", help="Delta for discovered keys.")]


GroupsPerPerson = Annotated[
    str | None,
    typer.Option("--groups-per-person", help="Count each person in at most this many groups. Less noise."),
]


RowsPerPersonPerGroup = Annotated[
    str | None,
    typer.Option("--rows-per-person-per-group", help="Count at most this many rows of each person in each group."),
]


Analyst = Annotated[str | None, typer.Option("--analyst", help="Name of the analyst who asks.")]


Fresh = Annotated[bool, typer.Option("--fresh", help="Ignore the stored answer; draw new noise and charge again.")]


Best = Annotated[
    bool,
    typer.Option("--best", help="Also show the best whole numbers that add up: nearer in small groups, not unbiased."),
]


NoNull = Annotated[bool, typer.Option("--no-null", help="Leave out the groups in which a key is NULL.")]


Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output file if it exists.")]


#: How verbs about networks name them.
Edges = Annotated[str, typer.Argument(help="A declared table whose rows are edges.")]
Nodes = Annotated[str | None, typer.Option("--nodes", help="Table of the network's nodes.")]
Key = Annotated[str | None, typer.Option("--key", help="Column of a public table of nodes that identifies each node.")]
By = Annotated[str | None, typer.Option("--by", help="Public attribute of nodes; each of its values is a block.")]
NodeGroups = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="Attribute of nodes, in the table of nodes; or A,B: two columns of the edges, with that of each end.",
    ),
]
Ends = Annotated[str | None, typer.Option("--ends", help="A,B: the two columns that identify the ends of an edge.")]
Gaussian = Annotated[
    str | None, typer.Option("--delta", help="Use Gaussian noise for an (epsilon, delta) guarantee with this delta.")
]


HERE = Path(".")


def require_one_price(
    epsilon: str | None, within: str | None, *, share_of_groups: str | None = None, at_most: str | None = None
) -> None:
    """Refuse a question that does not say how much to spend, or says it twice."""
    for name, value in (("for", share_of_groups), ("at-most", at_most)):
        if value is not None and within is None:
            raise UsageError(Message(Flag(name), " goes with a precision"), hint=Message(Flag("within", "5%")))
    if epsilon is None and within is None:
        raise UsageError(
            "say how much to spend, or how precise to be",
            hint=Message(Flag("epsilon", 0.1), ", or ", Flag("within", 50)),
        )
    if epsilon is not None and within is not None:
        raise UsageError("--epsilon and --within cannot be used together", hint="give one of the two")


def two_ends(ends_text: str | None) -> tuple[str, str] | None:
    """--ends FROM,TO as two names of columns."""
    if ends_text is None:
        return None
    first, _, second = (part.strip() for part in ends_text.partition(","))
    if not first or not second or "," in second or first.lower() == second.lower():
        raise UsageError("--ends needs two different columns", hint=Message(Flag("ends", ("from", "to"))))
    return first, second


def two_bounds(text: str) -> tuple[str, str]:
    """LOW..HIGH as two texts, of which one may be empty."""
    low, dots, high = text.partition("..")
    if not dots:
        raise UsageError(f"{text[:60]!r} is not a range", hint=Message(Flag("between", "30..45"), ", or ..17, or 65.."))
    return low, high


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
        raise UsageError(f"{str(path)!r} belongs to the project and would be overwritten", hint="write to another file")


def refuse_overwriting(path: Path, *, overwrite: bool) -> None:
    """Refuse, before anything is charged, to replace a file that has something in it."""
    if not overwrite and path.is_file() and path.stat().st_size:
        raise UsageError(
            f"{str(path)!r} exists already", hint=Message("write to another file, or add ", Flag("overwrite"))
        )


#: Of which rows, by which groups, in which bins: what histograms and ranges are of.
Where = Annotated[
    str | None, typer.Option("--where", help="Count only rows that meet a condition, such as \"sex = 'F'\".")
]
GroupBy = Annotated[list[str] | None, typer.Option("--by", help="Column to group by. Can be repeated.")]
Bins = Annotated[str | None, typer.Option("--bins", help="Largest number of bins; their width is a round number.")]
BinWidth = Annotated[
    str | None,
    typer.Option("--width", help="The width of bins, such as 10; of dates day, week, month, quarter or year."),
]
