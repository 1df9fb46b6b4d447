"""What is asked for: a question with its wish, checked for size, and the digest that an idempotency key is bound to."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any, Literal

from discreet import exact
from discreet.answers.workload.statement_notes import statement_title
from discreet.errors import Refused, UsageError
from discreet.project.project import Project
from discreet.project.question import Explanation, wish_of
from discreet.release import Release
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.query_parser import parse_batch
from discreet.sql.query_text import split_statements

LONGEST_SQL = 100_000
#: A number is told as text, for text has one reading: so many letters are enough for any.
LONGEST_NUMBER = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRequest:
    """A question (query), several as one plan (batch), or a release to be made more precise (again).

    `text` is the SQL, or the release's id. epsilon or within, confidence and delta are decimal texts.
    """

    kind: Literal["query", "batch", "again"] = "query"
    text: str
    epsilon: str | None = None
    within: str | None = None
    confidence: str = "0.95"
    delta: str | None = None
    fresh: bool = False

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST_SQL:
            raise UsageError(f"a query must have at most {LONGEST_SQL:,} characters")
        if "\0" in self.text or not _is_text(self.text):
            raise UsageError("a query must be Unicode text")
        if any(len(number) > LONGEST_NUMBER for number in (self.confidence, *filter(None, self._numbers()))):
            raise UsageError(f"a number must have at most {LONGEST_NUMBER} digits")
        if self.fresh and self.kind != "query":
            raise UsageError("new noise can be drawn for a single query only, not for a batch")
        if self.kind == "again" and self.delta is not None:
            raise UsageError("an answer is made more precise without a delta of its own")
        wish_of(self.epsilon, self.within, self.confidence, self.delta)

    def digest(self) -> bytes:
        """Equal for requests that mean the same, however their numbers are spelt."""
        numbers = [
            None if number is None else exact.write(exact.number(number, name="a number")) for number in self._numbers()
        ]
        confidence = exact.write(exact.number(self.confidence, name="confidence"))
        meant = [self.kind, self.text, *numbers, confidence, self.fresh]
        return hashlib.sha256(json.dumps(meant, separators=(",", ":")).encode()).digest()

    def ask(self, project: Project, *, analyst: str | None, key: str, most_rows: int) -> list[Release]:
        """Pay and answer. Too many rows are refused before anything is charged."""
        more: dict[str, Any] = {"confidence": self.confidence, "analyst": analyst, "key": key}
        if self.kind == "again":
            return [project.again(self.text, epsilon=self.epsilon, within=self.within, **more)]
        more |= {"epsilon": self.epsilon, "within": self.within, "delta": self.delta}
        if self.kind == "batch":
            for statement in parse_batch(self.text, project.versions.catalog()):
                check_rows(statement, most=most_rows)
            return project.batch(self.text, **more)
        question = project.sql(self.text)
        check_rows(question.query, most=most_rows)
        return [question.ask(fresh=self.fresh, **more)]

    @property
    def titles(self) -> list[str]:
        """What the statements of a batch are called; nothing for anything else."""
        return [statement_title(each) for each in split_statements(self.text)] if self.kind == "batch" else []

    def explain(self, project: Project) -> Explanation:
        """Price it. Free."""
        if self.kind != "query":
            raise UsageError("only a single query can be explained")
        return project.sql(self.text).explain(
            epsilon=self.epsilon, within=self.within, confidence=self.confidence, delta=self.delta, in_steps=False
        )

    def _numbers(self) -> tuple[str | None, str | None, str | None]:
        return self.epsilon, self.within, self.delta


def check_rows(statement: ParsedQuery, *, most: int) -> None:
    """Refuse an answer of more rows than the server gives: by its declared groups, never by what is in them."""
    rows = sum(math.prod(axis.size for axis in axes) for axes in statement.inquiry.sets)
    if rows > most:
        raise Refused(
            f"the groups make {rows:,} rows, but this server answers with at most {most:,}",
            hint="group by fewer columns, or by wider bins",
            sql=statement.text,
        )


def _is_text(text: str) -> bool:
    """Whether it can be written down: half of a pair of surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
