"""One's own page and the owners': what each act does, and what it ends."""

import dataclasses
import re

import pytest

from console.house import PASSWORD, world
from discreet.console.defects import KEPT, Defects
from discreet.console.people.throttle import LoginThrottle


@pytest.fixture
def clinic(tmp_path):
    made = world(tmp_path / "clinic")
    yield made
    made.house.close()


@pytest.fixture
def people(clinic):
    return clinic.house.people


@pytest.fixture
def owner(clinic):
    return clinic.browser("owner")


@pytest.fixture
def analyst(clinic):
    return clinic.browser("analyst")


def number_of(people, name):
    return people.roster.get(name).number


def test_ones_own_page(clinic, analyst, people):
    told = analyst.get("/me.json").json()
    assert told["person"]["name"] == "ann" and told["tokens"] == [] and len(told["sessions"]) == 1
    assert "csrf" not in told and told["roles"] == ["analyst"]
    page = analyst.get("/me").text
    assert "You have no tokens yet" in page and "data-copy" not in page


def test_a_token_is_shown_once_and_works(clinic, analyst, people):
    made = analyst.post("/me/tokens", {"label": "nightly", "days": "7", "role": "analyst"})
    (text,) = re.findall(r"dsc_[\w-]{43}", made.text)
    assert people.tokens.find(text).label == "nightly"
    assert f'<code id="new-token">{text}</code>' in made.text and 'data-copy="#new-token"' in made.text
    assert text not in analyst.get("/me").text and "nightly" in analyst.get("/me").text
    headers = {"authorization": f"Bearer {text}"}
    assert clinic.client().get("/me.json", headers=headers).json()["person"]["name"] == "ann"
    assert analyst.get("/me.csv").text.splitlines()[0].startswith("number,person,label,role")
    number = people.tokens.find(text).number
    assert analyst.post(f"/me/tokens/{number}/revoke").status_code == 303
    assert clinic.client().get("/me.json", headers=headers).status_code == 401


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "form",
    [
        {"label": ""},
        {"label": "x", "days": "0"},
        {"label": "x", "days": "soon"},
        {"label": "x", "days": "99999999999"},
        {"label": "x", "role": "owner"},
        {"label": "x", "role": "god"},
    ],
)
def test_a_token_that_is_refused(analyst, people, form):
    found = analyst.post("/me/tokens", {"days": "7", "role": "analyst"} | form)
    assert found.status_code == 400 and 'role="alert"' in found.text
    assert people.tokens.all() == []


def test_nobody_revokes_anothers_token_but_an_owner(owner, analyst, people):
    _, hers = people.tokens.make(people.roster.get("olga"), label="hers")
    for number in (hers.number, 99, "x", "-1", "9" * 30, "²"):
        assert analyst.post(f"/me/tokens/{number}/revoke").status_code == 404
    assert analyst.post(f"/admin/tokens/{hers.number}/revoke").status_code == 403
    assert people.tokens.get(hers.number).revoked is None
    assert owner.post(f"/admin/tokens/{hers.number}/revoke").status_code == 303
    assert people.tokens.get(hers.number).revoked is not None
    assert owner.post("/admin/tokens/99/revoke").status_code == 404


def test_a_new_password_ends_every_other_session(clinic, analyst, people):
    other = clinic.browser("analyst")
    form = {"old": PASSWORD, "new": "another horse battery", "again": "another horse battery"}
    for wrong in ({"old": "wrong"}, {"again": "x"}, {"new": "short", "again": "short"}):
        found = analyst.post("/me/password", form | wrong)
        assert found.status_code == 400 and 'role="alert"' in found.text
    assert other.get("/me").status_code == 200
    sent = analyst.post("/me/password", form)
    assert sent.status_code == 303 and "password was changed" in analyst.text(sent.headers["location"])
    assert other.get("/me").status_code == 303
    assert people.log_in("ann", PASSWORD, address="192.0.2.1") is None


def test_guessing_the_old_password_is_throttled(analyst):
    form = {"old": "wrong", "new": "another horse battery", "again": "another horse battery"}
    assert [analyst.post("/me/password", form).status_code for _ in range(6)] == [400] * 5 + [429]


def test_ending_the_other_sessions(clinic, analyst):
    other = clinic.browser("analyst")
    assert analyst.post("/me/sessions/end").status_code == 303
    assert other.get("/me").status_code == 303 and analyst.get("/me").status_code == 200


