"""The text of a question: bounded before it is parsed, and pointed at when it is refused."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from discreet.errors import Refused

#: Bounds that hold before any parser sees the text: deeper nesting has crashed parsers.
MOST_BYTES = 64 * 1024
MOST_DEPTH = 32
MOST_TOKENS = 10_000
#: Chains of [1][1]… keep the parser busy, flat as they are; no question needs any.
MOST_LOOKUPS = 50

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # refusals are ours to word; it would print beside them

_PIECE = re.compile(
    r"""(?P<skip>'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|\s+)"""
    r"""|(?P<open>[(\[{]|\bcase\b)|(?P<close>[)\]}]|\bend\b)|(?P<prefix>\bnot\b|[-+~!])|(?P<word>\w+|.)""",
    re.IGNORECASE | re.DOTALL,
)


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
    _bounded(source)
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect="duckdb") if tree is not None]
    except ParseError as problem:
        raise _unparsed(source, problem) from None
    except (SqlglotError, RecursionError, ValueError):
        raise source.refusal("this is not SQL that can be read", hint="check quotes and parentheses") from None
    if not trees:
        raise source.refusal("there is no question here", hint="SELECT count(*) FROM patients")
    if len(trees) > 1:
        raise source.refusal("one question at a time", at=trees[1], hint="ask the statements one by one")
    return source, trees[0]


def statements(text: str) -> list[str]:
    """The statements of a batch, cut at semicolons that stand in no text, name or comment.

    >>> statements("select ';' from a; -- b;\\nselect 2;")
    ["select ';' from a", '-- b;\\nselect 2']
    """
    found, start = [], 0
    for piece in _PIECE.finditer(text):
        if piece.group() == ";":
            found.append(text[start : piece.start()])
            start = piece.end()
    found.append(text[start:])
    return [each.strip() for each in found if _says_something(each)]


def _says_something(text: str) -> bool:
    return any(piece.lastgroup != "skip" for piece in _PIECE.finditer(text))


def _bounded(source: Source) -> None:
    if len(source.text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise Refused(f"a question may have at most {MOST_BYTES // 1024} KB")
    if "\0" in source.text or any("\ud800" <= letter <= "\udfff" for letter in source.text):
        raise Refused("a question must be plain text")
    depth = prefixes = tokens = lookups = 0
    for piece in _PIECE.finditer(source.text):
        kind = piece.lastgroup
        if kind == "skip":
            continue
        tokens += 1
        prefixes = prefixes + 1 if kind == "prefix" else 0
        lookups += piece.group() == "["
        depth += (kind == "open") - (kind == "close" and depth > 0)
        if depth > MOST_DEPTH or prefixes > MOST_DEPTH or tokens > MOST_TOKENS or lookups > MOST_LOOKUPS:
            raise source.refusal(
                f"this is too long or nested deeper than {MOST_DEPTH} levels",
                at=piece.span(),
                hint="write it flatter",
            )


def _unparsed(source: Source, problem: ParseError) -> Refused:
    """A parse error as a refusal: where, and what stands there; never the parser's own jargon."""
    told = problem.errors[0] if problem.errors else {}
    found = str(told.get("highlight") or "")
    before = str(told.get("start_context") or "")
    start = source.text.find(before + found) + len(before) if found else len(source.text)
    what = f"the SQL cannot be read at {found[:30]!r}" if found else "the SQL ends too early"
    return source.refusal(what, at=(max(0, start), max(0, start) + len(found)))
