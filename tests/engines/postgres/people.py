"""A small table of people for tests, and how many of them there are."""

from discreet.accounting.region import Region
from discreet.engines.postgres.server_errors import ServerFault
from discreet.schema.column import NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.sql.group_keys import declared_axis
from engines.asking import asked
from engines.postgres.server import lying

AGE = NumberColumn(name="age", type="integer", low=0, high=9)
NOTE = TextColumn(name="note")
SCHEMA = Schema(table="people", columns=(AGE, NOTE), unit=PrivacyUnit())
MARK = "stripe918273645"


CELLS = asked(axes=(declared_axis(AGE),))


def total(engine, place):
    tables = lying(CELLS.plan, place)
    engine.ready(tables)
    return int(engine.count(CELLS, Region.whole(), tables=tables).exact_values[0].sum())


def words(problem):
    """All that an exception says, with everything behind it."""
    found = []
    while problem is not None:
        found += [str(problem), repr(problem), *map(str, getattr(problem, "__notes__", []))]
        assert problem.__cause__ is None or isinstance(problem.__cause__, ServerFault)
        assert problem.__context__ is None or isinstance(problem.__context__, ServerFault), problem.__context__
        problem = problem.__cause__
    return " ".join(found)
