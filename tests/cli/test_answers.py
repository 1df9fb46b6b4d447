"""The whole path from the command line: contract, repeats, prices, refusals, budgets."""

import json

import pytest

import discreet
from clinic import ROWS, make, rows_of_ledger, run, say, write_rows
from discreet.mechanisms.laplace import DiscreteLaplace

COUNT = "select count(*) from patients"
BY_DISEASE = "select disease, count(*) n from patients group by disease"


def test_the_contract_of_query(tmp_path, capsys):
    make(tmp_path)
    code, data, _ = run(capsys, tmp_path, "query", BY_DISEASE, "--epsilon", "0.5")
    assert code == 0
    assert set(data) == {
        "release", "version", "columns", "rows", "intervals", "confidence", "cost", "spent", "remaining", "cached", "derived",
        "from", "warnings", "best", "source_changed",
    }  # fmt: skip
    assert data["source_changed"] is None
    assert [row[0] for row in data["best"]] == [row[0] for row in data["rows"]]
    assert data["release"].startswith("r-")
    assert (data["version"], data["confidence"], data["cached"]) == (1, 0.95, False)
    assert data["columns"] == [{"name": "disease", "kind": "key"}, {"name": "n", "kind": "noisy", "least": 0}]
    assert [row[0] for row in data["rows"]] == ["allergy", "flu", "measles", "mumps", None]
    assert data["cost"] == {"epsilon": 0.5, "rho": 0.125, "delta": 0.0, "budget": 0.5}
    assert data["spent"] == {"epsilon": 0.5, "delta": 0.0}
    assert data["remaining"] == {"epsilon": 0.5, "delta": 0.0}
    for (_, value), (nothing, (low, high)) in zip(data["rows"], data["intervals"], strict=True):
        assert nothing is None
        assert value - low == high - value == 6  # P(|X| > 6) <= 5% < P(|X| > 5) at scale 2
        assert abs(value - 200) < 100


def test_the_contract_of_explain_which_is_free_and_touches_nothing(tmp_path, capsys):
    make(tmp_path)
    (tmp_path / "patients.csv").unlink()
    before = rows_of_ledger(tmp_path)
    code, data, _ = run(capsys, tmp_path, "explain", BY_DISEASE, "--epsilon", "0.5")
    assert code == 0
    assert data["accepted"] is True
    assert data["cost"] == {"epsilon": 0.5, "rho": 0.125, "delta": 0.0, "budget": 0.5}
    assert data["spent_after"]["epsilon"] == data["remaining_after"]["epsilon"] == 0.5
    assert {data["sensitivity"][key] for key in ("l0", "l1", "l2", "linf")} == {1}
    assert data["sensitivity"]["because"]
    (noise,) = data["noise"]
    assert (noise["column"], noise["mechanism"], noise["scale"], noise["plus_minus"]) == ("n", "discrete Laplace", 2, 6)
    assert data["region"] == "everybody in patients"
    assert "patients" in data["engine_sql"] and str(tmp_path) not in data["engine_sql"]
    assert rows_of_ledger(tmp_path) == before


def test_explain_tells_the_price_that_query_charges(tmp_path, capsys):
    make(tmp_path)
    sql = "select count(*) from patients where sex = 'F' and age between 20 and 30"
    _, told, _ = run(capsys, tmp_path, "explain", sql, "--within", "7")
    _, paid, _ = run(capsys, tmp_path, "query", sql, "--within", "7")
    assert told["cost"] == paid["cost"]
    assert told["spent_after"] == paid["spent"]
    low, high = paid["intervals"][0][0]
    assert (high - low) / 2 == told["noise"][0]["plus_minus"] <= 7
    assert "20 to 30" in told["region"] and "sex is F" in told["region"]


def test_a_repeat_is_free_in_any_spelling(tmp_path, capsys):
    make(tmp_path)
    _, first, _ = run(capsys, tmp_path, "query", BY_DISEASE, "--epsilon", "0.25")
    for sql in (BY_DISEASE, "SELECT p.disease, COUNT(*) AS m FROM patients AS p WHERE TRUE GROUP BY 1"):
        _, again, _ = run(capsys, tmp_path, "query", sql, "--epsilon", "0.25")
        assert again["cached"] is True
        assert again["rows"] == first["rows"]
        assert again["release"] == first["release"]
        assert again["cost"] == {"epsilon": 0, "rho": 0, "delta": 0, "budget": 0}
        assert again["spent"] == first["spent"]
        assert not any("smaller epsilon" in warning for warning in again["warnings"])
    _, dearer, _ = run(capsys, tmp_path, "query", BY_DISEASE, "--epsilon", "0.5")
    assert dearer["cached"] and any("smaller epsilon" in warning for warning in dearer["warnings"])
    _, fresh, _ = run(capsys, tmp_path, "query", BY_DISEASE, "--epsilon", "0.25", "--fresh")
    assert not fresh["cached"] and fresh["spent"]["epsilon"] == 0.5
    _, after, _ = run(capsys, tmp_path, "query", BY_DISEASE, "--epsilon", "0.1")
    assert after["release"] == fresh["release"]


