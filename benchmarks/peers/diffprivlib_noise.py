"""diffprivlib's noise on whole numbers, one at a time, which is how it draws: by floats, unlike the others."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from diffprivlib.mechanisms import GaussianDiscrete, Geometric
from drawing import serve


def maker(law: str, scale: int, draws: int):
    if law == "Laplace":
        mechanism = Geometric(epsilon=1 / scale, sensitivity=1)
    else:
        mechanism = GaussianDiscrete(epsilon=0.5, delta=1e-6)
        mechanism._scale = float(scale)  # it takes a guarantee; to be compared it gets the scale itself
    return lambda: [mechanism.randomise(0) for _ in range(draws)]


if __name__ == "__main__":
    serve(maker)
