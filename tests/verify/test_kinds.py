"""Releases of every other kind: measured again, counted double, with Gaussian noise, in a batch; tables and models."""

import json
import shutil
import sys

import pytest

import clinic
import discreet
from discreet import exact
from discreet.bundle import bundle_files
from discreet.bundle.verification import verify
from discreet.mechanisms import topk
from discreet.schema import project_file
from synth.worlds import fit, open_project
from verify import world
from verify.conftest import state_in
from verify.forging import checker, signed_again, verdicts, worst
from verify.test_forgeries import at

#: Bundles are made once for all tests of this folder, by whichever comes first.

COUNT = "SELECT sex, count(*) AS n FROM patients GROUP BY sex"


def test_gaussian_noise_before_and_after_an_exact_total(tmp_path):
    """Two bundles of one release: an exact total that its owner publishes makes it count four times, in rho."""
    extra = 'accounting = "zcdp"\ninvariants = ["*"]'
    zcdp = clinic.make(tmp_path / "p", budget="{ epsilon = 50.0, delta = 1e-4 }", extra=extra)
    release = zcdp.sql(COUNT).ask(epsilon=0.5)
    before = bundle_files.make_bundle(zcdp, release.id)
    assert set(verdicts(before).values()) == {"proved"}
    zcdp.ledger.declare_invariant("patients", 1, words="rows in all")
    after = bundle_files.make_bundle(zcdp, release.id)
    assert set(verdicts(after).values()) == {"proved"}
    told = [json.loads(files["proof.json"])["total"]["rho"] for files in (before, after)]
    assert told == ["1/8", "1/2"]
    lie = at("doubled", to=False)
    assert verdicts(signed_again(after, plan=lie))["losses"] == "broken"
    assert verdicts(signed_again(after, plan=lie, proof=lie))["losses"] == "broken"
    keys = zcdp.sql("SELECT note, count(*) AS n FROM patients GROUP BY note").ask(epsilon=0.5)
    assert set(verdicts(bundle_files.make_bundle(zcdp, keys.id)).values()) == {"proved"}


def _before_and_after_an_exact_total(folder, sql, **price):
    """Two bundles of one release, and the project."""
    with state_in(folder / "state"):
        world.persons_project(folder / "p")
        path = folder / "p" / "discreet.toml"
        path.write_text(path.read_text().replace("rows_per_person = 4", 'rows_per_person = 4\ninvariants = ["*"]'))
        project = discreet.open(folder / "p")
        release = project.sql(sql).ask(**price)
        before = bundle_files.make_bundle(project, release.id)
        project.ledger.declare_invariant("visits", 1, words="rows in all")
        return before, bundle_files.make_bundle(project, release.id)


def test_keys_by_weights_before_and_after_an_exact_total(tmp_path):
    """Twice their delta covers a person who is changed (docs/proofs/groups.md)."""
    sql = "SELECT town, count(*) AS n FROM visits GROUP BY town"
    for files in _before_and_after_an_exact_total(tmp_path, sql, epsilon=1):
        assert set(verdicts(files).values()) == {"proved"}


MOST_COMMON = "SELECT town, count(DISTINCT id) AS n FROM visits GROUP BY town ORDER BY n DESC LIMIT 1"


@pytest.mark.parametrize("earlier", [False, True])
def test_the_most_common_keys_before_and_after_an_exact_total(tmp_path, monkeypatch, earlier):
    """Twice what earlier versions charged does not cover a person who is changed (docs/proofs/topk.md)."""
    if earlier:
        monkeypatch.setattr(topk, "delta_of", topk.joining_delta)
    before, after = _before_and_after_an_exact_total(tmp_path, MOST_COMMON, epsilon=4)
    monkeypatch.undo()
    [choice] = [each for each in json.loads(before["plan.json"])["event"]["events"] if each["kind"] == "top-k"]
    assert float(exact.read(choice["epsilon"])) > 0.7
    assert set(verdicts(before).values()) == {"proved"}
    assert {name: verdict for name, verdict in verdicts(after).items() if verdict != "proved"} == {"losses": "open"}
    for files, is_sound in ((before, True), (after, not earlier)):
        folder = tmp_path / ("after" if files is after else "before")
        folder.mkdir()
        for name, content in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        assert verify(folder).sound == is_sound