def test_the_most_exact_stored_answer_is_returned(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 10 }")
    _, good, _ = run(capsys, tmp_path, "query", COUNT, "--epsilon", "1")
    _, rough, _ = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1", "--fresh")
    assert rough["release"] != good["release"]
    for words in (["--epsilon", "0.1"], ["--epsilon", "1"], ["--within", "3"]):
        code, data, _ = run(capsys, tmp_path, "query", COUNT, *words)
        assert code == 0 and data["cached"] and data["release"] == good["release"]
        _, told, _ = run(capsys, tmp_path, "explain", COUNT, *words)
        assert told["stored"] == {"release": good["release"], "plus_minus": 3}
    assert data["spent"]["epsilon"] == 1.1


def test_explain_knows_that_a_repeat_is_free_when_the_budget_is_gone(tmp_path, capsys):
    make(tmp_path)
    run(capsys, tmp_path, "query", COUNT, "--epsilon", "1")
    code, told, _ = run(capsys, tmp_path, "explain", COUNT, "--epsilon", "1")
    assert code == 0 and told["stored"]
    _, text, _ = say(capsys, tmp_path, "explain", COUNT, "--epsilon", "1")
    assert " already answers it" in text
    assert run(capsys, tmp_path, "explain", BY_DISEASE, "--epsilon", "1")[0] == 4


def test_within_never_returns_a_stored_answer_that_is_wider(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 10 }")
    _, rough, _ = run(capsys, tmp_path, "query", COUNT, "--within", "30")
    _, same, _ = run(capsys, tmp_path, "query", COUNT, "--within", "40")
    assert same["cached"] and same["release"] == rough["release"]
    _, finer, _ = run(capsys, tmp_path, "query", COUNT, "--within", "5")
    assert not finer["cached"]
    low, high = finer["intervals"][0][0]
    assert high - low <= 10


LECTURE = [
    (COUNT, "0.5"),
    (f"{COUNT} where sex = 'M'", "0.2"),
    (f"{COUNT} where sex = 'F'", "0.25"),
    (f"{COUNT} where age > 20", "0.25"),
]


@pytest.mark.thin(1)
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_the_four_questions_of_the_lecture_cost_one(tmp_path, capsys, order):
    make(tmp_path)
    for place in order:
        code, data, _ = run(capsys, tmp_path, "query", LECTURE[place][0], "--epsilon", LECTURE[place][1])
        assert code == 0
    assert data["spent"]["epsilon"] == 1.0
    code, data, _ = run(capsys, tmp_path, "query", f"{COUNT} where smoker", "--epsilon", "0.001")
    assert code == 4


def test_the_budget_refuses_and_says_what_would_pass(tmp_path, capsys):
    make(tmp_path)
    run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.7")
    before = rows_of_ledger(tmp_path)
    for verb in ("query", "explain"):
        code, data, _ = run(capsys, tmp_path, verb, BY_DISEASE, "--epsilon", "0.5")
        assert code == 4
        assert data["accepted"] is False
        assert data["needed"]["epsilon"] == 0.5
        assert data["remaining"]["epsilon"] == 0.3
        assert "0.5" in data["reason"] and "0.3" in data["reason"] and "--epsilon 0.3" in data["hint"]
    assert rows_of_ledger(tmp_path) == before
    assert run(capsys, tmp_path, "query", BY_DISEASE, "--epsilon", "0.3")[0] == 0


