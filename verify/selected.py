"""What the text of a query selects: the name of each column, and what it is computed by, read word by word.

It is not parsed: a column is only compared with what its words say. Swapped names, keys and formulas are seen so.
"""

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from measured import ratio
from relation import Broken, Node, Open, columns, tested

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
    "quantile": {"median", "min", "max", "quantile"}
    | {f"{name}_{form}" for name in ("quantile", "percentile") for form in ("cont", "disc")},
}  # fmt: skip
AGGREGATE = set().union(*CALLED.values())
#: Aggregates that are never computed by another one, and those of a subquery.
SURE = set(CALLED) - {"count", "sum"}
INNER = {"rows": "count", "distinct": "count", "sum": "sum", "mean": "avg", "lowest": "min", "highest": "max"}
#: Which quantile each is; those nearer to an extreme than this are moved there.
LEAST = Fraction(1, 10**5)
EXTREMES = {"median": Fraction(1, 2), "min": Fraction(1, 200), "max": Fraction(199, 200)}


def lowered(words: str) -> list[str]:
    """The words of a text in lower case, names without their quotes."""
    plain = [each for each in WORD.findall(words) if not each.startswith(("--", "/*"))]
    return [each if each[0] == "'" else each.replace('"', "").lower() or each for each in plain]


def nested(words: list[str]) -> Iterator[list[str]]:
    """The items that the subqueries of a text select."""
    for place, word in enumerate(words):
        if word == "(" and words[place + 1 : place + 2] == ["select"]:
            depth, end = 1, place + 1
            while depth and end < len(words):
                depth += (words[end] == "(") - (words[end] == ")")
                end += 1
            for each in statements(words[place + 1 : end - 1]):
                yield from each


def statements(words: list[str]) -> list[list[list[str]]]:
    """For each statement the items that it selects."""
    found: list[list[list[str]]] = [[]]
    depth, inside = 0, False
    for word in words:
        depth += (word == "(") - (word == ")")
        if depth == 0 and word in ("select", "from", ";", "union"):
            inside = word == "select"
            if inside and found[-1]:
                raise Open("the text has several queries in one")
            found += [[]] if word == ";" else []
            found[-1] += [[]] if inside else []
        elif inside and depth == 0 and word == ",":
            found[-1].append([])
        elif inside and not (word == "distinct" and found[-1] == [[]]):
            found[-1][-1].append(word)
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
        elif word not in ("(", ")", ",", "filter"):
            left.append(word)
    return left


