"""Numbers and conditions in SQL over the names of a relation, from a seed."""

from dataclasses import dataclass
from fractions import Fraction
from random import Random

from discreet.schema.column import BooleanColumn, CategoryColumn, Column, MomentColumn, NumberColumn, TextColumn
from laws.worlds import iso


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


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass
class Scalars:
    """Makes expressions over some names."""

    random: Random
    names: tuple[Name, ...]

    def number(self, depth: int) -> Name:
        """A number with bounds, however they come about."""
        plain = [name for name in self.names if name.kind in ("integer", "decimal") and name.low is not None]
        if not plain:
            return Name(sql=str(self.random.randint(-2, 9)), kind="integer", low=Fraction(0), high=Fraction(0))
        chosen = self.random.choice(plain)
        if depth <= 0 or self.random.random() < 0.4:
            return chosen
        one, two = self.number(depth - 1), self.number(depth - 1)
        small = self.random.choice(["2", "3", "10", "0.5", "-1", "7"])
        forms = [
            f"({one.sql} + {two.sql})", f"({one.sql} - {two.sql})", f"({one.sql} * {small})", f"(- {one.sql})",
            f"({one.sql} / {small})", f"abs({one.sql})", f"floor({one.sql} / 3)", f"ceil({one.sql} / 4)",
            f"round({one.sql} / 7, 1)", f"least({one.sql}, {small})", f"greatest({one.sql}, {two.sql})",
            f"coalesce({one.sql}, {small})", f"nullif({one.sql}, {small})", f"({one.sql} % 3)", f"sign({one.sql})",
            f"CASE WHEN {self.condition(0)} THEN {one.sql} ELSE {two.sql} END",
            f"CASE WHEN {self.condition(0)} THEN {one.sql} END",
            f"TRY_CAST({one.sql} AS TINYINT)", f"({one.sql} / nullif({two.sql}, 0))", f"(least({one.sql}, 9) ** 2)",
            f"least(greatest({one.sql}, -5), 5)",
        ]  # fmt: skip
        if abs(one.low) <= 1000 and abs(two.low) <= 1000:
            forms.append(f"({one.sql} * {two.sql})")
        words = [name for name in self.names if name.kind == "category"]
        days = [name for name in self.names if name.kind in ("date", "timestamp") and name.low is not None]
        if words:
            forms += [f"length({self.random.choice(words).sql})"]
        if days:
            forms += [
                f"extract({self.random.choice(['day', 'dow', 'month', 'hour'])} FROM {self.random.choice(days).sql})"
            ]
        return Name(sql=_wrapped(self.random.choice(forms)), kind="decimal", low=one.low, high=one.high)

    def condition(self, depth: int) -> str:
        if depth > 0 and self.random.random() < 0.5:
            parts = [self.condition(depth - 1) for _ in range(2)]
            told = f" {self.random.choice(['AND', 'OR', 'OR'])} ".join(f"({part})" for part in parts)
            return f"NOT ({told})" if self.random.random() < 0.2 else told
        name = self.random.choice(self.names)
        if depth > 0 and self.random.random() < 0.3:
            return f"{self.number(1).sql} {self.operator()} {self.random.randint(-3, 20)}"
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
                    f"{name.sql} {self.operator()} {one}", f"{name.sql} BETWEEN {one} AND {two}",
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
                day = literal(iso(self.random.randint(low - 2, low + 40)))
                return choice([
                    f"{name.sql} {self.operator()} {day}", f"extract(dow FROM {name.sql}) = 3",
                    f"date_trunc('month', {name.sql}) = '2020-02-01'", f"{name.sql} BETWEEN {day} AND '2020-03-01'",
                ])  # fmt: skip

    def _near(self, low: Fraction, high: Fraction) -> int:
        middle = int(low + high) // 2
        ends = [
            int(low),
            int(high),
            int(low) - 1,
            int(high) + 1,
            middle,
            middle + 1,
            self.random.randint(int(low), int(high)),
        ]
        return self.random.choice(ends)

    def operator(self) -> str:
        return self.random.choice(["=", "<>", "<", "<=", ">", ">="])


#: Functions that are on a grid of their own, and how often one is put around an expression.
REALS = ("sqrt({})", "ln({})", "log10({})", "log2({})", "exp({} / 9)", "exp(least({}, 8))")
OFTEN = 0.12


def _wrapped(sql: str) -> str:
    """Now and then the expression within a function; decided by its text, so that no other draw is another one."""
    own = Random(f"real {sql}")
    return own.choice(REALS).format(sql) if own.random() < OFTEN else sql


def name_of(column: Column, prefix: str) -> Name:
    sql = prefix + quoted(column.name)
    match column:
        case NumberColumn(low=low, high=high, step=step, edges=edges):
            bounds = {} if low is None or high is None else {"low": low * step, "high": high * step}
            return Name(sql=sql, kind=column.type, edges=edges is not None, **bounds)
        case MomentColumn(type=type_):
            scale = 86_400_000_000 if type_ == "timestamp" else 1
            bounds = (
                {}
                if column.low is None
                else {"low": Fraction(column.low // scale), "high": Fraction(column.high // scale)}
            )
            return Name(sql=sql, kind=type_, **bounds)
        case BooleanColumn():
            return Name(sql=sql, kind="boolean")
        case CategoryColumn(values=values):
            return Name(sql=sql, kind="category", words=values)
        case TextColumn():
            return Name(sql=sql, kind="text")
