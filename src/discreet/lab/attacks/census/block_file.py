"""Published tables as a TOML file: read here into a Block, with one clear sentence where it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.errors import UsageError
from discreet.lab.attacks.census.published_block import (
    MEASURES,
    BlockColumn,
    BlockFact,
    CensusBlock,
    Group,
    GroupCondition,
    PublishedStatistic,
)
from discreet.lab.attacks.census.published_range import WAYS, PublishedRange
from discreet.schema.toml_file import mapping, read_toml, refuse_unknown_keys

#: What stands for a group too small to be published, where the file does not say otherwise.
SUPPRESSED_BELOW = 3

#: No number of a published table is larger, or has more digits behind the point; the search counts in 64 bits.
MOST = 10**12

_TOP = {"title", "people", "suppressed_below", "columns", "rounding", "statistics", "facts"}
_STATISTIC = {"name", "title", "where", "of", "suppressed", *MEASURES}


def read(path: Path) -> CensusBlock:
    """The block that a file describes."""
    return read_block(read_toml(path))


def read_block(data: Mapping[str, Any]) -> CensusBlock:
    """The block that a file's mapping describes."""
    refuse_unknown_keys(data, _TOP, where="the file")
    columns = tuple(
        _column(name, given)
        for name, given in mapping(data.get("columns", {}), where="columns", hint="[columns]").items()
    )
    if not columns:
        raise UsageError("the file declares no columns", hint='[columns.age] low = 0, high = 125; values = ["a", "b"]')
    rules = _BlockReader(data, columns)
    return CensusBlock(
        title=str(data.get("title", "the block")),
        columns=columns,
        people=_people(data.get("people")),
        statistics=tuple(rules.statistic(given) for given in _list(data, "statistics")),
        facts=tuple(rules.fact(given) for given in _list(data, "facts")),
    )


class _BlockReader:
    """What the file says once for all of its statistics."""

    def __init__(self, data: Mapping[str, Any], columns: tuple[BlockColumn, ...]) -> None:
        self.columns = {column.name: column for column in columns}
        self.below = _natural(data.get("suppressed_below", SUPPRESSED_BELOW), "suppressed_below")
        rounding = mapping(data.get("rounding", {}), where="[rounding]")
        refuse_unknown_keys(rounding, {*MEASURES, "way"}, where="[rounding]")
        self.way = rounding.get("way", "nearest")
        if self.way not in WAYS:
            raise UsageError(f"[rounding] way cannot be {self.way!r}", hint=f"one of {', '.join(WAYS)}")
        # A mean is a ratio and nearly always rounded: how, must be said. The others are whole or half unless said.
        self.units = {name: _number(rounding[name], name) for name in MEASURES if name in rounding}

    def statistic(self, given: Mapping[str, Any]) -> PublishedStatistic:
        refuse_unknown_keys(given, _STATISTIC, where="a statistic")
        name = str(given.get("name", ""))
        spans = {measure: self.span(given[measure], measure, name) for measure in MEASURES if measure in given}
        if given.get("suppressed", False) is not False:
            if spans:
                raise UsageError(f"{name!r} is suppressed but also gives numbers", hint="remove one of the two")
            spans["count"] = self.suppressed_range(given["suppressed"])
        return PublishedStatistic(
            name=name,
            title=str(given.get("title", "")),
            group=self.group(given.get("where", {}), name),
            of=self.of(given) if set(spans) - {"count"} else "",
            **spans,
        )

    def span(self, value: Any, measure: str, name: str) -> PublishedRange:
        if isinstance(value, Mapping):
            refuse_unknown_keys(value, {"low", "high"}, where=f"{measure} of {name!r}")
            low, high = (_number(value[end], measure) if end in value else None for end in ("low", "high"))
            return PublishedRange(low=low, high=high)
        if measure == "mean" and "mean" not in self.units:
            raise UsageError(
                f"{name!r} gives a mean, but the file does not say how means were rounded",
                hint="[rounding] mean = 0.1 (or 0 if they are exact)",
            )
        return PublishedRange.rounded(_number(value, measure), self.units.get(measure, Fraction(0)), way=self.way)

    def suppressed_range(self, suppressed: Any) -> PublishedRange:
        below = self.below if suppressed is True else _natural(suppressed, "suppressed")
        return PublishedRange(low=Fraction(0), high=Fraction(below - 1), published_text=f"suppressed, so below {below}")

    def of(self, given: Mapping[str, Any]) -> str:
        numbers = [name for name, column in self.columns.items() if not column.values]
        return str(given.get("of", numbers[0] if len(numbers) == 1 else ""))

    def fact(self, given: Mapping[str, Any]) -> BlockFact:
        refuse_unknown_keys(given, {"name", "when", "then"}, where="a fact")
        name = str(given.get("name", ""))
        then = self.group(given.get("then", {}), name)
        if not then:
            raise UsageError(f"the fact {name!r} is empty", hint="then = { age = { low = 15 } }")
        return BlockFact(name=name, when=self.group(given.get("when", {}), name), then=then)

    def group(self, given: Any, name: str) -> Group:
        group = mapping(given, where=f"the group of {name!r}", hint='where = { sex = "female" }')
        return tuple(self.condition(column, value) for column, value in group.items())

    def condition(self, name: str, value: Any) -> GroupCondition:
        column = self.columns.get(name)
        if column is None:
            raise UsageError(f"there is no column {name!r} in the block", hint=f"it has {', '.join(self.columns)}")
        if isinstance(value, Mapping) and not column.values:
            refuse_unknown_keys(value, {"low", "high"}, where=f"a condition on {name!r}")
            low, high = (_integer(value.get(end, getattr(column, end)), name) for end in ("low", "high"))
            return GroupCondition(column=name, intervals=((max(low, column.low), min(high, column.high)),))
        codes = sorted({self.code(column, one) for one in (value if isinstance(value, list) else [value])})
        return GroupCondition(column=name, intervals=tuple((code, code) for code in codes))

    def code(self, column: BlockColumn, value: Any) -> int:
        if not column.values:
            return _integer(value, column.name)
        if value not in column.values:
            raise UsageError(
                f"{column.name!r} has no value {str(value)[:40]!r}", hint=f"it has {', '.join(column.values)}"
            )
        return column.values.index(value)


