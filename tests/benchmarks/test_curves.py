"""Utility against privacy: the closed forms against sums over exact laws, and the pictures as they are kept."""

import math
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parents[2] / "benchmarks"


def test_laplace_is_the_deviation_of_its_law():
    from curves_theory import laplace

    far = np.arange(-4000, 4001)
    for epsilon in (0.05, 1.0, 4.0):
        chances = np.exp(-epsilon * np.abs(far))
        chances /= chances.sum()
        assert laplace(epsilon) == pytest.approx(math.sqrt((chances * far**2).sum()), rel=1e-6)


def test_the_best_gaussian_is_private_and_hardly_less_noise_is_not():
    from curves_theory import gaussian
    from scipy.stats import norm

    for epsilon in (0.1, 1.0, 8.0):
        sigma = gaussian(epsilon, 1e-6)
        profiles = [
            norm.cdf(1 / (2 * scale) - epsilon * scale)
            - math.exp(epsilon) * norm.cdf(-1 / (2 * scale) - epsilon * scale)
            for scale in (sigma, 0.99 * sigma)
        ]
        assert profiles[0] == pytest.approx(1e-6, rel=1e-3) and profiles[1] > 1.02e-6


@pytest.mark.parametrize("protocol", ["response", "symmetric-unary", "unary", "hashing", "subset"])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_published_variances_are_those_of_the_protocols(protocol, epsilon):
    """Within 3%: ours use coins of whole bytes, and hashing its own number of buckets."""
    from curves_theory import frequencies

    from discreet.surveys.protocols.protocol_registry import PROTOCOL_CLASSES

    shares = np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.05])
    randomizer = PROTOCOL_CLASSES[protocol]([str(place) for place in range(6)], epsilon=epsilon)
    stated = math.sqrt(float(randomizer.variances(shares * 10_000, 10_000).mean())) / 10_000
    assert frequencies(protocol, float(epsilon), shares, 10_000) == pytest.approx(stated, rel=0.03)


@pytest.mark.parametrize("protocol", ["duchi", "piecewise", "hybrid", "laplace"])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_published_variances_of_means_are_those_of_the_protocols(protocol, epsilon):
    from curves_theory import mean

    from discreet.surveys.protocols.protocol_registry import PROTOCOL_CLASSES

    randomizer = PROTOCOL_CLASSES[protocol](low=-1, high=1, step="0.01", epsilon=epsilon)
    codes = np.array([0, 20, 100, 150, 190])
    stated = 0.01 * math.sqrt(np.mean([randomizer.variance_at(code) for code in codes]) / len(codes))
    assert mean(protocol, float(epsilon), codes / 100 - 1) == pytest.approx(stated, rel=0.03)


def test_single_counts_over_all_ranges():
    from curves_ranges import all_ranges
    from curves_theory import all_ranges_of_single_counts

    lengths = [high - low for low in range(6) for high in range(low + 1, 6)]
    assert all_ranges_of_single_counts(5, 2.0) == pytest.approx(2.0 * math.sqrt(np.mean(lengths)))
    errors = np.array([1.0, -2.0, 0.5, 3.0, -1.0])
    sums = [errors[low:high].sum() ** 2 for low in range(6) for high in range(low + 1, 6)]
    assert all_ranges(errors) == pytest.approx(np.mean(sums))


def test_a_rank_error_counts_the_people_between():
    from curves_quantiles import rank_error

    group = np.array([1, 2, 2, 2, 5, 9])
    assert [rank_error(group, value) for value in (0, 1, 2, 4, 5, 9, 10)] == [3, 2, 0, 1, 1, 2, 3]


def test_the_root_of_a_mean_has_its_standard_error():
    from curves_picture import root_mean_square

    draws = np.random.default_rng(1).normal(0, 3, (2000, 50)) ** 2
    found = [root_mean_square("1", each) for each in draws]
    assert np.mean([spot.value for spot in found]) == pytest.approx(3, rel=0.02)
    assert np.mean([spot.error for spot in found]) == pytest.approx(np.std([spot.value for spot in found]), rel=0.1)


def test_a_peer_that_does_not_answer_is_a_sentence(monkeypatch):
    import curves_picture
    import peer

    def silent(*_, **__):
        raise peer.Silent("failed", "it broke")

    monkeypatch.setattr(curves_picture, "ask", silent)
    assert curves_picture.peer("opendp", "opendp_curves.py", {}) == "OpenDP: failed, it broke"


def test_kept_pictures_are_drawn_from_the_numbers_beside_them():
    from curves_picture import Picture

    kept = sorted((HERE / "plots").glob("curves-*.json"))
    assert kept
    for path in kept:
        picture = Picture.load(path)
        assert path.with_suffix(".svg").read_text() == picture.drawn(), f"{path.name}: draw it anew"


def test_measurements_lie_on_their_theory():
    """Of the kept numbers: counts and local protocols within six standard errors and 3%."""
    from curves_picture import Picture

    for name in ("curves-counts", "curves-local-small"):
        for panel in Picture.load(HERE / "plots" / f"{name}.json").panels:
            ours = next(curve for curve in panel.curves if curve.name in ("Discreet", "Discreet, Laplace"))
            law = {spot.x: spot.value for curve in panel.curves if curve.name == "theory" for spot in curve.points}
            for spot in ours.points:
                assert abs(spot.value - law[spot.x]) <= 6 * spot.error + 0.03 * law[spot.x], (panel.title, spot)