def test_refined(tmp_path):
    """Proved to the last number: they are one draw. What was paid before is not taken off its loss.

    A project of its own: after Gaussian noise, independent noise is cheaper.
    """
    project = world.rows_project(tmp_path / "own")
    first = project.sql("SELECT count(*) AS n FROM patients WHERE age > 23").ask(epsilon=0.5)
    files = bundle_files.make_bundle(project, project.again(first.id, epsilon=0.25).id)
    assert set(verdicts(files).values()) == {"proved"}
    plan, proof = json.loads(files["plan.json"]), json.loads(files["proof.json"])
    assert plan["event"]["kind"] == "refined" and proof["total"]["epsilon"] == "3/4"

    def no_less_noise(plan):
        plan["event"]["earlier"] = plan["event"]["scale"]
        return plan

    def less_noise_than_drawn(plan):
        plan["event"]["scale"] = "3/2"
        return plan

    for forge in (no_less_noise, less_noise_than_drawn):
        assert "broken" in verdicts(signed_again(files, plan=forge)).values()


def test_measured_again(projects, monkeypatch):
    monkeypatch.setattr("discreet.answers.more_precise.refined_quote", lambda *_, **__: None)  # independent noise, then
    project, _, state = projects
    with state_in(state):
        first = project.sql("SELECT count(*) AS n FROM patients WHERE age > 20").ask(epsilon=0.5)
        files = bundle_files.make_bundle(project, project.again(first.id, epsilon=0.25).id)
    assert set(verdicts(files).values()) == {"proved"}  # a mean of two: test_combined.py
    proof = json.loads(files["proof.json"])
    assert proof["total"]["epsilon"] == "3/4" and set(proof["measured"]) == set(proof["losses"])

    def dearer(plan):
        stored = json.loads(plan["payloads"][first.id])
        stored["event"]["scale"] = "1/1"
        plan["payloads"][first.id] = json.dumps(stored)
        return plan

    found = verdicts(signed_again(files, plan=dearer))
    assert (found["sensitivity"], found["losses"]) == ("broken", "broken")


def test_a_batch(projects):
    project, _, state = projects
    with state_in(state):
        grouped = "SELECT smoker, {} FROM patients GROUP BY smoker;"
        released = project.batch(grouped.format("count(*) AS n") + grouped.format("sum(age) AS s"), epsilon=1)
        files = bundle_files.make_bundle(project, released[0].id)
    assert set(verdicts(files).values()) == {"proved"}
    assert len(json.loads(files["proof.json"])["shown"]) == 2


def test_a_batch_that_is_one_workload_and_joins(projects):
    """An honest bundle of it was called broken: it declares the joined table, which no member of its plan named."""
    _, project, state = projects
    joined = "visits v JOIN stays s ON v.id = s.id"
    with state_in(state):
        texts = [f"SELECT count(*) AS n FROM {joined} WHERE s.nights < {nights}" for nights in (3, 7, 12, 20)]
        released = project.batch(";".join([*texts, f"SELECT avg(s.nights) AS a FROM {joined}"]), epsilon=1)
        assert {each.id for each in released} <= set(project.ledger.refresh().reservations)
        files = bundle_files.make_bundle(project, released[0].id)
    said = verdicts(files)
    assert set(said.values()) == {"proved"}
    wider = at("steps", 0, "event", "scale", to="900/1")
    assert verdicts(signed_again(files, plan=wider, proof=wider))["sensitivity"] == "broken"

    def with_table(plan):
        plan["schemas"]["wards"] = plan["schemas"]["stays"]
        return plan

    assert verdicts(signed_again(files, plan=with_table))["sensitivity"] == "broken"