def test_a_refusal_is_free_and_the_same_on_an_empty_table(tmp_path, capsys):
    (tmp_path / "full").mkdir(), (tmp_path / "empty").mkdir()
    make(tmp_path / "full"), make(tmp_path / "empty", rows=[])
    asked = [
        ["query", "SELECT disease FROM patients WHERE age = 22", "--epsilon", "0.1"],
        ["query", "select count(*) from patients where note similar to 'a%'", "--epsilon", "0.1"],
        ["query", "select note, count(*) from patients group by note", "--epsilon", "0.1"],
        ["explain", BY_DISEASE, "--epsilon", "0.1"],
        ["query", COUNT, "--epsilon", "5"],
        ["budget"],
    ]
    for words in asked:
        full = run(capsys, tmp_path / "full", *words)
        assert full == run(capsys, tmp_path / "empty", *words)
    code, data, _ = run(capsys, tmp_path / "full", *asked[0])
    assert code == 3
    assert set(data) == {"accepted", "reason", "hint", "line", "column"}
    assert (data["line"], data["column"]) == (1, 8)
    assert run(capsys, tmp_path / "full", "query", data["hint"], "--epsilon", "0.1")[0] == 0


def test_an_empty_table_gets_noisy_zeros(tmp_path, capsys):
    make(tmp_path, rows=[])
    code, data, _ = run(capsys, tmp_path, "query", BY_DISEASE, "--epsilon", "0.5")
    assert code == 0
    assert len(data["rows"]) == 5
    assert all(abs(value) < 80 for _, value in data["rows"])


def test_an_edit_of_the_file_changes_nothing_until_refresh_or_grant(tmp_path, capsys):
    make(tmp_path)
    run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text().replace("epsilon = 1.0", "epsilon = 9.0").replace("high = 99", "high = 49"))
    code, data, notes = run(capsys, tmp_path, "query", f"{COUNT} where age > 60", "--epsilon", "0.1")
    assert code == 0 and data["remaining"]["epsilon"] == 0.8
    assert "refresh" in notes and "grant" in notes
    assert run(capsys, tmp_path, "refresh", "patients")[1]["version"] == 2
    assert run(capsys, tmp_path, "query", f"{COUNT} where age > 60", "--epsilon", "0.1")[0] == 3
    assert run(capsys, tmp_path, "budget", "grant", "patients", "--epsilon", "9")[0] == 0
    _, data, notes = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")
    assert not data["cached"] and data["version"] == 2
    assert data["remaining"]["epsilon"] == 8.7  # versions add: 0.2 then, 0.1 now
    assert "correct the file" not in notes


def test_a_stale_declaration_is_told_with_a_refusal_too(tmp_path, capsys):
    make(tmp_path)
    run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text().replace('note]\ntype = "text"', 'note]\ntype = "category"\nvalues = ["n"]'))
    sql = "select note, count(*) from patients group by note"
    for verb in ("query", "explain"):
        code, _, err = run(capsys, tmp_path, verb, sql, "--epsilon", "0.1")
        assert code == 3 and "discreet refresh patients" in err
    run(capsys, tmp_path, "refresh", "patients")
    assert run(capsys, tmp_path, "query", sql, "--epsilon", "0.1")[0] == 0


def test_a_changed_source_changes_no_answer(tmp_path, capsys):
    make(tmp_path)
    _, before, _ = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")
    write_rows(tmp_path / "patients.csv", ROWS[:5])
    _, after, _ = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")
    assert after["cached"] and after["rows"] == before["rows"]
    (tmp_path / "patients.csv").unlink()
    code, data, _ = run(capsys, tmp_path, "query", f"{COUNT} where smoker", "--epsilon", "0.1")
    assert code == 0 and data["rows"][0][0] > 100


def test_zcdp_gets_gaussian_noise_and_says_so(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 1.0, delta = 1e-6 }", extra='accounting = "zcdp"')
    _, told, _ = run(capsys, tmp_path, "explain", COUNT, "--epsilon", "0.1")
    assert told["noise"][0]["mechanism"] == "discrete Gaussian"
    _, data, _ = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")
    assert data["cost"] == {"epsilon": None, "rho": 0.005, "delta": 0.0, "budget": data["spent"]["epsilon"]}
    assert 0 < data["spent"]["epsilon"] < 1
    assert data["spent"]["delta"] == 5e-7


def test_gaussian_noise_takes_over_when_the_pure_filter_is_full(tmp_path):
    project = make(tmp_path, budget="{ epsilon = 1.0, delta = 1e-6 }")
    kinds = []
    for place in range(34):
        release = project.sql(f"{COUNT} where age > {place}").ask(epsilon="0.03")
        kinds.append(type(release.event).__name__)
    assert kinds == ["LaplaceEvent"] * 33 + ["GaussianEvent"]  # 33 x 0.03 < 1 < 34 x 0.03
    assert release.cost.epsilon is None and release.spent.epsilon < 1
    told = project.sql(f"{COUNT} where age > 50").explain(epsilon="0.03")
    assert "sum of epsilons is at its limit" in told["noise"][0]["because"] and told["filter"] == "rho"
    # The young were in few of those questions: their pure filter is open, and they get Laplace.
    young = project.sql(f"{COUNT} where age < 3").explain(epsilon="0.03")
    assert young["noise"][0]["mechanism"] == "discrete Laplace"


