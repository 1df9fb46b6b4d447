"""The API: each act, its refusals, and a document that is true of it."""

import io
import json
import secrets

import pyarrow.parquet as parquet
import pytest

from console.house import world
from discreet.console.api import handlers

COUNT = "select disease, count(*) n from patients group by disease"
NEVER = "select sum(age) s from patients"


class Program:
    """A program with a token."""

    def __init__(self, made, role="analyst", token=None):
        self.client, self.token = made.client(), token or made.token(role)

    def send(self, method, path, body=None, *, key=None, **more):
        headers = {"authorization": f"Bearer {self.token}", **({} if key is None else {"idempotency-key": key})}
        content = body if isinstance(body, bytes | None) else json.dumps(body)
        return self.client.request(method, f"/api/v1{path}", content=content, headers=headers, **more)

    def get(self, path):
        return self.send("GET", path)

    def query(self, sql=COUNT, *, key, **more):
        return self.send("POST", "/query", {"sql": sql, **({"epsilon": "0.1"} | more)}, key=key)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("api") / "clinic")
    yield made
    made.house.close()


@pytest.fixture
def ann(clinic):
    return Program(clinic)


@pytest.fixture
def olga(clinic):
    return Program(clinic, "owner")


def charges(clinic):
    return clinic.house.handle.project.ledger.refresh().charges


def test_explain_is_free(clinic, ann):
    before = len(charges(clinic))
    told = ann.send("POST", "/explain", {"sql": COUNT, "within": 20})
    assert told.status_code == 200 and told.json()["accepted"] and told.json()["cost"]["epsilon"] > 0
    assert len(charges(clinic)) == before


def test_query_and_its_faces(clinic, ann):
    told = ann.query(key="one")
    assert told.status_code == 200 and told.headers["idempotency-replayed"] == "false"
    data = told.json()
    assert data["release"] in charges(clinic) and charges(clinic)[data["release"]].analyst == "ann"
    assert len(data["rows"]) == 4 and data["table"] == "patients"
    same = ann.query(key="one")
    assert same.json() == data and same.headers["idempotency-replayed"] == "true"
    one = ann.get(f"/releases/{data['release']}").json()
    assert (one["rows"], one["release"]) == (data["rows"], data["release"])
    wider = ann.get(f"/releases/{data['release']}?confidence=0.999").json()
    assert wider["intervals"][0][1][0] < one["intervals"][0][1][0]
    csv = ann.get(f"/releases/{data['release']}.csv")
    assert csv.headers["content-type"] == "text/csv; charset=utf-8" and csv.text.startswith("disease,n,n_low,n_high\n")
    table = parquet.read_table(io.BytesIO(ann.get(f"/releases/{data['release']}.parquet").content))
    assert table.column("n").to_pylist() == [row[1] for row in data["rows"]]
    listed = ann.get("/releases?limit=1").json()
    assert listed["releases"][0]["release"] == data["release"]


def test_releases_are_listed_in_pages(clinic, ann):
    for place in range(3):
        assert ann.query(f"select count(*) from patients where age > {place}", key=f"p{place}").status_code == 200
    found, before = [], ""
    while True:
        page = ann.get(f"/releases?limit=2&before={before}").json()
        found += [each["release"] for each in page["releases"]]
        if page["next"] is None:
            break
        before = page["next"]
    assert found == list(reversed(charges(clinic)))
    assert {each["table"] for each in ann.get("/releases?table=patients").json()["releases"]} == {"patients"}
    assert ann.get("/releases?analyst=nobody").json() == {"releases": [], "next": None}
    for wrong in ("0", "-1", "1001", "x", "٣"):
        assert ann.get(f"/releases?limit={wrong}").status_code == 400


def test_again_pays_once(clinic, ann):
    first = ann.query(key="first").json()["release"]
    before = len(charges(clinic))
    told = [ann.send("POST", f"/releases/{first}/again", {"epsilon": 0.2}, key="twice") for _ in range(2)]
    assert [each.status_code for each in told] == [200, 200] and told[0].json() == told[1].json()
    assert len(charges(clinic)) == before + 1
    assert ann.send("POST", "/releases/r-none/again", {"epsilon": 0.2}, key="none").status_code == 404


