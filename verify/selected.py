"""What the text of a query selects: the name of each column, and what it is computed by, read word by word.

It is not parsed: a column is only compared with what its words say. Swapped names, keys and formulas are seen so.
"""

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from measured import ratio
from relation import Broken, Open

WORD = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\d+(?:\.\d+)?|\w+|[^\s\w]", re.S)
#: What aggregates of a formula are called in SQL.
CALLED = {
    "average": {"avg", "mean", "average"},
    "var_samp": {"var_samp", "variance", "var"},
    "var_pop": {"var_pop", "variance_pop"},
    "stddev_samp": {"stddev", "stddev_samp"},
    "stddev_pop": {"stddev_pop"},
    "count": {"count", "count_if", "countif"},
    "sum": {"sum"},
    "quantile": {"median", "min", "max"}
    | {f"{name}_{form}" for name in ("quantile", "percentile") for form in ("cont", "disc")}
    | {"quantile"},
}  # fmt: skip
AGGREGATE = set().union(*CALLED.values())


def statements(words: str) -> list[list[list[str]]]:
    """For each statement the items that it selects, each a list of words in lower case."""
    found: list[list[list[str]]] = [[]]
    depth, inside = 0, False
    for word in (each for each in WORD.findall(words) if not each.startswith(("--", "/*"))):
        lower = word.lower() if word[0] not in "'\"" else word.replace('"', "").lower() if word[0] == '"' else word
        depth += (word == "(") - (word == ")")
        if depth == 0 and lower in ("select", "from", ";", "union"):
            inside = lower == "select"
            if inside and found[-1]:
                raise Open("the text has several queries in one")
            found += [[]] if lower == ";" else []
            found[-1] += [[]] if inside else []
        elif inside and depth == 0 and word == ",":
            found[-1].append([])
        elif inside and not (lower == "distinct" and found[-1] == [[]]):
            found[-1][-1].append(lower)
    return [each for each in found if each]


def item(words: list[str]) -> tuple[str | None, list[str]]:
    """The name that a column is given, None for none, and the words that it is computed by."""
    if len(words) > 2 and words[-2] == "as":
        return words[-1], words[:-2]
    if len(words) in (1, 3) and (len(words) == 1 or words[1] == "."):
        return words[-1], words
    if len(words) > 2 and words[-2] == ")" and re.fullmatch(r"\w+", words[-1]):
        return words[-1], words[:-1]
    return None, words


def outside(words: list[str]) -> list[str]:
    """Words without what is inside of the calls of aggregates and of their FILTER, and without brackets."""
    left: list[str] = []
    depth = 0
    for place, word in enumerate(words):
        opens = word == "(" and (depth > 0 or (place > 0 and words[place - 1] in AGGREGATE | {"filter"}))
        if opens or depth:
            depth += (word == "(") - (word == ")")
        elif word not in ("(", ")", "filter"):
            left.append(word)
    return left


def compare(tree: Any, words: list[str], statistics: list[Any]) -> None:
    """Whether a column is computed by what its words say: aggregates, functions, operators, numbers, each as often.

    statistics: without those over columns that a join or a subquery gave another name.
    """
    left = outside(words)
    said = Counter(next((name for name, called in CALLED.items() if word in called), word) for word in left)
    if said != Counter(spoken(tree, words, statistics)):
        raise Open("its words in the text say something else than it is computed by")


def spoken(tree: Any, words: list[str], statistics: list[Any]) -> Iterator[str]:
    """The words that a tree would be said by, numbers as they are written in the text."""
    kind, *parts = tree
    if kind == "number":
        yield next((word for word in words if word[0].isdigit() and Fraction(word) == ratio(parts[0])), parts[0])
    elif kind == "statistic" or kind in CALLED:
        own = [statistics[part] for part in parts if type(part) is int] if kind != "quantile" else [["sum", parts[0]]]
        for of in [each[1]["column"] for each in own if each[0] == "sum" and "column" in (each[1] or {})]:
            if of.lower() not in words:
                raise Open("its words in the text name another column than it is computed by")
        yield kind if kind != "statistic" else "sum" if own[0][0] == "sum" else "count"
    else:
        yield kind
        for part in parts:
            yield from spoken(part, words, statistics)


def named(columns: list[str], items: list[list[str]]) -> list[list[str]]:
    """The words of each column, if columns are called as the text calls them."""
    found = [item(each) for each in items]
    if len(found) != len(columns):
        raise Open("the text selects other columns, or is not read here")
    known = [name for name, _ in found]
    for name, told, words in zip((each.lower().rstrip("_") for each in columns), known, found, strict=True):
        plain = "".join(words[1]).replace('"', "")
        if (told is None and name.replace(" ", "") != plain) or (told is not None and name != told.rstrip("_")):
            if name in [each and each.rstrip("_") for each in known]:
                raise Broken(f"the column {name} is called as another one is in the text")
            raise Open("a column has another name than in the text, or one that the text does not say")
    return [words for _, words in found]
