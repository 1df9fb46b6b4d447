"""schemathesis over the API, as owner and as analyst: no 5xx, and every answer is as the document says."""

import itertools
import secrets

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from console.api.served import serving
from discreet.console.api.handlers import API_OPERATIONS
from discreet.console.api.openapi import openapi_document
from tiers import size

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SCHEMA = schemathesis.openapi.from_dict(openapi_document(API_OPERATIONS))
OPERATIONS = {f"{each.ok().method} {each.ok().path}": each.ok() for each in SCHEMA.get_all_operations()}
#: Questions that are answered, so that more than refusals is seen.
SQL = (
    "select ward, count(*) from patients group by cube (ward)",
    "select count(*) from patients",
    "select median(age) from patients",
    "select cost from visits",
    "select sex, avg(age) from patients group by sex",
    "select day, sum(cost) s from visits group by day",
)


class Caller:
    """Somebody with a token that holds, whatever was revoked meanwhile."""

    def __init__(self, served, name, role):
        self.served, self.name, self.role = served, name, role
        self.token = served.token(name, role)

    def call(self, case, *, number=0):
        """Every second one of those that are well formed makes sense, too: a question, a price, a release."""
        people = self.served.house.people
        if people.tokens.find(self.token).why_not(people.clock()):
            self.token = self.served.token(self.name, self.role)
        priced = isinstance(case.body, dict) and {"epsilon", "sql", "confidence"} & set(case.body)
        if number % 2 and (priced or case.path.endswith("/again")):
            told = {"sql": SQL[number % len(SQL)]} if "sql" in case.body else {}
            case.body = {**told, "epsilon": "0.01"}
        if number % 2 and "release" in case.path_parameters and self.served.charges:
            case.path_parameters["release"] = list(self.served.charges)[number % len(self.served.charges)]
            case.query = {}
        headers = {"authorization": f"Bearer {self.token}"}
        if number % 2:
            headers["idempotency-key"] = secrets.token_hex(8)  # generated ones are alike, and belong to another request
        response = case.call(base_url=self.served.url, headers=headers)
        case.validate_response(response, checks=CHECKS)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("schema") / "clinic", epsilon="1000", grid_ms=1) as found:
        for _ in range(5):
            found.token("zoe")  # numbers that are easily guessed are another's
        yield found


@pytest.fixture(scope="module", params=["analyst", "owner"])
def caller(request, served):
    return Caller(served, {"analyst": "ann", "owner": "olga"}[request.param], request.param)


#: Bodies, queries and paths can be got wrong, where there are any.
MODES = [
    *((name, GenerationMode.POSITIVE) for name in OPERATIONS),
    *(
        (name, GenerationMode.NEGATIVE)
        for name, one in OPERATIONS.items()
        if one.body or one.query or one.path_parameters
    ),
]


#: Of every second operation the wrong ones are deep.
SECOND = set(list(OPERATIONS)[::2])
CASES = [
    pytest.param(*case, marks=[pytest.mark.deep] if case[0] in SECOND and case[1] is GenerationMode.NEGATIVE else [])
    for case in MODES
]


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_answers_are_as_the_document_says(caller, name, mode):
    operation = OPERATIONS[name]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=size(4 if mode is GenerationMode.POSITIVE else 1, 8),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def fuzz(case):
        caller.call(case, number=next(numbers) if mode is GenerationMode.POSITIVE else 0)

    # The first request makes sense, the next does not; each caller and operation begins with another query.
    numbers = itertools.count(2 * list(OPERATIONS).index(name) + 1 + 2 * (caller.role == "owner"))
    fuzz()


def test_it_saw_answers_and_refusals(served, tmp_path):
    """A fuzz that only ever sees refusals shows little."""
    log = (served.house.handle.folder.parent / "served.log").read_text()
    for status in (200, 400, 404, 422):  # 201, of a token that was made, is not in every fuzz
        assert f'"status": {status}' in log
    assert '"status": 5' not in log
    for route in ("query", "explain", "releases/{release}", "releases/{release}.csv", "releases/{release}/again"):
        assert any(f'/api/v1/{route}"' in line and '"status": 200' in line for line in log.splitlines()), route


def test_the_test_sees_an_answer_that_is_not_as_described(served):
    """The mutant: a route that says less than it promises."""
    from schemathesis.core.failures import FailureGroup

    told = openapi_document(API_OPERATIONS)
    told["components"]["schemas"]["Tables"]["required"].append("nowhere")
    operation = next(
        each.ok()
        for each in schemathesis.openapi.from_dict(told).get_all_operations()
        if each.ok().path == "/api/v1/tables"
    )
    with pytest.raises(FailureGroup):
        Caller(served, "ann", "analyst").call(operation.Case())
