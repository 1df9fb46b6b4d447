"""Where the rows of a new version come from: all of its source, or an earlier version and the files added since."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.engines.earlier_version import EarlierVersion, ExtendingEngine
from discreet.engines.engine import DeclarationOutcome, Engine
from discreet.engines.person_keys import PersonKeys
from discreet.engines.stop_signal import check_stop
from discreet.engines.table_location import TableLocation
from discreet.schema.schema import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOrigin:
    """Sources relative to `folder`; the tables on the `path` to the person, nearest first; those of `whose` forgotten
    persons none is let in; and the version that it may build on. `confirm`: of what is kept of the sources, what still
    holds when the table is made.
    """

    folder: Path
    path: tuple[Table, ...] = ()
    whose: Sequence[str]
    earlier: EarlierVersion | None = None
    confirm: Callable[[dict[str, Any]], dict[str, Any]] = dict

    def make(
        self,
        engine: Engine,
        table: Table,
        *,
        target: TableLocation,
        keys: PersonKeys | None,
        forgotten: Collection[bytes],
    ) -> DeclarationOutcome:
        """Make the declared table: from the earlier version if that can be, else from all of the source."""
        try:
            return self._make(engine, table, target=target, keys=keys, forgotten=forgotten)
        except Exception:
            check_stop()  # an engine that is interrupted says only that it failed
            raise

    def _make(
        self,
        engine: Engine,
        table: Table,
        *,
        target: TableLocation,
        keys: PersonKeys | None,
        forgotten: Collection[bytes],
    ) -> DeclarationOutcome:
        key, tag_key = (None, None) if keys is None else (keys.rows, keys.tags)
        if self.earlier is not None and isinstance(engine, ExtendingEngine):
            making = engine.extend(
                table,
                folder=self.folder,
                target=target,
                earlier=self.earlier,
                key=key,
                tag_key=tag_key,
                path=self.path,
                forgotten=forgotten,
            )
            if making is not None:
                return making
        return engine.declare(
            table,
            folder=self.folder,
            target=target,
            key=key,
            tag_key=tag_key,
            path=self.path,
            forgotten=forgotten,
        )