@pytest.mark.thin(11)
@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        ({"sql": "select * from patients", "epsilon": 1}, 422, 3, ""),
        ({"sql": NEVER, "epsilon": 2000}, 400, 2, ""),
        ({"sql": NEVER, "epsilon": 101}, 402, 4, "costs epsilon 101"),
        ({"sql": COUNT}, 400, 2, "how much to spend"),
        ({"sql": COUNT, "epsilon": 1, "within": 3}, 400, 2, "how much to spend"),
        ({"sql": COUNT, "epsilon": 0}, 400, 2, "above 0"),
        ({"sql": COUNT, "epsilon": "1e-999"}, 400, 2, ""),
        ({"sql": COUNT, "epsilon": "one"}, 422, 2, "epsilon"),
        ({"sql": COUNT, "epsilon": True}, 422, 2, "epsilon"),
        ({"sql": COUNT, "epsilon": -1}, 422, 2, "epsilon"),
        ({"sql": COUNT, "epsilon": 1, "fersh": True}, 422, 2, "fersh"),
        ({"sql": "x" * 100_001, "epsilon": 1}, 422, 2, "sql"),
        ({"epsilon": 1}, 422, 2, "sql"),
        ([], 422, 2, "the body"),
        (b"", 422, 2, "the body"),
        (b"{", 422, 2, "the body"),
        (b'{"sql": "\xff"}', 422, 2, ""),
        (b'{"sql": "\\ud800", "epsilon": 1}', 422, 2, ""),
        (b'{"sql": "a\\u0000b", "epsilon": 1}', 400, 2, "Unicode"),
        (b"[" * 100_000, 422, 2, ""),
        (b" " * (1 << 20) + b"{}", 413, 2, "too long"),
    ],
)
def test_refusals_are_told_alike(clinic, ann, body, status, code, words):
    before = len(charges(clinic))
    for path, key in (("/explain", None), ("/query", secrets.token_hex(4))):
        told = ann.send("POST", path, body, key=key)
        assert told.status_code == status, told.text[:300]
        data = told.json()
        assert data["code"] == code and words in data["error"] and set(data) >= {"error", "hint", "code"}
        assert data["hint"] or status == 400
    assert len(charges(clinic)) == before


@pytest.mark.parametrize(
    ("method", "path", "token", "status", "hint"),
    [
        ("POST", "/query", None, 400, "any text, new for each query"),
        ("GET", "/releases/r-none", None, 404, "after a backup is restored"),
        ("GET", "/nowhere", None, 404, "after a backup is restored"),
        ("GET", "/budget", "dsc_nobody", 401, "a token, created on /me"),
        ("GET", "/budget", "", 401, "a token, created on /me"),
        ("PUT", "/budget", None, 405, "see /api for the routes"),
    ],
)
def test_who_may_not_and_what_is_not_there_have_a_code_and_a_hint(clinic, method, path, token, status, hint):
    told = clinic.token() if token is None else token
    body = {"sql": COUNT, "epsilon": 1} if method == "POST" else None
    head = {"authorization": f"Bearer {told}"} if told else {}
    answer = clinic.client().request(method, f"/api/v1{path}", json=body, headers=head)
    assert answer.status_code == status, answer.text
    assert answer.json()["code"] == 2 and hint in answer.json()["hint"]


def test_a_refusal_points_into_the_question(ann):
    data = ann.send("POST", "/explain", {"sql": "select count(*)\nfrom nowhere", "epsilon": 1}).json()
    assert data["accepted"] is False and (data["line"], data["column"]) == (2, 6) and "^" in data["excerpt"]
    data = ann.send("POST", "/explain", {"sql": NEVER, "epsilon": 100.5}).json()
    assert data["needed"]["epsilon"] and data["remaining"]["epsilon"]


def test_a_wrong_body_is_told_by_its_places_and_not_its_values(ann):
    told = ann.send("POST", "/query", {"sql": COUNT, "epsilon": "canary-4711"}, key="canary")
    assert told.status_code == 422 and "canary" not in told.text


def test_keys_are_needed_and_bound(clinic, ann, olga):
    assert ann.send("POST", "/query", {"sql": COUNT, "epsilon": 1}).status_code == 400
    assert ann.query(key=" ").status_code == 400 and ann.query(key="x" * 201).status_code == 400
    assert ann.query(key="bound").status_code == 200
    told = ann.query(key="bound", epsilon="0.2")
    assert told.status_code == 422 and "another request" in told.json()["error"]
    other = Program(clinic)
    assert other.query(key="bound").headers["idempotency-replayed"] == "true", "a new token of the same person"
    assert olga.query("select count(*) from visits", key="bound").status_code == 200, "another person's own key"


def test_budget_tables_and_what_they_hold(ann):
    told = ann.get("/budget").json()["tables"]
    assert set(told) == {"patients", "visits"} and told["patients"]["limit"]["epsilon"] == 100
    tables = {each["name"]: each for each in ann.get("/tables").json()["tables"]}
    assert [column["name"] for column in tables["patients"]["columns"]][:2] == ["age", "disease"]
    assert tables["wards"]["public"]


