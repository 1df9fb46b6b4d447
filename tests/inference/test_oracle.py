"""Other people's numbers: mbi 2.0.0's fits (made by benchmarks/peers/mbi_oracle.py), and the lecture's table."""

import json
from pathlib import Path

import numpy as np
import pytest

from discreet.inference.fit import FitSearch, MeasuredMarginal, fit

ORACLE = json.loads((Path(__file__).parent / "mbi_oracle.json").read_text())


@pytest.mark.thin(1)
@pytest.mark.parametrize("name", ORACLE)
def test_the_marginals_that_mbi_fits(name):
    problem = ORACLE[name]
    measurements = [
        MeasuredMarginal(
            attributes=tuple(each["attributes"]), values=np.array(each["values"]), variance=each["deviation"] ** 2
        )
        for each in problem["measurements"]
    ]
    total = problem["total"]
    found = fit(
        problem["sizes"], measurements, total, search=FitSearch(centres=20, tolerance=1e-4, iterations=1000)
    ).calibrated
    for each in problem["fitted"]:
        assert found.project(each["attributes"]) / total == pytest.approx(np.array(each["probabilities"]), abs=1e-4)


# SEX (M, F) x LABFORCE (not asked, N, Y) and LABFORCE x SCHOOL (N, Y): true, noisy, and as the lecture fits them.
TRUE = np.array([[156, 65, 316], [158, 282, 23]]), np.array([[159, 155], [288, 59], [336, 3]])
NOISY = (
    np.array([[132.428, 124.549, 244.365], [173.633, 318.029, -21.358]]),
    np.array([[116.021, 186.826], [287.215, 171.134], [278.498, -46.497]]),
)
FITTED = (
    np.array([[124.829, 121.696, 254.636], [166.034, 315.177, 0]]),
    np.array([[110.029, 180.834], [276.477, 160.396], [254.636, 0]]),
)


@pytest.mark.parametrize("settings", [FitSearch(centres=20, tolerance=1e-4, iterations=1000), FitSearch()])
def test_the_lectures_table(settings):
    """Consistent, not negative, closer in L1 to the truth; and, solved to the end, the lecture's own numbers."""
    measurements = [
        MeasuredMarginal(attributes=(0, 1), values=NOISY[0], variance=50.0**2),
        MeasuredMarginal(attributes=(1, 2), values=NOISY[1], variance=50.0**2),
    ]
    total = (NOISY[0].sum() + NOISY[1].sum()) / 2
    found = fit((2, 3, 2), measurements, total, search=settings).calibrated
    tables = found.project((0, 1)), found.project((1, 2))
    assert tables[0].sum(axis=0) == pytest.approx(tables[1].sum(axis=1))
    assert all((table >= 0).all() for table in tables)
    away = [sum(np.abs(a - b).sum() for a, b in zip(TRUE, each, strict=True)) for each in (tables, NOISY)]
    assert away[0] < away[1]
    if settings != FitSearch():
        for table, expected in zip(tables, FITTED, strict=True):
            assert table == pytest.approx(expected, abs=0.05)
