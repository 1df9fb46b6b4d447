"""What can be taken beside a refusal with one click: a query that is answered, another wish, a word spelled right."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator

from discreet.console.pages.vocabulary import quoted_name
from discreet.errors import BudgetExceeded, DiscreetError, Flag, Refused, Statement, pieces_of
from discreet.project.project import Project
from discreet.schema.column import CategoryColumn
from discreet.sql.function_names import FUNCTIONS, closest_function
from discreet.sql.query_parser import parse_batch

#: What the page calls the two wishes.
LABELS = {"epsilon": "epsilon", "within": "plus or minus"}

_WORD = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[^\W\d]\w*")
_CLAUSES = (
    "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "JOIN", "BETWEEN", "LIKE", "WITH",
)  # fmt: skip
#: How like a word must be, and how many are offered.
_ALIKE, _MOST = 0.6, 3


def offers(problem: Exception, text: str, start: int | None, project: Project) -> list[dict[str, str]]:
    """What can be taken as it is. `start`: where in the text a refusal points."""
    if not isinstance(problem, DiscreetError):
        return []
    for piece in pieces_of(problem.hint):
        match problem, piece:
            case Refused(), Statement(sql=sql) if _is_answerable(sql, project):
                return [{"take": f"sql {sql.strip()}", "words": "Use this query"}]
            case BudgetExceeded(), Flag(name=name) if name in LABELS and piece.value_text:
                return [{"take": f"{name} {piece.value_text}", "words": f"Use {LABELS[name]} {piece.value_text}"}]
    if isinstance(problem, Refused) and start is not None:
        return list(_spelled(text, start, start + problem.width, project))
    return []


def _is_answerable(text: str, project: Project) -> bool:
    try:
        project.sql(text.strip())
    except DiscreetError:
        return False
    return True


def _spelled(text: str, start: int, end: int, project: Project) -> Iterator[dict[str, str]]:
    """The same text with a word that it may mean: what is then accepted, or else what is refused only further on."""
    further = []
    for word in dict.fromkeys(_WORD.findall(text[start:end])):
        if word.upper() in _CLAUSES:
            continue
        for near in _near_words(word, project):
            corrected = _replace(text, word, near)
            if corrected != text and (progress := _progress(corrected, project)) > len(
                _replace(text[:start], word, near)
            ):
                further.append((progress, {"take": f"sql {corrected}", "words": f"Use {near.strip(chr(34))}"}))
    accepted = [offer for progress, offer in further if progress == math.inf]
    yield from (accepted or [offer for _, offer in further])[:_MOST]


def _replace(text: str, word: str, near: str) -> str:
    """A text with another word everywhere, but not inside of names and of quoted texts."""
    return _WORD.sub(lambda match: near if match[0] == word else match[0], text)


def _near_words(word: str, project: Project) -> list[str]:
    """Words of the declarations that are like a word of a query, as SQL writes them."""
    tables = project.file.tables.values()
    if word.startswith("'"):
        values = [
            value
            for table in tables
            for column in table.schema.columns
            if isinstance(column, CategoryColumn)
            for value in column.values
        ]
        return ["'" + near.replace("'", "''") + "'" for near in _alike(word[1:-1].replace("''", "'"), values)]
    plain = word[1:-1].replace('""', '"') if word.startswith('"') else word
    names = [each.name for each in tables] + [column.name for each in tables for column in each.schema.columns]
    function = closest_function(plain)
    near = [quoted_name(each) for each in _alike(plain, names)]
    return list(dict.fromkeys([*([function] if function else []), *near, *_alike(plain, [*_CLAUSES, *FUNCTIONS])]))


def _alike(word: str, candidates: list[str]) -> list[str]:
    by_lower = {each.lower(): each for each in candidates}
    return [by_lower[each] for each in difflib.get_close_matches(word.lower()[:60], by_lower, n=_MOST, cutoff=_ALIKE)]


def _progress(text: str, project: Project) -> float:
    """Where in a text a refusal points; nowhere in a text that is accepted."""
    try:
        parse_batch(text, project.versions.catalog())
    except Refused as problem:
        return refusal_offset(problem, text)
    except DiscreetError:
        return -1
    return math.inf


def refusal_offset(problem: Refused, text: str) -> int:
    """Where in the text a refusal points. Of a batch it knows its own statement alone."""
    before = max(0, text.find(problem.sql)) if problem.sql else 0
    lines = problem.sql.split("\n")[: problem.line - 1]
    return min(len(text), before + sum(len(line) + 1 for line in lines) + problem.column - 1)
