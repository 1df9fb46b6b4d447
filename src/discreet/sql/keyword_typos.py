"""Keywords that were meant: for SQL that cannot be read, the word before the fault that looks like one of them."""

from __future__ import annotations

import difflib
import re

from discreet.sql.text_limits import SyntaxFault

_KEYWORDS = ("select", "from", "where", "group", "having", "order", "limit", "distinct", "between", "join", "with")
#: Words of a text: what stands in quotes or behind a comment's sign is none.
_WORD = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n\r]*|/\*.*?\*/|(?P<word>[a-z_]\w*)""", re.IGNORECASE | re.DOTALL
)
#: How alike two words must be: a letter left out, doubled, wrong or moved, and no more.
_ALIKE = 0.72


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
