"""What each release answers, in memory: a list of thousands need not be read from the ledger for every search.

All of it is public among those who may ask: the kind of a release and the text of its question. What is not finished
is read again each time; what is finished does not change.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.console import public_facts
from discreet.ledger.records import ChargeRecord
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease, recall_releases

#: Releases that are remembered, and letters of a question that can be searched.
MOST, SEARCHED = 20_000, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedAnswer:
    """A release in the index. question: its text on one line. texts: its statements as they were asked."""

    id: str
    kind: str
    question: str
    texts: tuple[str, ...] = ()
    is_readable: bool = False


class AnswerIndex:
    """Looks releases up, and remembers those that are finished."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[str, IndexedAnswer] = {}

    def look_up(self, project: Project, charges: Sequence[ChargeRecord]) -> list[IndexedAnswer]:
        """The entry of each charge, in their order. What is not remembered is read together."""
        entries = {charge.id: self._answers.get(charge.id) for charge in charges}
        missing = [id_ for id_, entry in entries.items() if entry is None]
        for recalled_release in recall_releases(missing, ledger=project.ledger):
            entry = entries[recalled_release.id] = _entry_of(recalled_release)
            if recalled_release.lacks is None and recalled_release.kind not in ("unfinished", "stream"):
                with self._lock:
                    if len(self._answers) < MOST:
                        self._answers[entry.id] = entry
        return [entry for entry in entries.values() if entry is not None]

    def close(self) -> None:
        """Forget all."""
        with self._lock:
            self._answers.clear()


def _entry_of(recalled_release: RecalledRelease) -> IndexedAnswer:
    return IndexedAnswer(
        id=recalled_release.id,
        kind=recalled_release.kind,
        question=public_facts.query_excerpt(recalled_release, most=SEARCHED),
        texts=recalled_release.texts,
        is_readable=recalled_release.is_readable and recalled_release.lacks is None,
    )


def excerpt(text: str, most: int) -> str:
    """The first words of a question that is on one line."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
