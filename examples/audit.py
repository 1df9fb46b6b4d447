"""What epsilon is it really? Measure mechanisms from outside: your own, and those that are installed here.

Run a mechanism on two tables that differ by one person, find outputs that are common for the one and rare for the
other, and divide. A quotient surely above e^epsilon shows that the claim is false. That a claim is true cannot be
shown so; that is what proofs are for.
"""

import numpy as np

from discreet.lab.privacy_audit import audit, measure_epsilon

CLAIMED = 1.0


def honest(count: int, n: int) -> np.ndarray:
    """A count with the noise that epsilon 1 needs. (From floats: good enough to be audited, not to be used.)"""
    return np.rint(count + np.random.default_rng().laplace(0, 1 / CLAIMED, n))


def careless(count: int, n: int) -> np.ndarray:
    """Half of the noise: somebody thought that one person moves a count by half."""
    return np.rint(count + np.random.default_rng().laplace(0, 0.5 / CLAIMED, n))


def forgetful(count: int, n: int) -> np.ndarray:
    """The right noise, but exact where nobody was counted: "there is nothing to protect"."""
    return np.where(count == 0, 0.0, honest(count, n))


def main() -> None:
    for mechanism in (honest, careless, forgetful):
        found = measure_epsilon(mechanism(0, 20_000), mechanism(1, 20_000), epsilon=CLAIMED, confidence=1 - 1e-7)
        bound, caught = found.details["lower_bound"], found.details["caught"]
        print(
            f"{mechanism.__name__:9} claims {CLAIMED:g}, has at least {bound:.2f}: {'caught' if caught else 'stands'}"
        )

    done = audit(["laplace", "sql count: rows"], quick=True, confidence=1 - 1e-7)
    for line in done.lines:
        print(f"{line.target.name}: {line.verdict}")
    print("installed here, all measured and none caught:", done.passed)


if __name__ == "__main__":
    main()
