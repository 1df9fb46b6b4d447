"""Faults planted on purpose: each is caught by the test that is there for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from discreet.kernel.program import Program
from discreet.plan.cells import even_edges
from discreet.synth import attribute_discovery, cell_choice, cell_decoder, first_histograms, row_sampler, rules
from discreet.synth.constraints import CellLimits, PublicConstraints
from synth import test_bought, test_columns, test_constraints, test_extremes, test_ledger, test_saving
from synth.worlds import CLINIC, CLINIC_RULES, clinic_lines, fit, keeps_clinic_rules, open_project


def exact(cut, place, attribute):
    return np.bincount(attribute.fine_of_counted(), weights=cut._count((place,)))


def exact_weights(monkeypatch):
    known = first_histograms.group_cells

    def grouped(attributes, cut, *noisy):
        found = known(attributes, cut, *noisy)
        told = tuple(
            each.with_groups(each.groups, exact(cut, place, each)) for place, each in enumerate(found.attributes)
        )
        return replace(found, attributes=told)

    monkeypatch.setattr(first_histograms, "group_cells", grouped)


def exact_total(monkeypatch):
    known = first_histograms.group_cells
    monkeypatch.setattr(
        first_histograms,
        "group_cells",
        lambda attributes, cut, *rest: replace(known(attributes, cut, *rest), total=float(cut._count(())[0])),
    )


def exact_bins(monkeypatch):
    known, bins = first_histograms.group_cells, cell_choice.choose_bins

    def grouped(attributes, cut, *noisy):
        names = [attribute.name for attribute in attributes]
        monkeypatch.setattr(
            cell_choice,
            "choose_bins",
            lambda attribute, values, sd, total: bins(
                attribute, exact(cut, names.index(attribute.name), attribute), sd, total
            ),
        )
        return known(attributes, cut, *noisy)

    monkeypatch.setattr(first_histograms, "group_cells", grouped)


def exact_rare(monkeypatch):
    known, merged = first_histograms.group_cells, cell_choice.merge_rare_cells

    def grouped(attributes, cut, *noisy):
        few = [place for place, each in enumerate(attributes) if not each.binned or len(each.edges) - 1 <= 32]
        sure = iter([exact(cut, place, attributes[place]) for place in few])
        monkeypatch.setattr(cell_choice, "merge_rare_cells", lambda values, sd: merged(next(sure), sd))
        return known(attributes, cut, *noisy)

    monkeypatch.setattr(first_histograms, "group_cells", grouped)


def stored_column(program, name):
    table = pq.read_table(program._curator.folder / program.version.file)
    return [each for each in table[name].to_pylist() if each is not None]


def exact_words(monkeypatch):
    monkeypatch.setattr(
        attribute_discovery,
        "_find_words",
        lambda program, needs: {
            name: attribute_discovery.attribute_of_words(name, sorted(set(stored_column(program, name))))
            for name in needs.texts
        },
    )


def exact_bounds(monkeypatch):
    known = attribute_discovery._find_bounds

    def bounded(program, needs):
        found = known(program, needs)
        for name, attribute in found.items():
            codes = stored_column(program, name)
            edges = even_edges(min(codes), max(codes) + 1, 256)
            found[name] = replace(attribute, edges=edges, apart=np.zeros(0), groups=np.zeros(0), weights=np.zeros(0))
        return found

    monkeypatch.setattr(attribute_discovery, "_find_bounds", bounded)


@pytest.mark.parametrize("mutant", [exact_weights, exact_total, exact_bins, exact_rare, exact_words, exact_bounds])
def test_a_program_that_looks_at_its_table_is_seen(tmp_path, monkeypatch, mutant):
    with monkeypatch.context() as planted:
        mutant(planted)
        with pytest.raises(AssertionError):
            test_ledger.test_a_model_follows_from_its_steps_alone(tmp_path, "independent", monkeypatch)


def test_words_that_are_not_bought_are_seen(tmp_path, monkeypatch):
    exact_words(monkeypatch)
    with pytest.raises(AssertionError):
        test_bought.never_shown(tmp_path, 1)


@pytest.mark.parametrize("factor", [4, 0.5])
def test_noise_for_another_share_is_seen(tmp_path, monkeypatch, factor):
    """Half the noise goes beyond the reservation, which the ledger refuses; more noise leaves some of it over."""
    known = Program.law
    monkeypatch.setattr(Program, "law", lambda self, share: known(self, share * type(share)(factor)))
    with pytest.raises(Exception, match=r"beyond what|assert"):
        test_ledger.test_pure_steps_sum_to_all_that_was_asked(tmp_path, "independent")


def test_a_total_that_is_saved_exactly_is_seen(tmp_path, monkeypatch):
    exact_total(monkeypatch)
    with pytest.raises(AssertionError):
        test_saving.test_nothing_in_a_saved_model_is_exact(tmp_path)


def test_null_that_is_dropped_is_seen(tmp_path, monkeypatch):
    known = attribute_discovery.attribute_of

    def without(column):
        found = known(column)
        return found and replace(found, null=False, apart=np.zeros(0), groups=np.zeros(0), weights=np.zeros(0))

    monkeypatch.setattr(attribute_discovery, "attribute_of", without)
    with pytest.raises(AssertionError):
        test_columns.test_null_is_modelled_jointly(tmp_path)


def test_cells_that_forget_their_weights_are_seen(monkeypatch):
    known = cell_decoder._draw_fine_cells
    monkeypatch.setattr(
        cell_decoder,
        "_draw_fine_cells",
        lambda attribute, *rest: known(replace(attribute, weights=np.ones(attribute.fine)), *rest),
    )
    with pytest.raises(AssertionError):
        test_columns.test_a_cell_goes_back_by_its_noisy_weights()


@pytest.fixture
def clinic(tmp_path):
    (tmp_path / "clinic").mkdir()
    return fit(
        open_project(tmp_path / "clinic", CLINIC, clinic_lines(1500)),
        kind="mst",
        constraints={**CLINIC_RULES, "totals": []},
        epsilon="3",
    )


def test_rows_that_are_not_mended_are_seen(clinic, monkeypatch):
    monkeypatch.setattr(
        PublicConstraints,
        "repair_rows",
        lambda self, codes, *rest, **named: (dict(codes), np.zeros(len(codes["age"]), dtype=bool)),
    )
    # An order is kept by construction where a difference stands for it: without that, mending alone keeps it.
    monkeypatch.setattr(row_sampler, "apply_differences", lambda attributes, codes, *rest, **named: codes)
    with pytest.raises(AssertionError):
        keeps_clinic_rules(clinic.sample(3000, seed=1))


def test_a_fit_without_what_is_ruled_out_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(PublicConstraints, "on", lambda self, attributes, total: CellLimits(total=total))
    made = fit(open_project(tmp_path, CLINIC, clinic_lines(1500)), constraints=CLINIC_RULES, epsilon="3")
    with pytest.raises(AssertionError):
        test_constraints.test_whole_cells_that_are_ruled_out_have_no_mass(made)


@pytest.mark.parametrize("kind", ["zero", "dependency", "order"])
def test_a_table_that_allows_all_or_too_little_is_seen(monkeypatch, kind):
    owner = {"zero": rules.StructuralZero, "dependency": rules.Dependency, "order": rules.ColumnOrder}[kind]
    known = owner.allowed
    for mutant in (
        lambda found: np.ones_like(found),
        lambda found: found & (np.arange(found.size) > 0).reshape(found.shape),
    ):
        with monkeypatch.context() as planted:
            planted.setattr(owner, "allowed", lambda self, attributes, mutant=mutant: mutant(known(self, attributes)))
            with pytest.raises(AssertionError):
                test_constraints.test_one_rule_on_cells_and_on_rows(kind)


def test_totals_that_are_not_kept_are_seen(monkeypatch):
    monkeypatch.setattr(PublicConstraints, "known_counts", lambda self, names: ())
    with pytest.raises(AssertionError):
        test_constraints.test_totals_in_parts_and_of_rare_values(monkeypatch)


@pytest.fixture
def ages(tmp_path):
    random = np.random.default_rng(0)
    lines = [f"{age},{'FM'[int(age > 50)]}" for age in random.integers(0, 100, size=1000)]
    return fit(
        open_project(tmp_path, {"age": test_extremes.AGE, "sex": test_extremes.SEX}, lines), kind="mst", epsilon="5"
    )


def test_what_is_given_and_only_written_over_is_seen(ages, monkeypatch):
    monkeypatch.setattr(row_sampler, "condition", lambda calibrated, evidence: calibrated)
    with pytest.raises(AssertionError):
        test_extremes.test_conditional_generation_is_exact(ages)


def test_a_seed_that_is_not_used_is_seen(ages, monkeypatch):
    known = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed=None: known())
    with pytest.raises(AssertionError):
        test_extremes.test_seeds_reproduce_and_only_seeds(ages)


def test_the_checks_hold_without_a_fault(ages, clinic, tmp_path):
    """The same checks pass where nothing is planted: they fail for the fault alone."""
    test_extremes.test_conditional_generation_is_exact(ages)
    test_extremes.test_seeds_reproduce_and_only_seeds(ages)
    assert keeps_clinic_rules(clinic.sample(3000, seed=1))
