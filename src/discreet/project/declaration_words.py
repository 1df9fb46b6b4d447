"""How a draft reads: a plain sentence for whose rows they are, for the budget and for each column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import Any

from discreet import exact
from discreet.project.table_draft import TableDraft
from discreet.schema.schema import Budget

#: So many neighbouring columns of which the same is said share a line.
_FEWEST_TOGETHER = 5

_NOUNS = {"integer": "whole numbers", "decimal": "numbers", "date": "days", "timestamp": "dates with times"}


def draft_sentences(draft: TableDraft, *, inherited: Budget | None = None) -> list[str]:
    """What a draft says, for its owner. `inherited`: the budget that tables have which declare none."""
    declared = draft.declared_columns
    left_out = [name for name in draft.source_columns if name not in (*declared, *draft.identity_columns)]
    sentences = [*_unit_sentences(draft), *_budget_sentences(draft, inherited)]
    sentences += [f"{names}: {words}" for names, words in grouped_column_words(declared)]
    if left_out and "ends" not in draft.settings:
        sentences.append(f"not declared, so nobody can ask about them: {', '.join(left_out)}")
    return sentences


def _unit_sentences(draft: TableDraft) -> Iterator[str]:
    settings, persons = draft.settings, draft.identity_columns
    if settings.get("public"):
        yield "The table is public: everybody may know all of it."
    elif "ends" in settings:
        yield f"Each row is an edge between the persons in {' and '.join(settings['ends'])}."
    elif persons:
        rows = settings.get("rows_per_person", 1)
        most = f"at most {rows:,} rows of each person count" if rows > 1 else "one row of each person counts"
        yield f"Rows with the same {' and '.join(persons)} belong to one person; {most}."
    elif isinstance(settings.get("person"), Mapping):
        yield f"Rows belong to the persons of {settings['person'].get('through')}."
    else:
        yield "Each row is a different person."


def _budget_words(budget: Mapping[str, Any]) -> Iterator[str]:
    delta = f", delta {exact.show(Fraction(budget['delta']))}" if budget.get("delta") else ""
    yield f"All answers about them together may spend epsilon {exact.show(Fraction(budget['epsilon']))}{delta}."


def _budget_sentences(draft: TableDraft, inherited: Budget | None) -> Iterator[str]:
    settings = draft.settings
    if settings.get("public"):
        return
    if "population" in settings:
        yield f"The people share the budget of {settings['population']}."
        if draft.new_population is not None:
            yield from _budget_words(draft.new_population)
    elif "budget" in settings:
        yield from _budget_words(settings["budget"])
    elif inherited is not None:
        yield f"All answers about them together may spend epsilon {exact.show(inherited.epsilon)}, as the project says."
    else:
        yield "They have no budget yet: nothing can be asked before discreet.toml gives one."


def grouped_column_words(columns: Mapping[str, Mapping[str, Any] | None]) -> list[tuple[str, str]]:
    """Columns with what they are. Many neighbours of which the same is said share a line.

    >>> grouped_column_words({f"q{place}": {"type": "text"} for place in range(1, 57)})[0][0]
    'q1 to q56 (56 columns)'
    """
    lines: list[tuple[str, str]] = []
    words_of = {name: column_words(settings) if settings else "not declared" for name, settings in columns.items()}
    for words, group in groupby(words_of.items(), key=itemgetter(1)):
        names = [name for name, _ in group]
        together = len(names) >= _FEWEST_TOGETHER
        heads = [f"{names[0]} to {names[-1]} ({len(names):,} columns)"] if together else names
        lines += [(head, words) for head in heads]
    return lines


def column_words(settings: Mapping[str, Any]) -> str:
    """What a column is, in a few words.

    >>> column_words({"type": "integer", "low": 0, "high": 120})
    'whole numbers from 0 to 120'
    >>> column_words({"type": "date", "format": "m/d/yy", "high": "2026-12-31"})
    'days up to 2026-12-31, written m/d/yy; sums need both bounds'
    >>> column_words({"type": "category", "values": ["1", "2"], "labels": {"1": "male"}})
    'one of 1 (male), 2; anything else counts as missing'
    """
    type_ = settings.get("type")
    if type_ in _NOUNS:
        return _ordered_words(settings, _NOUNS[str(type_)])
    if type_ == "category":
        labels = settings.get("labels", {})
        values = [str(value) for value in settings["values"]]
        words = [f"{value} ({labels[value]})" if value in labels else value for value in values]
        listed = ", ".join(words[:12]) + (f" and {len(words) - 12:,} more" if len(words) > 12 else "")
        return f"one of {listed}; anything else counts as {settings.get('other', 'missing')}"
    if type_ == "boolean":
        true, false = settings.get("true"), settings.get("false")
        return f"true ({', '.join(true)}) or false ({', '.join(false)})" if true and false else "yes or no"
    return "text; groups are shown only where enough people share one"


def _ordered_words(settings: Mapping[str, Any], noun: str) -> str:
    ends = {key: _bound(settings[key]) for key in ("low", "high") if key in settings}
    needs = ""
    if len(ends) == 2:
        words = f"{noun} from {ends['low']} to {ends['high']}"
    elif ends:
        words = f"{noun} {'from' if 'low' in ends else 'up to'} {next(iter(ends.values()))}"
        needs = "sums need both bounds"
    else:
        words, needs = noun, "sums, averages and quantiles need bounds"
    written = f"written {settings['format']}" if "format" in settings else ""
    binned = f"in {settings['bins']} bins" if "bins" in settings else ""
    return "; ".join(filter(None, (", ".join(filter(None, (words, written, binned))), needs)))


def _bound(value: object) -> str:
    return exact.show(value, digits=15) if isinstance(value, Fraction) else str(value)
