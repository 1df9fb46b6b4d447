"""private-pgm (mbi 2) for `./do bench curves`: it fits one distribution to noisy tables. Runs in its own environment.

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

ITERATIONS = 1500


def rho_of(epsilon, delta):
    """The rho whose best conversion over orders is (epsilon, delta): Canonne, Kamath and Steinke (2020)."""
    orders = 1 + np.logspace(-3, 5, 4000)

    def converted(rho):
        return float(np.min(orders * rho + np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)))

    low, high = 0.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if converted(middle) <= epsilon else (low, middle)
    return low


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


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump(marginals(asked), sys.stdout)