class Spoken:
    """What a column is computed by, as a query would say it. `inner`: what each name of a subquery stands for."""

    def __init__(self, statistics: list[Any], quantiles: list[Any], plan: Node, words: list[str]) -> None:
        self.statistics, self.quantiles, self.made = statistics, quantiles, dict(made(plan))
        self.inner: dict[str, list[list[str]]] = {}
        for name, own in (item(each) for each in nested(words)):
            if name is not None and own not in self.inner.setdefault(name, []):
                self.inner[name].append(own)

    def compare(self, tree: Any, words: list[str]) -> None:
        """Whether a column is computed by what its words say: aggregates, functions, operators, numbers, each as often.

        Of what is summed or counted only its columns are compared.
        """
        said, own = counted(words), Counter(self.spoken(tree, words))
        if said == own:
            return
        if any(said[name] and own[other] and not own[name] for name in SURE for other in SURE):
            raise Broken("its words in the text name another aggregate than it is computed by")
        raise Open("its words in the text say something else than it is computed by")

    def spoken(self, tree: Any, words: list[str]) -> Iterator[str]:
        """The words that a tree would be said by, numbers as they are written in the text."""
        kind, *parts = tree
        if kind == "number":
            yield next((word for word in words if word[0].isdigit() and Fraction(word) == ratio(parts[0])), parts[0])
        elif kind == "statistic" or kind in CALLED:
            every = self.quantiles if kind == "quantile" else self.statistics
            for of, *more in [every[part] for part in parts if type(part) is int]:
                self.mentioned(of, more, words)
            sums = kind == "statistic" and self.statistics[parts[0]][0] == "sum"
            yield kind if kind != "statistic" else "sum" if sums else "count"
        else:
            yield kind
            for part in parts:
                yield from self.spoken(part, words)

    def mentioned(self, of: Any, more: list[Any], words: list[str]) -> None:
        """Whether words name the columns of a statistic or of a quantile: what it is of, and its condition."""
        if isinstance(of, list):
            ranks = [EXTREMES[word] for word in words if word in EXTREMES]
            ranks = ranks or [Fraction(word) for word in words if word[0].isdigit()]
            if ratio(more[0]) not in ranks:
                sure = len(ranks) == 1 and LEAST < ranks[0] < 1 - LEAST
                raise (Broken if sure else Open)("its words in the text name another quantile")
        read = columns(of[0]) if isinstance(of, list) else columns(more[0]) if of in ("sum", "distinct") else set()
        for name in read | tested(more[-1]):
            if name in self.made:
                self.inside(name, words)
            elif name.lower() not in words and [name.lower()] not in [self.plain(word) for word in words]:
                sure = name in read and not set(words) & set(self.inner)  # else a subquery may call it otherwise
                raise (Broken if sure else Open)(f"its words in the text do not name the column {name}")

    def plain(self, word: str) -> list[str] | None:
        """The column that a name of a subquery is another name of."""
        own = self.inner.get(word, [])
        return own[0][-1:] if len(own) == 1 and len(own[0]) in (1, 3) and own[0][1:2] in ([], ["."]) else None

    def inside(self, name: str, words: list[str]) -> None:
        """Whether words name a column of a subquery or of a joined table that is computed as this one is."""
        last, kind, of = name.partition(".")[2].lower(), "column", name
        while kind == "column" and of in self.made:
            kind, of = self.made[of]
        candidates = [last] if last else sorted(set(words) & set(self.inner))
        known = [(self.inner.get(word) or [[word]]) for word in candidates if word in words]
        said = [(outside(each[0]), each[0]) for each in known if len(each) == 1]
        if any(own == [INNER.get(kind, of)] and (of is None or of.lower() in each) for own, each in said):
            return
        single = len(said) == len(candidates) and all(len(own) == 1 and own[0] in AGGREGATE for own, _ in said)
        raise (Broken if single else Open)("its words in the text name no column that is computed in this way")


def summed_times(words: list[str]) -> Fraction | None:
    """The number by which a column is multiplied inside of a sum that is all that is said."""
    found = re.fullmatch(
        r"sum \( (?:\w+ \. )?\w+ \* ([0-9.]+) \)|sum \( ([0-9.]+) \* (?:\w+ \. )?\w+ \)", " ".join(words)
    )
    return found and Fraction(found[1] or found[2])


def counted(words: list[str]) -> Counter[str]:
    """How often words say what: of aggregates, by one name for each."""
    return Counter(next((name for name, called in CALLED.items() if word in called), word) for word in outside(words))


def made(plan: Node) -> Iterator[tuple[str, tuple[str, Any]]]:
    """How each column of a join or a subquery is made: an aggregate or an expression, and the one column it is of."""
    for name, (kind, *parts) in plan.get("per-person", []):
        of = columns(parts[0]) if len(parts) > 1 else set()
        yield name, (kind, next(iter(of)) if len(of) == 1 else None)
    for name in plan["columns"] if "public" in plan else []:
        yield name, ("column", name.partition(".")[2])
    for name, of in [*plan.get("by", []), *(plan["columns"] if "person" in plan else [])]:
        yield name, ("column", of["column"]) if "column" in of else ("expression", None)
    for part in (plan.get("of"), plan.get("person")):
        if isinstance(part, dict):
            yield from made(part)


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
