"""A console over a small clinic, for tests: its project, its people, and browsers that are logged in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from starlette.testclient import TestClient

import discreet
from discreet.console.app import AppState, make_app
from discreet.console.app_state import open_state
from discreet.console.people.passwords import Passwords
from discreet.console.settings import Settings

ORIGIN = "http://127.0.0.1:8000"
COOKIE = "discreet-8000"
PASSWORD = "correct horse battery"
ILL = ("flu", "mumps", "gout")


def clinic(folder: Path, *, epsilon: str = "100", rows: int = 300) -> Path:
    """A project with patients, their visits and a public table of wards."""
    folder.mkdir(parents=True, exist_ok=True)
    people = [f"{n},{20 + n % 60},{ILL[n % 3]},{'FM'[n % 2]},w{n % 4}" for n in range(rows)]
    (folder / "patients.csv").write_text("\n".join(["id,age,disease,sex,ward", *people]) + "\n")
    visits = [f"{n % rows},{n % 50},2026-0{1 + n % 9}-1{n % 10}" for n in range(3 * rows)]
    (folder / "visits.csv").write_text("\n".join(["id,cost,day", *visits]) + "\n")
    (folder / "wards.csv").write_text("ward,house\nw0,east\nw1,east\nw2,west\nw3,west\n")
    discreet.init(folder)
    (folder / "discreet.toml").write_text(
        f"""[project]
ledger = "sqlite:///.discreet/ledger.db"

[populations.people]
budget = {{ epsilon = {epsilon}, delta = 1e-6 }}

[tables.patients]
source = "patients.csv"
population = "people"
person = "id"
rows_per_person = 1
[tables.patients.columns.age]
type = "integer"
low = 0
high = 100
bins = 10
[tables.patients.columns.disease]
type = "category"
values = ["flu", "mumps", "gout"]
[tables.patients.columns.sex]
type = "category"
values = ["F", "M"]
closed = true
[tables.patients.columns.ward]
type = "category"
values = ["w0", "w1", "w2", "w3"]

[tables.visits]
source = "visits.csv"
population = "people"
person = "id"
rows_per_person = 3
[tables.visits.columns.cost]
type = "integer"
low = 0
high = 40
[tables.visits.columns.day]
type = "date"
low = 2026-01-01
high = 2026-12-31

[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns.ward]
type = "category"
values = ["w0", "w1", "w2", "w3"]
[tables.wards.columns.house]
type = "category"
values = ["east", "west"]
"""
    )
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A house, its folder, and a way in."""

    house: AppState
    folder: Path
    setup: str | None

    def client(self) -> TestClient:
        """A browser that nobody has used yet."""
        return TestClient(make_app(self.house), base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False)

    def browser(self, role: str) -> Browser:
        """A browser of somebody with this role, who is made where there is none; of nobody for "public"."""
        if role == "public":
            return Browser(client=self.client(), csrf="")
        people, name = self.house.people, {"owner": "olga", "analyst": "ann"}[role]
        if people.roster.find(name) is None:
            people.add(name, role=role, password=PASSWORD)
        cookie = people.log_in(name, PASSWORD, address="127.0.0.1")
        assert cookie is not None
        client = self.client()
        client.cookies.set(self.house.settings.cookie, cookie)
        session = people.sessions.find(cookie)
        assert session is not None
        return Browser(client=client, csrf=session.csrf)

    def token(self, role: str = "analyst") -> str:
        """A token of somebody with this role."""
        self.browser(role)
        people = self.house.people
        person = people.roster.get({"owner": "olga", "analyst": "ann"}[role])
        return people.tokens.make(person, label="test")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """What a person does: look, and send forms."""

    client: TestClient
    csrf: str

    def get(self, path, **more):
        return self.client.get(path, **more)

    def post(self, path, data=None, **more):
        """Send a form, as a page of ours would."""
        headers = {"origin": ORIGIN, "sec-fetch-site": "same-origin", **more.pop("headers", {})}
        return self.client.post(path, data={"csrf": self.csrf, **(data or {})}, headers=headers, **more)

    def text(self, path):
        """The words of a page, without its marks."""
        found = self.get(path)
        assert found.status_code == 200, (path, found.status_code, found.text[:300])
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found.text))


def world(folder: Path, **more) -> World:
    """A console over a fresh clinic. Passwords cost little here; tests of passwords use their own."""
    clinic(folder)
    settings = Settings(origin=ORIGIN, grid_ms=more.pop("grid_ms", 1), **more)
    house, setup = open_state(folder, settings, log=folder.parent / "console.log")
    house.people.passwords = Passwords(memory_kib=64, passes=1)
    return World(house=house, folder=folder, setup=setup)
