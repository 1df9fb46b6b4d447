"""Make a release in which every class meets what is asked. It holds no column that was not named.

Rows come out class by class, in an order that depends on their values alone: that of the table tells nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import Flag, Message, UsageError
from discreet.lab.anonymize import lattice
from discreet.lab.anonymize.anonymity_report import AnonymityReport, code_roles, measure_classes
from discreet.lab.anonymize.cell_suppression import CellSuppression, suppress_cells
from discreet.lab.anonymize.class_labels import alone_with_shown_value, label_classes, label_loss
from discreet.lab.anonymize.column_codes import CodedColumn, Flags, Integers
from discreet.lab.anonymize.criteria import Criteria
from discreet.lab.anonymize.default_hierarchies import default_hierarchy
from discreet.lab.anonymize.equivalence_classes import EquivalenceClasses, group, group_codes
from discreet.lab.anonymize.hierarchy import read_hierarchy
from discreet.lab.anonymize.labels import ANY, interval_label
from discreet.lab.anonymize.mondrian import tiles

METHODS = ("mondrian", "lattice", "suppression")
#: How each method may write what a class has in a column; the first is the default.
LABELS = {"mondrian": ("cuts", "round", "tight"), "lattice": ("levels",), "suppression": ("stars", "round", "tight")}
#: The share of rows that a lattice may leave out, unless it is said.
SUPPRESS = 0.05
#: A column of words is an identifier if it has more different ones than this share of the rows; few rows cannot tell.
IDENTIFIER, LEAST_ROWS = 0.9, 20

#: The numbers of the labels of every row, and the labels.
LabelledColumn = tuple[Integers, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnonymizedRelease:
    """A release, the reports before and after, and what it lost.

    `loss`: the mean, over rows and quasi-identifiers, of the share of a column's other values that a label could mean
    instead, 1 for a row left out. `levels`: of a lattice, each column's. `shows_words`: columns whose labels are made
    of real words, by a hierarchy that nobody gave. `suppression`: what became of single cells, where that was the
    method. `keeps_order`: rows are in the order of the table. `shown_alone`: of tight labels, the share of rows that
    are the only one of their class with a value that a label shows.
    """

    table: pa.Table
    method: str
    before: AnonymityReport
    after: AnonymityReport
    left_out: int
    loss: float
    levels: Mapping[str, int] | None
    shows_words: tuple[str, ...]
    labels: str
    keeps_order: bool
    suppression: CellSuppression | None
    shown_alone: float | None
    seconds: float

    def to_data(self) -> dict[str, Any]:
        """As JSON has it: what is measured of the release, and what it cost."""
        return {
            **self.after.to_data(),
            "method": self.method,
            "left_out": self.left_out,
            "loss": self.loss,
            "levels": None if self.levels is None else dict(self.levels),
            "shows_words": list(self.shows_words),
            "labels": self.labels,
            "keeps_order": self.keeps_order,
            "shown_alone": self.shown_alone,
            "suppression": None if self.suppression is None else self.suppression.to_data(),
            "before": {name: self.before.to_data()[name] for name in ("k", "l", "t", "classes", "unique_share")},
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Generalisation:
    """What a method decided: labels, classes, which rows stay."""

    labelled: Sequence[LabelledColumn]
    classes: EquivalenceClasses
    rows: Flags
    loss: float
    levels: Mapping[str, int] | None = None
    shows_words: tuple[str, ...] = ()
    suppression: CellSuppression | None = None
    shown_alone: float | None = None


def anonymize(
    table: pa.Table,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    k: int,
    l: float = 1.0,  # noqa: E741 - its name for twenty years
    t: float = 1.0,
    entropy: bool = False,
    method: str = "mondrian",
    suppress: float | None = None,
    hierarchies: Mapping[str, Path] | None = None,
    labels: str | None = None,
    keep_order: bool = False,
) -> AnonymizedRelease:
    """A release of these columns in which every class meets k, l and t.

    `labels`: `round` and `tight` are made from the rows of a class alone, with round ends or with their values; the
    default is what the method writes: cut points, levels or stars. `keep_order`: rows stay where they are in the table,
    which tells whose they are to anybody who knows its order.

    Guarantee: `check` of the release finds at least k and l, and at most t. That is all: it is no protection against
        somebody who knows more, who has another release, or who knows how this one was made.
    """
    start = process_time()
    criteria = Criteria(k=k, l=l, t=t, entropy=entropy)
    hidden, kept = code_roles(table, quasi, sensitive)
    criteria.refuse_unreachable(kept, table.num_rows)
    _check_options(method, suppress, hierarchies or {}, quasi)
    style = _check_labels(method, labels)
    if style != "stars":
        _refuse_identifiers(hidden, method, hierarchies or {})
    before = measure_classes(group(hidden), hidden, kept)
    if method == "mondrian":
        made = _generalise_by_boxes(hidden, kept, criteria, style)
    elif method == "suppression":
        made = _suppress_cells(hidden, kept, criteria, style)
    else:
        made = _generalise_by_levels(
            hidden, kept, criteria, SUPPRESS if suppress is None else suppress, hierarchies or {}
        )
    released, after = _build_release(table, hidden, kept, made, keep_order=keep_order)
    return AnonymizedRelease(
        table=released,
        method=method,
        before=before,
        after=after,
        left_out=table.num_rows - released.num_rows,
        loss=made.loss,
        levels=made.levels,
        shows_words=made.shows_words,
        labels=style,
        keeps_order=keep_order,
        suppression=made.suppression,
        shown_alone=made.shown_alone,
        seconds=process_time() - start,
    )


def _check_options(method: str, suppress: float | None, hierarchies: Mapping[str, Path], quasi: Sequence[str]) -> None:
    """Refuse options that do not go together."""
    if method not in METHODS:
        raise UsageError(f"there is no method {method!r}", hint=Message(Flag("method"), f" {' or '.join(METHODS)}"))
    if method != "lattice" and (suppress or hierarchies):
        raise UsageError(
            f"{method} removes no rows and uses no hierarchies",
            hint=Message(Flag("method", "lattice"), " accepts both"),
        )
    if suppress is not None and not 0 <= suppress < 1:
        raise UsageError(
            f"the share of removed rows must be between 0 and 1, got {suppress:g}", hint=Message(Flag("suppress", 0.05))
        )
    for name in hierarchies:
        if name not in quasi:
            raise UsageError(f"a hierarchy was given for {name!r}, which is not a quasi-identifier")


def _check_labels(method: str, labels: str | None) -> str:
    """The labels that are asked for, or the method's own; refuse others."""
    choices = LABELS[method]
    if labels is None:
        return choices[0]
    if labels not in choices:
        raise UsageError(
            f"there are no labels {labels!r} with the method {method}",
            hint=Message(Flag("labels"), f" {' or '.join(choices)}"),
        )
    return labels


