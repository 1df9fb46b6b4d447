"""PLAN.toml: which tables are wanted, as people write it. Read here into plain facts; what they mean is `layout`'s.

table = "people"
attributes = ["sex", "age"]                 # declared categories, or numbers with bounds or bins
invariants = ["state"]                      # exact totals of a level, where the owner lets them be published

[hierarchy]
column = "block"                            # a declared category; or text, where a public table lists the places
levels = ["state", "county", "block"]       # columns of a public table, or names for prefixes
from = "places"                             # the public table, with one row for each block; or:
# prefix = [2, 5]                           # so many letters of the value name a state, so many a county
# columns = ["region", "sex"]               # instead of column and levels: declared columns, one inside the other
root = "nation"                             # what the top level is called
elsewhere = true                            # rows with no known place have places of their own; false: left out

[levels.county]
share = 2                                   # its part of the budget, beside the others' 1; 0: not measured
queries = ["cells", "total", ["sex"]]       # what is measured at it; "cells" where nothing is said

[[zeros]]                                   # cells that cannot be
age = "0 to 14"
work = ["full time", "part time"]

[[rules]]                                   # the same, the other way about
name = "children do not marry"
if = { age = "0 to 14" }
then = { marital = "never" }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.errors import Command, Message, Refused, UsageError
from discreet.schema.schema import closest_name_hint
from discreet.schema.toml_file import mapping, read_toml, refuse_unknown_keys

#: A plan's file has at most so many bytes, and says at most so many things of each kind.
MOST_BYTES = 2**20
MOST_RULES = 1000
MOST_LEVELS = 12
MOST_ATTRIBUTES = 12

#: A query of a level: "cells", "total", or the attributes of a marginal.
Query = tuple[str, ...] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanHierarchy:
    """Where places come from: a column with a public table or prefixes, or several columns."""

    column: str | None
    columns: tuple[str, ...]
    levels: tuple[str, ...]
    source: str | None
    prefix: tuple[int, ...] | None
    elsewhere: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLevel:
    """What is measured at a level, and for which part of the budget."""

    share: Fraction = Fraction(1)
    queries: tuple[Query, ...] = ("cells",)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRule:
    """Where all of `given` holds, all of `then` must hold; a `then` of nothing is never."""

    name: str
    given: Mapping[str, Any]
    then: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationPlan:
    """A plan as it is written. `where`: the file's name, for messages."""

    where: str
    table: str
    attributes: tuple[str, ...]
    hierarchy: PlanHierarchy | None
    root: str
    levels: Mapping[str, PlanLevel]
    invariants: tuple[str, ...]
    rules: tuple[PlanRule, ...]

    @property
    def level_names(self) -> tuple[str, ...]:
        """The levels from the top down."""
        return (self.root, *(self.hierarchy.levels if self.hierarchy else ()))

    def fault(self, reason: str, *, hint: str = "") -> UsageError:
        """What is wrong with the plan, and where."""
        return UsageError(f"{self.where}: {reason}", hint=hint)


def read_plan(plan: Path | str | Mapping[str, Any]) -> PublicationPlan:
    """A plan from its file, or from data of the same form."""
    if isinstance(plan, Mapping):
        return _PlanReader("the plan").read(plan)
    path = Path(plan)
    if path.is_dir():
        raise UsageError(
            f"{str(path)!r} is a folder; a plan must be a file", hint=Message(Command("publish", "PLAN.toml"))
        )
    return _PlanReader(path.name).read(read_toml(path, most_bytes=MOST_BYTES))


