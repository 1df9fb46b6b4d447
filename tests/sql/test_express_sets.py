"""Conditions as sets of values: exact regions, one form for one meaning, and what literals and codes are to a reader."""

import pytest

from discreet.accounting.region import ONLY_NULL, ValueSet
from discreet.errors import Refused
from discreet.plan.predicate import FALSE, TRUE, Member, Test, region
from discreet.sql.typed_expression import TextKind
from sql.patients import condition, read, scalar

#: Conditions on one column, however it is written about, as a set of its values.
SETS = {
    "floor(age / 10) = 3": ("age", ValueSet.interval(30, 40)),
    "floor(age / 10) * 10 = 30": ("age", ValueSet.interval(30, 40)),
    "age // 10 = 3": ("age", ValueSet.interval(30, 40)),
    "age + 1 > 100": ("age", ValueSet.interval(100, 121)),
    "2 * age - 1 between 7 and 9": ("age", ValueSet.of([4, 5])),
    "100 - age < 3": ("age", ValueSet.interval(98, 121)),
    "age % 50 = 49": ("age", ValueSet.of([49, 99])),
    "abs(n) >= 49": ("n", ValueSet.of([-50, -49, 49, 50])),
    "n ** 2 < 4": ("n", ValueSet.interval(-1, 2)),
    "sign(n) = -1": ("n", ValueSet.interval(-50, 0)),
    "n // 40 = 0": ("n", ValueSet.interval(-39, 40)),
    "round(n / 40) = 0": ("n", ValueSet.interval(-19, 20)),
    "coalesce(n, 50) = 50": ("n", ValueSet.of([50]) | ONLY_NULL),
    "case when n > 0 then 'pos' else 'neg' end = 'pos'": ("n", ValueSet.interval(1, 51)),
    "(n > 3) is null": ("n", ONLY_NULL),
    "n is distinct from 3": ("n", ValueSet.interval(-50, 3) | ValueSet.interval(4, 51) | ONLY_NULL),
    "cost * 2 + 1 > 39999": ("cost", ValueSet.interval(1_999_901, 2_000_001)),
    "round(cost) = 3": ("cost", ValueSet.interval(250, 350)),
    "cast(cost as integer) = -3": ("cost", ValueSet.interval(-349, -249)),
    "floor(cost / 100) = 199": ("cost", ValueSet.interval(1_990_000, 2_000_000)),
    "lower(disease) like 'm%'": ("disease", ValueSet.of([0])),
    "length(disease) = 3": ("disease", ValueSet.of([1, 3])),
    "disease || '!' = 'flu!'": ("disease", ValueSet.of([1])),
    "disease ilike '%L%'": ("disease", ValueSet.of([1, 2])),
    "upper(sex) = 'M'": ("sex", ValueSet.of([1])),
    "year(born) = 1970": ("born", ValueSet.interval(0, 365)),
    "extract(year from born) < 1891": ("born", ValueSet.interval(-29186, -28854)),
    "date_trunc('month', born) = '1970-02-01'": ("born", ValueSet.interval(31, 59)),
    "born + interval '3 days' = '1970-01-04'": ("born", ValueSet.of([0])),
    "born - date '1970-01-01' = 7": ("born", ValueSet.of([7])),
    "born < timestamp '1890-02-04 12:00:00'": ("born", ValueSet.interval(-29186, -29184)),
    "date_diff('day', date '1970-01-01', born) between 0 and 1": ("born", ValueSet.of([0, 1])),
    "seen::date = '1970-01-02'": ("seen", ValueSet.interval(86_400_000_000, 2 * 86_400_000_000)),
    "date_trunc('hour', seen) = '1970-01-01 01:00:00'": ("seen", ValueSet.interval(3_600_000_000, 7_200_000_000)),
    "year(seen) = 2029": ("seen", ValueSet.interval(1_861_920_000_000_000, 1_893_456_000_000_000)),
    "open / 10 > 3": ("open", ValueSet.interval(31, None)),
    "smoker::int = 1": ("smoker", ValueSet.of([1])),
    "smoker is not true": ("smoker", ValueSet.of([0]) | ONLY_NULL),
    "note in ('a', 'b')": ("note", ValueSet.of(["a", "b"])),
}


@pytest.mark.parametrize("text", SETS)
def test_a_condition_on_one_column_is_a_set_of_its_values(text):
    """So it narrows the region, exactly."""
    name, allowed = SETS[text]
    assert condition(text) == Member(name, allowed)
    assert region(condition(text)).boxes[0].sides == {name: allowed}


@pytest.mark.parametrize(
    "text", ["n + m > 3", "n = m", "lower(note) = 'a'", "note like 'a%'", "cost / weight > 2", "abs(cost) > 3"]
)
def test_other_conditions_narrow_nothing(text):
    assert isinstance(condition(text), Test)
    assert region(condition(text)).is_whole


SAME = [
    ("n + m > 3", "3 < m + n"), ("n > m", "m < n"), ("not (n > m)", "n <= m"), ("n * m = 4", "m * n = 4"),
    ("n between 1 and 3", "n >= 1 and n <= 3"), ("age / 10 > 3", "age > 30"), ("n in (1, 2)", "n = 1 or n = 2"),
    ("contains(note, 'a')", "note like '%a%'"), ("note like '%%_%'", "note like '_%'"), ("n is null", "n is unknown"),
    ("coalesce(n, m) = 3", "ifnull(n, m) = 3"), ("if(n > 0, m, 1) = 3", "case when n > 0 then m else 1 end = 3"),
    ("(n > m) is true", "n > m"), ("year(born) = 1970", "extract('year' from born) = 1970"), ("n != m", "n <> m"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), SAME)
def test_spelling_does_not_matter(left, right):
    assert condition(left) == condition(right)


def test_settled_conditions():
    assert condition("1 < 2 and 'a' <> 'b'") == condition("n < 60 or n is null") == TRUE
    assert condition("n = 2.5") == condition("n > null") == condition("age < 0 and n = 1") == FALSE
    assert condition("n = 2.5", wanted=False) == condition("n is not null")


def test_literals():
    reader, node = read("3")
    assert reader.constant(node) == 3
    reader, node = read("'a'")
    assert reader.constant(node) == "a"
    reader, node = read("null")
    assert reader.constant(node) is None
    reader, node = read("-0.50")
    assert str(reader.constant(node)) == "-1/2"
    reader, node = read("n")
    with pytest.raises(Refused, match="a literal value is required here"):
        reader.constant(node)


def test_labels():
    assert scalar("floor(age / 10) * 10").label(3) == 30
    assert scalar("cost / 2").label(1) == 0.005
    assert scalar("date_trunc('month', seen)").label(0) == "1970-01-01 00:00:00"
    assert scalar("born + 1").label(1) == "1970-01-02"
    assert scalar("upper(disease)").label(0) == "MUMPS"
    assert scalar("n > 3").label(1) is True
    with pytest.raises(ValueError, match="free text"):
        scalar("lower(note)").label(0)
    assert scalar("lower(note)").kind == TextKind()


def test_reading_stays_quick_however_conditions_nest():
    """Each level is read for TRUE and for FALSE; were it read anew each time, this would take for ever."""
    text = "smoker"
    for _ in range(30):
        text = f"({text} = alive)"
    with pytest.raises(Refused, match="too complex"):
        scalar(text)
    assert scalar("(((smoker = alive) = alive) = alive)").expression.null
