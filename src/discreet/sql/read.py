"""SQL to plan: the analyst's text ends here. What is not on the list is refused, with the clause at fault.

SELECT [keys,] count(*) FROM table [WHERE …] [GROUP BY keys]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from discreet.errors import Refused
from discreet.plan.cells import MOST_VALUES, Axis, Cells, Filter, Scan, axis, width_axis
from discreet.plan.predicate import FALSE, TRUE
from discreet.schema.column import Moment, Number, Text
from discreet.schema.schema import Schema, closest
from discreet.sql.text import Source, parse
from discreet.sql.where import Reader

_CLAUSES = {
    "distinct": ("SELECT DISTINCT is not known yet", "DISTINCT"),
    "joins": ("joins are not known yet", "JOIN"),
    "laterals": ("LATERAL is not known", "LATERAL"),
    "having": ("HAVING is not known yet", "HAVING"),
    "order": ("ORDER BY is not known yet; rows come sorted by their keys", "ORDER BY"),
    "limit": ("LIMIT is not known yet; without ORDER BY it would pick rows by chance", "LIMIT"),
    "offset": ("OFFSET is not known yet", "OFFSET"),
    "with_": ("WITH is not known yet", "WITH"),
    "windows": ("window functions are not known", "WINDOW"),
    "qualify": ("QUALIFY is not known", "QUALIFY"),
    "sample": ("sampling would add chance that nobody accounts for", "USING SAMPLE"),
}
_KNOWN = {"expressions", "from_", "where", "group"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One column of the answer: a key (which axis) or the noisy count."""

    name: str
    kind: Literal["key", "noisy"]
    axis: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question that was read: what to measure, and how to show it."""

    text: str
    cells: Cells
    outputs: tuple[Output, ...]


def read(text: str, schemas: Mapping[str, Schema], *, public: frozenset[str] = frozenset()) -> Asked:
    """Read one question over declared tables. Refusals are free and the same on an empty table."""
    source, tree = parse(text)
    try:
        return _select(source, tree, schemas, public)
    except RecursionError:
        raise source.refusal("this is nested too deeply", hint="write it flatter") from None


def _select(source: Source, tree: exp.Expr, schemas: Mapping[str, Schema], public: frozenset[str]) -> Asked:
    if not isinstance(tree, exp.Select):
        raise source.refusal(
            "only SELECT can be answered",
            at=source.clause("UNION", "INTERSECT", "EXCEPT"),
            hint=_example(schemas),
        )
    _only_known_clauses(source, tree, example=_example(schemas))
    schema, names = _table(source, tree, schemas, public)
    reader = Reader(source=source, schema=schema, names=names)
    where = tree.args.get("where")
    predicate = reader.predicate(where.this) if where is not None else TRUE
    if predicate == FALSE:
        raise source.refusal(
            "no row can satisfy this condition, by what is declared",
            at=where,
            hint="look at the declared bounds",
        )
    keys = _Keys(reader=reader, tree=tree)
    axes = keys.group()
    outputs = keys.outputs(axes)
    ordered = sorted({(found.column, found.edges): found for found in axes.values()}.items())
    places = {identity: place for place, (identity, _) in enumerate(ordered)}
    try:
        cells = Cells(
            plan=Filter(source=Scan(table=schema.table), where=predicate),
            axes=tuple(found for _, found in ordered),
        )
    except Refused as problem:
        raise source.refusal(problem.reason, at=tree.args.get("group"), hint=problem.hint) from None
    return Asked(
        text=source.text,
        cells=cells,
        outputs=tuple(
            Output(name=name, kind="noisy")
            if found is None
            else Output(name=name, kind="key", axis=places[found.column, found.edges])
            for name, found in outputs
        ),
    )


def _example(schemas: Mapping[str, Schema]) -> str:
    """The simplest question that passes."""
    return f"SELECT count(*) FROM {next(iter(schemas), 'patients')}"


def _only_known_clauses(source: Source, tree: exp.Select, *, example: str) -> None:
    for name, value in tree.args.items():
        if not value or name in _KNOWN:
            continue
        reason, keyword = _CLAUSES.get(name, ("this clause is not known", "SELECT"))
        at = value[0] if name == "joins" else source.clause(keyword)
        raise source.refusal(reason, at=at, hint=example)


def _table(
    source: Source, tree: exp.Select, schemas: Mapping[str, Schema], public: frozenset[str]
) -> tuple[Schema, frozenset[str]]:
    """The one table of the question and the names it goes by."""
    clause = tree.args.get("from_")
    if clause is None:
        raise source.refusal("a question needs a table", hint=_example(schemas))
    node = clause.this
    plain = isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier)
    extra = [name for name, value in node.args.items() if value and name not in ("this", "alias")]
    alias = node.args.get("alias")
    if not plain or extra or (alias is not None and alias.args.get("columns")):
        raise source.refusal("FROM takes the name of one declared table", at=node, hint=_example(schemas))
    schema = next((known for name, known in schemas.items() if name.lower() == node.name.lower()), None)
    if schema is None:
        raise source.refusal(
            f"there is no declared table {node.name[:60]!r}", at=node, hint=closest(node.name, schemas)
        )
    if schema.table in public:
        raise source.refusal(f"{schema.table!r} is public: read it directly, it needs no budget", at=node)
    if not schema.unit.is_row:
        raise source.refusal(
            f"{schema.table!r} protects persons with many rows, which is not answered yet",
            at=node,
            hint="a table with one row a person, declared without `person`, can be asked now",
        )
    return schema, frozenset({(alias.name if alias is not None else node.name).lower()})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys:
    """The select list and GROUP BY of one question."""

    reader: Reader
    tree: exp.Select

    def group(self) -> dict[exp.Expr, Axis]:
        """The axes by the key expressions of GROUP BY, in its order."""
        clause = self.tree.args.get("group")
        axes: dict[exp.Expr, Axis] = {}
        if clause is None:
            return axes
        strange = [name for name, value in clause.args.items() if value and name != "expressions"]
        if strange or not clause.expressions:
            raise self._refusal("this form of GROUP BY is not known yet", at=clause)
        for node in clause.expressions:
            key = self._resolved(node)
            axes[key] = self._axis(key)
        return axes

    def outputs(self, axes: Mapping[exp.Expr, Axis]) -> list[tuple[str, Axis | None]]:
        """The columns of the answer: name, and axis or None for the count."""
        found: list[tuple[str, Axis | None]] = []
        counts = 0
        for node in self.tree.expressions:
            inner = node.this if isinstance(node, exp.Alias) else node
            if _is_count(inner):
                counts += 1
                found.append((_name(node, "count"), None))
            elif inner in axes:
                found.append((_name(node, _words(inner)), axes[inner]))
            else:
                raise self._row_level(inner, axes)
        if not counts:
            raise self._row_level(self.tree.expressions[0], axes)
        if len({name for name, _ in found}) != len(found):
            raise self._refusal("two columns of the answer have the same name", hint="give them aliases with AS")
        return found

    def _resolved(self, node: exp.Expr) -> exp.Expr:
        """A GROUP BY item as an expression: by number, by alias, or itself."""
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Literal) and not node.is_string:
            place = int(node.this) if str(node.this).isdigit() and len(node.this) < 6 else 0
            if not 1 <= place <= len(self.tree.expressions):
                raise self._refusal(f"GROUP BY {str(node.this)[:20]}: there is no such column", at=node)
            node = self.tree.expressions[place - 1]
            node = node.this if isinstance(node, exp.Alias) else node
        elif isinstance(node, exp.Column) and not node.table and self.reader.schema.column(node.name) is None:
            for item in self.tree.expressions:
                if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower():
                    node = item.this
                    break
        return node

    def _axis(self, node: exp.Expr) -> Axis:
        if _is_count(node):
            raise self._refusal("the count cannot be a key", at=node)
        if isinstance(node, exp.Column):
            column = self.reader.column(node)
            found = axis(column)
            if found is not None:
                return found
            if isinstance(column, Text):
                hint = f"declare {column.name} as a category with its values"
            elif isinstance(column, Number | Moment) and column.low is not None and column.high is not None:
                hint = f"declare bins for {column.name}: it has more than {MOST_VALUES:,} values"
            else:
                hint = f"declare low and high of {column.name}, and bins"
            raise self._refusal(
                f"the values of {column.name!r} are not declared, so its groups cannot be listed", node, hint
            )
        return self._floor(node)

    def _floor(self, node: exp.Expr) -> Axis:
        """floor(column / width) * width."""
        match node:
            case exp.Mul(
                this=exp.Floor(this=exp.Div(this=exp.Column() as inner, expression=one)) as floor, expression=two
            ) if not [name for name, value in floor.args.items() if value and name != "this"]:
                column = self.reader.column(inner)
                width, again = self.reader.constant(one), self.reader.constant(two)
                if isinstance(column, Number) and isinstance(width, Fraction) and width == again and width > 0:
                    steps = width / column.step
                    found = width_axis(column, int(steps)) if steps.denominator == 1 else None
                    if found is not None:
                        return found
                raise self._refusal(
                    "these bins are not known: the column needs low and high, the width must be on its grid",
                    node,
                )
        raise self._refusal(
            "a key is a declared column, or floor(column / width) * width",
            node,
            "GROUP BY floor(age / 10) * 10",
        )

    def _row_level(self, node: exp.Expr, axes: Mapping[exp.Expr, Axis]) -> Refused:
        """The refusal of anything that is neither a key nor count(*), with a rewrite that passes."""
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
            return self._refusal("SELECT * would show rows of people", node, self._rewrite([]))
        if inner in axes:
            return self._refusal("a question needs a count beside its keys", node, self._rewrite(list(axes)))
        if inner.find(exp.AggFunc) is not None:
            return self._refusal("only count(*) can be measured so far", node, self._rewrite(list(axes)))
        if isinstance(inner, exp.Column):
            self.reader.column(inner)  # an unknown column is a better thing to say
            keys = list(dict.fromkeys([*axes, inner]))
            what = "would show rows of people" if not axes else "is not in GROUP BY"
            return self._refusal(f"{_words(inner)!r} {what}", node, self._rewrite(keys))
        return self._refusal("an answer holds keys and count(*), nothing else", node, self._rewrite(list(axes)))

    def _rewrite(self, keys: list[exp.Expr]) -> str:
        """The question as a count by these keys, where that can be answered; else as a plain count."""
        source, schema = self.reader.source, self.reader.schema
        where = self.tree.args.get("where")
        table = source.words(self.tree.args["from_"].this)
        rest = f" FROM {table}" + (f" WHERE {source.words(where.this)}" if where is not None else "")
        listed = ", ".join(source.words(key) for key in keys)
        tries = [f"SELECT {listed}, count(*){rest} GROUP BY {listed}"] if keys else []
        for text in [*tries, f"SELECT count(*){rest}"]:
            try:
                read(text, {schema.table: schema})
            except Refused:
                continue
            return text
        return f"SELECT count(*) FROM {schema.table}"

    def _refusal(self, reason: str, at: exp.Expr | None = None, hint: str = "") -> Refused:
        return self.reader.source.refusal(reason, at=at, hint=hint)


def _is_count(node: exp.Expr) -> bool:
    """count(*), or count of a literal, which is the same."""
    if not isinstance(node, exp.Count) or node.expressions:
        return False
    return isinstance(node.this, exp.Star) or (isinstance(node.this, exp.Literal) and not node.this.is_string)


def _name(node: exp.Expr, otherwise: str) -> str:
    return node.alias if isinstance(node, exp.Alias) else otherwise


def _words(node: exp.Expr) -> str:
    return node.name if isinstance(node, exp.Column) else node.sql(dialect="duckdb").lower()
