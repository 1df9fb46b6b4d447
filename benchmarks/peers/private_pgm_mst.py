"""private-pgm (mbi 2) for `./do bench curves`: MST as published, on mbi's own inference; one fit at each epsilon, rows as codes.

mbi 2.0.0 has no mechanism of its own in its package: a third of rho each for single columns, for the choice of a tree of
pairs by the exponential mechanism, and for those pairs.
"""

import itertools
import json
import math
import sys

import networkx
import numpy as np
from mbi import Dataset, Domain, LinearMeasurement, estimation
from private_pgm_curves import rho_of

ITERATIONS = 1500


def fit(data, names, rho, random):
    def noisy(attributes, sigma):
        table = np.asarray(data.project(attributes).datavector())
        return LinearMeasurement(table + random.normal(0, sigma, table.size), attributes, sigma)

    columns = len(names)
    log = [noisy((name,), math.sqrt(3 * columns / (2 * rho))) for name in names]
    model = estimation.MirrorDescent().estimate(data.domain, log, iters=ITERATIONS)
    weights = {
        pair: float(
            np.abs(np.asarray(data.project(pair).datavector()) - np.asarray(model.project(pair).datavector())).sum()
        )
        for pair in itertools.combinations(names, 2)
    }
    tree, step = networkx.Graph(), math.sqrt(8 * (rho / 3) / (columns - 1))
    tree.add_nodes_from(names)
    for _ in range(columns - 1):
        open_pairs = [pair for pair in weights if not networkx.has_path(tree, *pair)]
        scores = step / 2 * np.array([weights[pair] for pair in open_pairs])
        chances = np.exp(scores - scores.max())
        tree.add_edge(*open_pairs[random.choice(len(open_pairs), p=chances / chances.sum())])
    ordered = [tuple(sorted(edge, key=names.index)) for edge in tree.edges]
    log += [noisy(edge, math.sqrt(3 * (columns - 1) / (2 * rho))) for edge in ordered]
    return estimation.MirrorDescent().estimate(data.domain, log, iters=ITERATIONS)


def main():
    order, found, random = json.load(sys.stdin), {}, np.random.default_rng()
    names = list(order["sizes"])
    data = Dataset(
        {name: np.array(column) for name, column in order["codes"].items()},
        Domain(names, list(order["sizes"].values())),
    )
    rows = len(next(iter(order["codes"].values())))
    for epsilon in order["epsilons"]:
        model = fit(data, names, rho_of(float(epsilon), order["delta"]), random)
        made = model.synthetic_data(rows=rows)
        found[epsilon] = [{name: np.asarray(made.data[name]).astype(int).tolist() for name in names}]
        print(epsilon, file=sys.stderr)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
