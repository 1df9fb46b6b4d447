"""Questions in SQL about a world, from a seed: every clause, function and form that the reader knows.

They need not all be accepted, and need not make sense; most are, and do.
"""

from dataclasses import dataclass
from fractions import Fraction
from random import Random

from discreet.schema.column import Boolean, Category, Column, Moment, Number, Text
from laws.worlds import World, _iso


@dataclass(frozen=True, kw_only=True)
class Name:
    """Something with a value, as SQL, and what is public about it."""

    sql: str
    kind: str
    low: Fraction | None = None
    high: Fraction | None = None
    words: tuple[str, ...] = ()
    edges: bool = False

    @property
    def few(self) -> bool:
        return self.low is not None and self.high is not None and self.high - self.low <= 60


@dataclass(frozen=True, kw_only=True)
class From:
    """What stands after FROM, before it (WITH), and the names that it brings."""

    text: str
    names: tuple[Name, ...]
    person: tuple[str, ...] = ()
    before: str = ""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass
class Asker:
    """Makes questions about a world; the same seed makes the same questions."""

    world: World
    random: Random

    def question(self) -> str:
        source = self._from()
        self._names = source.names
        keys = self._keys()
        outputs = [*keys, *self._aggregates(source)] if self.random.random() < 0.95 else keys
        listed = ", ".join(f"{output} AS c{place}" for place, output in enumerate(outputs))
        where = f" WHERE {self._condition(2)}" if self.random.random() < 0.45 else ""
        group = self._group(keys)
        having = " HAVING count(*) > 3" if self.random.random() < 0.05 else ""
        order = f" ORDER BY {len(outputs)} DESC LIMIT 3" if self.random.random() < 0.08 else ""
        return f"{source.before}SELECT {listed} FROM {source.text}{where}{group}{having}{order}"

    # FROM

    def _from(self) -> From:
        if self.world.person is None:
            forms = [self._table, self._table, self._public, self._subquery, self._with]
        else:
            forms = [self._table, self._table, self._public, self._subquery, self._with,
                     self._joined, self._joined, self._per_person, self._per_person, self._per_person]  # fmt: skip
        return self.random.choice(forms)()

    def _table(self, alias: str = "t", name: str | None = None) -> From:
        name = name or self.random.choice(list(self.world.sources))
        source = self.world.sources[name]
        prefix = f"{alias}." if self.random.random() < 0.5 else ""
        names = tuple(_name(column, prefix) for column in source.schema.columns)
        person = tuple(f"{alias}.{part}" for part in source.schema.unit.person) or (f"{alias}.person",)
        has_person = any(column.name == "person" for column in source.schema.columns)
        known = () if source.schema.unit.is_row or (not source.schema.unit.person and has_person) else person
        return From(text=f"{name} AS {alias}", names=names, person=known)

    def _public(self) -> From:
        inner = self.random.choice([self._table, self._table, self._subquery])()
        (public,) = self.world.publics.values()
        left = [name for name in inner.names if name.kind in ("category", "integer", "text")]
        if not left:
            return inner
        mine = self.random.choice(left)
        on = f"{mine.sql} = r.{'age' if mine.kind == 'integer' else 'sort'}"
        if len(left) > 1 and self.random.random() < 0.2:
            other = self.random.choice(left)
            on += f" AND {other.sql} = r.{'age' if other.kind == 'integer' else 'sort'}"
        word = self.random.choice(["JOIN", "LEFT JOIN"])
        third = public.schema.columns[2].name
        theirs = (
            Name(sql="r.sort", kind="category", words=("flu",)),
            Name(sql="r.age", kind="integer", low=Fraction(0), high=Fraction(7)),
            Name(sql=f"r.{quoted(third)}", kind="category", words=("north", "south")),
            Name(sql="r.people", kind="integer", low=Fraction(-9), high=Fraction(50)),
        )
        names = tuple(name for name in inner.names if "." in name.sql or name.sql.strip('"') not in ("sort", "age"))
        return From(
            text=f"{inner.text} {word} regions AS r ON {on}",
            names=(*(names or inner.names), *theirs),
            person=inner.person,
            before=inner.before,
        )

    def _subquery(self) -> From:
        """Some columns of a table, computed and picked row by row."""
        inner = self._table()
        self._names = inner.names
        made = [self._computed(place) for place in range(self.random.randint(2, 4))]
        listed = [f"{name.sql} AS {new.sql}" for name, new in made]
        listed += [f"{part} AS {part.split('.')[1]}" for part in inner.person]
        where = f" WHERE {self._condition(1)}" if self.random.random() < 0.5 else ""
        names = tuple(new for _, new in made)
        person = tuple(f"q.{part.split('.')[1]}" for part in inner.person)
        return From(text=f"(SELECT {', '.join(listed)} FROM {inner.text}{where}) AS q", names=names, person=person)

    def _computed(self, place: int) -> tuple[Name, Name]:
        found = self._number(1) if self.random.random() < 0.4 else self.random.choice(self._names)
        new = Name(sql=f"x{place}", kind=found.kind, low=found.low, high=found.high, words=found.words)
        return found, new

    def _with(self) -> From:
        inner = self._subquery() if self.world.person is None or self.random.random() < 0.5 else self._per_person()
        body = inner.text[: -len(" AS q")]
        return From(text="w AS q", names=inner.names, person=inner.person, before=f"WITH w AS {body} ")

    def _joined(self) -> From:
        """Two private tables on their person; either may be a subquery."""
        left = self._table("t", self.random.choice(["visits", "bills"]))
        right = self.random.choice([
            lambda: self._table("u", self.random.choice(["visits", "bills"])), self._per_person, self._subquery,
        ])()  # fmt: skip
        if len(left.person) != len(right.person):
            return left
        word = self.random.choice(["JOIN", "LEFT JOIN"])
        on = " AND ".join(f"{one} = {two}" for one, two in zip(left.person, right.person, strict=True))
        alias = right.person[0].split(".")[0]
        names = [
            Name(sql=name.sql if "." in name.sql and not name.sql.startswith('"') else f"{prefix}.{name.sql}",
                 kind=name.kind, low=name.low, high=name.high, words=name.words, edges=name.edges)
            for prefix, side in (("t", left), (alias, right))
            for name in side.names
        ]  # fmt: skip
        return From(text=f"{left.text} {word} {right.text} ON {on}", names=tuple(names), person=left.person)

    def _per_person(self) -> From:
        """One row for each person, or for each person and key."""
        inner = self._table(name=self.random.choice(["visits", "visits", "bills"]))
        if self.random.random() < 0.25:
            inner = self._joined()
        self._names = inner.names
        keys = [self.random.choice(self._names) for _ in range(self.random.choice([0, 0, 1]))]
        values = [self._inner() for _ in range(self.random.randint(1, 3))]
        listed = [f"{part} AS {part.split('.')[1]}" for part in inner.person]
        listed += [f"{key.sql} AS g{place}" for place, key in enumerate(keys)]
        listed += [f"{value.sql} AS v{place}" for place, value in enumerate(values)]
        where = f" WHERE {self._condition(1)}" if self.random.random() < 0.3 else ""
        having = f" HAVING {self.random.choice(values).sql} {self._operator()} 1" if self.random.random() < 0.4 else ""
        group = ", ".join([*inner.person, *(key.sql for key in keys)])
        names = [
            Name(sql=f"{letter}{place}", kind=name.kind, low=name.low, high=name.high, words=name.words)
            for letter, found in (("g", keys), ("v", values))
            for place, name in enumerate(found)
        ]
        person = tuple(f"q.{part.split('.')[1]}" for part in inner.person)
        text = f"(SELECT {', '.join(listed)} FROM {inner.text}{where} GROUP BY {group}{having}) AS q"
        return From(text=text, names=tuple(names), person=person)

    def _inner(self) -> Name:
        filtered = f" FILTER (WHERE {self._condition(1)})" if self.random.random() < 0.25 else ""
        small = {"kind": "integer", "low": Fraction(0), "high": Fraction(16)}
        of = self._number(1)
        bounded = [name for name in self._names if name.low is not None]
        wide = {"kind": "decimal", "low": Fraction(-80), "high": Fraction(80)}
        choices = [
            Name(sql=f"count(*){filtered}", **small),
            Name(sql=f"count({of.sql}){filtered}", **small),
            Name(sql=f"count(DISTINCT {self.random.choice(self._names).sql}){filtered}", **small),
            Name(sql=f"sum({of.sql}){filtered}", **wide),
            Name(sql=f"avg({of.sql}){filtered}", **wide),
        ]
        if bounded:
            chosen = self.random.choice(bounded)
            word = self.random.choice(["min", "max"])
            choices.append(
                Name(sql=f"{word}({chosen.sql}){filtered}", kind=chosen.kind, low=chosen.low, high=chosen.high)
            )
        return self.random.choice(choices)

    # Expressions

    def _number(self, depth: int) -> Name:
        """A number with bounds, however they come about."""
        plain = [name for name in self._names if name.kind in ("integer", "decimal") and name.low is not None]
        if not plain:
            return Name(sql=str(self.random.randint(-2, 9)), kind="integer", low=Fraction(0), high=Fraction(0))
        chosen = self.random.choice(plain)
        if depth <= 0 or self.random.random() < 0.4:
            return chosen
        one, two = self._number(depth - 1), self._number(depth - 1)
        small = self.random.choice(["2", "3", "10", "0.5", "-1", "7"])
        forms = [
            f"({one.sql} + {two.sql})", f"({one.sql} - {two.sql})", f"({one.sql} * {small})", f"(- {one.sql})",
            f"({one.sql} / {small})", f"abs({one.sql})", f"floor({one.sql} / 3)", f"ceil({one.sql} / 4)",
            f"round({one.sql} / 7, 1)", f"least({one.sql}, {small})", f"greatest({one.sql}, {two.sql})",
            f"coalesce({one.sql}, {small})", f"nullif({one.sql}, {small})", f"({one.sql} % 3)", f"sign({one.sql})",
            f"CASE WHEN {self._condition(0)} THEN {one.sql} ELSE {two.sql} END",
            f"CASE WHEN {self._condition(0)} THEN {one.sql} END",
            f"TRY_CAST({one.sql} AS TINYINT)", f"({one.sql} / nullif({two.sql}, 0))", f"(least({one.sql}, 9) ** 2)",
            f"least(greatest({one.sql}, -5), 5)",
        ]  # fmt: skip
        if abs(one.low) <= 1000 and abs(two.low) <= 1000:
            forms.append(f"({one.sql} * {two.sql})")
        words = [name for name in self._names if name.kind == "category"]
        days = [name for name in self._names if name.kind in ("date", "timestamp") and name.low is not None]
        if words:
            forms += [f"length({self.random.choice(words).sql})"]
        if days:
            forms += [
                f"extract({self.random.choice(['day', 'dow', 'month', 'hour'])} FROM {self.random.choice(days).sql})"
            ]
        return Name(sql=self.random.choice(forms), kind="decimal", low=one.low, high=one.high)

    def _condition(self, depth: int) -> str:
        if depth > 0 and self.random.random() < 0.5:
            parts = [self._condition(depth - 1) for _ in range(self.random.randint(2, 3))]
            told = f" {self.random.choice(['AND', 'OR'])} ".join(f"({part})" for part in parts)
            return f"NOT ({told})" if self.random.random() < 0.2 else told
        name = self.random.choice(self._names)
        if depth > 0 and self.random.random() < 0.3:
            return f"{self._number(1).sql} {self._operator()} {self.random.randint(-3, 20)}"
        if self.random.random() < 0.15:
            return f"{name.sql} IS {self.random.choice(['', 'NOT '])}NULL"
        if self.random.random() < 0.03:
            return f"{name.sql} IS DISTINCT FROM {name.sql}"
        return self._compared(name)

    def _compared(self, name: Name) -> str:
        choice = self.random.choice
        match name.kind:
            case "integer" | "decimal":
                low, high = (name.low, name.high) if name.low is not None else (Fraction(-3), Fraction(9))
                one, two = sorted(self._near(low, high) for _ in range(2))
                return choice([
                    f"{name.sql} {self._operator()} {one}", f"{name.sql} BETWEEN {one} AND {two}",
                    f"{name.sql} IN ({one}, {two}, 3)", f"{name.sql} NOT IN ({one}, 4)",
                ])  # fmt: skip
            case "category":
                word = literal(choice(name.words or ("flu",)))
                return choice([
                    f"{name.sql} = {word}", f"{name.sql} <> {word}", f"{name.sql} IN ({word})", f"{name.sql} >= {word}",
                    f"lower({name.sql}) LIKE 'f%'", f"{name.sql} LIKE '_'", f"{name.sql} IS NOT DISTINCT FROM {word}",
                ])  # fmt: skip
            case "text":
                return choice([
                    f"{name.sql} = 'flu'", f"{name.sql} > 'b'", f"{name.sql} LIKE '%u%'", f"{name.sql} ILIKE 'FLU%'",
                    f"length({name.sql}) < 4", f"upper({name.sql}) = 'SS'", f"trim({name.sql}) <> ''",
                    f"substr({name.sql}, 1, 1) = 'f'", f"{name.sql} IN ('1', 'true')",
                ])  # fmt: skip
            case "boolean":
                return choice([name.sql, f"NOT {name.sql}", f"{name.sql} IS TRUE", f"{name.sql} = false"])
            case _:
                low = int(name.low) if name.low is not None else 18_300
                day = literal(_iso(self.random.randint(low - 2, low + 40)))
                return choice([
                    f"{name.sql} {self._operator()} {day}", f"extract(dow FROM {name.sql}) = 3",
                    f"date_trunc('month', {name.sql}) = '2020-02-01'", f"{name.sql} BETWEEN {day} AND '2020-03-01'",
                ])  # fmt: skip

    def _near(self, low: Fraction, high: Fraction) -> int:
        ends = [int(low), int(high), int(low) - 1, int(high) + 1, 0, 3, int(low + high) // 2]
        return self.random.choice(ends)

    def _operator(self) -> str:
        return self.random.choice(["=", "<>", "<", "<=", ">", ">="])

    # GROUP BY

    def _keys(self) -> list[str]:
        size = self.random.choice([0, 0, 1, 1, 1, 2, 2, 3])
        found = [self._key() for _ in range(size)]
        return list(dict.fromkeys(key for key in found if key))

    def _key(self) -> str:
        name = self.random.choice(self._names)
        match name.kind:
            case "integer" | "decimal" if name.edges or name.few:
                return self.random.choice([name.sql, f"floor({name.sql} / 5) * 5", f"{name.sql} > 3"])
            case "integer" | "decimal":
                return name.sql if name.low is None else f"least(greatest(floor({name.sql}), 0), 4)"
            case "date" | "timestamp":
                unit = self.random.choice(["month", "week", "year", "quarter"])
                return self.random.choice([f"date_trunc('{unit}', {name.sql})", f"extract(dow FROM {name.sql})"])
            case "category":
                return self.random.choice([name.sql, name.sql, f"lower({name.sql})", f"coalesce({name.sql}, 'none')"])
            case "text":
                return self.random.choice([name.sql, f"lower({name.sql})", f"length({name.sql})"])
            case _:
                return name.sql

    def _group(self, keys: list[str]) -> str:
        if not keys:
            return ""
        form = self.random.random()
        listed = ", ".join(f"c{place}" for place in range(len(keys)))
        if form < 0.7 or len(keys) > 2:
            return f" GROUP BY {listed if self.random.random() < 0.5 else ', '.join(keys)}"
        if form < 0.8:
            return f" GROUP BY ROLLUP ({listed})"
        if form < 0.9:
            return f" GROUP BY CUBE ({listed})"
        sets = ", ".join([*(f"(c{place})" for place in range(len(keys))), "()"])
        return f" GROUP BY GROUPING SETS ({sets})"

    # Aggregates

    def _aggregates(self, source: From) -> list[str]:
        return [self._aggregate(source) for _ in range(self.random.randint(1, 3))]

    def _aggregate(self, source: From) -> str:
        of, other = self._number(1).sql, self._number(1).sql
        name = self.random.choice(self._names).sql
        forms = ["count(*)", "count(*)", f"count({name})", f"sum({of})", f"sum({of})", f"avg({of})", f"avg({of})",
                 f"count(DISTINCT {name})", f"count(DISTINCT {name})",
                 f"{self.random.choice(['var_pop', 'var_samp', 'stddev', 'stddev_pop'])}({of})",
                 f"{self.random.choice(['corr', 'covar_pop', 'regr_slope', 'regr_intercept'])}({of}, {other})",
                 f"sum({of}) / count(*)", self._quantile(), self._quantile(), self._quantile()]  # fmt: skip
        if source.person:
            whole = source.person[0] if len(source.person) == 1 else f"({', '.join(source.person)})"
            forms += [f"count(DISTINCT {whole})"] * 3
        chosen = self.random.choice(forms)
        if "/" not in chosen and self.random.random() < 0.25:
            chosen += f" FILTER (WHERE {self._condition(1)})"
        return chosen

    def _quantile(self) -> str:
        """Over few bins: a histogram of thousands is slow to look at here, and no different."""
        few = [name for name in self._names if name.kind in ("integer", "decimal", "date", "timestamp") and name.few]
        of = self.random.choice(few).sql if few else f"least(greatest({self._number(1).sql}, -3), 20)"
        forms = [f"median({of})", f"quantile({of}, 0.25)", f"min({of})", f"max({of})",
                 f"percentile_cont(0.9) WITHIN GROUP (ORDER BY {of})"]  # fmt: skip
        return self.random.choice(forms)


def _name(column: Column, prefix: str) -> Name:
    sql = prefix + quoted(column.name)
    match column:
        case Number(low=low, high=high, step=step, edges=edges):
            bounds = {} if low is None or high is None else {"low": low * step, "high": high * step}
            return Name(sql=sql, kind=column.type, edges=edges is not None, **bounds)
        case Moment(type=type_):
            scale = 86_400_000_000 if type_ == "timestamp" else 1
            bounds = (
                {}
                if column.low is None
                else {"low": Fraction(column.low // scale), "high": Fraction(column.high // scale)}
            )
            return Name(sql=sql, kind=type_, **bounds)
        case Boolean():
            return Name(sql=sql, kind="boolean")
        case Category(values=values):
            return Name(sql=sql, kind="category", words=values)
        case Text():
            return Name(sql=sql, kind="text")
