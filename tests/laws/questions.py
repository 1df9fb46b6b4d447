"""Questions in SQL about a world, from a seed: every clause, function and form that the reader knows.

They need not all be accepted, and need not make sense; most are, and do.
"""

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from laws.scalars import Name, Scalars, name_of, quoted
from laws.worlds import World


@dataclass(frozen=True, kw_only=True)
class From:
    """What stands after FROM, before it (WITH), and the names that it brings."""

    text: str
    names: tuple[Name, ...]
    person: tuple[str, ...] = ()
    before: str = ""


#: Tables of persons, by how often they are joined.
PRIVATE = ("visits", "visits", "bills", "bills", "items")


@dataclass
class Asker:
    """Makes questions about a world; the same seed makes the same questions.

    `limits`: how often one limits the groups of a person, or their rows in each.
    """

    world: World
    random: Random
    limits: float = 0.0

    def question(self) -> str:
        text = self._question()
        if self.world.person is None or self.random.random() >= self.limits:
            return text
        groups = f"-- groups per person: {self.random.randint(1, 3)}\n" if " GROUP BY " in text else ""
        rows = f"-- rows per person per group: {self.random.randint(1, 2)}\n"
        return self.random.choice([groups, rows, groups + rows]) + text

    def _question(self) -> str:
        source = self._from()
        self._scalars = Scalars(self.random, source.names)
        keys = self._keys()
        outputs = [*keys, *self._aggregates(source)] if self.random.random() < 0.95 else keys
        outputs = [*map(self._other_form, outputs)]
        listed = ", ".join(f"{output} AS c{place}" for place, output in enumerate(outputs))
        where = f" WHERE {self._scalars.condition(2)}" if self.random.random() < 0.45 else ""
        group = self._group(keys)
        having = " HAVING count(*) > 3" if self.random.random() < 0.05 else ""
        order = f" ORDER BY {len(outputs)} DESC LIMIT 3" if self.random.random() < 0.08 else ""
        return f"{source.before}SELECT {listed} FROM {source.text}{where}{group}{having}{order}"

    def _other_form(self, output: str) -> str:
        """Some aggregates in forms that are read from the same statistics; decided by their texts, without a draw."""
        own = Random(f"form {output}")
        if output == "count(*)" and own.random() < 0.2:
            return own.choice(["count(*) / sum(count(*)) OVER ()", "sum(count(*)) OVER () - count(*)", "ln(count(*))"])
        pair = re.fullmatch(r"(?:corr|regr_slope)(\(.*\))", output)
        if pair and own.random() < 0.5:
            return own.choice(["regr_r2", "weighted_avg", "regr_avgx", "regr_count", "wavg"]) + pair[1]
        single = re.fullmatch(r"(?:stddev|var_samp)(\(.*\))", output)
        return f"geomean{single[1]}" if single and own.random() < 0.5 else output

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
        names = tuple(name_of(column, prefix) for column in source.schema.columns)
        person = tuple(f"{alias}.{part}" for part in source.schema.unit.person) or (f"{alias}.person",)
        has_person = any(column.name == "person" for column in source.schema.columns)
        known = () if source.schema.unit.is_row or (not source.schema.unit.person and has_person) else person
        return From(text=f"{name} AS {alias}", names=names, person=known)

    def _public(self) -> From:
        forms = [self._table, self._table, self._subquery]
        if self.world.person is not None:
            forms += [self._joined, self._per_person]
        inner = self.random.choice(forms)()
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
        """Some columns of a table or of another subquery, computed and picked row by row."""
        form = self.random.random()
        if form < 0.1:
            return self._star()
        inner = self._subquery() if form < 0.25 else self._public() if form < 0.35 else self._table()
        self._scalars = Scalars(self.random, inner.names)
        made = [self._computed(place) for place in range(self.random.randint(2, 4))]
        listed = [f"{name.sql} AS {new.sql}" for name, new in made]
        listed += [f"{part} AS {part.split('.')[1]}" for part in inner.person]
        where = f" WHERE {self._scalars.condition(1)}" if self.random.random() < 0.5 else ""
        names = tuple(new for _, new in made)
        person = tuple(f"q.{part.split('.')[1]}" for part in inner.person)
        return From(text=f"(SELECT {', '.join(listed)} FROM {inner.text}{where}) AS q", names=names, person=person)

    def _star(self) -> From:
        """All columns of a table."""
        inner = self._table(name=None)
        names = tuple(replace(name, sql=name.sql.removeprefix("t.")) for name in inner.names)
        person = tuple(f"q.{part.split('.')[1]}" for part in inner.person)
        return From(text=f"(SELECT * FROM {inner.text}) AS q", names=names, person=person)

    def _computed(self, place: int) -> tuple[Name, Name]:
        found = self._scalars.number(1) if self.random.random() < 0.4 else self.random.choice(self._scalars.names)
        new = Name(sql=f"x{place}", kind=found.kind, low=found.low, high=found.high, words=found.words)
        return found, new

    def _with(self) -> From:
        inner = self._subquery() if self.world.person is None or self.random.random() < 0.5 else self._per_person()
        if not inner.text.startswith("("):
            return inner
        body = inner.text[: -len(" AS q")]
        return From(text="w AS q", names=inner.names, person=inner.person, before=f"WITH w AS {body} ")

    def _joined(self) -> From:
        """Two private tables on their person; either may be a subquery."""
        left = self._table("t", self.random.choice(PRIVATE))
        right = self.random.choice([
            lambda: self._table("u", self.random.choice(PRIVATE)), self._per_person, self._subquery,
        ])()  # fmt: skip
        if len(left.person) != len(right.person) or not left.person:
            return left
        word = self.random.choice(["JOIN", "LEFT JOIN"])
        on = " AND ".join(f"{one} = {two}" for one, two in zip(left.person, right.person, strict=True))
        alias = right.person[0].split(".")[0]
        names = [
            replace(name, sql=name.sql if name.sql.startswith(f"{prefix}.") else f"{prefix}.{name.sql}")
            for prefix, side in (("t", left), (alias, right))
            for name in side.names
        ]
        ends = [[part.split(".")[1] for part in side.person] for side in (left, right)]
        if ends[0] == ends[1] and self.random.random() < 0.3:
            on = ""
        told = f"ON {on}" if on else f"USING ({', '.join(ends[0])})"
        return From(text=f"{left.text} {word} {right.text} {told}", names=tuple(names), person=left.person)

    def _per_person(self) -> From:
        """One row for each person, or for each person and key."""
        form = self.random.random()
        if form < 0.1:
            return self._different()
        inner = self._table(name=self.random.choice(["visits", "visits", "bills", "items", "crates"]))
        if form < 0.5:
            inner = self._joined() if form < 0.3 else self._public() if form < 0.4 else self._per_person()
        if not inner.person:
            return inner
        self._scalars = Scalars(self.random, inner.names)
        keys = [self.random.choice(self._scalars.names) for _ in range(self.random.choice([0, 0, 1]))]
        values = [self._inner() for _ in range(self.random.randint(1, 3))]
        listed = [f"{part} AS {part.split('.')[1]}" for part in inner.person]
        listed += [f"{key.sql} AS g{place}" for place, key in enumerate(keys)]
        listed += [f"{value.sql} AS v{place}" for place, value in enumerate(values)]
        where = f" WHERE {self._scalars.condition(1)}" if self.random.random() < 0.3 else ""
        having = (
            f" HAVING {self.random.choice(values).sql} {self._scalars.operator()} 1"
            if self.random.random() < 0.4
            else ""
        )
        group = ", ".join([*inner.person, *(key.sql for key in keys)])
        names = [
            Name(sql=f"{letter}{place}", kind=name.kind, low=name.low, high=name.high, words=name.words)
            for letter, found in (("g", keys), ("v", values))
            for place, name in enumerate(found)
        ]
        person = tuple(f"q.{part.split('.')[1]}" for part in inner.person)
        text = f"(SELECT {', '.join(listed)} FROM {inner.text}{where} GROUP BY {group}{having}) AS q"
        return From(text=text, names=tuple(names), person=person)

    def _different(self) -> From:
        """SELECT DISTINCT with the person."""
        inner = self._table()
        if not inner.person:
            return inner
        chosen = list(dict.fromkeys(self.random.choice(inner.names) for _ in range(2)))
        parts = [part.split(".")[1] for part in inner.person]
        listed = [f"{part} AS {name}" for part, name in zip(inner.person, parts, strict=True)]
        listed += [f"{name.sql} AS d{place}" for place, name in enumerate(chosen)]
        names = tuple(replace(name, sql=f"d{place}", edges=False) for place, name in enumerate(chosen))
        text = f"(SELECT DISTINCT {', '.join(listed)} FROM {inner.text}) AS q"
        return From(text=text, names=names, person=tuple(f"q.{part}" for part in parts))

    def _inner(self) -> Name:
        filtered = f" FILTER (WHERE {self._scalars.condition(1)})" if self.random.random() < 0.25 else ""
        small = {"kind": "integer", "low": Fraction(0), "high": Fraction(16)}
        of = self._scalars.number(1)
        bounded = [name for name in self._scalars.names if name.low is not None]
        wide = {"kind": "decimal", "low": Fraction(-80), "high": Fraction(80)}
        choices = [
            Name(sql=f"count(*){filtered}", **small),
            Name(sql=f"count({of.sql}){filtered}", **small),
            Name(sql=f"count(DISTINCT {self.random.choice(self._scalars.names).sql}){filtered}", **small),
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

    # GROUP BY

    def _keys(self) -> list[str]:
        size = self.random.choice([0, 0, 1, 1, 1, 2, 2, 3])
        found = [self._key() for _ in range(size)]
        return list(dict.fromkeys(key for key in found if key))

    def _key(self) -> str:
        name = self.random.choice(self._scalars.names)
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
        of, other = self._scalars.number(1).sql, self._scalars.number(1).sql
        name = self.random.choice(self._scalars.names).sql
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
            chosen += f" FILTER (WHERE {self._scalars.condition(1)})"
        return chosen

    def _quantile(self) -> str:
        """Over few bins: a histogram of thousands is slow to look at here, and no different."""
        few = [
            name
            for name in self._scalars.names
            if name.kind in ("integer", "decimal", "date", "timestamp") and name.few
        ]
        of = self.random.choice(few).sql if few else f"least(greatest({self._scalars.number(1).sql}, -3), 20)"
        forms = [f"median({of})", f"quantile({of}, 0.25)", f"min({of})", f"max({of})",
                 f"percentile_cont(0.9) WITHIN GROUP (ORDER BY {of})"]  # fmt: skip
        return self.random.choice(forms)
