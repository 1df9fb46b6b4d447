"""Synthetic data: each model's rows beside the real ones, over all pairs of columns, and beside the peers' rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from curves_data import People, households, project
from curves_picture import (
    BLUE,
    BROWN,
    DELTA,
    GREEN,
    GREY,
    OLIVE,
    PURPLE,
    RED,
    SOME,
    TEAL,
    Picture,
    averaged,
    computed,
    peer,
)
from curves_theory import sampling

from discreet.present.charts import CurvePanel

MODELS = {"random": GREY, "independent": OLIVE, "privbayes": BROWN, "mst": BLUE, "aim": GREEN}
#: Name, environment, script, kind, hue.
PEERS = (
    ("dpmm MST", "dpmm", "dpmm_curves.py", "mst", PURPLE),
    ("private-pgm MST", "private_pgm", "private_pgm_curves.py", "mst", TEAL),
    ("DataSynthesizer", "datasynthesizer", "datasynthesizer_curves.py", "correlated", RED),
)


def pictures(epsilons: Sequence[str], *, quick: bool) -> list[Picture]:
    found, fits = households(), 1 if quick else 3
    pairs = {pair: found.table(*pair) / found.rows for pair in combinations(found.sizes, 2)}
    own, peers, missing = [], [], []
    with project(found) as made:
        for model, hue in MODELS.items():
            scores = [(epsilon, _scores(made, model, epsilon, fits, pairs, found)) for epsilon in epsilons]
            own.append(averaged(model, scores, hue=hue))
    alone = float(np.mean([_between(_product(found, *pair), share) for pair, share in pairs.items()]))
    drawn = float(np.mean([sampling(share, found.rows) for share in pairs.values()]))
    lines = [
        computed("columns apart", lambda _: alone, hue=OLIVE, epsilons=epsilons),
        computed("other people", lambda _: drawn, hue=GREY, epsilons=epsilons),
    ]
    for name, environment, script, kind, hue in () if quick else PEERS:
        told = _peer(environment, script, kind, SOME, found)
        if isinstance(told, str):
            missing.append(told)
            continue
        scores = [(each, [_score(_coded(codes), pairs, found.sizes) for codes in fits]) for each, fits in told.items()]
        peers.append(averaged(name, scores, hue=hue, kind="peer"))
    return [
        Picture(
            name="curves-synth",
            title="Synthetic data",
            up="how far the rows are from the real ones: mean total variation of two columns",
            panels=(CurvePanel(title="", curves=(*own, *lines, *peers)),),
            told=f"{found.rows:,} people, nine columns of 2 to 12 values, delta {DELTA}; as many synthetic rows, and total "
            f"variation averaged over all {len(pairs)} pairs of columns; the mean of {fits} fits, of a peer one. Columns apart: "
            "what the exact columns tell without their pairs. Other people: as many rows drawn anew from the same distribution; "
            "rows of a model are spread more evenly than by chance, and can be nearer.",
            missing=tuple(missing),
        )
    ]


def _scores(made: Any, model: str, epsilon: str, fits: int, pairs: Any, found: People) -> list[float]:
    every = []
    for _ in range(fits):
        fitted = made.synthesize("people", model=model, epsilon=epsilon, delta=DELTA, fresh=True)
        rows = fitted.sample(found.rows)
        codes = {name: np.array(rows[name].to_pylist()).astype(int) for name in found.sizes}
        every.append(_score(codes, pairs, found.sizes))
    print(model, epsilon, every, file=sys.stderr)
    return every


def _score(codes: dict[str, np.ndarray], pairs: dict[Any, np.ndarray], sizes: dict[str, int]) -> float:
    made = People(codes=codes, sizes=sizes)
    return float(np.mean([_between(made.table(*pair) / made.rows, share) for pair, share in pairs.items()]))


def _between(one: np.ndarray, other: np.ndarray) -> float:
    """Total variation."""
    return float(np.abs(one - other).sum() / 2)


def _product(found: People, one: str, other: str) -> np.ndarray:
    return np.outer(found.table(one), found.table(other)) / found.rows**2


def _coded(codes: dict[str, list[int]]) -> dict[str, np.ndarray]:
    return {name: np.array(column) for name, column in codes.items()}


def _peer(environment: str, script: str, kind: str, epsilons: Sequence[str], found: People) -> dict[str, Any] | str:
    order = {
        "kind": kind,
        "epsilons": list(epsilons),
        "delta": float(DELTA),
        "sizes": found.sizes,
        "codes": {name: column.tolist() for name, column in found.codes.items()},
    }
    return peer(environment, script, order, limit_s=1200)