def _suppress_cells(
    hidden: Sequence[CodedColumn], kept: Sequence[CodedColumn], criteria: Criteria, style: str
) -> _Generalisation:
    """Single cells replaced, or labelled by what their class has."""
    if criteria.needs_sensitive:
        raise UsageError(
            "suppression of single cells is for k alone, not for l or t",
            hint=Message(Flag("method", "mondrian"), " accepts them"),
        )
    if style == "stars":
        _refuse_stars(hidden)
    made = suppress_cells(hidden, criteria.k, sensitive=kept)
    if style != "stars":
        return _label_by_class(hidden, made.classes, style, suppression=made)
    labelled: list[LabelledColumn] = []
    for column, keeps in zip(hidden, made.kept.T, strict=True):
        hides = ~keeps[made.classes.ids]
        labelled.append((np.where(hides, column.size, column.codes), [*column.texts(), ANY]))
    rows = len(made.classes.ids)
    return _Generalisation(
        labelled=labelled,
        classes=group_codes([numbers for numbers, _ in labelled], [len(labels) for _, labels in labelled]),
        rows=np.ones(rows, dtype=bool),
        loss=made.stars / (rows * len(hidden)),
        suppression=made,
    )


def _refuse_stars(hidden: Sequence[CodedColumn]) -> None:
    """A cell that has a star of its own would look like one that was replaced."""
    starred = [column.name for column in hidden if ANY in column.texts()]
    if starred:
        raise UsageError(
            f"the column {starred[0]!r} has the value '{ANY}', which is how a suppressed cell is written",
            hint="write another word for it in your table, then try again",
        )


def _label_by_class(
    hidden: Sequence[CodedColumn],
    classes: EquivalenceClasses,
    style: str,
    *,
    suppression: CellSuppression | None = None,
) -> _Generalisation:
    """Every column of every class labelled by what its own rows have."""
    labelled: list[LabelledColumn] = [label_classes(column, classes.ids, style=style) for column in hidden]
    losses = [label_loss(column, *each) for column, each in zip(hidden, labelled, strict=True)]
    return _Generalisation(
        labelled=labelled,
        classes=group_codes([numbers for numbers, _ in labelled], [len(labels) for _, labels in labelled]),
        rows=np.ones(len(classes.ids), dtype=bool),
        loss=sum(losses) / len(losses),
        suppression=suppression,
        shown_alone=float(np.any([alone_with_shown_value(column, classes.ids) for column in hidden], axis=0).mean())
        if style == "tight"
        else None,
    )