@pytest.mark.parametrize("name", ["ranges", "ranges of persons", "binary", "identity"])
def test_a_strategy_moves_by_its_columns(name, programs, tmp_path):
    files = programs[name]
    done = world.recheck(world.written(files, tmp_path / "out"))
    assert done.returncode == 0, done.stdout
    wider = at("steps", 0, "event", "scale", to=lambda told: f"{2 * int(told.split('/')[0])}/{told.split('/')[1]}")
    nearer = at("steps", 0, "event", "l1", to=lambda told: told // 2 or 2)
    for change in (wider, nearer, at("steps", to=[])):
        assert worst(signed_again(files, plan=change)) == "broken"
        assert verdicts(signed_again(files, plan=change, proof=change))["sensitivity"] != "proved"


def test_gaussian_noise_on_ranges_of_persons(tmp_path):
    """Three rows move what is measured three times as far, and its square nine times."""
    with state_in(tmp_path / "state"):
        world.persons_project(tmp_path / "p")
        path = tmp_path / "p" / "discreet.toml"
        path.write_text(path.read_text().replace("delta = 1e-4 }", 'delta = 1e-4 }\naccounting = "zcdp"'))
        project = discreet.open(tmp_path / "p")
        files = bundle_files.make_bundle(project, project.ranges("stays", "nights", epsilon=0.5).release)
    event = json.loads(files["plan.json"])["steps"][0]["event"]
    assert event["kind"] == "gaussian" and event["l2_squared"] % 9 == 0
    assert set(verdicts(files).values()) == {"proved"}
    nearer = at("steps", 0, "event", "l2_squared", to=event["l2_squared"] // 3)
    assert verdicts(signed_again(files, plan=nearer, proof=nearer))["sensitivity"] == "broken"


OF_PERSONS = ["ranges", "adaptive", "marginals", "publication", "model", "description"]


@pytest.mark.parametrize("name", OF_PERSONS)
def test_noise_for_fewer_rows_than_a_person_has(name, programs):
    """All says that a person has 10 rows, and the noise is what it was for 3 or 4."""
    files = programs[f"{name} of persons"]
    plan = json.loads(files["plan.json"])
    assert verdicts(files)["sensitivity"] == "proved"
    declared = at("schemas", plan["table"], "declared", "rows_per_person", to=10)
    found = verdicts(signed_again(files, plan=declared, proof=at("unit", "rows", to=10)))
    assert found["unit"] == found["losses"] == found["claims"] == "proved" and found["sensitivity"] == "broken"


@pytest.mark.parametrize("place", [0, -1])
def test_a_description_with_noise_for_less_than_a_person(programs, place):
    """Its counts, and one of its histograms, whose noise is smaller than a person's rows."""
    files = programs["description of persons"]
    steps = json.loads(files["plan.json"])["steps"]
    path = ("steps", place % len(steps), "event", *(("events", 0) if "events" in steps[place]["event"] else ()))
    event = steps[place]["event"].get("events", [steps[place]["event"]])[0]
    name = "l1" if event["kind"] == "laplace" else "l2_squared"
    less = at(*path, name, to=2)
    assert event[name] > 2 and verdicts(signed_again(files, plan=less, proof=less))["sensitivity"] == "broken"


def test_noise_for_less_than_a_person(programs):
    """A model of persons counts each once, or weighs its rows; noise for two thirds of a person is seen by both checks."""
    files = programs["whole persons"]
    path, event = next(
        (("steps", place, "event", *(("events", number) if "events" in step["event"] else ())), event)
        for place, step in enumerate(json.loads(files["plan.json"])["steps"])
        for number, event in enumerate(step["event"].get("events", [step["event"]]))
        if event["kind"] in ("laplace", "gaussian")
    )
    name = "l1" if event["kind"] == "laplace" else "l2_squared"
    less = at(*path, name, to=event[name] + 6)
    assert verdicts(signed_again(files, plan=less, proof=less))["sensitivity"] == "broken"


@pytest.mark.parametrize("name", ["marginals", "marginals of persons", "publication of persons"])
def test_tables_of_declared_columns_are_proved(name, programs):
    """To the last line: what each step measured is the digest that was charged, and each number is one that was drawn."""
    assert set(verdicts(programs[name]).values()) == {"proved"}


def test_no_model_has_a_chart(programs):
    picture = {"chart.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><text>exact: 200</text></svg>"}
    assert verdicts(signed_again(programs["model"] | picture))["documents"] == "broken"


def test_a_loss_without_an_epsilon_names_none(programs, tmp_path):
    name = "description of persons"
    assert json.loads(programs[name]["proof.json"])["total"]["epsilon"] is None
    done = world.recheck(world.written(programs[name], tmp_path / "out"))
    (line,) = [line for line in done.stdout.splitlines() if line.split()[1] == "losses"]
    assert "rho " in line and "None" not in line and "epsilon" not in line


def test_steps_beyond_the_reservation_are_seen(programs):
    for name in ("ranges", "adaptive", "marginals", "model", "description"):

        def dearer(data):
            data["event"]["rho"] = "1/100000000"
            data["event"]["epsilon"] = None
            return data

        assert verdicts(signed_again(programs[name], plan=dearer))["sensitivity"] == "broken"


def test_a_delta_that_was_not_reserved_is_seen(programs):
    """A step that hardly costs an epsilon, and has a delta."""
    lie = at("steps", 0, "event", to={"kind": "threshold", "scale": "1000000/1", "l1": 1, "delta": "1/10"})
    for name in ("marginals", "adaptive"):
        assert verdicts(signed_again(programs[name], plan=lie, proof=lie))["sensitivity"] == "broken"


def test_a_bundle_without_a_proof_is_open(bundles):
    few = {name: content for name, content in bundles["rows: count"].items() if name != "proof.json"}
    files = signed_again(few, manifest=lambda told: told | {"format": 1})
    assert verdicts(files) == {"files": "proved", "signature": "proved", "documents": "open"}
    assert worst(signed_again(few)) == "broken"


def test_the_checker_knows_every_setting_of_a_column():
    """A member that it does not know it calls broken, and so a bundle of an honest publisher."""
    checker()
    declared = sys.modules["declared"]
    assert {kind: set(keys) for kind, keys in project_file._KEYS.items()} == {
        kind: set(form) for kind, form in declared.COLUMNS.items()
    }
    assert project_file._TABLE - {"source", "engine", *project_file.LAYOUT_KEYS} == set(declared.TABLE)


def own_state(files, folder):
    """What Discreet's own checker says of files."""
    bundle_files.write(files, folder)
    state = verify(folder).state
    shutil.rmtree(folder)
    return state


def test_closed_numbers_and_dates(tmp_path):
    """NULL is none of their values, in both checkers; a bundle that says otherwise is broken."""
    columns = {
        "age": 'type = "integer"\nlow = 0\nhigh = 99\nclosed = true',
        "day": 'type = "date"\nlow = 2024-01-01\nhigh = 2024-12-31\nclosed = true',
    }
    project = open_project(tmp_path, columns, ["3,2024-05-06", ",", "99,2025-01-01"] * 20)
    for query in (
        "SELECT count(age) AS n, sum(age) AS s FROM people",
        "SELECT age, count(*) AS n FROM people WHERE day < DATE '2024-06-01' GROUP BY age",
        "SELECT sum(coalesce(age, 500)) AS s FROM people",
    ):
        files = bundle_files.make_bundle(project, project.sql(query).ask(epsilon=1).id)
        assert set(verdicts(files).values()) == {"proved"}, query
        assert own_state(files, tmp_path / "bundle") == "holds"
    model = fit(project, epsilon="1", constraints={"zeros": [{"age": "0 to 2"}]})
    files = bundle_files.make_bundle(project, model.card.release)
    assert worst(files) != "broken" and own_state(files, tmp_path / "bundle") != "fails"

    def is_open(plan):
        plan["schemas"]["people"]["declared"]["columns"]["age"]["closed"] = "yes"
        return plan

    assert worst(signed_again(files, plan=is_open)) == "broken"
