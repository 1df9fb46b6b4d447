"""The text of a question: bounded before it is parsed, and pointed at when it is refused."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from discreet.errors import Refused
from discreet.sql.grammar import syntax_fault
from discreet.sql.misspelled import misspelled
from discreet.sql.scan import Fault, statements, too_large, too_many_arguments

__all__ = ["Source", "parse", "span", "statements"]

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # refusals are ours to word; it would print beside them


_SEVERAL = "ask the statements one by one, or all as one batch: discreet query -f FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A question's text; makes refusals that point into it."""

    text: str

    def refusal(self, reason: str, *, at: exp.Expr | tuple[int, int] | None = None, hint: str = "") -> Refused:
        """A refusal with carets under `at`: a node, or a span of characters."""
        start, end = (0, 0) if at is None else at if isinstance(at, tuple) else span(at) or (0, 0)
        line = self.text.count("\n", 0, start) + 1
        column = start - (self.text.rfind("\n", 0, start) + 1) + 1
        return Refused(reason, hint=hint, sql=self.text, line=line, column=column, width=max(1, end - start))

    def words(self, node: exp.Expr) -> str:
        """The text of a node as it was written, parentheses that close inside it included."""
        place = span(node)
        if place is None:
            return node.sql(dialect="duckdb")
        start, end = place
        while end < len(self.text) and self.text[start:end].count("(") > self.text[start:end].count(")"):
            end += 1
        return self.text[start:end]

    def clause(self, *keywords: str) -> tuple[int, int]:
        """Where a clause that begins with one of these keywords stands, to the end of the text at most."""
        for keyword in keywords:
            found = re.search(rf"\b{keyword.replace(' ', chr(92) + 's+')}\b", self.text, re.IGNORECASE)
            if found:
                rest = self.text[found.start() :].split("\n", 1)[0].rstrip("; \t")
                return found.start(), found.start() + len(rest)
        return (0, 0)


def span(node: exp.Expr) -> tuple[int, int] | None:
    """The characters a node covers, as far as the parser remembers them."""
    places = [part.meta for part in node.walk() if "start" in part.meta]
    if not places:
        return None
    return min(place["start"] for place in places), max(place["end"] for place in places) + 1


def parse(text: str) -> tuple[Source, exp.Expr]:
    """One statement as a syntax tree; anything else is refused, before parsing where it is too large."""
    source = Source(text=text)
    _without(source, too_large(text))
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect="duckdb") if tree is not None]
    except ParseError as problem:
        raise _unparsed(source, problem) from None
    except (SqlglotError, RecursionError, ValueError):
        raise source.refusal("this is not SQL that can be read", hint="check quotes and parentheses") from None
    if not trees:
        raise source.refusal("there is no question here", hint="SELECT count(*) FROM patients")
    if len(trees) > 1:
        raise source.refusal(
            "one question at a time",
            at=trees[1],
            hint=_SEVERAL,
        )
    # What the parser forgave, and what it dropped.
    if (fault := syntax_fault(text)) is not None:
        raise _better(source, fault)
    _without(source, too_many_arguments(text))
    return source, trees[0]


def _without(source: Source, fault: Fault | None) -> None:
    """Refuse a text with a fault."""
    if fault is not None:
        raise source.refusal(fault.reason, at=(fault.start, fault.end), hint=fault.hint)


def _unparsed(source: Source, problem: ParseError) -> Refused:
    """A parse error as a refusal: where, and what stands there; never the parser's own jargon."""
    told = problem.errors[0] if problem.errors else {}
    found = str(told.get("highlight") or "")
    before = str(told.get("start_context") or "")
    start = source.text.find(before + found) + len(before) if found else len(source.text)
    start = max(0, start)
    what = f"the SQL cannot be read at {found[:30]!r}" if found else "the SQL ends too early"
    return _better(source, Fault(reason=what, start=start, end=start + len(found)))


def _better(source: Source, fault: Fault) -> Refused:
    """The refusal of a fault in the syntax; where a keyword before it is misspelled, of that."""
    told = fault if fault.hint else misspelled(source.text, until=fault.start) or fault
    return source.refusal(told.reason, at=(told.start, told.end), hint=told.hint)