def test_an_owner_adds_somebody_who_can_log_in(clinic, owner, people):
    made = owner.post("/admin/people", {"name": "Ben", "role": "analyst", "analyst": "research"})
    (password,) = re.findall(r"is <code>([\w-]+)</code>", made.text)
    assert len(password) >= 16
    assert people.log_in("ben", password, address="192.0.2.1")
    assert people.roster.get("ben").analyst == "research"
    assert password not in owner.get("/admin").text
    assert owner.post("/admin/people", {"name": "BEN", "role": "analyst"}).status_code == 400
    assert owner.post("/admin/people", {"name": "Eve", "role": "public"}).status_code == 400
    assert [each["name"] for each in owner.get("/admin.json").json()["people"]] == ["olga", "Ben"]


def test_a_password_that_an_owner_gave_is_changed_before_anything_else(clinic, owner, people):
    made = owner.post("/admin/people", {"name": "Ben", "role": "analyst"})
    (given,) = re.findall(r"is <code>([\w-]+)</code>", made.text)
    cookie = people.log_in("ben", given, address="192.0.2.1")
    ben = dataclasses.replace(clinic.browser("public"), csrf=people.sessions.find(cookie).csrf)
    ben.client.cookies.set(clinic.house.settings.cookie, cookie)
    for path in ("/", "/ask", "/a", "/d", "/me.json"):
        found = ben.get(path)
        assert path == "/me.json" or (found.status_code, found.headers["location"]) == (303, "/me"), path
    assert ben.post("/me/tokens", {"label": "x"}).status_code == 403 and not people.tokens.all()
    assert ben.post("/ask", {"sql": "select 1", "act": "ask"}).status_code == 403
    assert "chosen by somebody else" in ben.text("/me") and "has not chosen a password" in owner.text("/admin")
    own = {"old": given, "new": "zebra tram to Altona", "again": "zebra tram to Altona"}
    same = ben.post("/me/password", own | {"new": given, "again": given})
    assert same.status_code == 400 and "another password" in same.text
    assert ben.post("/me/password", own).status_code == 303
    assert not people.roster.get("ben").temporary and ben.get("/ask").status_code == 200
    assert "has not chosen a password" not in owner.text("/admin")
    owner.post(f"/admin/people/{number_of(people, 'Ben')}/password")
    assert people.roster.get("ben").temporary
    assert not people.denials.all() or all("password of your own" not in each.why for each in people.denials.all())


def test_roles_and_names_of_charging(owner, analyst, people):
    path = f"/admin/people/{number_of(people, 'ann')}"
    assert owner.post(f"{path}/analyst", {"analyst": "research"}).status_code == 303
    assert owner.post(f"{path}/analyst", {"analyst": " "}).status_code == 400
    assert people.roster.get("ann").analyst == "research"
    assert analyst.get("/me").status_code == 200
    assert owner.post(f"{path}/role", {"role": "owner"}).status_code == 303
    assert people.roster.get("ann").role == "owner"
    assert analyst.get("/me").status_code == 303  # what one may is asked anew


def test_disabling_and_enabling(clinic, owner, analyst, people):
    token, _ = people.tokens.make(people.roster.get("ann"), label="x")
    path = f"/admin/people/{number_of(people, 'ann')}"
    assert owner.post(f"{path}/disable").status_code == 303
    assert analyst.get("/me").status_code == 303
    assert clinic.client().get("/me.json", headers={"authorization": f"Bearer {token}"}).status_code == 401
    assert "disabled" in owner.text("/admin")
    assert owner.post(f"{path}/enable").status_code == 303
    people.throttle = LoginThrottle(people.clock)
    assert people.log_in("ann", PASSWORD, address="192.0.2.1")


def test_the_last_owner_stays(owner, people):
    path = f"/admin/people/{number_of(people, 'olga')}"
    for found in (owner.post(f"{path}/disable"), owner.post(f"{path}/role", {"role": "analyst"})):
        assert found.status_code == 400 and "last owner" in found.text
    assert owner.get("/admin").status_code == 200


def test_a_lost_password(clinic, owner, analyst, people):
    made = owner.post(f"/admin/people/{number_of(people, 'ann')}/password")
    (password,) = re.findall(r"is <code>([\w-]+)</code>", made.text)
    assert analyst.get("/me").status_code == 303
    assert people.log_in("ann", password, address="192.0.2.1")
    own = owner.post(f"/admin/people/{number_of(people, 'olga')}/password")
    assert own.headers["location"] == "/me"
    assert people.log_in("olga", PASSWORD, address="192.0.2.1")


