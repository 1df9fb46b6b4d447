"""private-pgm (mbi 2) for `./do bench curves`: it fits one distribution to noisy tables, and MST's rows. Runs in its own environment.

mbi is a library of inference and leaves the noise to its user: Gaussian here, with the rho that is (epsilon, delta) in all.
"""

import itertools
import json
import math
import sys
import warnings

warnings.filterwarnings("ignore")

import jax  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)

from mbi import Dataset, Domain, LinearMeasurement, estimation  # noqa: E402
from private_pgm_mst import rho_of, rows  # noqa: E402

ITERATIONS = 1500


def marginals(order):
    domain = Domain(list(order["sizes"]), list(order["sizes"].values()))
    data = Dataset({name: np.array(codes) for name, codes in order["codes"].items()}, domain)
    pairs = list(itertools.combinations(order["sizes"], 2))
    exact = {pair: np.asarray(data.project(pair).datavector()) for pair in pairs}
    random, found = np.random.default_rng(), {}
    for epsilon in order["epsilons"]:
        sigma = math.sqrt(len(pairs) / (2 * rho_of(float(epsilon), float(order["delta"]))))
        found[epsilon] = []
        for _ in range(order["asks"]):
            log = [
                LinearMeasurement(table + random.normal(0, sigma, table.size), pair, sigma)
                for pair, table in exact.items()
            ]
            model = estimation.MirrorDescent().estimate(domain, log, iters=ITERATIONS)
            gaps = [np.asarray(model.project(pair).datavector()) - table for pair, table in exact.items()]
            found[epsilon].append(float((np.concatenate(gaps) ** 2).mean()))
    return {"fitted": found}


def mst(order):
    """Rows as codes, one fit at each epsilon."""
    codes = {name: np.array(column) for name, column in order["codes"].items()}
    found = {}
    for epsilon in order["epsilons"]:
        made = rows(codes, order["sizes"], rho_of(float(epsilon), float(order["delta"])))
        found[epsilon] = [{name: column.tolist() for name, column in made.items()}]
        print(epsilon, file=sys.stderr)
    return found


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump({"marginals": marginals, "mst": mst}[asked["kind"]](asked), sys.stdout)