def test_budget_by_analyst_and_in_counts(tmp_path, capsys):
    make(tmp_path)
    run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1", "--analyst", "ann")
    run(capsys, tmp_path, "query", BY_DISEASE, "--epsilon", "0.2", "--analyst", "bob")
    code, data, _ = run(capsys, tmp_path, "budget", "patients")
    table = data["tables"]["patients"]
    assert code == 0
    assert (table["population"], table["events"]) == ("patients", 2)
    assert table["spent"]["epsilon"] == 0.3 and table["limit"]["epsilon"] == 1.0
    assert table["by_analyst"] == {"ann": {"epsilon": 0.1, "delta": 0.0}, "bob": {"epsilon": 0.2, "delta": 0.0}}
    assert table["counts_within_50"] == 11  # 0.7 / 0.0588
    _, text, _ = say(capsys, tmp_path, "budget")
    assert "about 11 more counts" in text


def test_tables_of_one_population_share_a_budget(tmp_path, capsys):
    make(tmp_path)
    path = tmp_path / "discreet.toml"
    text = path.read_text().replace("budget = { epsilon = 1.0 }", 'population = "people"')
    text += (
        text[text.index("[tables.patients]") :]
        .replace("tables.patients", "tables.others")
        .replace("patients.csv", "o.csv")
    )
    path.write_text(text + "\n[populations.people]\nbudget = { epsilon = 1.0 }\n")
    write_rows(tmp_path / "o.csv", ROWS[:10])
    assert run(capsys, tmp_path, "query", f"{COUNT} where sex = 'F'", "--epsilon", "0.6")[0] == 0
    code, data, _ = run(capsys, tmp_path, "query", "select count(*) from others where sex = 'M'", "--epsilon", "0.6")
    assert code == 4 and data["remaining"]["epsilon"] == 0.4


def test_fresh_draws_add(tmp_path, capsys):
    make(tmp_path)
    for epsilon in ("0.1", "0.2", "0.2", "0.1"):
        run(capsys, tmp_path, "query", COUNT, "--epsilon", epsilon, "--fresh")
    assert run(capsys, tmp_path, "budget")[1]["tables"]["patients"]["spent"]["epsilon"] == 0.6


def test_files_and_frames(tmp_path, capsys):
    import pandas
    import polars

    project = make(tmp_path)
    code, data, _ = run(
        capsys,
        tmp_path,
        "query",
        BY_DISEASE,
        "--epsilon",
        "0.5",
        "--csv",
        str(tmp_path / "o.csv"),
        "--parquet",
        str(tmp_path / "o.parquet"),
    )
    assert code == 0
    release = project.sql(BY_DISEASE).ask(epsilon=0.5)
    frames = [
        release.to_pandas(),
        release.to_polars().to_pandas(),
        pandas.read_csv(tmp_path / "o.csv"),
        pandas.read_parquet(tmp_path / "o.parquet"),
    ]
    for frame in frames:
        assert list(frame.columns) == ["disease", "n", "n_low", "n_high"]
        assert list(frame["n"]) == [row[1] for row in data["rows"]]
    assert polars.DataFrame(release).shape == (5, 4)
    assert json.loads(json.dumps(release.to_data()))["rows"] == data["rows"]
    assert "±" in release._repr_html_() and release.id in repr(release)


def test_answers_have_the_law_that_they_claim(tmp_path):
    """Through the whole path: 100 cells by age, ten fresh draws, against the exact counts and the exact law."""
    from scipy.stats import chisquare

    project = make(tmp_path, budget="{ epsilon = 100 }")
    question = project.sql("select age, count(*) from patients group by age")
    noise = []
    for _ in range(10):
        release = question.ask(epsilon="0.5", fresh=True)
        noise += [row[1] - 10 for row in release.rows[:100]]
        assert abs(release.rows[100][1]) < 80  # NULL is nobody
    law = DiscreteLaplace(scale=release.event.scale)
    assert sum(abs(draw) <= release.plus_minus() for draw in noise) >= 900  # 950 expected at least
    inner = range(-5, 6)
    observed = [noise.count(k) for k in inner] + [sum(draw < -5 for draw in noise), sum(draw > 5 for draw in noise)]
    expected = [law.mass(k) * 1000 for k in inner]
    expected += [(1000 - sum(expected)) / 2] * 2
    assert chisquare(observed, expected).pvalue > 1e-8


