"""A view may mix rows: then one person moves everybody's row, and no noise is calibrated to that.

The unit of a source that is a view is only right where each row of the view comes of one row of its tables.
"""

import pytest

from discreet.errors import DiscreetError
from discreet.schema.column import Number
from discreet.schema.schema import Schema, Table
from discreet.schema.unit import PrivacyUnit
from engines.postgres.server import NOWHERE, declared_rows, execute, new_name, postgres_address, postgres_engine

__all__ = ["postgres_address", "postgres_engine"]

SCHEMA = Schema(
    table="people",
    columns=(Number(name="age", type="integer", low=0, high=9),),
    unit=PrivacyUnit(person=("pid",), rows=1),
)

MIXING = {
    "window": "SELECT pid, CASE WHEN count(*) OVER () > 20 THEN 9 ELSE 0 END AS age FROM {0}",
    "subquery": "SELECT pid, CASE WHEN (SELECT count(*) FROM {0}) > 20 THEN 9 ELSE 0 END AS age FROM {0}",
    "aggregate": "SELECT 'p' || g AS pid, age FROM generate_series(1, 20) AS g,"
    " (SELECT CASE WHEN count(*) > 20 THEN 9 ELSE 0 END AS age FROM {0}) AS all_of_them",
    "limit": "SELECT * FROM (SELECT pid, age FROM {0} ORDER BY pid LIMIT 20) AS first_ones",
}


@pytest.mark.parametrize("form", MIXING)
def test_one_person_moves_one_row_or_the_view_is_refused(postgres_engine, postgres_address, form):
    name = new_name("people")
    execute(
        postgres_address,
        f"CREATE TABLE public.{name} AS SELECT lpad('p' || g, 9, 'p') AS pid, g % 10 AS age FROM generate_series(2, 21) AS g",
        f"CREATE VIEW public.{name}_v AS {MIXING[form].format(f'public.{name}')}",
    )
    table = Table(schema=SCHEMA, source=f"public.{name}_v", population="people", budget=None)
    found = []
    for extra in ((), (f"INSERT INTO public.{name} VALUES ('0', 5)",)):
        execute(postgres_address, "SELECT 1", *extra)
        place = postgres_engine.place(new_name("made"), folder=NOWHERE)
        try:
            postgres_engine.declare(table, folder=NOWHERE, target=place, key=bytes(32), tag_key=bytes(32))
        except DiscreetError:
            return
        found.append(
            {tuple(sorted((k, str(v)) for k, v in row.items())) for row in declared_rows(postgres_address, place)}
        )
    assert len(found[0] ^ found[1]) <= 1, f"one person moved {len(found[0] ^ found[1])} rows"
