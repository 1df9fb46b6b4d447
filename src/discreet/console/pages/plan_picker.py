"""The form for tables that add up: what is chosen from lists, as a plan, and a plan as what was chosen.

The plan's text is what is priced, paid and kept; choices are only a way to write it. A plan that says more than lists
can (rules, shares, prefixes) is edited as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.console import forms
from discreet.errors import DiscreetError, UsageError
from discreet.project.project import Project
from discreet.schema.column import BooleanColumn, CategoryColumn, Column
from discreet.schema.schema import Table
from discreet.schema.toml_file import parse_toml
from discreet.tables.publish.plan_file import MOST_BYTES, is_file_name

#: So many levels can be chosen from lists, below the top one.
LEVELS = 4
ROOT = "all"
#: So many letters of JSON name a level.
_LONGEST_LEVEL = 2_000
#: Which list an error is about, by what its sentence names; the first that fits.
_SIGNS = (
    ("exact", ("invariant", "exact total")),
    ("attributes", ("attribute",)),
    ("levels", ("[hierarchy]", "level", "place", "public table")),
    ("attributes", ("cells", "column")),
    ("epsilon", ("epsilon", "budget", "delta")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChoices:
    """What is chosen. levels: from the largest places to the smallest, each a column of the table, or a public table
    and its column. exact: levels whose totals are kept exact; 0 is the top one.
    """

    table: str
    attributes: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()
    root: str = ROOT
    exact: tuple[int, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """For the form."""
        return {
            "table": self.table,
            "attributes": list(self.attributes),
            "levels": [json.dumps(each, ensure_ascii=False) for each in self.levels],
            "root": self.root,
            "exact": list(self.exact),
        }


class ChoiceProblem(UsageError):
    """A choice that is not possible. at: the list with the wrong choice."""

    def __init__(self, reason: str, *, at: str, hint: str = "") -> None:
        super().__init__(reason, hint=hint)
        self.at = at


def choices_of_form(texts: Mapping[str, tuple[str, ...]]) -> PlanChoices:
    """What the lists of a form say."""
    levels = [_level(text) for text in texts.get("level", ()) if text]
    exact = tuple(sorted({int(text) for text in texts.get("exact", ()) if text in map(str, range(LEVELS + 1))}))
    return PlanChoices(
        table=texts.get("table", ("",))[0],
        attributes=tuple(dict.fromkeys(name for name in texts.get("attributes", ()) if name)),
        levels=tuple(levels),
        root=texts.get("root", ("",))[0].strip() or ROOT,
        exact=exact,
    )


def _level(text: str) -> tuple[str, ...]:
    try:
        parts = json.loads(text) if len(text) <= _LONGEST_LEVEL else None
    except (ValueError, RecursionError):
        parts = None
    if not isinstance(parts, list) or len(parts) not in (1, 2) or not all(map(_is_name, parts)):
        raise ChoiceProblem("a level is not one of the list", at="levels")
    return tuple(parts)


def _is_name(part: object) -> bool:
    """Whether it can be a column's: a text, and no half of a letter, which JSON can spell and no file can hold."""
    return isinstance(part, str) and not any("\ud800" <= letter <= "\udfff" for letter in part)


def plan_text(choices: PlanChoices, table: Table) -> str:
    """The plan that was chosen, as text."""
    lines = [f"table = {_quoted(choices.table)}", f"attributes = {_quoted(list(choices.attributes))}"]
    names = [choices.root, *(level[-1] for level in choices.levels)]
    if choices.exact and max(choices.exact) >= len(names):
        raise ChoiceProblem(
            f"totals of level {max(choices.exact)} cannot be exact: no such level is chosen", at="exact"
        )
    if choices.exact:
        lines.append(f"invariants = {_quoted([names[place] for place in choices.exact])}")
    hierarchy = _hierarchy_lines(choices, table) if choices.levels else []
    return (
        "\n".join([*lines, "", "[hierarchy]", *hierarchy, f"root = {_quoted(choices.root)}", ""])
        if hierarchy
        else ("\n".join([*lines, ""]))
    )


