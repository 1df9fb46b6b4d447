"""One output of float noise names its input; one of Discreet's does not."""

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.lab.attacks import floats as lab
from discreet.lab.attacks.floats import discreet_laplace, floats, numpy_laplace, reachable, sampler_of
from discreet.lab.evidence import best_under
from lab import demos

#: Above the bound by more than this many standard deviations: less than once in a billion runs.
SIGMAS = 6


def slack(evidence):
    return SIGMAS * 0.5 / evidence.n**0.5


def test_numpy_s_noise_names_its_input():
    found = demos.shown("floats")
    assert found.details["certain_and_right"] == pytest.approx(0.81, abs=0.02)
    assert found.details["certain_and_wrong"] < 0.001
    assert found.success > 0.88 and found.chance == 0.5
    assert found.bound == pytest.approx(0.525, abs=1e-4)
    assert found.breaks and found.details["reader"] == "support"
    assert "<svg" in found.picture()


@pytest.mark.parametrize(("values", "scale"), [((0, 1), 1), ((0, 1), 1000), ((1000, 1001), 1000), ((0, 1), 10**6)])
def test_whatever_the_scale(values, scale):
    assert floats(numpy_laplace, values=values, scale=scale, n=6000).breaks


def test_every_output_of_numpy_is_one_that_its_own_value_reaches():
    for value, scale in ((0, 10), (1, 10), (1000, 1000), (3, 0.5)):
        outputs = numpy_laplace(value, scale, 20_000)
        assert reachable(outputs, value, scale).mean() > 0.999
        assert reachable(np.nextafter(outputs, np.inf), value, scale).mean() < 0.9


def test_float_noise_on_values_that_floats_cannot_tell_apart():
    """2^60 and its neighbours are hundreds apart as floats: the lowest bits of outputs tell."""
    found = floats(lambda value, scale, n: np.int64(value) + np.int64(256) * np.rint(
        np.random.default_rng().laplace(0, scale / 256, n)).astype(np.int64), values=(2**60, 2**60 + 1), scale=1000, n=6000)  # fmt: skip
    assert found.details["readers"]["lowest bits"] > 0.99 and found.breaks


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ((0, 1), 0.5),
        ((0, 1), 10),
        ((0, 1), 10**6),
        ((1000, 1001), 1000),
        ((2**60 + 128, 2**60 + 129), 10),
        ((-1, 0), 3),
    ],
)
def test_discreet_s_noise_is_guessed_no_better_than_epsilon_allows(values, scale):
    found = floats(discreet_laplace, values=values, scale=scale, n=12_000)
    for share in found.details["readers"].values():
        assert share <= best_under(1 / scale) + slack(found)
    if scale >= 1000:
        assert found.success == pytest.approx(0.5, abs=slack(found) + 0.001)


def test_a_sampler_of_one_s_own(tmp_path, monkeypatch):
    (tmp_path / "mine_of_floats.py").write_text(
        "import numpy as np\ndef noisy(value, scale, size):\n    return value + np.random.default_rng().laplace(0, scale, size)\n"
        "def short(value, scale, size):\n    return np.zeros(3)\nnumber = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    assert floats(sampler_of("mine_of_floats:noisy"), n=6000).breaks
    with pytest.raises(UsageError, match="vector"):
        floats(sampler_of("mine_of_floats:short"))
    for name, words in (
        ("numpi", "not a sampler"),
        ("no_such_module:f", "cannot be imported"),
        ("mine_of_floats:g", "there is no 'g'"),
        ("mine_of_floats:number", "not a function"),
    ):
        with pytest.raises(UsageError, match=words):
            sampler_of(name)


@pytest.mark.parametrize(
    "words",
    [{"values": (1, 1)}, {"scale": 0}, {"scale": float("nan")}, {"n": 1}, {"values": (0, float("inf"))}],
)
def test_wishes_that_make_no_sense(words):
    with pytest.raises(UsageError):
        floats(numpy_laplace, **words)


def test_a_reader_is_chosen_before_it_is_tried(monkeypatch):
    """One reader is right where readers are chosen, the others where the chosen one is tried: nothing is gained."""
    n = 30
    thirds = np.arange(n) // (n // 3)
    monkeypatch.setattr(lab, "_guess_by_support", lambda named: (thirds == 1, thirds == 1))
    monkeypatch.setattr(lab, "_guess_by_label", lambda left, right, learn, feature: (thirds == 2, thirds == 2))
    found = floats(numpy_laplace, n=n)
    assert found.details["reader"] == "support" and found.success == 0 and found.n == 2 * n // 3
    assert found.details["readers"] == {"support": 0, "lowest bits": 1, "value": 1}


def test_discreet_takes_whole_numbers_only():
    with pytest.raises(UsageError, match="whole"):
        floats(discreet_laplace, values=(0, 0.5), scale=1)
