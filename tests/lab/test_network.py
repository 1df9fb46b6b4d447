"""Networks: a link or a person is surely told by exact statistics, and within the bound by Discreet's."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from clinic import run, say
from discreet.errors import UsageError
from discreet.lab.attacks import network
from discreet.lab.attacks.contest import ServerOutcome
from discreet.lab.attacks.network import alice, coin_guesses, keepers, tales
from discreet.lab.attacks.network.graphs import SmallGraph, random_town
from discreet.lab.evidence import best_under, clopper_pearson
from discreet.mechanisms.laplace import DiscreteLaplace

#: Enough that one who always guesses right is caught, at the doubt below.
COINS = 60
DOUBT = 1e-7

#: Where noise as if one unit moved every number by one is far too little.
FALL = {"accounts", "newcomer"}


def surely_above(each: dict, n: int) -> bool:
    """Whether a server surely lets more be guessed than epsilon 1 allows."""
    return clopper_pearson(round(each["success"] * n), n, 1 - DOUBT)[0] > best_under(1.0)


@pytest.mark.thin(1)
@pytest.mark.parametrize("tale", network.TALES)
def test_what_falls_and_what_stands(tale):
    found = network.attack(tale=tale, targets=300 if tale == "keepers" else COINS)
    exact, noisy, ours = found.details["servers"]
    assert exact["success"] == found.success == 1.0 and found.breaks
    assert found.bound == best_under(1.0) and found.chance == 0.5
    assert surely_above(exact, found.n) and not surely_above(ours, found.n)
    if tale in FALL:  # 0.99 expected
        assert noisy["success"] > 0.8
    if tale != "alice":
        assert found.details["unit"] == ("node" if tale == "newcomer" else "edge")
    assert found.picture().startswith("<svg")


@pytest.mark.thin(1)
@pytest.mark.parametrize("tale", network.TALES)
def test_a_large_epsilon_protects_nobody(tale):
    """The attack itself works against Discreet, in every tale: it is the noise that stops it."""
    found = network.attack(tale=tale, epsilon=100, targets=40, server="discreet")
    assert found.success > 0.9 and found.details["server"] == "Discreet"


@pytest.mark.parametrize("name", tales.TALE_MAKERS)
def test_two_networks_differ_by_one_unit(name):
    tale = tales.TALE_MAKERS[name]()
    more = tale.with_it.links - tale.without.links
    assert len(more) == 1 if tale.unit == "edge" else {other for _, other in more} == {tale.without.people}
    limit = tale.limit or 0
    assert all(len(each) <= limit for each in tale.with_it.neighbours) or tale.unit == "edge"


def test_exact_statistics():
    graph = SmallGraph(people=5, links=frozenset({(0, 1), (0, 2), (1, 2), (2, 3)}))
    assert graph.at_least((1, 2, 3, 4)) == [4, 3, 1, 0] and graph.triangles == 1
    some = random_town(30, 120, most=12)
    whole = sum({(a, b), (a, c), (b, c)} <= some.links for a, b, c in combinations(range(30), 3))
    assert some.triangles == whole > 0 and len(some.links) == 120
    assert coin_guesses.exact_statistics(graph, ("edges", "degrees", "triangles"), (1, 3)).tolist() == [4, 4, 1, 1]
    with pytest.raises(ValueError, match="lower number"):
        SmallGraph(people=2, links=frozenset({(1, 0)}))


def test_a_pair_of_keepers_is_one_link_between_two_places():
    for count in (2, 7, 300):
        coins = np.ones(count, dtype=bool)
        assert len(set(keepers._pairs(coins))) == count
        assert len(keepers.linked_graph(coins).links - keepers.linked_graph(~coins).links) == count


def test_a_guess_weighs_numbers_by_what_they_tell():
    both = coin_guesses.NetworkStatistics(without=np.zeros(2), with_it=np.ones(2), weights=np.array([1.0, 0.1]))
    assert [both.guess(np.array(seen)) for seen in ([1, 0], [0, 1], [0.5, 0.5])] == [1.0, 0.0, 0.5]


def test_a_server_that_always_tells_is_caught():
    always = ServerOutcome(server="x", right=COINS, n=COINS, answered=1).to_data(best_under(1.0))
    assert surely_above(always, COINS) and always["breaks"]


@pytest.mark.parametrize("wrong", [{"tale": "x"}, {"server": "x"}, {"epsilon": 0}, {"targets": 1}, {"targets": 361}])
def test_wrong_wishes(wrong):
    with pytest.raises(UsageError):
        network.attack(**{"targets": 4, **wrong})


def test_the_verb(capsys, tmp_path):
    plot = tmp_path / "network.svg"
    code, told, _ = run(capsys, tmp_path, "attack", "network", "--targets", "30", "--plot", str(plot))
    assert (code, told["attack"], told["success"], told["n"]) == (0, "network", 1.0, 30)
    assert plot.read_text().startswith("<svg")
    code, _, error = say(capsys, tmp_path, "attack", "network", "--tale", "rumour")
    assert code == 2 and "keepers, friends, newcomer, accounts, alice" in error


class TestAlice:
    """Is Alice in it, and are Alice and Bob connected? Both at once, by the ratio of likelihoods."""

    def test_both_succeed_without_noise_and_stay_within_the_bound_with_it(self, capsys, tmp_path):
        words = ("attack", "network", "--tale", "alice", "--targets", str(2 * COINS), "--server", "discreet")
        code, told, _ = run(capsys, tmp_path, *words)
        questions = told["details"]["questions"]
        assert (code, told["n"], told["bound"]) == (0, 2 * COINS, best_under(1.0))
        assert [(each["question"], each["unit"]) for each in questions] == [
            ("Are Alice and Bob connected?", "edge"),
            ("Is Alice in the network?", "node"),
        ]
        for each in questions:
            exact, noisy, ours = each["servers"]
            assert exact["success"] == 1 and surely_above(exact, COINS) and not surely_above(ours, COINS)
            assert each["bound"] == best_under(1.0) and len(ours["confidence_interval"]) == 2
        assert noisy["success"] > 0.9  # a person moves the links by 16, and this noise is for 1

    def test_the_lines_name_the_bound(self, capsys, tmp_path):
        code, text, _ = say(capsys, tmp_path, "attack", "network", "--tale", "alice", "--targets", "8")
        words = " ".join(text.split())
        assert code == 0 and "e^epsilon / (1 + e^epsilon) = 73.1%" in words
        assert "Are Alice and Bob connected? Guessed right: exact: 100%" in words

    def test_the_guess_is_the_likelier_side(self):
        """By the exact law of the noise: where the ratio is above 1 the guess is "yes", and below 1 "no"."""
        for make, scale in ((alice.connected, 1), (alice.member, 16)):
            tale = make()
            both = coin_guesses.tale_statistics(tale)
            (without,), (with_it,) = both.without.tolist(), both.with_it.tolist()
            assert with_it - without == scale == (tale.limit or 1)
            law = DiscreteLaplace(scale=Fraction(scale))
            for seen in range(int(without) - 3, int(with_it) + 4):
                ratio = law.mass_bounds(int(seen - with_it))[0] / law.mass_bounds(int(seen - without))[0]
                assert both.guess(np.array([seen])) == (0.5 if round(float(ratio), 9) == 1 else ratio > 1)

    def test_how_often_it_may_succeed_is_reached(self):
        """By summation: against a link the attacker gets all that epsilon allows, so no smaller bound is true."""
        law = DiscreteLaplace(scale=Fraction(1))
        right = sum(float(law.mass_bounds(noise)[0]) for noise in range(60))  # 1 + noise is nearer to 1
        assert right == pytest.approx(best_under(1.0), abs=1e-9)

    def test_targets_that_cannot_be_halved(self):
        with pytest.raises(UsageError, match="must be even"):
            network.attack(tale="alice", targets=7)