class _PlanReader:
    """What a message says the fault is in."""

    def __init__(self, where: str) -> None:
        self.where = where

    def read(self, data: Mapping[str, Any]) -> PublicationPlan:
        allowed_keys = ("table", "attributes", "invariants", "hierarchy", "levels", "zeros", "rules")
        refuse_unknown_keys(data, allowed_keys, where=f"{self.where}: the plan")
        hierarchy = None if "hierarchy" not in data else self._mapping(data["hierarchy"], "[hierarchy]")
        root = self._text((hierarchy or {}).get("root", "total"), "root in [hierarchy]")
        plan = PublicationPlan(
            where=self.where,
            table=self._text(data.get("table"), "table"),
            attributes=self._names(data.get("attributes", []), "attributes", most=MOST_ATTRIBUTES),
            hierarchy=None if hierarchy is None else self._hierarchy(hierarchy),
            root=root,
            levels=self._levels(self._mapping(data.get("levels", {}), "[levels]")),
            invariants=self._names(data.get("invariants", []), "invariants", most=MOST_LEVELS),
            rules=(*self._zeros(data), *self._rules(data)),
        )
        self._check_levels(plan)
        self._check_exact(plan)
        return plan

    def _check_exact(self, plan: PublicationPlan) -> None:
        """Exact totals count all rows of a place. A plan that leaves rows out would read exact counts of a part.

        And its estimates, fitted to totals of more rows than its cells hold, would be biased.
        """
        left_out = ["zeros or rules"] * bool(plan.rules)
        left_out += ["elsewhere = false"] * (plan.hierarchy is not None and not plan.hierarchy.elsewhere)
        if plan.invariants and left_out:
            raise Refused(
                f"{self.where}: invariants cannot be combined with {' and '.join(left_out)}: an exact total counts "
                "every row of a place; next to tables that leave rows out, it would reveal how many rows those are and "
                "bias the estimates",
                hint=f"remove the invariants, or remove {' and '.join(left_out)}",
            )

    def _check_levels(self, plan: PublicationPlan) -> None:
        names = plan.level_names
        if len({name.lower() for name in names}) < len(names):
            raise self._fault(f"two levels have the same name: {', '.join(names)}", hint='root = "nation"')
        for name in (*plan.levels, *plan.invariants):
            if name not in names:
                raise self._fault(f"there is no level {name[:60]!r}", hint=closest_name_hint(name, names))
        if any(not is_file_name(name) for name in names):
            raise self._fault(
                "a level's name is used as a file name: use only letters, digits, - and _, and do not end it in _totals"
            )

    def _hierarchy(self, data: Mapping[str, Any]) -> PlanHierarchy:
        where = "[hierarchy]"
        allowed_keys = ("column", "columns", "levels", "from", "prefix", "root", "elsewhere")
        refuse_unknown_keys(data, allowed_keys, where=f"{self.where}: {where}")
        elsewhere = data.get("elsewhere", True)
        if not isinstance(elsewhere, bool):
            raise self._fault(f"{where} elsewhere must be true or false")
        if "columns" in data:
            if set(data) & {"column", "levels", "from", "prefix"}:
                raise self._fault(
                    f"{where} has columns together with column, levels, from or prefix",
                    hint="keep columns, or the others",
                )
            columns = self._names(data["columns"], f"{where} columns", most=MOST_LEVELS, least=1)
            return PlanHierarchy(
                column=None, columns=columns, levels=columns, source=None, prefix=None, elsewhere=elsewhere
            )
        levels = self._names(data.get("levels", []), f"{where} levels", most=MOST_LEVELS, least=1)
        source, prefix = data.get("from"), data.get("prefix")
        if source is not None and prefix is not None:
            raise self._fault(f"{where} has both from and prefix", hint="keep one")
        if source is None and prefix is None and len(levels) > 1:
            raise self._fault(
                f"{where} does not say how {levels[-1]!r} belongs to {levels[0]!r}",
                hint='from = "places", a public table, or prefix = [2, 5]',
            )
        return PlanHierarchy(
            column=self._text(data.get("column"), f"{where} column"),
            columns=(),
            levels=levels,
            source=None if source is None else self._text(source, f"{where} from"),
            prefix=None if prefix is None else self._prefix(prefix, len(levels)),
            elsewhere=elsewhere,
        )

    def _prefix(self, entry: Any, levels: int) -> tuple[int, ...]:
        fine = isinstance(entry, list | tuple) and all(type(each) is int and each > 0 for each in entry)
        if not fine or list(entry) != sorted(set(entry)) or len(entry) != levels - 1:
            raise self._fault(
                f"[hierarchy] prefix must be {levels - 1} increasing lengths, one for each level except the last"
            )
        return tuple(entry)

    def _levels(self, data: Mapping[str, Any]) -> dict[str, PlanLevel]:
        levels = {}
        for name, entry in data.items():
            where = f"[levels.{name}]"
            refuse_unknown_keys(entry, ("share", "queries"), where=f"{self.where}: {where}")
            share = exact.number(entry.get("share", 1), name=f"{self.where}: {where} share")
            if not 0 <= share <= 10**6:
                raise self._fault(f"{where} share must be from 0 to 1,000,000")
            queries = tuple(self._query(each, where) for each in self._list(entry.get("queries", ["cells"]), where))
            if len(set(queries)) < len(queries) or not queries:
                raise self._fault(f"{where} queries must name something, and nothing twice", hint='queries = ["cells"]')
            levels[name] = PlanLevel(share=share, queries=queries)
        return levels

    def _query(self, entry: Any, where: str) -> Query:
        if entry in ("cells", "total"):
            return str(entry)
        if not isinstance(entry, list | tuple):
            raise self._fault(f'{where} a query must be "cells", "total" or a list of attributes', hint='["sex"]')
        return self._names(entry, f"{where} a query", most=MOST_ATTRIBUTES, least=1)

    def _zeros(self, data: Mapping[str, Any]) -> list[PlanRule]:
        return [
            PlanRule(name=f"entry {number} of zeros", given=self._conditions(entry, "an entry of zeros"), then={})
            for number, entry in enumerate(self._list(data.get("zeros", []), "zeros"), 1)
        ]

    def _rules(self, data: Mapping[str, Any]) -> list[PlanRule]:
        rules = []
        for number, entry in enumerate(self._list(data.get("rules", []), "rules"), 1):
            where = f"entry {number} of rules"
            refuse_unknown_keys(entry, ("name", "if", "then"), where=f"{self.where}: {where}")
            name = where if "name" not in entry else repr(self._text(entry["name"], f"name of {where}"))
            given, then = (self._conditions(entry.get(key), f"{key!r} of {name}") for key in ("if", "then"))
            rules.append(PlanRule(name=name, given=given, then=then))
        return rules

    def _conditions(self, entry: Any, what: str) -> Mapping[str, Any]:
        conditions = self._mapping(entry, what)
        if not conditions:
            raise self._fault(f"{what} names no column")
        return conditions

    def _names(self, entry: Any, what: str, *, most: int, least: int = 0) -> tuple[str, ...]:
        names = tuple(self._text(each, what) for each in self._list(entry, what))
        if not least <= len(names) <= most:
            raise self._fault(f"{what} must have {least} to {most} entries")
        if len({name.lower() for name in names}) < len(names):
            raise self._fault(f"{what} names something twice")
        return names

    def _text(self, entry: Any, what: str) -> str:
        if not isinstance(entry, str) or not 0 < len(entry) <= 200 or not entry.isprintable():
            raise self._fault(f"{what} must be a name", hint=f'{what.split()[-1]} = "..."')
        return entry

    def _list(self, entry: Any, what: str) -> Sequence[Any]:
        if not isinstance(entry, list | tuple) or len(entry) > MOST_RULES:
            raise self._fault(f"{what} must be a list of at most {MOST_RULES:,} entries")
        return entry

    def _mapping(self, entry: Any, what: str) -> Mapping[str, Any]:
        return mapping(entry, where=f"{self.where}: {what}")

    def _fault(self, reason: str, *, hint: str = "") -> UsageError:
        return UsageError(f"{self.where}: {reason}", hint=hint)


def is_file_name(name: str) -> bool:
    plain = all(letter.isalnum() or letter in "-_" for letter in name)
    return plain and len(name) <= 60 and not name.lower().endswith("_totals")