def _column(name: str, given: Any) -> BlockColumn:
    refuse_unknown_keys(given, {"low", "high", "values"}, where=f"the column {name!r}")
    if "values" in given:
        values = given["values"]
        if len(given) > 1 or not isinstance(values, list) or not values or not all(isinstance(v, str) for v in values):
            raise UsageError(f"the column {name!r} needs values in quotes and nothing else", hint='values = ["a", "b"]')
        return BlockColumn(name=name, values=tuple(values))
    if "low" not in given or "high" not in given:
        raise UsageError(f"the column {name!r} needs low and high, or values")
    return BlockColumn(name=name, low=_integer(given["low"], name), high=_integer(given["high"], name))


def _people(given: Any) -> tuple[int, int]:
    hint = "people = 7, or people = { low = 1, high = 12 }"
    if isinstance(given, Mapping) and set(given) <= {"low", "high"} and "high" in given:
        return _integer(given.get("low", 0), "people"), _integer(given["high"], "people")
    if isinstance(given, int) and not isinstance(given, bool):
        return given, given
    raise UsageError("the file does not say how many people there are, or can be at most", hint=hint)


def _list(data: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    sections = data.get(key, [])
    if not isinstance(sections, list) or not all(isinstance(one, Mapping) for one in sections):
        raise UsageError(f"{key} must be a list of tables", hint=f"[[{key}]]")
    return sections


def _number(value: Any, name: str) -> Fraction:
    number = exact.number(value, name=name)
    if max(abs(number.numerator), number.denominator) > MOST:
        raise UsageError(f"{name} is too large, or has too many digits", hint=f"at most {MOST:,}, and 12 digits")
    return number


def _integer(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{name} takes whole numbers here, not {str(value)[:40]!r}")
    if abs(value) > MOST:
        raise UsageError(f"{name} is too large: at most {MOST:,}")
    return value


def _natural(value: Any, name: str) -> int:
    if _integer(value, name) < 1:
        raise UsageError(f"{name} must be at least 1, got {value}")
    return int(value)