def _generalise_by_boxes(
    hidden: Sequence[CodedColumn], kept: Sequence[CodedColumn], criteria: Criteria, style: str
) -> _Generalisation:
    """Mondrian's boxes, each column labelled by the cuts around it: the extremes of its rows are single people's."""
    tiling = tiles(hidden, kept, criteria)
    if style != "cuts":
        return _label_by_class(hidden, tiling.classes, style)
    classes, rows = tiling.classes, len(tiling.classes.ids)
    labelled: list[LabelledColumn] = []
    loss = 0.0
    cuts = [*tiling.cuts, None]  # -1 is none
    for column, low, high, start, end in zip(hidden, tiling.low, tiling.high, tiling.start, tiling.end, strict=True):
        shared = np.bincount(column.codes, minlength=column.size) >= criteria.k
        spans = group_codes([low, high, start + 1, end + 1], [column.size, column.size, len(cuts), len(cuts)])
        labels = [
            interval_label(
                column, int(low[one]), int(high[one]), shared=shared, start=cuts[start[one]], end=cuts[end[one]]
            )
            for one in spans.first_rows()
        ]
        labelled.append((spans.ids[classes.ids], labels))
        loss += float(((high - low) * classes.sizes).sum()) / max(1, column.size - 1)
    everybody = np.ones(rows, dtype=bool)
    return _Generalisation(labelled=labelled, classes=classes, rows=everybody, loss=loss / (len(hidden) * rows))


def _refuse_identifiers(hidden: Sequence[CodedColumn], method: str, hierarchies: Mapping[str, Path]) -> None:
    """Refuse words that nearly every row has for itself: names and numbers of people, which no cut makes coarser.

    The lattice masks codes of one length from the right, and takes what a hierarchy makes of a word.
    """
    for column in hidden:
        rows, values = len(column.codes), len(column.values)
        masked = method == "lattice" and len(set(map(len, column.texts()[:values]))) == 1
        if column.ordered or column.name in hierarchies or masked:
            continue
        if rows >= LEAST_ROWS and values > IDENTIFIER * rows:
            raise UsageError(
                f"{column.name!r} has {values:,} different values in {rows:,} rows: it identifies people, and "
                "generalising it does not hide them",
                hint=Message(
                    f"remove {column.name} from ", Flag("quasi"), ": columns that are not named are not released"
                ),
            )


def _generalise_by_levels(
    hidden: Sequence[CodedColumn],
    kept: Sequence[CodedColumn],
    criteria: Criteria,
    suppress: float,
    hierarchies: Mapping[str, Path],
) -> _Generalisation:
    """The best levels of the lattice."""
    column_hierarchies = [
        read_hierarchy(column, hierarchies[column.name]) if column.name in hierarchies else default_hierarchy(column)
        for column in hidden
    ]
    best = lattice.LatticeSearch(hidden, column_hierarchies, kept, criteria, suppress).best()
    labelled = lattice.labels_at(best.node, hidden, column_hierarchies)
    classes = group_codes([codes for codes, _ in labelled], [len(labels) for _, labels in labelled])
    levels = {column.name: level for column, level in zip(hidden, best.node, strict=True)}
    joined = tuple(
        column.name
        for column, (_, labels) in zip(hidden, labelled, strict=True)
        if column.name not in hierarchies and any(label.startswith("{") for label in labels)
    )
    return _Generalisation(
        labelled=labelled, classes=classes, rows=best.kept, loss=best.loss, levels=levels, shows_words=joined
    )


def _build_release(
    table: pa.Table,
    hidden: Sequence[CodedColumn],
    kept: Sequence[CodedColumn],
    made: _Generalisation,
    *,
    keep_order: bool = False,
) -> tuple[pa.Table, AnonymityReport]:
    """The released table, sorted by class and then by sensitive values, and the report on it."""
    order = np.lexsort([*(column.codes for column in reversed(kept)), made.classes.ids])
    if keep_order:
        order = np.arange(len(made.rows))
    order = order[made.rows[order]]
    columns: dict[str, Any] = {}
    shown: list[CodedColumn] = []
    for column, (numbers, labels) in zip(hidden, made.labelled, strict=True):
        texts = pa.array(labels, pa.string())
        columns[column.name] = texts.take(pa.array(numbers[order]))
        shown.append(CodedColumn(name=column.name, codes=numbers[order], values=texts, has_null=False, ordered=False))
    for column in kept:
        columns[column.name] = table[column.name].take(pa.array(order))
    classes = group_codes([made.classes.ids[order]], [len(made.classes.sizes)])
    return pa.table(columns), measure_classes(classes, shown, [column.take(order) for column in kept])
