"""Writes tests/inference/mbi_oracle.json: noisy marginals, and what mbi 2.0.0 fits to them.

Run where mbi is installed (`pip install mbi==2.0.0`; not in the development environment):

    python benchmarks/peers/mbi_oracle.py tests/inference/mbi_oracle.json
"""

import json
import sys
from pathlib import Path

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from mbi import Domain, LinearMeasurement, estimation  # noqa: E402

TOTAL = 1000.0
ITERATIONS = 30_000

PROBLEMS = {
    "tree": ((3, 4, 2, 5, 3), [(0,), (1,), (2,), (3,), (4,), (0, 1), (1, 2), (1, 3), (3, 4)]),
    "loopy": ((3, 2, 4, 3, 2, 5), [(0,), (5,), (0, 1), (1, 2), (2, 3), (0, 3), (1, 3, 4), (2, 4), (4, 5), (0, 5)]),
}


def correlated(sizes, generator):
    """Rows whose attributes all lean on two hidden numbers."""
    hidden = generator.normal(size=(int(TOTAL), 2))
    columns = []
    for size in sizes:
        leaning = hidden @ generator.normal(size=2) + 0.5 * generator.normal(size=int(TOTAL))
        cuts = np.quantile(leaning, np.sort(generator.beta(0.7, 0.7, size=size - 1)))
        columns.append(np.searchsorted(cuts, leaning))
    return columns


def problem(name, seed):
    sizes, marginals = PROBLEMS[name]
    generator = np.random.default_rng(seed)
    columns = correlated(sizes, generator)
    measurements = []
    for attributes in marginals:
        shape = [sizes[attribute] for attribute in attributes]
        counts = np.zeros(shape)
        np.add.at(counts, tuple(columns[attribute] for attribute in attributes), 1)
        deviation = 20.0 if len(attributes) == 1 else 30.0
        measurements.append((attributes, np.rint(counts + generator.normal(0, deviation, shape)), deviation))
    return sizes, measurements


def fitted(sizes, measurements):
    domain = Domain([f"a{number}" for number in range(len(sizes))], sizes)

    def named(attributes):
        return tuple(f"a{attribute}" for attribute in attributes)

    log = [LinearMeasurement(values.ravel(), named(axes), deviation) for axes, values, deviation in measurements]
    model = estimation.MirrorDescent().estimate(domain, log, known_total=TOTAL, iters=ITERATIONS)
    asked = [axes for axes, _, _ in measurements] + [(0, 2), (0, 4), (2, 4)]
    return {
        axes: np.asarray(model.project(named(axes)).datavector()).reshape([sizes[number] for number in axes]) / TOTAL
        for axes in asked
    }


def main(target):
    found = {}
    for seed, name in enumerate(PROBLEMS):
        sizes, measurements = problem(name, seed)
        found[name] = {
            "sizes": sizes,
            "total": TOTAL,
            "iterations": ITERATIONS,
            "measurements": [
                {"attributes": axes, "values": values.tolist(), "deviation": deviation}
                for axes, values, deviation in measurements
            ],
            "fitted": [
                {"attributes": axes, "probabilities": np.round(table, 8).tolist()}
                for axes, table in fitted(sizes, measurements).items()
            ],
        }
    Path(target).write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