def test_tokens(clinic, ann, olga):
    made = ann.send("POST", "/tokens", {"label": "cron", "days": 3})
    assert made.status_code == 201 and made.json()["role"] == "analyst"
    other = Program(clinic, token=made.json()["token"])
    assert other.get("/tokens").status_code == 200
    assert made.json()["token"] not in other.get("/tokens").text
    assert olga.get("/tokens").json()["tokens"] and ann.get("/tokens").json()["tokens"]
    assert {each["person"] for each in ann.get("/tokens").json()["tokens"]} == {"ann"}
    assert ann.send("POST", "/tokens", {"label": "more", "role": "owner"}).status_code == 403
    lesser = olga.send("POST", "/tokens", {"label": "lesser", "role": "analyst"}).json()
    low = Program(clinic, token=lesser["token"])
    assert low.send("POST", "/tokens", {"label": "up", "role": "owner"}).status_code == 403
    assert low.send("POST", "/tokens", {"label": "same"}).json()["role"] == "analyst"
    large = olga.send("POST", "/tokens", {"label": "large"}).json()
    assert low.send("DELETE", f"/tokens/{large['number']}").status_code == 403, (
        "a small one, stolen, ends no larger one"
    )
    assert Program(clinic, token=large["token"]).get("/tokens").status_code == 200
    assert low.send("DELETE", f"/tokens/{lesser['number']}").json()["holds"] is False, "but itself"
    assert olga.send("DELETE", f"/tokens/{large['number']}").json()["holds"] is False
    number = made.json()["number"]
    assert olga.send("DELETE", f"/tokens/{number}").status_code == 404, "not one of olga's own"
    for wrong in ("0", "x", "999999", "-1"):
        assert ann.send("DELETE", f"/tokens/{wrong}").status_code == 404
    assert ann.send("DELETE", f"/tokens/{number}").json()["holds"] is False
    assert other.get("/tokens").status_code == 401
    for body in ({"label": ""}, {"label": "a", "days": 0}, {"label": "a", "days": 4000}, {"label": "x" * 61}):
        assert ann.send("POST", "/tokens", body).status_code == 422


def test_requests(ann, olga):
    told = ann.send("POST", "/requests", {"table": "PATIENTS", "epsilon": "0.5", "why": "more"})
    assert told.status_code == 201 and told.json()["table"] == "patients" and told.json()["state"] == "open"
    assert len(ann.get("/requests").json()["requests"]) == len(olga.get("/requests").json()["requests"]) == 1
    olga.send("POST", "/requests", {"table": "patients", "epsilon": 1, "why": "mine"})
    assert len(ann.get("/requests").json()["requests"]) == 1 and len(olga.get("/requests").json()["requests"]) == 2
    assert ann.send("POST", "/requests", {"table": "nowhere", "epsilon": 1, "why": "x"}).status_code == 400
    assert ann.send("POST", "/requests", {"table": "wards", "epsilon": 1, "why": "x"}).status_code == 400


def test_jobs(clinic, ann, olga):
    ann.query("select count(*) from visits", key="job")
    job = ann.get("/jobs").json()["jobs"][0]
    assert job["state"] in ("open", "answered") and job["person"] == "ann"
    assert ann.send("DELETE", f"/jobs/{job['job']}").json() == {"job": job["job"], "stopping": True}
    assert olga.send("DELETE", f"/jobs/{job['job']}").status_code == 200
    assert ann.send("DELETE", "/jobs/j-none").status_code == 404


def test_without_a_token_nothing_is_told(clinic):
    client = clinic.client()
    browser = clinic.browser("analyst")
    for entry in handlers.API_OPERATIONS:
        path = entry.route.path.format(release="r-1", number="1", job="j-1")
        status = 200 if entry.route.role == "public" else 401
        assert client.request(entry.route.method, path).status_code == status
        assert browser.client.request(entry.route.method, path).status_code == status, "no cookie opens the API"
    told = client.get("/api/v1/tables", headers={"authorization": "Bearer dsc_" + "a" * 43})
    assert told.status_code == 401 and told.json()["error"]


def test_the_document_has_every_route_and_says_what_is_needed(clinic):
    told = clinic.client().get("/api/v1/openapi.json").json()
    routes = {(method.upper(), path) for path, methods in told["paths"].items() for method in methods}
    assert routes == {(route.method, route.path) for route in handlers.ROUTES if route.api}
    query = told["paths"]["/api/v1/query"]["post"]
    assert any(each["name"] == "Idempotency-Key" and each["required"] for each in query["parameters"])
    assert set(query["responses"]) >= {"200", "400", "401", "402", "403", "409", "422", "429"}
    text = json.dumps(told)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in told["components"]["schemas"], "nothing is referred to that is not there"


def test_the_page_lists_them(clinic):
    words = clinic.browser("public").text("/api")
    assert all(entry.route.path in words for entry in handlers.API_OPERATIONS)
