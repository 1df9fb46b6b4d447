"""The ways to audit: never more than is true, and close to it."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import UsageError
from discreet.lab.privacy_audit import binomial, demo, lower_bound, measure_epsilon, noise_laws, one_run_audit, sql
from discreet.lab.privacy_audit.audit_suite import audit, holm
from discreet.lab.privacy_audit.epsilon_lower_bound import OutputSetCounts, count_output_set
from discreet.lab.privacy_audit.target_list import all_targets
from discreet.lab.privacy_audit.targets import (
    AuditOutcome,
    AuditTarget,
    exact_delta_target,
    games_outcome,
    identity_target,
)
from discreet.mechanisms.quantile import QuantileChoice
from tiers import size


def laplace(epsilon, size, generator):
    return generator.laplace(0, 1 / epsilon, size), generator.laplace(1, 1 / epsilon, size)


# Bounds on chances


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (1, 10), (7, 10), (10, 10), (480, 5000), (4999, 5000)])
@pytest.mark.parametrize("doubt", [0.05, 1e-3, 1e-9])
def test_bounds_on_a_chance_are_clopper_s_and_pearson_s(successes, n, doubt):
    low = 0.0 if successes == 0 else stats.beta.ppf(doubt, successes, n - successes + 1)
    high = 1.0 if successes == n else stats.beta.isf(doubt, successes + 1, n - successes)
    assert binomial.lower_confidence_limit(successes, n, doubt) == pytest.approx(low, rel=1e-6, abs=1e-15)
    assert binomial.upper_confidence_limit(successes, n, doubt) == pytest.approx(high, rel=1e-6)
    assert binomial.binomial_lower_tail(successes, n, 0.3) == pytest.approx(
        stats.binom.cdf(successes, n, 0.3), rel=1e-6
    )


# Samples of two worlds


def test_power_and_false_alarms():
    """At 10,000 samples 1.5 is caught where 1 is claimed, 1 hardly ever. The seed protects nobody."""
    generator, times = np.random.default_rng(6), size(40, 100)
    caught = {
        epsilon: sum(count_output_set(*laplace(epsilon, 10_000, generator)).p_value(1.0) <= 0.01 for _ in range(times))
        for epsilon in (1.0, 1.25, 1.5)
    }
    assert caught[1.0] <= 0.03 * times and caught[1.25] >= 0.9 * times and caught[1.5] >= 0.99 * times


def test_a_bound_and_its_p_value_agree():
    generator = np.random.default_rng(7)
    for epsilon in (0.5, 1.0, 2.0):
        found = count_output_set(*laplace(epsilon, 4000, generator))
        for confidence in (0.9, 0.99, 1 - 1e-6):
            bound = found.lower(confidence)
            assert found.p_value(bound * 0.999) < (1 - confidence) < found.p_value(bound * 1.001)


@pytest.mark.deep
def test_p_values_are_valid_at_the_edge_of_the_claim():
    """Counts drawn with exactly e^epsilon c + delta and c: p-values of at most x come at most about x of the time."""
    generator = np.random.default_rng(8)
    for c, epsilon, delta in ((0.2, 1.0, 0.0), (0.001, 1.0, 0.01), (0.3, 0.1, 0.0)):
        hits = generator.binomial(500, math.exp(epsilon) * c + delta, 600)
        false = generator.binomial(500, c, 600)
        found = [
            OutputSetCounts(hits=int(a), n=500, false_hits=int(b), false_n=500, delta=delta).p_value(epsilon)
            for a, b in zip(hits, false, strict=True)
        ]
        for x in (0.05, 0.2):
            assert np.mean(np.array(found) <= x) <= x + 5 * math.sqrt(x / 600)
        assert np.mean(np.array(found) <= 0.9) > 0.05  # and they are not all 1


def test_sets_without_an_order_are_found():
    """Even outputs in one world, odd ones in the other: no threshold sees it."""
    generator = np.random.default_rng(9)
    outputs = generator.integers(0, 50, (2, 4000)) * 2
    found = lower_bound(outputs[0] + (generator.random(4000) < 0.25), outputs[1] + (generator.random(4000) < 0.75))
    assert 0.7 < found < math.log(3)


def test_delta_is_taken_off():
    """One output in a hundred names its world: nothing at delta = 0.02, everything at delta 0."""
    generator = np.random.default_rng(10)
    left, right = (np.where(generator.random(40_000) < 0.01, world, 0.5) for world in (0, 1))
    assert lower_bound(left, right, delta=0.02) == 0
    assert lower_bound(left, right) > 2


def test_a_set_is_counted_on_samples_that_did_not_choose_it():
    """The first halves name their worlds, the second are alike: what the first recommend must be worth nothing."""
    left, right = (np.repeat([world, 5], 100) for world in (0, 1))
    found = count_output_set(left, right)
    assert found.n == found.false_n == 100 and found.hits == found.false_hits
    assert found.p_value(0.0) == 1 and found.lower(0.9) == 0


def test_evidence_of_a_claim():
    found = demo()
    assert found.details["caught"] and found.details["lower_bound"] > 1.5 and found.breaks
    assert found.n == 10_000 and "<svg" in found.picture()
    generator = np.random.default_rng(11)
    honest = measure_epsilon(*laplace(1, 10_000, generator), epsilon=1.0, confidence=1 - 1e-7)
    assert not honest.details["caught"] and not honest.breaks


@pytest.mark.parametrize(
    ("left", "right"), [([], []), ([[1], [2]], [[1], [2]]), (["a"] * 9, ["b"] * 9), ([1, 2, 3], [1, 2, 3])]
)
def test_outputs_that_are_none(left, right):
    with pytest.raises(UsageError):
        measure_epsilon(np.array(left), np.array(right), epsilon=1.0)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, math.nan, 0.9999999999999999])
def test_a_confidence_that_is_none(confidence):
    with pytest.raises(UsageError, match="confidence"):
        measure_epsilon(np.zeros(10), np.ones(10), epsilon=1.0, confidence=confidence)
    with pytest.raises(UsageError, match="confidence"):
        lower_bound(np.zeros(10), np.ones(10), confidence=confidence)
    with pytest.raises(UsageError, match="confidence"):
        audit(targets=[known("a: one", 0.5)], confidence=confidence)


def test_as_many_of_one_world_as_of_the_other():
    with pytest.raises(UsageError, match="same number of outputs"):
        measure_epsilon(np.zeros(10), np.zeros(12), epsilon=1.0)


# One run


@pytest.mark.parametrize("delta", [0.0, 1e-4])
@pytest.mark.parametrize("right", [0, 10, 70, 100])
def test_one_run_follows_the_paper(right, delta):
    canaries, guesses_made, epsilon = 200, 100, 1.0
    law = stats.binom(guesses_made, 1 / (1 + math.exp(-epsilon)))
    steepest = max(((law.cdf(right - 1) - law.cdf(right - i - 1)) / i for i in range(1, right + 1)), default=0)
    expected = min(1, law.sf(right - 1) + 2 * canaries * delta * steepest)
    found = one_run_audit.p_value(right, guesses_made, canaries=canaries, epsilon=epsilon, delta=delta)
    assert found == pytest.approx(expected, rel=1e-9)


def test_one_run_is_below_the_truth_and_near_it():
    generator = np.random.default_rng(12)
    for epsilon, least in ((1, 0.6), (2, 1.5), (4, 3.0)):
        included = generator.random(10_000) < 0.5
        scores = included + generator.laplace(0, 1 / epsilon, 10_000)
        told = one_run_audit.guess_canaries(scores, 2500)
        right = int((told == np.where(included, 1, -1)).sum())
        for delta in (0.0, 1e-5):
            bound = one_run_audit.lower_bound(right, 2500, canaries=10_000, delta=delta, confidence=0.99)
            assert least < bound <= epsilon


def test_guesses_are_the_extremes():
    assert one_run_audit.guess_canaries(np.array([5.0, 1.0, 9.0, 3.0]), 2).tolist() == [0, -1, 1, 0]


# Many tests


def test_holm():
    assert holm([0.04, 0.01, 0.03, 0.5]) == [0.09, 0.04, 0.09, 0.5]
    assert holm([]) == []


def test_holm_keeps_the_chance_of_a_false_alarm():
    generator = np.random.default_rng(13)
    alarms = sum(min(holm(generator.random(20).tolist())) <= 0.05 for _ in range(2000))
    assert 60 <= alarms <= 145  # about 0.0488 of 2,000, six standard deviations each way


# Laws that are known


def test_laws_accept_the_truth_and_reject_a_tenth_less():
    generator = np.random.default_rng(14)
    for scale in (0.5, 20.0):
        draws = generator.geometric(-math.expm1(-1 / scale), (2, 100_000))
        noise = draws[0] - draws[1]
        assert noise_laws.law_p_value(noise, noise_laws.laplace_upper_tail(scale), scale) > 1e-7
        assert noise_laws.law_p_value(noise, noise_laws.laplace_upper_tail(0.9 * scale), scale) < 1e-9
    support = np.arange(-300, 301)
    for sigma in (1, 20):
        mass = np.exp(-(support**2) / (2 * sigma**2))
        draws = generator.choice(support, 100_000, p=mass / mass.sum())
        assert noise_laws.law_p_value(draws, noise_laws.gaussian_upper_tail(sigma), sigma) > 1e-7
        assert noise_laws.law_p_value(draws, noise_laws.gaussian_upper_tail(0.9 * sigma), sigma) < 1e-9


def test_masses():
    draws = np.repeat([0, 1, 2], [500, 300, 200])
    assert noise_laws.masses_p_value(draws, [0.5, 0.3, 0.2]) > 0.5
    assert noise_laws.masses_p_value(draws, [0.35, 0.3, 0.35]) < 1e-9
    assert noise_laws.count_p_value(3, 10, 0.0) == 0 and noise_laws.count_p_value(0, 10, 0.0) == 1


@pytest.mark.parametrize("lag", [1, 5, 64, 2000])
@pytest.mark.parametrize("sign", [1, -1])
def test_noise_that_is_used_again_is_seen(lag, sign):
    """The law of each draw is right; the second of each pair is the first again, or its opposite. Seeded."""
    generator = np.random.default_rng(16)
    draws = np.subtract(*generator.geometric(-math.expm1(-1 / 4), (2, 4000)))
    law = noise_laws.laplace_upper_tail(4.0), 4.0
    assert noise_laws.noise_p_value(draws, *law) > 1e-3
    pairs = (
        draws.reshape(-1, 2, lag)[: 4000 // (2 * lag)] if 4000 % (2 * lag) == 0 else draws[:3968].reshape(-1, 2, lag)
    )
    pairs = pairs.copy()
    pairs[:, 1] = sign * pairs[:, 0]
    again = pairs.ravel()
    assert noise_laws.law_p_value(again, *law) > 1e-6 and noise_laws.noise_p_value(again, *law) < 1e-30


def test_p_values_of_independent_noise_are_valid():
    generator = np.random.default_rng(17)
    law = noise_laws.laplace_upper_tail(3.0), 3.0
    found = [
        noise_laws.noise_p_value(np.subtract(*generator.geometric(-math.expm1(-1 / 3), (2, 500))), *law)
        for _ in range(size(100, 300))
    ]
    assert np.mean(np.array(found) <= 0.1) <= 0.1 + 5 * math.sqrt(0.1 / len(found)) and min(found) < 1


def test_the_law_of_a_quantile_is_that_of_the_mechanism():
    for fraction, rows in ((Fraction(1, 2), (6, 0, 0, 2)), (Fraction(1, 10), (0, 3, 1, 9)), (Fraction(1), (1, 2, 3))):
        for flips in (False, True):
            choice = QuantileChoice(fraction=fraction, bins=len(rows), rows=2, epsilon=Fraction(3), flips=flips)
            masses = choice.estimate.probabilities(choice.scores(np.array(rows), 0))
            found = noise_laws.quantile_masses(rows, fraction=float(fraction), epsilon=1.5, most=2, flips=flips)
            assert found == pytest.approx([float(low) for low, _ in masses])


def test_divergences():
    left, right = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.75, 0.0])
    assert noise_laws.largest_ratio(left, right) == pytest.approx(math.log(2))
    assert noise_laws.largest_ratio(left, np.array([0.5, 0.25, 0.25])) == math.inf
    assert noise_laws.hockey_stick(left, right, 0.0) == pytest.approx(0.25)
    assert noise_laws.hockey_stick(left, right, math.log(2)) == 0


# Games, and the report


def test_games():
    assert games_outcome(60, 60, epsilon=1.0).p_value == pytest.approx((math.e / (1 + math.e)) ** 60)
    assert games_outcome(44, 60, epsilon=1.0).p_value > 0.4
    share = 0.01 ** (1 / 60)
    assert games_outcome(60, 60, epsilon=1.0).lower(0.99) == pytest.approx(math.log(share / (1 - share)), rel=1e-6)


def known(name, p_value, *, kind="mechanisms", quick=True):
    return AuditTarget(
        name=name,
        kind=kind,
        method="law",
        epsilon=None,
        quick=quick,
        measure=lambda samples: AuditOutcome(p_value=p_value, n=1),
    )


def test_a_report_catches_what_is_broken_and_no_more():
    targets = [known("a: one", 0.001), known("a: two", 0.02), known("b: one", 0.9, kind="sql", quick=False)]
    report = audit(targets=targets)
    assert [line.target.name for line in report.caught] == ["a: one"]  # 0.02 is not enough among three
    evidence = report.evidence()
    assert evidence.breaks and evidence.success == pytest.approx(1 / 3) and evidence.details["caught"] == ["a: one"]
    assert "<svg" in evidence.picture()
    assert len(audit(targets=targets, quick=True).lines) == 2
    assert [line.target.name for line in audit(["b"], targets=targets, quick=True).lines] == ["b: one"]
    assert [line.target.name for line in audit(["sql", "a"], targets=targets).lines][-1] == "b: one"
    assert len(audit(["sql", "a"], targets=targets, quick=True).lines) == 2
    assert len(audit(["a"], targets=targets).lines) == 2
    assert not audit(["b"], targets=targets).evidence().breaks


def test_all_bounds_of_a_table_hold_together():
    """Each of them is taken at a share of the doubt (Bonferroni)."""
    found = AuditOutcome(p_value=0.5, n=1, lower=lambda confidence: 1 - confidence)
    targets = [replace(known(f"a: {number}", 0.5), measure=lambda samples: found) for number in range(5)]
    report = audit(targets=targets, confidence=0.9)
    assert [line.lower for line in report.lines] == pytest.approx([0.02] * 5)


def test_what_raises_is_a_line_of_the_table():
    """It neither ends the audit nor stands, and the others' verdicts are as they were."""

    def raises(samples):
        raise ValueError("no such\nthing")

    targets = [known("a: one", 1e-9), replace(known("b: two", 0.5), measure=raises), known("c: three", 0.5)]
    report = audit(targets=targets)
    assert [line.verdict_word for line in report.lines] == ["caught", "unmeasured", "stands"]
    assert report.lines[1].verdict == "could not be measured: ValueError: no such thing"
    assert not report.passed and len(report.caught) == 1 and audit(targets=targets[2:]).passed
    assert not audit(targets=targets[1:]).passed and not audit(targets=targets[1:]).caught
    evidence = report.evidence()
    assert evidence.details["unmeasured"] == ["b: two"] and evidence.details["targets"][1]["p_value"] is None
    assert "1 could not be measured: nothing is known about them." in evidence.story
    assert "2 claims were measured" in evidence.story[0]


def test_a_part_whose_targets_cannot_be_made_is_a_line_of_the_table(monkeypatch):
    monkeypatch.setattr(sql, "targets", lambda: 1 / 0)
    targets = [target for target in all_targets() if target.kind in ("sql", "local")]
    assert len(targets) > 20
    (line,) = audit(["sql"], targets=targets).lines
    assert line.verdict_word == "unmeasured" and "ZeroDivisionError" in line.verdict


def test_certain_faults():
    assert (
        audit(targets=[identity_target("x: y", "k", lambda: "it leaks")], confidence=1 - 1e-12).caught[0].verdict
        == "caught: it leaks"
    )
    assert not audit(targets=[identity_target("x: y", "k", lambda: "")]).caught
    assert audit(targets=[exact_delta_target("x: y", "k", 1.0, 0.01, lambda: 0.02)]).caught
    assert not audit(targets=[exact_delta_target("x: y", "k", 1.0, 0.01, lambda: float(Fraction(1, 100)))]).caught


@pytest.mark.parametrize("words", [{"names": ["nothing"]}, {"samples": 3}, {"confidence": 1.0}, {"samples": 10**9}])
def test_wishes_that_make_no_sense(words):
    with pytest.raises(UsageError):
        audit(**words)
