"""A look at a question's text before any parser sees it: how long, how deep, and how many arguments.

Pieces, not grammar: texts, names and comments are passed over whole, everything else is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.errors import Refused

#: Bounds that hold before any parser sees the text: deeper nesting has crashed parsers.
MOST_BYTES = 64 * 1024
MOST_DEPTH = 32
MOST_TOKENS = 10_000
#: Chains of [1][1]… keep the parser busy, flat as they are; no question needs any.
MOST_LOOKUPS = 50

# Quotes that do not end where plain ones do ($$…$$, e'…'), comments inside comments and those of templates are odd:
# about them parsers disagree, and what one takes for a text would hide from the scan what another one nests.
_PIECE = re.compile(
    r"""(?P<odd>\$\w*\$|\b(?:e|u&)'|\{[#%{])"""
    r"""|(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<skip>--[^\n\r]*|/\*(?:(?!/\*).)*?\*/|\s+)|(?P<unclosed>/\*)"""
    r"""|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<case>\bcase\b)|(?P<end>\bend\b)"""
    r"""|(?P<prefix>\bnot\b|[-+~!@])|(?P<word>\w+|.)""",
    re.IGNORECASE | re.DOTALL,
)
_PLAIN = "write text in single quotes, '…', and comments after --"

#: The most arguments of each function that is known and does not take a list. The parser drops some that are too many.
MOST_ARGUMENTS = {
    name: most
    for most, names in (
        (
            1,
            "abs sign floor ceil ceiling lower upper lcase ucase length len strlen char_length character_length "
            "year month quarter day dayofmonth hour minute second dayofweek isodow dayofyear week weekofyear weekday "
            "isoyear epoch date dayname monthname sqrt ln log10 log2 exp geomean geometric_mean "
            "count_if countif sum avg mean min max median variance var_pop "
            "var_samp stddev stddev_pop stddev_samp bool_and bool_or grouping",
        ),
        (
            2,
            "power pow mod round trunc ifnull nullif trim ltrim rtrim left right starts_with prefix contains "
            "ends_with suffix date_part datepart date_trunc datetrunc date_add corr covar_pop covar_samp regr_slope "
            "regr_intercept regr_r2 regr_count regr_avgx regr_avgy weighted_avg wavg log "
            "quantile quantile_cont quantile_disc approx_quantile percentile_cont percentile_disc",
        ),
        (3, "if iif substr substring date_diff datediff"),
    )
    for name in names.split()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxFault:
    """What is wrong with a text, and where: the characters from `start` to `end`."""

    reason: str
    hint: str = ""
    start: int = 0
    end: int = 0


def split_statements(text: str) -> list[str]:
    """The statements of a batch, cut at semicolons that stand in no text, name or comment.

    >>> split_statements("select ';' from a; -- b;\\nselect 2;")
    ["select ';' from a", '-- b;\\nselect 2']
    """
    parts, start = [], 0
    for piece in _PIECE.finditer(text) if ";" in text else ():
        if piece.group() == ";":
            parts.append(text[start : piece.start()])
            start = piece.end()
    parts.append(text[start:])
    return [each.strip() for each in parts if next(_pieces(each), None) is not None]


def comments(text: str) -> Iterator[tuple[int, int, str]]:
    """The comments of a text: where each stands, and what it says.

    >>> list(comments("select '-- no' -- yes"))
    [(15, 21, ' yes')]
    """
    for piece in _PIECE.finditer(text):
        word = piece.group()
        if piece.lastgroup == "skip" and word[:2] in ("--", "/*"):
            yield piece.start(), piece.end(), word[2:] if word.startswith("--") else word[2:-2]


def _pieces(text: str) -> Iterator[re.Match[str]]:
    """What is neither a space nor a comment."""
    return (piece for piece in _PIECE.finditer(text) if piece.lastgroup != "skip")


def size_fault(text: str) -> SyntaxFault | None:
    """Whether a text is too long, or nested too deeply; what is no plain text, or no end of it, is not shown again."""
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise Refused(f"a query can have at most {MOST_BYTES // 1024} KB")
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise Refused("a query must be plain text")
    depth = cases = prefixes = lookups = 0
    for number, piece in enumerate(_pieces(text)):
        kind = piece.lastgroup
        if kind in ("odd", "unclosed"):
            return _fault(piece, "this kind of quote or comment is not supported", _PLAIN)
        prefixes = prefixes + 1 if kind == "prefix" else 0
        lookups += piece.group() == "["
        # Each closes its own kind only: `AS end` must not hide a parenthesis.
        depth += (kind == "open") - (kind == "close" and depth > 0)
        cases += (kind == "case") - (kind == "end" and cases > 0)
        if max(depth + cases, prefixes) > MOST_DEPTH or number >= MOST_TOKENS or lookups > MOST_LOOKUPS:
            reason = f"this query is too long or nested deeper than {MOST_DEPTH} levels"
            return _fault(piece, reason, "make it shorter, or reduce the nesting")
    return None


def _fault(piece: re.Match[str], reason: str, hint: str) -> SyntaxFault:
    return SyntaxFault(reason=reason, hint=hint, start=piece.start(), end=piece.end())


def argument_count_fault(text: str) -> SyntaxFault | None:
    """The first argument that is one too many. The text is well formed.

    >>> argument_count_fault("select mod(n, (2, 3), 4), least(1, 2, 3)").start
    22
    """
    calls: list[tuple[str, int]] = []
    before, late = "", ""
    for piece in _pieces(text):
        word = piece.group()
        if late:
            return _fault(piece, f"too many arguments for {late}", "")
        if piece.lastgroup == "open":
            calls.append((before if word == "(" else "", 1))
        elif piece.lastgroup == "close" and calls:
            calls.pop()
        elif word == "," and calls:
            name, count = calls[-1]
            calls[-1] = name, count + 1
            late = name if count >= MOST_ARGUMENTS.get(name, count + 1) else ""
        before = word.strip('"').lower()
    return None
