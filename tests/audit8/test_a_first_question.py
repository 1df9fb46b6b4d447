"""What a first question says must not hang on one row: it is told to an analyst, and nothing was charged.

Design, section 5: refusals before data is touched are free and the same on an empty copy.
"""

import pytest

import discreet
from discreet.errors import DiscreetError
from engines.postgres.server import execute, new_name, postgres_address

__all__ = ["postgres_address"]

SOURCES = {
    "view": "CREATE TABLE public.{0}_t (a int); CREATE VIEW public.{0} AS SELECT a, 10 / a AS age FROM public.{0}_t",
    "generated": "CREATE TABLE public.{0} (a int, age int GENERATED ALWAYS AS (10 / a) VIRTUAL)",
}


def outcome(tmp_path, address, form, values):
    name = new_name("people")
    try:
        execute(address, *SOURCES[form].format(name).split("; "))
    except Exception:
        pytest.skip("this server has no virtual columns")
    into = f"{name}_t" if form == "view" else name
    execute(address, f"INSERT INTO public.{into} (a) VALUES {', '.join(f'({value})' for value in values)}")
    project = discreet.init(tmp_path / name)
    project.add(f"public.{name}", name="people", epsilon=3, engine=address)
    project = discreet.open(project.folder)
    try:
        project.sql("SELECT count(*) FROM people").ask(epsilon=1)
        told = "answered"
    except DiscreetError as problem:
        told = f"{type(problem).__name__}: {problem.reason}"
    try:
        spent = str(discreet.open(project.folder).budget("people").spent.epsilon)
    except DiscreetError:
        spent = "no account"
    return told, spent


@pytest.mark.parametrize("form", SOURCES)
def test_one_row_changes_neither_the_outcome_nor_the_charge(tmp_path, postgres_address, form):
    without = outcome(tmp_path, postgres_address, form, [1, 2, 3])
    assert outcome(tmp_path, postgres_address, form, [1, 2, 3, 0]) == without