def test_python_facade(tmp_path):
    project = make(tmp_path)
    release = discreet.open(tmp_path / ".discreet").sql(BY_DISEASE).ask(epsilon=0.5)
    assert float(project.budget("patients").remaining.epsilon) == 0.5
    assert len(release) == len(list(release)) == 5
    assert str(release.cost) == "epsilon 0.5"
    assert str(release).splitlines()[0].split() == ["disease", "n"] and "± 6" in str(release)
    assert project.budget().population == "patients"
    assert release.interval("0.5")[0][1][1] - release.rows[0][1] < release.plus_minus()
    explanation = project.sql(BY_DISEASE).explain(within=10)
    assert "because" in str(explanation) and "touches" in explanation._repr_html_()
    with pytest.raises(discreet.UsageError):
        project.sql(BY_DISEASE).ask()
    with pytest.raises(discreet.UsageError):
        project.sql(BY_DISEASE).ask(epsilon=0.1, within=3)


def test_totals_are_called_that_and_null_groups_can_be_left_out(tmp_path, capsys):
    make(tmp_path)
    sql = "select disease, sex, count(*) n from patients group by rollup(disease, sex)"
    code, data, _ = run(capsys, tmp_path, "query", sql, "--epsilon", "0.5")
    totals = {(row[0], row[1]): places for row, places in zip(data["rows"], data["totals"], strict=True)}
    assert code == 0 and totals["flu", "F"] == [] and totals["flu", None] == [1] and data["totals"][-1] == [0, 1]
    assert data["rows"][-1][:2] == [None, None]  # the contract: a key that is summed over is null
    written = say(capsys, tmp_path, "query", sql, "--epsilon", "0.5")[1]
    assert "total" in written and "NULL" in written
    written = say(capsys, tmp_path, "query", sql, "--epsilon", "0.5", "--no-null")[1]
    assert "total" in written and "\nNULL" not in written and " NULL " not in written.split("note:")[0]
    code, fewer, _ = run(capsys, tmp_path, "query", sql, "--epsilon", "0.5", "--no-null")
    kept = [row for row, places in zip(data["rows"], data["totals"], strict=True) if None not in without(row, places)]
    assert fewer["rows"] == kept and len(fewer["intervals"]) == len(fewer["best"]) == len(fewer["totals"]) == len(kept)
    assert 0 < len(kept) < len(data["rows"])


def without(row, places):
    """The keys of a row, but for those that it sums over."""
    return [key for place, key in enumerate(row[:2]) if place not in places]


def test_the_best_numbers_stand_beside_the_others(tmp_path, capsys):
    """By age: of five groups the best numbers are the ones shown once in twelve runs, of a hundred never."""
    make(tmp_path)
    by_age = ("query", "select age, count(*) n from patients group by age", "--epsilon", "0.5", "--best")
    written = say(capsys, tmp_path, *by_age)[1]
    assert written.splitlines()[0].split() == ["age", "n", "best"] and "best: whole numbers" in written
    file = tmp_path / "answer.csv"
    say(capsys, tmp_path, *by_age, "-o", str(file))
    assert file.read_text().splitlines()[0].replace('"', "") == "age,n,n_low,n_high,n_best"


def test_the_dash_of_a_first_period_is_not_blamed_on_noise(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 100 }")
    text = "SELECT disease, count(*) - lag(count(*)) OVER (ORDER BY disease) AS d FROM patients GROUP BY disease"
    written = say(capsys, tmp_path, "query", text, "--epsilon", "100")[1]
    assert "–" in written and "the noise is too large" not in written


def test_a_histogram_takes_a_share_of_groups_and_a_limit(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 100 }")
    more = ("--within", "50%", "--for", "30%", "--at-most", "2")
    code, data, _ = run(capsys, tmp_path, "histogram", "patients", "disease", *more)
    assert code == 0 and data["within"]["for"] == 0.3 and data["within"]["at_most"] == 2
    code, _, error = say(capsys, tmp_path, "histogram", "patients", "disease", "--epsilon", "1", "--at-most", "2")
    assert code == 2 and "--within" in error
