"""The tables of a hundred fits: who counts as a miss, and a run that goes on from its file."""

import json

import bench_hundred
from hundred_fits import FitOrder


def fit(seed, delta="0", **more):
    return {"what": "columns", "table": "loans", "delta": delta, "seed": seed, "kind": "auto", "cpu_s": 1.0} | more


def lines_of(fits):
    """For each claim and regime how many fits meet it, and what missed it."""
    rows = [
        line.strip("| ").split(" | ") for line in bench_hundred.tables(fits).splitlines() if "| loans | auto" in line
    ]
    return {(row[2], row[3]): (row[4], row[7:]) for row in rows}


def test_text_without_a_delta_is_not_counted_and_a_failed_fit_is_a_miss():
    lost = {"purpose": {"text": True, "lost5": 2}, "age": {"text": False, "short_high": 1}}
    fits = [fit(1, columns=lost), fit(2, failed="it broke"), fit(3, "1e-6", columns=lost)]
    lines = lines_of(fits)
    assert lines["0", "values of 5% survive"] == ("1 of 2", [])
    assert lines["1e-6", "values of 5% survive"] == ("0 of 1", ["purpose (1)"])
    assert lines["0", "reaches the 99th percentile"] == ("0 of 2", ["age (1)"])
    assert "Fits that failed: 1 (it broke (1))" in bench_hundred.tables(fits)


def test_the_correlation_is_judged_by_its_distance():
    pair = {"what": "pair", "table": "loans", "delta": "0", "kind": "auto", "cpu_s": 1.0, "real": -0.48}
    fits = [pair | {"seed": 1, "synthetic": -0.39}, pair | {"seed": 2, "synthetic": -0.1}]
    assert "| loans | yes | auto | 0 | 1 of 2 | 1.3% to 98.7% | 95% | 0.235 | 0.380 |" in bench_hundred.tables(fits)


def test_what_the_file_has_is_not_fitted_again(tmp_path, monkeypatch):
    orders = [FitOrder(what="columns", table="loans", delta="0", seed=seed) for seed in (1, 2)]
    (tmp_path / "kept.json").write_text(json.dumps({"fits": [fit(1, columns={}), fit(2, columns={})]}))
    monkeypatch.setattr(bench_hundred, "fit_once", None)
    assert [each["seed"] for each in bench_hundred.run(orders, jobs=1, out=tmp_path / "kept.json")] == [1, 2]
