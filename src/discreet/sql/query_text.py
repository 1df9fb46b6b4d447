"""The text of a question: bounded before it is parsed, and pointed at when it is refused."""

from __future__ import annotations

import difflib
import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import Command, Flag, Message, Refused, Statement
from discreet.sql.duckdb_grammar import syntax_fault
from discreet.sql.text_limits import SyntaxFault, argument_count_fault, size_fault, split_statements

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.errors import ParseError

__all__ = ["QueryText", "parse_statement", "span", "split_statements"]

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # refusals are ours to word; it would print beside them

#: Behind this a table is named.
_BEFORE_TABLE = re.compile(r"\b(?:from|join)\s+$", re.IGNORECASE)
#: Behind this a column may be named.
_BEFORE_COLUMN = re.compile(r"(?:[(,=<>+*/-]|\b(?:select|where|by|and|or|not))\s*$", re.IGNORECASE)
_SEVERAL = Message(
    "run the statements one by one, or all as one batch: ", Command("query", Flag("file", "FILE", short="f"))
)

_KEYWORDS = ("select", "from", "where", "group", "having", "order", "limit", "distinct", "between", "join", "with")
#: Words of a text: what stands in quotes or behind a comment's sign is none.
_WORD = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n\r]*|/\*.*?\*/|(?P<word>[a-z_]\w*)""", re.IGNORECASE | re.DOTALL
)
#: How alike two words must be: a letter left out, doubled, wrong or moved, and no more.
_ALIKE = 0.72


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryText:
    """A question's text; makes refusals that point into it."""

    text: str

    def refusal(self, reason: str, *, at: exp.Expr | tuple[int, int] | None = None, hint: str = "") -> Refused:
        """A refusal with carets under `at`: a node, or a span of characters."""
        start, end = (0, 0) if at is None else at if isinstance(at, tuple) else span(at) or (0, 0)
        line = self.text.count("\n", 0, start) + 1
        column = start - (self.text.rfind("\n", 0, start) + 1) + 1
        return Refused(reason, hint=hint, sql=self.text, line=line, column=column, width=max(1, end - start))

    def text_of(self, node: exp.Expr) -> str:
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
            keyword_match = re.search(rf"\b{keyword.replace(' ', chr(92) + 's+')}\b", self.text, re.IGNORECASE)
            if keyword_match:
                rest = self.text[keyword_match.start() :].split("\n", 1)[0].rstrip("; \t")
                return keyword_match.start(), keyword_match.start() + len(rest)
        return (0, 0)


def span(node: exp.Expr) -> tuple[int, int] | None:
    """The characters a node covers, as far as the parser remembers them."""
    places = [part.meta for part in node.walk() if "start" in part.meta]
    if not places:
        return None
    return min(place["start"] for place in places), max(place["end"] for place in places) + 1


def parse_statement(text: str, *, was_accepted: bool = False) -> tuple[QueryText, exp.Expr]:
    """One statement as a syntax tree; anything else is refused, before parsing where it is too large.

    `was_accepted`: DuckDB's grammar was asked when the text was, and is not asked again.
    """
    import sqlglot  # half as slow to load as all of Discreet: what parses nothing does without
    from sqlglot.errors import ParseError, SqlglotError

    source = QueryText(text=text)
    _refuse_fault(source, size_fault(text))
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect="duckdb") if tree is not None]
    except ParseError as problem:
        raise _parse_refusal(source, problem) from None
    except (SqlglotError, RecursionError, ValueError):
        raise source.refusal("cannot parse this SQL", hint="check quotes and parentheses") from None
    if not trees:
        raise source.refusal("the query is empty", hint=Message(Statement("SELECT count(*) FROM patients")))
    if len(trees) > 1:
        raise source.refusal(
            "only one statement is allowed",
            at=trees[1],
            hint=_SEVERAL,
        )
    # What the parser forgave, and what it dropped.
    if not was_accepted and (fault := syntax_fault(text)) is not None:
        raise _syntax_refusal(source, fault)
    _refuse_fault(source, argument_count_fault(text))
    return source, trees[0]


def _refuse_fault(source: QueryText, fault: SyntaxFault | None) -> None:
    """Refuse a text with a fault."""
    if fault is not None:
        raise source.refusal(fault.reason, at=(fault.start, fault.end), hint=fault.hint)


def _parse_refusal(source: QueryText, problem: ParseError) -> Refused:
    """A parse error as a refusal: where, and what stands there; never the parser's own jargon."""
    error_fields = problem.errors[0] if problem.errors else {}
    highlight = str(error_fields.get("highlight") or "")
    before = str(error_fields.get("start_context") or "")
    start = source.text.find(before + highlight) + len(before) if highlight else len(source.text)
    start = max(0, start)
    what = f"syntax error at {highlight[:30]!r}" if highlight else "syntax error: the SQL ends too early"
    return _syntax_refusal(source, SyntaxFault(reason=what, start=start, end=start + len(highlight)))


def _syntax_refusal(source: QueryText, fault: SyntaxFault) -> Refused:
    """The refusal of a fault in the syntax; where a keyword before it is misspelled, of that."""
    best_fault = fault if fault.hint else find_keyword_typo(source.text, until=fault.start) or fault
    hint = best_fault.hint or _quoting_hint(source.text, best_fault)
    return source.refusal(best_fault.reason, at=(best_fault.start, best_fault.end), hint=hint)


def _quoting_hint(text: str, fault: SyntaxFault) -> str:
    """That a name can be quoted, for a keyword where a table or a column is named."""
    word = text[fault.start : fault.end]
    if not word.isidentifier():
        return ""
    if _BEFORE_TABLE.search(text[: fault.start]):
        return f'if {word} is a table, write its name in double quotes: "{word}"'
    if word.lower() in _KEYWORDS or not _BEFORE_COLUMN.search(text[: fault.start]):
        return ""
    return f'if {word} is a column, write its name in double quotes: "{word}"'


def find_keyword_typo(text: str, *, until: int) -> SyntaxFault | None:
    """The last word up to a fault that is no keyword and looks like one; None where there is none.

    >>> find_keyword_typo("selct count(*) from patients", until=12).reason
    "unexpected word 'selct'"
    >>> find_keyword_typo("select orders from patients p p", until=30) is None
    True
    """
    for word_match in reversed(list(_WORD.finditer(text))):
        word = (word_match["word"] or "").lower()
        if not word or word_match.start() > until or word in _KEYWORDS:
            continue
        meant = difflib.get_close_matches(word, _KEYWORDS, n=1, cutoff=_ALIKE)
        if meant and word != meant[0] + "s":  # `orders` is a table more often than a slip
            return SyntaxFault(
                reason=f"unexpected word {word_match[0][:30]!r}",
                hint=f"did you mean {meant[0].upper()}?",
                start=word_match.start(),
                end=word_match.end(),
            )
    return None
