"""What was published about a block of people, as data: columns, groups, statistics, facts.

Every value is a whole number here: a number column holds itself, a category the place of its value in the list.
Nothing in this file knows a solver.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from discreet.errors import UsageError
from discreet.lab.attacks.census.published_range import PublishedRange

#: Whole numbers from .. to, both included; a condition allows a union of them.
Interval = tuple[int, int]
#: One person: the codes of the columns, in the block's order.
Record = tuple[int, ...]
#: One way the block could be: its people in ascending order. Two that differ by order only are the same.
World = tuple[Record, ...]

#: More people than this is no block: the search would not end.
MOST_PEOPLE = 300
#: Records are compared by one whole number each, which must leave the solver room in 64 bits.
MOST_RECORDS = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockColumn:
    """What may stand in a column: whole numbers from low to high, or the category `values`, coded 0, 1, 2..."""

    name: str
    low: int = 0
    high: int = 0
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.values:
            if len(set(self.values)) != len(self.values):
                raise UsageError(f"the column {self.name!r} lists a value twice")
            object.__setattr__(self, "low", 0)
            object.__setattr__(self, "high", len(self.values) - 1)
        if self.low > self.high:
            raise UsageError(f"the column {self.name!r} has low {self.low} above high {self.high}")

    @property
    def size(self) -> int:
        """How many values it can take."""
        return self.high - self.low + 1

    def show(self, code: int) -> int | str:
        """A code as people read it."""
        return self.values[code] if self.values else code


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCondition:
    """A column's value lies in one of the intervals."""

    column: str
    intervals: tuple[Interval, ...]

    def __post_init__(self) -> None:
        if not self.intervals or any(low > high for low, high in self.intervals):
            raise UsageError(f"a condition on {self.column!r} can never hold")

    def holds(self, code: int) -> bool:
        """Whether it holds for this value."""
        return any(low <= code <= high for low, high in self.intervals)


#: The people for whom every condition holds; no condition: everybody.
Group = tuple[GroupCondition, ...]


#: What a statistic can say of its group, in the order in which it is told.
MEASURES = ("count", "sum", "mean", "median")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedStatistic:
    """One row of a published table: how many are in a group, and the sum, mean and median of a column over them.

    A stated mean or median also says that the group is not empty. `of` is the column that they are of.
    """

    name: str
    group: Group = ()
    title: str = ""
    of: str = ""
    count: PublishedRange | None = None
    sum: PublishedRange | None = None
    mean: PublishedRange | None = None
    median: PublishedRange | None = None

    def __post_init__(self) -> None:
        stated = [measure for measure in MEASURES if getattr(self, measure) is not None]
        if not stated:
            raise UsageError(f"the statistic {self.name!r} has no number", hint=f"give one of {', '.join(MEASURES)}")
        if stated != ["count"] and not self.of:
            raise UsageError(f"the statistic {self.name!r} does not name its column", hint='of = "age"')

    def show(self) -> str:
        """As people read it: its name, its group and its numbers."""
        stated_measures = [f"{name} {span.show()}" for name in MEASURES if (span := getattr(self, name)) is not None]
        return f"{self.name}{f' ({self.title})' if self.title else ''}: {', '.join(stated_measures)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockFact:
    """What holds for everybody: who is in `when` is in `then`."""

    name: str
    when: Group
    then: Group

    def show(self) -> str:
        """As people read it."""
        return f"the fact {self.name!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusBlock:
    """A few people, and all that was published about them. `people`: between how many and how many they are."""

    columns: tuple[BlockColumn, ...]
    people: Interval
    statistics: tuple[PublishedStatistic, ...]
    facts: tuple[BlockFact, ...] = ()
    title: str = "the block"

    def __post_init__(self) -> None:
        low, high = self.people
        if not 0 <= low <= high or high < 1:
            raise UsageError(f"a block cannot have {low} to {high} people")
        if high > MOST_PEOPLE:
            raise UsageError(
                f"this block may have up to {high:,} people; the search supports at most {MOST_PEOPLE}",
                hint="give the total in `people`, or attack a smaller area: areas are attacked one by one",
            )
        _refuse_duplicates("column", [column.name for column in self.columns])
        _refuse_duplicates("statistic", [statistic.name for statistic in self.statistics])
        _refuse_duplicates("fact", [fact.name for fact in self.facts])
        if not self.columns:
            raise UsageError("a block needs at least one column")
        if self.records > MOST_RECORDS:
            raise UsageError("the columns allow too many different records", hint="narrow low and high, or drop some")
        for group in self.groups():
            for condition in group:
                self.place(condition.column)
        for statistic in self.statistics:
            if statistic.of and self.columns[self.place(statistic.of)].values:
                raise UsageError(
                    f"{statistic.name!r} is about {statistic.of!r}, whose values are categories, not numbers"
                )

    @property
    def records(self) -> int:
        """How many different records the columns allow."""
        product = 1
        for column in self.columns:
            product *= column.size
        return product

    def groups(self) -> Iterable[Group]:
        """Every group that is named."""
        yield from (statistic.group for statistic in self.statistics)
        for fact in self.facts:
            yield from (fact.when, fact.then)

    def place(self, name: str) -> int:
        """Where a column stands."""
        for place, column in enumerate(self.columns):
            if column.name == name:
                return place
        column_names = ", ".join(column.name for column in self.columns)
        raise UsageError(f"there is no column {name!r} in the block", hint=f"one of {column_names}")

    def is_in_group(self, record: Record, group: Group) -> bool:
        """Whether a person is in a group."""
        return all(condition.holds(record[self.place(condition.column)]) for condition in group)

    def without(self, names: Sequence[str]) -> CensusBlock:
        """The block as if these statistics, or facts, had not been published."""
        published_names = [statistic.name for statistic in self.statistics] + [fact.name for fact in self.facts]
        for name in names:
            if name not in published_names:
                raise UsageError(
                    f"there is no statistic {name!r} to leave out", hint=f"one of {', '.join(published_names)}"
                )
        return replace(
            self,
            statistics=tuple(one for one in self.statistics if one.name not in names),
            facts=tuple(one for one in self.facts if one.name not in names),
        )

    def show(self, record: Record) -> dict[str, int | str]:
        """A record as people read it."""
        return {column.name: column.show(code) for column, code in zip(self.columns, record, strict=True)}


def _refuse_duplicates(what: str, names: list[str]) -> None:
    for name in names:
        if not name:
            raise UsageError(f"a {what} has no name")
        if names.count(name) > 1:
            raise UsageError(f"the {what} {name!r} occurs twice")
