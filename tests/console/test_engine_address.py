"""A table that lies in PostgreSQL, declared in the console: by the engine's address, and without a file."""

import tomllib
from urllib.parse import urlencode

import pytest

from console.forms_of_tables import declare, words
from console.house import world
from engines.postgres.server import load, new_name, postgres_address

__all__ = ["postgres_address"]
pytestmark = pytest.mark.usefixtures("patient")
ROWS = [{"customer_id": n % 40, "amount": n % 25, "place": ("east", "west")[n % 2]} for n in range(120)]


@pytest.fixture
def clinic(tmp_path):
    made = world(tmp_path / "clinic")
    yield made
    made.house.close()


def test_a_table_of_an_engine_goes_from_its_address_to_an_answer(clinic, postgres_address):
    owner, name = clinic.browser("owner"), new_name("orders")
    source = f"public.{load(postgres_address, ROWS, name=name)}"
    at = f"/admin/tables/new?{urlencode({'engine': postgres_address, 'source': source})}"
    assert "customer_id" in words(owner.get(at))
    answers = {"name": "orders", "rows_per_person": "3", "epsilon": "1000", "c1_low": "0", "c1_high": "30"}
    led = declare(owner, at, **answers)
    assert led.headers["location"] == "/admin/table/orders#report", words(led)[:900]
    found = tomllib.loads((clinic.folder / "discreet.toml").read_text())["tables"]["orders"]
    assert (found["engine"], found["source"], found["person"]) == (postgres_address, source, "customer_id")
    told = owner.get("/admin/table/orders.json").json()
    assert (told["report"]["numbers"]["rows"], told["report"]["numbers"]["persons"]) == (120, 40)
    listed = {each["name"]: each for each in owner.get("/admin/tables.json").json()["tables"]}
    assert listed["orders"]["engine"] == postgres_address and not listed["patients"]["engine"]
    wish = {"sql": "SELECT sum(amount) AS total FROM orders", "by": "epsilon", "epsilon": "500", "confidence": "0.95"}
    to = owner.post("/ask", wish | {"act": "ask", "key": "a" * 24}).headers["location"]
    assert abs(owner.get(f"{to}.json").json()["rows"][0][0] - sum(row["amount"] for row in ROWS)) < 2
    # Analysts never learn where the data lies.
    ann = clinic.browser("analyst")
    for path in ("/d/orders", "/d/orders.json", "/", "/index.json", "/budget.json"):
        assert postgres_address not in ann.get(path).text and name not in ann.get(path).text, path


@pytest.mark.parametrize("source", ["public.nothing_there", "no schema.t", "orders; DROP TABLE x", "'"])
def test_a_table_that_an_engine_lacks_is_told(clinic, postgres_address, source):
    told = clinic.browser("owner").get("/admin/tables/new", params={"engine": postgres_address, "source": source})
    assert told.status_code in (400, 409) and 'role="alert"' in told.text, (told.status_code, words(told)[:500])