def test_ending_somebodys_sessions(owner, analyst, people):
    assert owner.post(f"/admin/people/{number_of(people, 'ann')}/end").status_code == 303
    assert analyst.get("/me").status_code == 303
    assert owner.post(f"/admin/people/{number_of(people, 'olga')}/end").status_code == 303
    assert owner.get("/admin").status_code == 200
    assert owner.post("/admin/people/99/end").status_code == 404


def test_why_was_this_denied(clinic, owner, analyst):
    analyst.get("/admin")
    analyst.post("/admin/people/1/disable")
    clinic.client().get("/d/secret-table")
    told = owner.get("/admin/denials.json").json()["denials"]
    seen = {(each["who"], each["method"], each["route"], each["needs"]) for each in told}
    assert ("ann", "GET", "/admin", "owner") in seen
    assert ("ann", "POST", "/admin/people/{number}/disable", "owner") in seen
    assert ("", "GET", "/d/{table}", "analyst") in seen
    people = clinic.house.people
    text, token = people.tokens.make(people.roster.get("ann"), label="lost")
    people.tokens.revoke(token.number)
    assert clinic.client().get("/budget", headers={"authorization": f"Bearer {text}"}).status_code in (303, 401)
    assert clinic.client().get("/log", headers={"authorization": f"Bearer dsc_{'A' * 43}"}).status_code in (303, 401)
    told = owner.get("/admin/denials.json").json()["denials"]
    assert {("ann", "/budget", "The token was revoked."), ("", "/log", "This token is unknown.")} <= {
        (each["who"], each["route"], each["why"]) for each in told
    }
    assert "secret-table" not in owner.get("/admin/denials").text
    assert "Only an owner may do this" in owner.text("/admin/denials")
    assert owner.get("/admin/denials.csv").text.startswith("time,who,method,route,needs,why\n")


def test_who_may_come_where(owner):
    told = owner.get("/admin/routes.json").json()["routes"]
    assert {"method": "GET", "path": "/admin", "role": "owner"} in told
    assert "/admin/people/{number}/disable" in owner.text("/admin/routes")


def test_names_and_labels_are_text_and_nothing_else(clinic, owner, people):
    evil = "<img src=x onerror=alert(1)>"
    owner.post("/admin/people", {"name": evil, "role": "analyst", "analyst": evil})
    people.tokens.make(people.roster.get("olga"), label=evil)
    for path in ("/admin", "/admin/tokens", "/me"):
        text = owner.get(path).text
        assert "<img" not in text and "&lt;img" in text


def test_owners_by_token_only_look(clinic, people):
    """A token opens pages that show; what a form does takes a session."""
    headers = {"authorization": f"Bearer {clinic.token('owner')}"}
    client = clinic.client()
    shown = client.get("/admin", headers=headers)
    assert shown.status_code == 200 and shown.text.count("<button") == 1  # the menu's
    form = {"name": "Eve", "role": "owner"}
    assert (
        client.post("/admin/people", data=form, headers={**headers, "origin": "http://127.0.0.1:8000"}).status_code
        == 401
    )
    assert people.roster.find("Eve") is None


def test_defects_are_told_to_the_owner_by_kind_and_place_alone(clinic, owner, analyst, monkeypatch):
    """The page says that its owner is told; the error's words, which may quote a cell, are nowhere."""

    def broken(*_, **__):
        raise ZeroDivisionError("mumps of patient 17")

    assert owner.get("/admin.json").json()["defects"] == []
    monkeypatch.setattr("discreet.console.public_facts.table_line", broken)
    found = analyst.get("/")
    assert found.status_code == 500 and "recorded for the owner" in found.text and "/admin" in found.text
    assert analyst.get("/index.json").json()["code"] is None
    for path in ("/admin.json", "/admin"):
        assert "mumps of" not in owner.get(path).text
    latest, first = owner.get("/admin.json").json()["defects"]
    assert (first["kind"], first["method"], first["route"]) == ("ZeroDivisionError", "GET", "/")
    assert first["place"].endswith("broken") and first["time"].endswith("Z") and latest["id"] != first["id"]
    assert "ZeroDivisionError" in owner.text("/admin") and first["id"] in owner.text("/admin")
    assert first["id"] in (clinic.folder.parent / "console.log").read_text()
    assert analyst.get("/admin").status_code == 403


def test_so_many_defects_are_kept():
    kept = Defects(clock=lambda: 0.0)
    for number in range(KEPT + 5):
        kept.keep(id_=str(number), kind="KeyError", place="", method="GET", route="/")
    assert [each.id_ for each in kept.all()] == [str(number) for number in reversed(range(5, KEPT + 5))]
