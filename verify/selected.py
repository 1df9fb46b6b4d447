"""What the text of a query selects: the name of each column, and what it is computed by, read word by word.

It is not parsed: a column is only compared with what its words say. Swapped names, keys and formulas are seen so.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from formulas import AGGREGATES
from measured import ratio, read_of
from relation import Broken, Node, Open, columns, plain, tested, text

WORD = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\d+(?:\.\d+)?|\w+|[^\s\w]", re.S)
#: What aggregates of a formula are called in SQL.
CALLED = {name: {name} for name in AGGREGATES} | {
    "average": {"avg", "mean", "average"},
    "var_samp": {"var_samp", "variance", "var"},
    "var_pop": {"var_pop", "variance_pop"},
    "stddev_samp": {"stddev", "stddev_samp"},
    "count": {"count", "count_if", "countif"},
    "sum": {"sum"},
    "quantile": {"median", "min", "max", "quantile"}
    | {f"{name}_{form}" for name in ("quantile", "percentile") for form in ("cont", "disc")},
}  # fmt: skip
AGGREGATE = set().union(*CALLED.values())
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
#: Aggregates in which one column comes before the other; those that are never computed by another one, and those of a
#: subquery.
ORDERED = {"regr_slope", "regr_intercept"}
SURE = set(CALLED) - {"count", "sum"}
INNER = {"rows": "count", "distinct": "count", "sum": "sum", "mean": "avg", "lowest": "min", "highest": "max"}
#: Where what FROM and JOIN name begins and ends.
CLAUSES = {"from", "join", "left", "inner", "outer", "on", "using", "where", "group", "having", "order", "limit", ";"}
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


def clauses(words: list[str], first: set[str], last: set[str]) -> list[list[list[str]]]:
    """For each statement the items behind some words, up to others."""
    found: list[list[list[str]]] = [[]]
    depth, inside = 0, False
    for word in words:
        depth += (word == "(") - (word == ")")
        if depth == 0 and word in first | last | {";"}:
            inside = word in first
            if word == "select" and found[-1]:
                raise Open("the text has several queries in one")
            found += [[]] if word == ";" else []
            found[-1] += [[]] if inside else []
        elif inside and depth == 0 and word == ",":
            found[-1].append([])
        elif inside and not (word == "distinct" and found[-1] == [[]]):
            found[-1][-1].append(word)
    return [each for each in found if each]


def statements(words: list[str]) -> list[list[list[str]]]:
    """For each statement the items that it selects."""
    return clauses(words, {"select"}, {"from", "union"})


def called_tables(words: list[str]) -> list[list[str]]:
    """For each statement what the tables of its FROM are called, in their order."""
    return [[table[-1] for table in each] for each in clauses(words, {"from", "join"}, CLAUSES)]


def item(words: list[str]) -> tuple[str | None, list[str]]:
    """The name that a column is given, None for none, and the words that it is computed by."""
    if len(words) > 2 and words[-2] == "as":
        return words[-1], words[:-2]
    if len(words) in (1, 3) and (len(words) == 1 or words[1] == "."):
        return words[-1], words
    if len(words) > 2 and words[-2] == ")" and re.fullmatch(r"\w+", words[-1]):
        return words[-1], words[:-1]
    return None, words


def apart(words: list[str]) -> tuple[list[str], list[list[str]]]:
    """Words with a mark in the place of each aggregate, and the words of these, with those of their FILTER."""
    found, depth, inside = list[str](), 0, list[list[str]]()
    for place, word in enumerate(words):
        if depth == 0 and word in AGGREGATE and words[place + 1 : place + 2] == ["("]:
            inside.append([word])
            found.append(f"leaf[{len(inside) - 1}]")
        elif depth or (inside and (word == "filter" or (word == "(" and words[place - 1] in AGGREGATE | {"filter"}))):
            inside[-1].append(word)
            depth += (word == "(") - (word == ")")
        else:
            found.append(word)
    return found, inside


def outside(words: list[str]) -> list[str]:
    """Words without what is inside of the calls of aggregates and of their FILTER, and without brackets."""
    found, inside = apart(words)
    heads = (own[0] for own in inside)
    return [next(heads) if word.startswith("leaf[") else word for word in found if word not in ("(", ")", ",")]


def parsed(words: list[str]) -> Any:
    """The words of a column as a tree like those of formulas, in which an aggregate has its own words.

    Sums, products and brackets bind in SQL as they do in Python, whose grammar reads them; nothing is run.
    """
    found, inside = apart(words)

    def tree(node: Any) -> Any:
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGNS:
                return [SIGNS[type(op)], tree(left), tree(right)]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
                return ["number", Fraction("-" + ast.unparse(node.operand))]
            case ast.UnaryOp(op=ast.USub(), operand=of):
                return ["*", ["number", Fraction(-1)], tree(of)]
            case ast.Constant(value=int() | float()):
                return ["number", Fraction(ast.unparse(node))]
            case ast.Subscript(slice=ast.Constant(value=int(number))):
                own = inside[number]
                return [next(name for name, called in CALLED.items() if own[0] in called), own]
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return [name, *map(tree, args)]
        raise Open("its words in the text are not read here")

    try:
        return tree(ast.parse(" ".join(found), mode="eval").body)
    except SyntaxError:
        raise Open("its words in the text are not read here") from None


def shape(tree: Any, leaf: Callable[[Any], str]) -> str:
    """A tree in one spelling, in which the order of terms and of factors says nothing."""
    kind, *parts = tree
    if kind in ("+", "-", "*", "/"):
        signs = "+-" if kind in "+-" else "*/"
        return f"({' '.join(sorted(terms(tree, signs, leaf, turned=False)))})"
    if kind == "number":
        return str(ratio(parts[0]) if isinstance(parts[0], str) else parts[0])
    if kind == "statistic" or kind in CALLED:
        return leaf(tree)
    return f"{kind}({', '.join(shape(part, leaf) for part in parts)})"


def terms(tree: Any, signs: str, leaf: Callable[[Any], str], *, turned: bool) -> Iterator[str]:
    kind, *parts = tree
    if kind in ("+", "-", "*", "/") and kind in signs:
        yield from terms(parts[0], signs, leaf, turned=turned)
        yield from terms(parts[1], signs, leaf, turned=turned != (kind == signs[1]))
    else:
        yield signs[turned] + shape(tree, leaf)


class Spoken:
    """What a column is computed by, as a query would say it. `inner`: what each name of a subquery stands for.

    persons: the columns by which people are identified. nullable: those that may be NULL.
    """

    def __init__(self, question: Node, words: list[str], persons: set[str], known: Node) -> None:
        self.statistics, self.quantiles = (sorted(question[name], key=text) for name in ("statistics", "quantiles"))
        self.made, self.words = dict(made(question["plan"])), words
        self.persons, self.nullable = persons, {name.lower() for name, (_, _, null) in known.items() if null}
        self.called, *others = called_tables(words) or [[]]
        if others and others != [self.called] * len(others):
            raise Open("its statements join other tables, or call them otherwise")
        self.brought = dict(brought(question["plan"], len(self.called) - 1))
        self.several = {name for name, many in Counter(map(plain, known)).items() if many > 1 < len(self.called)}
        self.inner: dict[str, list[list[str]]] = {}
        for name, own in (item(each) for each in nested(words)):
            if name is not None and own not in self.inner.setdefault(name, []):
                self.inner[name].append(own)

    def compare(self, tree: Any, words: list[str]) -> None:
        """Whether a column is computed by what its words say: aggregates, functions, operators, numbers, as often and
        in the same order, but for that of terms and factors.

        Of what is summed or counted only its columns are compared, and whether it is counted once.
        """
        said, own = counted(words), Counter(self.spoken(tree, words))
        if said == own:
            every = {name for leaf in leaves(tree) for name in self.named(leaf)}
            if sum(len(self.named(leaf)) < len(self.read(leaf)) for leaf in leaves(tree)) > 1:
                raise Open("it is computed from several numbers of a subquery, whose names are not compared")

            def leaf_of(leaf: Any) -> str:
                kind, own = leaf
                counts = kind == "count" and "distinct" not in own  # of a column: where it has a value
                meant = {self.means(word) or word for word in own}
                sides = {each for each in self.sides(own) if each[0] in every}
                if kind in ORDERED:
                    parts = [set(part.split()) for part in " ".join(own[2:-1]).split(" , ")]
                    named_ = [sorted({self.means(word) or word for word in part} & every) for part in parts]
                    return f"{kind} of {named_} {sorted(map(str, sides))}"
                return spelled(kind, meant & (every | self.nullable if counts else every), own, sides)

            if shape(tree, lambda leaf: self.leaf(leaf, every)) != shape(parsed(words), leaf_of):
                raise Open("its words in the text say the same in another order, or of other columns")
            return
        if own["coalesce"] and {"coalesce", "ifnull", "isnull", "nvl"}.isdisjoint(self.words):
            raise Broken("it takes another number where one is not known, and nothing in the text says so")
        if any(said[name] and own[other] and not own[name] for name in SURE for other in SURE):
            raise Broken("its words in the text name another aggregate than it is computed by")
        raise Open("its words in the text say something else than it is computed by")

    def spoken(self, tree: Any, words: list[str]) -> Iterator[str]:
        """The words that a tree would be said by, numbers as they are written in the text."""
        kind, *parts = tree
        if kind == "number":
            yield next((word for word in words if word[0].isdigit() and Fraction(word) == ratio(parts[0])), parts[0])
        elif kind == "statistic" or kind in CALLED:
            for of, *more in self.statistics_of(tree):
                self.mentioned(of, more, words)
            sums = kind == "statistic" and self.statistics[parts[0]][0] == "sum"
            yield kind if kind != "statistic" else "sum" if sums else "count"
        else:
            yield kind
            for part in parts:
                yield from self.spoken(part, words)

    def statistics_of(self, leaf: Any) -> list[Any]:
        every = self.quantiles if leaf[0] == "quantile" else self.statistics
        return [every[part] for part in leaf[1:] if type(part) is int]

    def named(self, leaf: Any) -> set[str]:
        """The columns of an aggregate: what it is of, and of its condition, but for those that a subquery computes."""
        names = {name if "." in name or name not in self.made else self.alias(name) for name in self.read(leaf)}
        return {plain(name) for name in names if name is not None}

    def origin(self, name: str) -> tuple[str, Any]:
        """How a column of a subquery is made, and of which column."""
        kind, of = "column", name
        while kind == "column" and of in self.made:
            kind, of = self.made[of]
        return kind, of

    def alias(self, name: str) -> str | None:
        """What the text calls a column of a subquery, if one word and no other column is computed as it is."""
        kind, of = self.origin(name)
        called = [word for word, own in self.inner.items() if len(own) == 1 and is_of(own[0], kind, of)]
        alike = [each for each in self.made if self.origin(each) == (kind, of)]
        return called[0] if len(called) == len(alike) == 1 else None

    def read(self, leaf: Any) -> set[str]:
        every = [read_of(of, more) | tested(more[-1]) for of, *more in self.statistics_of(leaf)]
        return set[str]().union(*every)

    def leaf(self, leaf: Any, every: set[str]) -> str:
        kind, (first, *_) = leaf[0], self.statistics_of(leaf)
        if kind in ORDERED:  # of the sum of y, then of that of x
            sides = [columns(self.statistics[leaf[place]][1]) for place in (4, 2)]
            joined = sorted(map(str, self.joined(self.read(leaf))))
            return f"{kind} of {[sorted(map(plain, side)) for side in sides]} {joined}"
        once = kind == "statistic" and first[0] in ("persons", "distinct")
        if kind == "statistic":
            kind = "sum" if first[0] == "sum" else "count"
        return spelled(kind, self.named(leaf) & every, ["distinct"] if once else [], self.joined(self.read(leaf)))

    def joined(self, names: set[str]) -> set[tuple[str, int | None]]:
        """Of columns that several tables of FROM have, which of them each is of."""
        return {(plain(name), self.brought.get(name, 0)) for name in names if plain(name) in self.several}

    def sides(self, words: list[str]) -> set[tuple[str, int | None]]:
        """The same as words say it: by the name before a column, or the first table."""
        meant = [(place, self.means(word)) for place, word in enumerate(words)]
        tables = {None: 0} | {name: side for side, name in enumerate(self.called)}
        return {
            (own, tables.get(words[place - 2] if words[place - 1 : place] == ["."] else None))
            for place, own in meant
            if own in self.several
        }

    def means(self, word: str) -> str | None:
        """The column that a word stands for: itself, or what a subquery calls so; None for what is computed."""
        passed = {word}
        while word in self.inner:
            own = self.renamed(word)
            if own is None or (own[0] != word and own[0] in passed):
                return None
            if own[0] == word:
                break
            word = own[0]
            passed.add(word)
        return word

    def mentioned(self, of: Any, more: list[Any], words: list[str]) -> None:
        """Whether words name the columns of a statistic or of a quantile: what it is of, and its condition."""
        if isinstance(of, list):
            ranks = [EXTREMES[word] for word in words if word in EXTREMES]
            ranks = ranks or [Fraction(word) for word in words if word[0].isdigit()]
            if ratio(more[0]) not in ranks:
                sure = len(ranks) == 1 and LEAST < ranks[0] < 1 - LEAST
                raise (Broken if sure else Open)("its words in the text name another quantile")
        if of == "persons" and not self.persons & set(map(self.means, words)):
            raise Open("its words in the text do not name the columns that identify people")
        read = read_of(of, more)
        for name in read | tested(more[-1]):
            if name in self.made:
                self.inside(name, words)
            elif name.lower() not in map(self.means, words):
                sure = name in read and not set(words) & set(self.inner)  # else a subquery may call it otherwise
                raise (Broken if sure else Open)(f"its words in the text do not name the column {name}")

    def renamed(self, word: str) -> list[str] | None:
        """The column that a name of a subquery is another name of."""
        own = self.inner.get(word, [])
        return own[0][-1:] if len(own) == 1 and len(own[0]) in (1, 3) and own[0][1:2] in ([], ["."]) else None

    def inside(self, name: str, words: list[str]) -> None:
        """Whether words name a column of a subquery or of a joined table that is computed as this one is."""
        last, (kind, of) = name.partition(".")[2].lower(), self.origin(name)
        candidates = [last] if last else sorted(set(words) & set(self.inner))
        known = [(self.inner.get(word) or [[word]]) for word in candidates if word in words]
        said = [each[0] for each in known if len(each) == 1]
        if any(is_of(each, kind, of) for each in said):
            return
        single = len(said) == len(candidates) and all(
            len(own := outside(each)) == 1 and own[0] in AGGREGATE for each in said
        )
        raise (Broken if single else Open)("its words in the text name no column that is computed in this way")


def is_of(words: list[str], kind: str, of: str | None) -> bool:
    """Whether the words of a column of a subquery say how it is made."""
    return outside(words) == [INNER.get(kind, of)] and (of is None or of.lower() in words)


def leaves(tree: Any) -> Iterator[Any]:
    """The noisy numbers and aggregates of a tree."""
    kind, *parts = tree
    if kind == "statistic" or kind in CALLED:
        yield tree
    elif kind != "number":
        for part in parts:
            yield from leaves(part)


def spelled(kind: str, named: set[str], words: list[str], sides: set[tuple[str, int | None]]) -> str:
    once = kind == "count" and "distinct" in words
    return f"{kind}{' distinct' if once else ''} of {', '.join(sorted(named))} {sorted(map(str, sides))}"


def brought(plan: Node, joins: int) -> Iterator[tuple[str, int]]:
    """By which join of FROM, the last of so many, each column is brought."""
    while joins > 0 and "of" in plan:
        if "person" in plan or "public" in plan:
            yield from ((each if isinstance(each, str) else each[0], joins) for each in plan["columns"])
            joins -= 1
        plan = plan["of"]


def summed_times(words: list[str]) -> Fraction | None:
    """The number by which a column is multiplied inside of a sum that is all that is said."""
    said = r"sum \( (?:\w+ \. )?\w+ \* ([0-9.]+) \)|sum \( ([0-9.]+) \* (?:\w+ \. )?\w+ \)"
    found = re.fullmatch(said, " ".join(words))
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
