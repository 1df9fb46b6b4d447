"""Work as a signal: what one unit makes an engine do stays below what the plan says, and the plan refuses much."""

from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from discreet.engines.memory import MemoryEngine
from discreet.errors import Refused
from discreet.plan import work_bound
from discreet.plan.relation import base
from discreet.plan.work_bound import RowWork, unit_work
from discreet.schema.column import MOST_TEXT, CategoryColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.sql.query_parser import parse_query
from laws.joined import JoinAsker
from laws.neighbours import DELTA, EPSILON, Pair
from laws.questions import Asker
from laws.toil import CHARACTERS, OPERATORS, toil, units
from laws.worlds import Source, World, loud_worlds, table_of, worlds
from tiers import fuzzed, size

QUESTIONS = 25


def check(pair, text):
    """Both tallies of one question against the bound in the same unit. What was added, and what was allowed."""
    found = {}
    with units(**OPERATORS):
        asked = parse_query(text, pair.catalog)
        found["operators"] = unit_work(asked.inquiry, asked.schemas)
    with units(**CHARACTERS):
        found["characters"] = unit_work(asked.inquiry, asked.schemas)
    with_unit = toil(asked, pair.whole, epsilon=EPSILON, delta=DELTA)
    without = toil(asked, pair.less, epsilon=EPSILON, delta=DELTA)
    for name, allowed in found.items():
        added = with_unit[name] - without[name]
        assert added <= allowed, f"one unit adds {added} {name}, and the plan allows {allowed}"
    return asked, with_unit - without


