"""OpenDP for `./do bench curves`: its noise on counts, its tree on ranges, its quantiles by candidates.

Runs in OpenDP's own environment. Scales are found by OpenDP's own search for the epsilon (and delta) that is asked for.
"""

import json
import sys

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")
VECTOR = dp.vector_domain(dp.atom_domain(T=int))


def laplace(epsilon, sensitivity=1):
    space = VECTOR, dp.l1_distance(T=int)
    return dp.binary_search_chain(lambda scale: dp.m.make_laplace(*space, scale), sensitivity, epsilon)


def gaussian(epsilon, delta, many=1):
    """One of `many` that are (epsilon, delta) together, composed as its own zCDP measures are."""
    space = VECTOR, dp.l2_distance(T=float)

    def all_of_them(scale):
        one = dp.m.make_gaussian(*space, scale)
        every = dp.c.make_composition([one] * many) if many > 1 else one
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(every), delta)

    scale = dp.binary_search_param(all_of_them, 1.0, (epsilon, delta))
    return dp.m.make_gaussian(*space, scale)


def squares(measurement, exact, asks):
    return [float(each) for _ in range(asks) for each in (np.array(measurement(exact.tolist())) - exact) ** 2]


def counts(order):
    exact, asks, delta = np.array(order["counts"]), order["asks"], float(order["delta"])
    found = {}
    for many in (1, order["many"]):
        found[f"laplace {many}"] = {e: squares(laplace(float(e) / many), exact, asks) for e in order["epsilons"]}
        found[f"gaussian {many}"] = {
            e: squares(gaussian(float(e), delta, many), exact, asks) for e in order["epsilons"]
        }
    return found


def ranges(order):
    """Its b-ary tree with its own choice of branching, made consistent by its own function."""
    exact, asks = np.array(order["counts"]), order["asks"]
    branching = dp.t.choose_branching_factor(int(exact.sum()))
    tree = dp.t.make_b_ary_tree(VECTOR, dp.l1_distance(T=int), leaf_count=len(exact), branching_factor=branching)
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=branching)
    found = {}
    for epsilon in order["epsilons"]:
        noisy = dp.binary_search_chain(
            lambda scale: tree >> dp.m.make_laplace(VECTOR, dp.l1_distance(T=int), scale), 1, float(epsilon)
        )
        every = []
        for _ in range(asks):
            gaps = np.concatenate([[0.0], np.cumsum(np.array(consistent(noisy(exact.tolist())))[: len(exact)] - exact)])
            size = len(gaps)
            every.append(float((size * (gaps**2).sum() - gaps.sum() ** 2) / (size * (size - 1) / 2)))
        found[epsilon] = every
    return {"tree": found, "branching": branching}


def marginals(order):
    """Each table by itself: it has no plan for several, so each gets an equal part of epsilon."""
    tables = [np.array(table) for table in order["tables"]]
    found = {}
    for epsilon in order["epsilons"]:
        noise = laplace(float(epsilon) / len(tables))
        found[epsilon] = [
            float(np.mean([each for table in tables for each in squares(noise, table, 1)]))
            for _ in range(order["asks"])
        ]
    return {"apart": found}


def quantiles(order):
    """The values that it chooses, one for each group and ask."""
    groups, found = order["groups"], {}
    candidates = [float(value) for value in range(order["size"])]
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    for epsilon in order["epsilons"]:
        chosen = dp.binary_search_chain(
            lambda scale: dp.m.make_private_quantile(
                domain, dp.symmetric_distance(), dp.max_divergence(), candidates, order["fraction"], scale
            ),
            1,
            float(epsilon),
        )
        found[epsilon] = [[chosen([float(value) for value in group]) for group in groups] for _ in range(order["asks"])]
    return {"chosen": found}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump(
        {"counts": counts, "ranges": ranges, "marginals": marginals, "quantiles": quantiles}[asked["what"]](asked),
        sys.stdout,
    )
