"""OpenDP's discrete Laplace and Gaussian noise on vectors of whole numbers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import numpy as np
import opendp.prelude as dp
from drawing import serve

dp.enable_features("contrib")


def maker(law: str, scale: int, draws: int):
    zeros = np.zeros(draws, dtype=np.int64)
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == "Laplace":
        measure = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(scale))
    else:
        measure = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(scale))
    return lambda: measure(zeros)


if __name__ == "__main__":
    serve(maker)