def _hierarchy_lines(choices: PlanChoices, table: Table) -> list[str]:
    sources = {level[0] if len(level) == 2 else "" for level in choices.levels}
    names = [level[-1] for level in choices.levels]
    if len(sources) > 1:
        raise ChoiceProblem(
            "the levels come from several tables",
            at="levels",
            hint="choose all of them from the table itself, or all from one public table",
        )
    (source,) = sources
    if not source:
        return [f"columns = {_quoted(names)}"]
    columns = {column.name.lower(): column.name for column in table.schema.columns}
    column = columns.get(names[-1].lower())
    if column is None:
        raise ChoiceProblem(
            f"the smallest level, {names[-1]!r} of {source!r}, is not a column of {table.name!r}",
            at="levels",
            hint="the last level must be in both tables; if their columns have different names, edit the plan as text",
        )
    return [f"column = {_quoted(column)}", f"levels = {_quoted(names)}", f"from = {_quoted(source)}"]


def _quoted(value: str | list[str]) -> str:
    """A text or a list of texts, in TOML: as JSON writes them."""
    return json.dumps(value, ensure_ascii=False)


def choices_of_plan(text: str) -> PlanChoices | None:
    """What was chosen, where lists can say all of a plan; None where only text can.

    >>> choices_of_plan('table = "t"\\n[hierarchy]\\ncolumns = ["a", "b"]\\n').levels
    (('a',), ('b',))
    >>> choices_of_plan('table = "t"\\n[levels.a]\\nshare = 2\\n') is None
    True
    """
    try:
        plan = parse_toml(text, name="the plan") if len(text.encode()) <= MOST_BYTES else {}
        hierarchy = plan.get("hierarchy", {})
        levels = _levels_of_plan(hierarchy)
        root = hierarchy.get("root", ROOT)
        names = [root, *(level[-1] for level in levels or ())]
        if levels is None or not set(plan) <= {"table", "attributes", "invariants", "hierarchy"}:
            return None
        choices = PlanChoices(
            table=plan["table"],
            attributes=tuple(plan.get("attributes", [])),
            levels=levels,
            root=root,
            exact=tuple(sorted(names.index(each) for each in plan.get("invariants", []))),
        )
        texts = (choices.table, choices.root, *choices.attributes, *(part for level in levels for part in level))
    except (DiscreetError, KeyError, TypeError, ValueError, AttributeError):
        return None
    return choices if len(levels) <= LEVELS and all(isinstance(each, str) for each in texts) else None


def _levels_of_plan(hierarchy: Mapping[str, Any]) -> tuple[tuple[str, ...], ...] | None:
    if set(hierarchy) <= {"columns", "root"}:
        return tuple((name,) for name in hierarchy.get("columns", []))
    levels = hierarchy.get("levels", [])
    same_name = bool(levels) and str(levels[-1]).lower() == str(hierarchy.get("column", "")).lower()
    if set(hierarchy) <= {"column", "levels", "from", "root"} and "from" in hierarchy and same_name:
        return tuple((hierarchy["from"], name) for name in levels)
    return None


def options_json(project: Project, table: Table) -> dict[str, Any]:
    """What the lists of a table have: declarations alone."""
    columns = [_option((column.name,)) for column in table.schema.columns if _has_places(column)]
    groups = [{"words": f"columns of {table.name}", "options": columns}] if columns else []
    for public in project.file.tables.values():
        if public.public:
            options = [_option((public.name, column.name)) for column in public.schema.columns]
            groups.append({"words": f"columns of the public table {public.name}", "options": options})
    return {
        "attributes": [
            {"name": column.name, "words": _attribute_words(column)}
            for column in table.schema.columns
            if isinstance(column, CategoryColumn | BooleanColumn) or forms.has_bounds(column)
        ],
        "levels": groups,
        "most_levels": LEVELS,
        "exact": list(table.schema.invariants),
    }


def _has_places(column: Column) -> bool:
    return isinstance(column, CategoryColumn | BooleanColumn)


def _option(level: tuple[str, ...]) -> dict[str, Any]:
    usable = is_file_name(level[-1])
    words = level[-1] if usable else f"{level[-1]} (its name cannot be a file name)"
    return {"value": json.dumps(level, ensure_ascii=False), "words": words, "usable": usable}


def _attribute_words(column: Column) -> str:
    match column:
        case CategoryColumn():
            return f"{len(column.values):,} values"
        case BooleanColumn():
            return "true or false"
        case _:
            return "a range of numbers or dates"


def place_of(problem: Exception) -> str:
    """Which list of the form an error is about."""
    if isinstance(problem, ChoiceProblem):
        return problem.at
    words = f"{problem}".lower()
    return next((at for at, signs in _SIGNS if any(sign in words for sign in signs)), "")
