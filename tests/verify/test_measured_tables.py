"""Marginals and publications: what a step measured is the digest that was charged, and its noise covers a unit."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.bundle import bundle_files, proof
from discreet.kernel.binned_table import BinnedTable
from discreet.mechanisms.strategy.node_tables import NodeStrategy
from discreet.mechanisms.strategy.strategy import Strategy
from verify import world
from verify.conftest import state_in
from verify.forging import signed_again, verdicts
from verify.test_forgeries import at, in_payload

#: Bundles are made once for all tests of this folder, by whichever comes first.

DIGEST = "0" * 64
#: The bundle, a change of its plan, one of its proof (None: the same), and the line that tells.
LIES = {
    "another digest": ("marginals", at("steps", 0, "of", to=DIGEST), None),
    "another digest of a publication": ("publication of persons", at("steps", 0, "of", to=DIGEST), None),
    "fewer parts": ("marginals", in_payload("parts", to=lambda parts: parts[:-1]), None),
    "another part": ("marginals", in_payload("parts", -1, 0, to=[0]), None),
    "contrasts that were not measured": ("marginals of persons", in_payload("parts", -1, 1, to=[0]), None),
    "other columns": ("marginals", in_payload("columns", to=["sex", "smoker"]), None),
    "columns the other way": ("marginals", in_payload("columns", to=lambda names: names[::-1]), None),
    "bins that overlap": ("marginals of persons", None, at("axes", 1, 1, 1, to=-1)),
    "other bins": ("marginals of persons", None, at("axes", 1, 1, 1, to=lambda edge: edge + 1)),
    "a cell less": ("marginals", None, at("axes", 0, 2, to=lambda null: not null)),
    "a column less": ("publication of persons", None, at("axes", to=lambda axes: axes[:-1])),
    "other places": ("publication of persons", in_payload("cells", "places", to=["sex"]), None),
    "other groups": ("publication of persons", in_payload("cells", "levels", 1, "groups", 0, to=[0, 0]), None),
}  # fmt: skip


@pytest.mark.parametrize("title", LIES)
def test_a_lie_about_what_was_measured_is_seen(title, programs):
    name, plan, told = LIES[title]
    same = lambda data: data  # noqa: E731
    files = programs[name]
    step = (lambda data: at("steps", to=plan(json.loads(files["plan.json"]))["steps"])(data)) if plan else same
    assert verdicts(files)["sensitivity"] == "proved"
    assert verdicts(signed_again(files, plan=plan or same, proof=told or step))["sensitivity"] == "broken"


@pytest.mark.parametrize("name", ["marginals of persons", "publication of persons"])
def test_less_noise_is_seen(name, programs):
    """Of each event in turn: half as far, with half of the noise, which loses the same."""
    files = programs[name]
    event = json.loads(files["plan.json"])["steps"][0]["event"]
    for place in range(len(event["events"])) if "events" in event else [None]:
        path = ("steps", 0, "event", *(() if place is None else ("events", place)))

        def halved(told):
            size, moved = ("scale", "l1") if told["kind"] == "laplace" else ("sigma2", "l2_squared")
            parts = 2 if told["kind"] == "laplace" else 4
            smaller = Fraction(told[size]) / parts
            return told | {
                size: f"{smaller.numerator}/{smaller.denominator}", moved: told[moved] // parts
            }  # fmt: skip

        less = at(*path, to=halved)
        assert verdicts(signed_again(files, plan=less, proof=less))["sensitivity"] == "broken"


@pytest.mark.parametrize("name", ["marginals", "publication of persons"])
def test_each_number_is_as_it_was_drawn(name, programs):
    files = programs[name]
    for turn in (0, -1):
        lie = at("tables", -1, "rows", turn, -1, to=lambda value: value + 1)
        told = json.loads(files["data.json"])
        content = signed_again(files, data=lie)
        assert json.loads(content["data.json"]) != told and verdicts(content)["numbers"] == "broken"


def rows_are_one(patch):
    """Steps are charged as if a person had one row."""
    for kind in (Strategy, NodeStrategy):
        true = kind.sensitivity
        patch.setattr(kind, "sensitivity", lambda self, rows, true=true: true(self, 1))


def other_columns(patch):
    """The table is measured by its columns the other way round."""
    true = BinnedTable.linear
    patch.setattr(BinnedTable, "linear", lambda self, sets, parts: true(self, [own[::-1] for own in sets], parts))


def other_bins(patch):
    """The proof tells wider bins than were counted."""
    true = proof.declared_axis
    patch.setattr(proof, "declared_axis", lambda column: replace(true(column), edges=true(column).edges[::2]))


MUTANTS = [
    (rows_are_one, "marginals of persons"),
    (rows_are_one, "publication of persons"),
    (rows_are_one, "ranges of persons"),
    (other_columns, "marginals of persons"),
    (other_bins, "marginals of persons"),
]


@pytest.mark.parametrize(("mutant", "name"), MUTANTS, ids=lambda each: getattr(each, "__name__", each))
def test_a_wrong_discreet_is_seen(mutant, name, tmp_path, monkeypatch):
    with state_in(tmp_path / "state"):
        project = world.persons_project(tmp_path / "p")
        mutant(monkeypatch)
        found = verdicts(bundle_files.make_bundle(project, world.PROGRAMS[name](project)))
        assert found["sensitivity"] == "broken", found
