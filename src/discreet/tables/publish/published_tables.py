"""What was published: the tables of every level, as Arrow and as files, and what is to be said of them."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Flag, Message, UsageError
from discreet.kernel.measurement import Law
from discreet.schema.column import Label, code_labels, shown_label
from discreet.tables.publish.layout import Layout
from discreet.tables.publish.publication_card import card_data, card_page, card_text
from discreet.tables.publish.publication_measurement import NoisyTables
from discreet.tables.publish.publication_offer import PublicationOffer
from discreet.tables.publish.publication_price import PublicationPrice, variance_of
from discreet.tables.publish.table_estimates import Accuracy, RefinedTables

if TYPE_CHECKING:
    import pyarrow

#: So many rows of a table are made at a time.
_ROWS_AT_ONCE = 500_000

#: Estimates and their errors are written to so many places.
_PLACES = 4

#: The columns of numbers.
_NUMBERS = ("count", "estimate", "standard_error", "low", "high")


@dataclass(frozen=True, kw_only=True)
class PublishedTables:
    """Tables that add up, the estimates that they were made of, and how exact those are."""

    offer: PublicationOffer
    noisy: NoisyTables
    refined: RefinedTables
    confidence: Fraction

    @property
    def layout(self) -> Layout:
        return self.offer.layout

    @property
    def price(self) -> PublicationPrice:
        return self.offer.price

    @property
    def accuracy(self) -> Accuracy:
        return self.offer.accuracy

    @property
    def levels(self) -> tuple[str, ...]:
        return self.layout.levels

    @property
    def release(self) -> str:
        return self.noisy.release

    @property
    def cached(self) -> bool:
        return self.noisy.cached

    @property
    def total(self) -> int:
        """The number of rows in all, as published."""
        return int(self.refined.counts[0].sum())

    def table(self, level: str) -> pyarrow.Table:
        """The cells of a level: labels of places and attributes, count, estimate, standard_error, low, high."""
        import pyarrow as pa

        return pa.concat_tables(list(self._chunks(self._place(level), totals=False)))

    def totals(self, level: str) -> pyarrow.Table:
        """The totals of a level's nodes, in the same form."""
        import pyarrow as pa

        return pa.concat_tables(list(self._chunks(self._place(level), totals=True)))

    def write(self, folder: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
        """Every table as CSV and Parquet, and the card. Refuses a folder with something in it, unless `force`."""
        to = Path(folder)
        check_folder(to, force=force)
        try:
            to.mkdir(parents=True, exist_ok=True)
            written = [file for level in range(len(self.levels)) for file in self._write_level(to, level)]
            data = card_data(self, [file.name for file in written])
            for name, text in (("card.json", card_text(data)), ("card.html", card_page(data))):
                written.append(_whole(to / name, lambda path, text=text: path.write_text(text, encoding="utf-8")))
        except OSError as problem:
            raise UsageError(
                f"the tables were measured and stored, but {str(to)!r} cannot be written: {problem.strerror}",
                hint=Message("run the same command with another ", Flag("output", short="o"), ": it is free"),
            ) from None
        return written

    def _place(self, level: str) -> int:
        if level not in self.levels:
            raise UsageError(f"there is no level {level[:60]!r}", hint=f"one of {', '.join(self.levels)}")
        return self.levels.index(level)

    def _write_level(self, to: Path, level: int) -> Iterator[Path]:
        names = [(self.levels[level], False)]
        if self.layout.attributes:
            names.append((f"{self.levels[level]}_totals", True))
        for name, totals in names:
            yield _whole(to / f"{name}.csv", lambda path, totals=totals: self._csv(path, level, totals=totals))
            yield _whole(to / f"{name}.parquet", lambda path, totals=totals: self._parquet(path, level, totals=totals))

    def _csv(self, path: Path, level: int, *, totals: bool) -> None:
        import pyarrow as pa
        import pyarrow.csv

        writer = None
        with path.open("wb") as stream:
            for chunk in self._chunks(level, totals=totals):
                plain = pa.table(
                    {
                        name: column.combine_chunks().dictionary_decode()
                        if pa.types.is_dictionary(column.type)
                        else column
                        for name, column in zip(chunk.column_names, chunk.columns, strict=True)
                    }
                )
                writer = writer or pyarrow.csv.CSVWriter(stream, plain.schema)
                writer.write_table(plain)
            assert writer is not None
            writer.close()

    def _parquet(self, path: Path, level: int, *, totals: bool) -> None:
        import pyarrow.parquet

        writer = None
        for chunk in self._chunks(level, totals=totals):
            writer = writer or pyarrow.parquet.ParquetWriter(path, chunk.schema)
            writer.write_table(chunk)
        assert writer is not None
        writer.close()

    def _chunks(self, level: int, *, totals: bool) -> Iterator[pyarrow.Table]:
        """The rows of a level, node by node, some at a time."""
        counts, estimates = self.refined.counts[level], self.refined.estimates[level]
        if totals:
            errors = self.accuracy.total_errors(level)[None, :]
            counts, estimates = counts.sum(axis=0, keepdims=True), estimates.sum(axis=0, keepdims=True)
        else:
            errors = self.accuracy.cell_errors(level)
        errors = self.accuracy.spread(level, errors)
        places, kinds = self._labels(level, totals=totals)
        step = max(1, _ROWS_AT_ONCE // len(counts))
        for start in range(0, counts.shape[1], step):
            nodes = slice(start, start + step)
            own = counts[:, nodes]
            columns = {name: values.at(np.repeat(at[nodes], len(counts))) for name, at, values in places}
            columns |= {name: values.at(np.tile(at, own.shape[1])) for name, at, values in kinds}
            columns["count"] = own.T.reshape(-1)
            yield self._rows(columns, estimates[:, nodes].T.reshape(-1), errors[:, nodes].T.reshape(-1))

    def _labels(self, level: int, *, totals: bool) -> tuple[list[_Labelled], list[_Labelled]]:
        """The columns of labels: of places, by nodes, and of attributes, by cells."""
        path = zip(self.levels[1 : level + 1], self.layout.places.path(level), strict=True)
        places = list(self._called((name, at, labels) for name, (at, labels) in path))
        kinds = list(self._called((name, at, labels) for name, labels, at in self.layout.cell_labels()))
        return places, [] if totals else kinds

    def _called(self, columns: Iterable[tuple[str, NDArray[np.int64], Sequence[Label]]]) -> Iterator[_Labelled]:
        """Columns of labels, each with a column of what its values are called for people, where some are."""
        called = self.code_labels
        for name, at, labels in columns:
            yield name, at, _Labels(labels)
            if name in called:
                shown = [shown_label(called, name, label) for label in labels]
                yield self.label_columns[name], at, _Labels(shown)

    @property
    def code_labels(self) -> dict[str, dict[str, str]]:
        """What values of the columns of these tables are called for people."""
        named = {*self.levels, *(name for name, _, _ in self.layout.cell_labels())}
        every = code_labels(self.layout.version.schema.columns)
        return {name: labels for name, labels in every.items() if name in named}

    @property
    def label_columns(self) -> dict[str, str]:
        """For each column with labels the one that shows them: sex_label, with an underscore where that is taken."""
        taken = {*self.levels, *(name for name, _, _ in self.layout.cell_labels()), *_NUMBERS}
        names = {}
        for name in self.code_labels:
            names[name] = f"{name}_label"
            while names[name] in taken:
                names[name] += "_"
            taken.add(names[name])
        return names

    def _rows(
        self,
        columns: dict[str, Any],
        estimates: NDArray[np.float64],
        errors: NDArray[np.float64],
    ) -> pyarrow.Table:
        import pyarrow as pa

        half = half_widths(errors, self.confidence, [law for level in self.offer.laws for law in level])
        for name, values in (
            ("estimate", estimates),
            ("standard_error", errors),
            ("low", estimates - half),
            ("high", estimates + half),
        ):
            columns[name] = pa.array(np.round(values, _PLACES) + 0.0)
        return pa.table(columns)


def half_widths(errors: NDArray[np.float64], confidence: Fraction, laws: Iterable[Law]) -> NDArray[np.float64]:
    """Half widths of intervals around estimates that hold the exact number with this confidence.

    An estimate is a weighted sum of independent noise. In units of its standard error its quantile lies between that of
    the noise itself and a normal law's; the largest of all these is taken, and half a unit more, for noise comes in
    whole numbers. What is known exactly has none. That nothing lies outside these two laws is not proved here: it is
    what thousands of weighted sums show, whose tails are known in closed form (tests).
    """
    own = [law.half_width(confidence) / math.sqrt(variance_of(law)) for law in set(laws)]
    factor = max(NormalDist().inv_cdf(float(1 + confidence) / 2), *own)
    return np.where(errors > 0, factor * errors + 0.5, 0.0)


class _Labels:
    """Labels as a dictionary of Arrow, made once for a table; None is NULL."""

    def __init__(self, labels: Sequence[Label]) -> None:
        import pyarrow as pa

        present_labels = [label for label in labels if label is not None]
        plain = len({type(label) for label in present_labels}) <= 1
        self._words = pa.array(
            present_labels if plain else [str(label) for label in present_labels],
            type=None if present_labels else pa.string(),
        )
        self._missing = np.array([label is None for label in labels], dtype=np.bool_)
        self._places = (np.cumsum(~self._missing) - 1).astype(np.int32)

    def at(self, places: NDArray[np.int64]) -> Any:
        """The labels of these places."""
        import pyarrow as pa

        return pa.DictionaryArray.from_arrays(pa.array(self._places[places], mask=self._missing[places]), self._words)


_Labelled = tuple[str, NDArray[np.int64], _Labels]


def check_folder(to: Path, *, force: bool) -> None:
    """Refuse, before anything is charged, a folder that cannot be made or has something in it."""
    try:
        if to.exists() and not to.is_dir():
            raise UsageError(f"{str(to)!r} is not a folder")
        if to.is_dir() and any(to.iterdir()) and not force:
            raise UsageError(
                f"{str(to)!r} is not empty",
                hint=Message(
                    "another ", Flag("output", short="o"), ", or ", Flag("force", True), " to overwrite its files"
                ),
            )
        _try_writing(to.absolute())
    except OSError as problem:
        raise UsageError(
            f"{str(to)[:200]!r} cannot be written: {problem.strerror}; nothing was charged",
            hint=Message("another ", Flag("output", short="o")),
        ) from None


def _try_writing(to: Path) -> None:
    """Make the folder and a file in it, and take away what was made: a right to write is known by writing."""
    made = [folder for folder in (to, *to.parents) if not folder.exists()]
    try:
        to.mkdir(parents=True, exist_ok=True)
        _whole(to / f".discreet-{secrets.token_hex(8)}", lambda path: path.write_bytes(b"")).unlink()
    finally:
        for folder in made:
            if folder.is_dir():
                folder.rmdir()


def _whole(path: Path, write: Any) -> Path:
    """Write a file under another name, and give it its own when it is whole."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return path
