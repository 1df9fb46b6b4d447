"""Membership inference by shadow models (Shokri et al. 2017; Stadler et al. 2022).

The attacker has the program that makes synthetic tables and all rows but one. They run it many times with that
person's row and without it, and learn what differs; then they are shown new tables and say of each which it was. It is
the very game that differential privacy bounds: under (epsilon, delta) nobody wins it more often than `best_under`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import combinations, islice
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.lab.attacks.synthetic.coded_tables import NULL, code_tables
from discreet.lab.attacks.synthetic.control import CONFIDENCE
from discreet.lab.attacks.synthetic.membership import threshold
from discreet.lab.evidence import Evidence, best_under, clopper_pearson, percent

if TYPE_CHECKING:
    from collections.abc import Generator

#: A program that makes synthetic tables: each one that is drawn from the iterator is a new release of the table.
Publisher = Callable[[pa.Table], "Generator[pa.Table]"]

#: Two numbers match if no more than this share of rows lies between them.
_NEAR = 0.05

Features = NDArray[np.float64]


def shadow(
    publish: Publisher,
    table: pa.Table,
    *,
    target: int,
    releases: int = 30,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = CONFIDENCE,
) -> Evidence:
    """Learn on `releases` tables made with row `target` and as many made without it, then classify as many new ones."""
    if not 0 <= target < table.num_rows or table.num_rows < 2:
        raise UsageError(f"row {target} is not in the table, or is its only row (it has {table.num_rows:,} rows)")
    if releases < 2:
        raise UsageError(f"releases must be at least 2, got {releases}")
    start = process_time()
    without = pa.concat_tables([table.slice(0, target), table.slice(target + 1)])
    seen = [_features(publish, each, table, target, 2 * releases) for each in (table, without)]
    learn, judge = ([each[part] for each in seen] for part in (slice(releases), slice(releases, None)))
    weights = _weights(*learn)
    limit = threshold(learn[0] @ weights, learn[1] @ weights)
    right = int((judge[0] @ weights >= limit).sum() + (judge[1] @ weights < limit).sum())
    share = right / (2 * releases)
    return Evidence(
        attack="membership inference by shadow models",
        success=share,
        chance=0.5,
        bound=None if epsilon is None else best_under(epsilon, delta),
        n=2 * releases,
        seconds=process_time() - start,
        interval=clopper_pearson(right, 2 * releases, confidence),
        confidence=confidence,
        story=(
            f"An attacker who knows all rows except one sees a synthetic table and guesses right {percent(share)} of "
            "the time whether that person's row was used.",
        ),
        details={"learned_on": 2 * releases, "rows": table.num_rows},
    )


def _features(publish: Publisher, table: pa.Table, whole: pa.Table, target: int, count: int) -> Features:
    with closing(publish(table)) as releases:
        features = [match_features(release, whole, target) for release in islice(_non_empty_releases(releases), count)]
    if len(features) < count:
        raise UsageError(f"the program made {len(features)} synthetic tables instead of {count}")
    return np.array(features)


def _non_empty_releases(releases: Iterator[pa.Table]) -> Iterator[pa.Table]:
    for release in releases:
        if not release.num_rows:
            raise UsageError("the program made a synthetic table with no rows")
        yield release


def match_features(release: pa.Table, whole: pa.Table, target: int) -> list[float]:
    """How many synthetic rows are like the target's: in one column, in two, in all. And how many rows there are."""
    both_tables = code_tables(whole, release)
    own = [_matching_rows(both_tables, column, target) for column in range(len(both_tables.names))]
    pairs: list[Any] = [one & other for one, other in combinations(own, 2)]
    return [float(release.num_rows), *(float(each.sum()) for each in [*own, *pairs, np.all(own, axis=0)])]


def _matching_rows(both_tables: Any, column: int, target: int) -> NDArray[np.bool_]:
    code, codes = both_tables.original[column, target], both_tables.synthetic[column]
    if code == NULL or not both_tables.ordered[column]:
        return np.asarray(codes == code)
    places = both_tables.places[column]
    return np.asarray((np.abs(places[codes] - places[code]) <= _NEAR) & (codes != NULL))


def _weights(members: Features, others: Features) -> NDArray[np.float64]:
    """Fisher's discriminant with independent features: the difference of means over the variance.

    A tenth of a row is added to each variance: features that never changed while learning are not known for sure.
    """
    spread = (members.var(axis=0) + others.var(axis=0)) / 2 + 0.1
    return np.asarray((members.mean(axis=0) - others.mean(axis=0)) / spread)
