"""A Discreet that derives too little noise, draws that noise and writes a proof that agrees: the checker finds it."""

from dataclasses import replace

import pytest

from discreet.bundle import bundle_files
from discreet.mechanisms import threshold
from discreet.plan import interval, price, query_sensitivity
from verify import world
from verify.conftest import state_in
from verify.forging import verdicts

#: Bundles are made once for all tests of this folder, by whichever comes first.


def rows_are_one(patch):
    """Persons count as if they had one row."""
    scan = query_sensitivity._scan
    patch.setattr(query_sensitivity, "_scan", lambda schema: replace(scan(schema), rows=1))


def joins_add_nothing(patch):
    """A join on the person does not multiply rows."""
    patch.setattr(query_sensitivity, "_person", lambda plan, inner, other: inner)


def public_rows_are_one(patch):
    """A public table's fan-out is forgotten."""
    patch.setattr(query_sensitivity, "_public", lambda plan, inner: inner)


def keys_are_constant(patch):
    """Every key counts as constant over a person's rows."""
    patch.setattr(query_sensitivity, "_is_constant", lambda expression, constant: True)


def groups_make_one_row(patch):
    """Grouped by person and a key, a person still makes one row only."""
    inner = query_sensitivity._per_person
    patch.setattr(query_sensitivity, "_per_person", lambda plan, reach: replace(inner(plan, reach), rows=1))


def sums_move_by_one(patch):
    """A sum counts as a count."""
    patch.setattr(query_sensitivity, "term_of", lambda statistic: 1)


def products_are_sums(patch):
    """The bounds of a product are those of a sum."""
    patch.setattr(interval, "times", interval.plus)


def persons_touch_one_group(patch):
    """Whoever is in several groups counts in one."""
    for module in (query_sensitivity, price):
        patch.setattr(module, "cells_touched", lambda keys, reach, groups=None: 1)


def thresholds_are_free(patch):
    """The delta of a threshold is a thousandth of what it is."""
    true = threshold.delta_of
    patch.setattr(threshold, "delta_of", lambda noise, **more: true(noise, **more) / 1000)


MUTANTS = {
    rows_are_one: "SELECT count(*) AS n FROM visits WHERE cost > 3",
    joins_add_nothing: "SELECT count(*) AS n FROM visits v JOIN stays s ON v.id = s.id WHERE cost > 3",
    public_rows_are_one: "SELECT count(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward WHERE cost > 3",
    keys_are_constant: "SELECT ward, count(DISTINCT id) AS n FROM visits WHERE cost > 3 GROUP BY ward",
    groups_make_one_row: "SELECT sum(n) AS n FROM (SELECT id, ward, count(*) AS n FROM visits GROUP BY id, ward) WHERE n > 1",
    sums_move_by_one: "SELECT sum(cost) AS n FROM visits WHERE cost > 3",
    products_are_sums: "SELECT sum(cost * (cost - 3)) AS n FROM visits",
    persons_touch_one_group: "SELECT ward, count(DISTINCT id) AS n FROM visits WHERE cost > 5 GROUP BY ward",
    thresholds_are_free: "SELECT town, count(DISTINCT id) AS n FROM visits WHERE cost > 3 GROUP BY town",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_is_found(mutant, tmp_path, monkeypatch):
    with state_in(tmp_path / "state"):
        project = world.persons_project(tmp_path / "p")
        true = bundle_files.make_bundle(project, project.sql(MUTANTS[mutant]).ask(epsilon=1).id)
        assert "broken" not in verdicts(true).values()
        mutant(monkeypatch)
        release = project.sql(MUTANTS[mutant]).ask(epsilon="1.5", fresh=True)
        assert verdicts(bundle_files.make_bundle(project, release.id))["sensitivity"] == "broken"