def run(folder, *, worlds, seed, pairs):
    seen = {"asked": 0, "operators": 0}

    @settings(
        max_examples=pairs,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(world=worlds, number=st.integers(0, 2**40))
    def law(world, number):
        pair = Pair.make(world, folder, MemoryEngine())
        for turn in range(QUESTIONS):
            text = (JoinAsker if turn % 2 else Asker)(world, Random(f"{number} {turn}")).question()
            try:
                _, added = check(pair, text)
            except Refused:
                continue
            except AssertionError as problem:
                raise AssertionError(f"{problem}\nin {text}\nof {world}") from problem
            seen["asked"] += 1
            seen["operators"] += added["operators"]
        pair.forget()

    (law if seed is None else seeded(seed)(law))()
    return seen


@pytest.mark.parametrize("kind", [worlds, loud_worlds])
def test_a_unit_does_no_more_than_the_plan_says(tmp_path, quick_files, kind):
    seen = run(tmp_path, worlds=kind, seed=1, pairs=size(1, 2))
    assert seen["asked"] > size(6, 15) and seen["operators"] > 50, seen


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", [worlds, loud_worlds])
def test_a_unit_does_no_more_than_the_plan_says_of_many(tmp_path, quick_files, kind):
    run(tmp_path, worlds=kind, seed=None, pairs=fuzzed(400))


# One adversarial person, and mutants of the bound


def toiler() -> World:
    """A person with as many rows, and as long texts, as there may be; and public tables to meet."""
    columns = (
        NumberColumn(name="age", type="integer", low=0, high=120),
        NumberColumn(name="cost", type="integer", low=-1000, high=1000),
        CategoryColumn(name="kind", values=("a", "b")),
        TextColumn(name="note"),
    )
    schema = Schema(table="visits", columns=columns, unit=PrivacyUnit(person=("pid",), rows=3))
    mine = [("t", 120, 7 * place, "ab"[place % 2], chr(65 + place) * 2 * MOST_TEXT) for place in range(3)]
    others = tuple((f"p{place}", place, place, "a", "short") for place in range(4))
    names = ("pid", "age", "cost", "kind", "note")
    types = (pa.string(), pa.int64(), pa.int64(), pa.string(), pa.string())
    visits = Source(table=table_of(schema, parquet=True), names=names, rows=(*mine, *others), types=types)
    keys = (
        NumberColumn(name="one", type="integer", low=0, high=9),
        NumberColumn(name="v", type="integer", low=0, high=99),
    )
    open_schema = Schema(table="ones", columns=keys, unit=PrivacyUnit())
    ones = Source(
        table=table_of(open_schema, parquet=True, public=True),
        names=("one", "v"),
        rows=tuple((1, place) for place in range(9)),
        types=(pa.int64(), pa.int64()),
    )
    return World(sources={"visits": visits}, publics={"ones": ones}, without={"visits": others}, person=("t",))


@pytest.fixture(scope="module")
def toilers(tmp_path_factory, quick_files):
    return Pair.make(toiler(), tmp_path_factory.mktemp("toil"), MemoryEngine())


def _many(number, form):
    return ", ".join(f"{form(place)} AS c{place}" for place in range(number))


def _either(first):
    return " OR ".join(f"(age * cost + {place} * age) % 77 = 3" for place in range(first + 1, first + 40))


HEAVY = {
    "joins": f"SELECT {_many(9, lambda i: f'sum(v.cost * v.age + o.v * {i})')} FROM visits v JOIN ones o ON 1 = o.one JOIN ones q ON 1 = q.one",
    "self-joins": f"SELECT {_many(9, lambda i: f'sum(v.cost * v.age + w.age * {i})')} FROM visits v JOIN visits w ON v.pid = w.pid JOIN visits x ON v.pid = x.pid",
    "conditions": f"SELECT count(*) FROM visits WHERE {_either(0)}",
    "filters": f"SELECT {_many(3, lambda i: f'count(*) FILTER (WHERE {_either(i)})')} FROM visits",
    "expressions": f"SELECT {_many(40, lambda i: f'sum(abs(age * cost + {i + 1} * age) * cost)')} FROM visits",
    "texts": f"SELECT {_many(9, lambda i: f'count(*) FILTER (WHERE lower(trim(substr(note, {i + 1}))) LIKE {chr(39)}%x%{chr(39)})')} FROM visits",
    "distinct texts": "SELECT count(DISTINCT upper(lower(upper(note)))) FROM visits",
    "keys": f"SELECT CASE WHEN {_either(1)} THEN 1 ELSE 0 END AS k, count(*) FROM visits GROUP BY 1",
    "sets": f"SELECT {_many(30, lambda i: f'sum(abs(age * cost + {i + 1} * age) * cost)')} FROM visits GROUP BY CUBE (kind, age, cost // 500)",
    "quantiles": f"SELECT {_many(9, lambda i: f'median(abs(age * {i + 1} + cost * age))')} FROM visits",
    "persons": f"SELECT sum(n0) FROM (SELECT pid, {', '.join(f'sum(abs(age * cost + {i + 1} * age) * cost) AS n{i}' for i in range(40))} FROM visits GROUP BY pid) p",
    "other side": f"SELECT count(*) FROM visits v JOIN (SELECT pid, age FROM visits WHERE {_either(0)}) w ON v.pid = w.pid",
}  # fmt: skip


@pytest.mark.thin(6)
@pytest.mark.parametrize("name", HEAVY)
def test_heavy_questions_stay_below_the_plan(toilers, name):
    """And come near it: within fifty times, for it is of engines that write an expression several times over."""
    asked, added = check(toilers, HEAVY[name])
    with units(**(CHARACTERS if "texts" in name else OPERATORS)):
        allowed = unit_work(asked.inquiry, asked.schemas)
    assert 50 * added["characters" if "texts" in name else "operators"] > allowed


def _no_joins(patch):
    real = work_bound.reach
    patch.setattr(work_bound, "reach", lambda plan, schemas: real(base(plan), schemas))


def _forgets(name, result):
    return lambda patch: patch.setattr(work_bound, name, lambda *_: result)


def _no_below(patch):
    real = work_bound._block
    patch.setattr(work_bound, "_block", lambda plan, schemas: replace(real(plan, schemas), below_ns=0))


def _only(**fewer):
    def mutate(patch):
        real = work_bound.unit_work

        def forgetful(inquiry, schemas):
            return real(
                replace(inquiry, **{name: getattr(inquiry, name)[:kept] for name, kept in fewer.items()}), schemas
            )

        patch.setitem(globals(), "unit_work", forgetful)

    return mutate


MUTANTS = [
    ("joins", _no_joins),
    ("self-joins", _no_joins),
    ("conditions", _forgets("predicate_work", RowWork())),
    ("filters", _forgets("predicate_work", RowWork())),
    ("expressions", _forgets("expression_work", RowWork(operators=1))),
    ("expressions", _forgets("_statistic_work", RowWork(operators=2))),
    ("texts", _forgets("_text_work", RowWork())),
    ("distinct texts", _forgets("_text_work", RowWork())),
    ("texts", lambda patch: patch.setattr(work_bound, "MOST_TEXT", MOST_TEXT // 100)),
    ("keys", _forgets("_axis_work", RowWork(operators=4))),
    ("sets", _only(sets=1)),
    ("quantiles", _only(quantiles=0)),
    ("persons", _no_below),
]


@pytest.mark.parametrize(("name", "mutant"), MUTANTS)
def test_a_bound_that_forgets_is_caught(toilers, name, mutant):
    with pytest.MonkeyPatch.context() as patch:
        mutant(patch)
        with pytest.raises(AssertionError, match="one unit adds"):
            check(toilers, HEAVY[name])
