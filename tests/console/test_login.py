"""Coming in and going out by HTTP: cookies, equal time, throttling, fixation, open redirects, the first owner."""

import dataclasses
import re
import statistics
import time
from html import unescape
from http.cookies import SimpleCookie

import pytest
from starlette.testclient import TestClient

from console.house import COOKIE, ORIGIN, PASSWORD, Browser, world
from discreet.console.app import make_app
from discreet.console.pages.login import WRONG, safe_path
from discreet.console.people.passwords import Passwords
from discreet.console.people.throttle import LoginThrottle, LoginTry
from discreet.console.settings import Settings
from tiers import size


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("login") / "clinic")
    made.browser("owner")
    made.browser("analyst")
    yield made
    made.house.close()


@pytest.fixture
def clinic(shared):
    """The same for all, with nobody throttled."""
    people = shared.house.people
    people.throttle = LoginThrottle(people.clock)
    return shared


@pytest.fixture
def nobody(clinic):
    return clinic.browser("public")


def log_in(browser, name="olga", password=PASSWORD, **more):
    return browser.post("/login", {"name": name, "password": password, **more})


def cookie_of(response, *, known=False):
    """The session's cookie of a response, or the one by which a browser is known."""
    every = [SimpleCookie(text) for text in response.headers.get_list("set-cookie")]
    (found,) = [each for jar in every for each in jar.values() if each.key.endswith("-known") == known]
    return found


def plain(response):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", response.text)))


def test_in_and_out(nobody, clinic):
    assert nobody.get("/me").status_code == 303
    sent = log_in(nobody)
    assert (sent.status_code, sent.headers["location"]) == (303, "/")
    assert "olga" in nobody.text("/me")
    secret = cookie_of(sent).value
    csrf = clinic.house.people.sessions.find(secret).csrf
    out = Browser(client=nobody.client, csrf=csrf).post("/logout")
    assert (out.status_code, out.headers["location"]) == (303, "/login")
    assert cookie_of(out).value == "" and cookie_of(out)["max-age"] == "0"
    kept = clinic.client()
    kept.cookies.set(COOKIE, secret)
    assert kept.get("/me").status_code == 303  # it ended on the server, not only in the browser


def test_the_cookie_is_for_the_server_alone(nobody):
    found = cookie_of(log_in(nobody))
    assert found.key == COOKIE and len(found.value) == 43
    assert found["httponly"] and found["samesite"].lower() in ("lax", "strict") and found["path"] == "/"
    assert not found["domain"] and not found["secure"]


def test_by_tls_the_cookie_is_secure_and_bound_to_the_host(clinic):
    origin = "https://console.example.org"
    house = dataclasses.replace(clinic.house, settings=Settings(origin=origin, grid_ms=1))
    client = TestClient(make_app(house), base_url=origin, follow_redirects=False)
    sent = client.post("/login", data={"name": "olga", "password": PASSWORD}, headers={"origin": origin})
    found = cookie_of(sent)
    assert found.key == "__Host-discreet" and found["secure"] and found["httponly"] and not found["domain"]
    assert "max-age=" in sent.headers["strict-transport-security"]
    assert client.get("/me").status_code == 200
    client.cookies.clear()
    client.cookies.set(COOKIE, found.value)  # the name that a plain connection could have set
    assert client.get("/me").status_code == 303


def test_the_cookie_of_a_known_browser(clinic, nobody):
    found = cookie_of(log_in(nobody), known=True)
    assert found.key == f"{COOKIE}-known" and found["httponly"] and found["samesite"].lower() == "strict"
    assert found["path"] == "/" and not found["domain"] and int(found["max-age"]) == 180 * 86_400
    assert log_in(clinic.browser("public"), password="wrong").headers.get("set-cookie") is None
    out = clinic.browser("owner").post("/logout")
    assert "-known" not in out.headers["set-cookie"]  # the browser stays known
    origin = "https://console.example.org"
    house = dataclasses.replace(clinic.house, settings=Settings(origin=origin, grid_ms=1))
    client = TestClient(make_app(house), base_url=origin, follow_redirects=False)
    sent = client.post("/login", data={"name": "olga", "password": PASSWORD}, headers={"origin": origin})
    assert cookie_of(sent, known=True).key == "__Host-discreet-known" and cookie_of(sent, known=True)["secure"]


def test_others_do_not_lock_the_owner_out(clinic, monkeypatch):
    """Behind a proxy that says whom a request is from: forty wrong passwords from eight addresses."""
    house = dataclasses.replace(clinic.house, settings=Settings(origin=ORIGIN, grid_ms=1, behind_proxy=True))
    slept = []

    async def sleep(delay_s):
        slept.append(delay_s)

    monkeypatch.setattr("discreet.console.app.asyncio.sleep", sleep)

    def send(client, password, address):
        return client.post(
            "/login",
            data={"name": "olga", "password": password},
            headers={"origin": ORIGIN, "x-forwarded-for": address},
        )

    owner, other, attacker = (TestClient(make_app(house), base_url=ORIGIN, follow_redirects=False) for _ in range(3))
    assert send(owner, PASSWORD, "198.51.100.7").status_code == 303
    for each in range(40):
        assert send(attacker, "wrong", f"192.0.2.{each // 5}").status_code == 401
    assert send(attacker, "wrong", "192.0.2.1").status_code == 429
    assert 20.0 in slept
    slept.clear()
    owner.cookies.delete(COOKIE)  # the session is over; the browser is known
    assert send(owner, PASSWORD, "192.0.2.1").status_code == 303
    assert not [delay_s for delay_s in slept if delay_s >= 1]
    assert send(other, PASSWORD, "198.51.100.8").status_code == 303  # a new browser waits, and comes in
    assert 20.0 in slept


def test_pages_of_the_login_are_not_kept_by_anybody(nobody):
    for path in ("/login", "/setup/x"):
        headers = nobody.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "form-action 'self'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize(("name", "password"), [("olga", "wrong"), ("nobody", PASSWORD), ("", ""), ("<b>", "x" * 5000)])
def test_what_is_wrong_is_not_told(nobody, name, password):
    found = log_in(nobody, name, password)
    assert found.status_code == 401 and WRONG in plain(found)
    assert "set-cookie" not in found.headers
    mask = re.sub(r'name="name" value="[^"]*"', "", found.text)
    assert mask == re.sub(r'name="name" value="[^"]*"', "", log_in(nobody, "else", "else").text)
    assert "<b>" not in found.text


def test_a_disabled_person_is_told_the_same(clinic, nobody):
    people = clinic.house.people
    if people.roster.find("dis") is None:
        people.add("dis", role="analyst", password=PASSWORD)
    people.roster.disable("dis")
    assert log_in(nobody, "dis").status_code == 401


def test_unknown_names_take_the_same_time(clinic, monkeypatch):
    """The whole visit, by processor time, with the real parameters; and one hash in each.

    The fast tier sees a hash that is left out, or half as dear; the deep one a quarter.
    """
    people = clinic.house.people
    cheap = people.passwords
    people.passwords = Passwords()
    people.set_password("ann", PASSWORD)
    monkeypatch.setattr(LoginThrottle, "enter", lambda *_, **more: LoginTry(time=0.0))
    monkeypatch.setattr(LoginThrottle, "check_address", lambda *_: None)
    client = clinic.client()
    calls = []
    right = people.passwords.is_right
    monkeypatch.setattr(people.passwords, "is_right", lambda *given: calls.append(1) or right(*given))

    def cost(name):
        begun = time.process_time()
        found = client.post("/login", data={"name": name, "password": "wrong"}, headers={"origin": ORIGIN})
        assert found.status_code == 401
        return time.process_time() - begun

    with client:
        cost("warm")
        calls.clear()
        pairs = [(cost("ann"), cost("nobody")) for _ in range(size(5, 21))]
    assert len(calls) == 2 * len(pairs)
    known, unknown = (statistics.median(column) for column in zip(*pairs, strict=True))
    assert size(0.5, 0.8) < known / unknown < size(2, 1.25)
    people.passwords = cheap
    people.set_password("ann", PASSWORD)


def test_the_sixth_try_waits_whether_there_is_such_a_name_or_not(clinic):
    said = []
    for name in ("olga", "no such name"):
        browser = clinic.browser("public")
        assert [log_in(browser, name, "wrong").status_code for _ in range(5)] == [401] * 5
        found = log_in(browser, name)
        assert found.status_code == 429 and "set-cookie" not in found.headers
        assert 800 < int(found.headers["retry-after"]) <= 901
        said.append(plain(found))
    assert said[0] == said[1] and "Too many login attempts" in said[0]


@pytest.mark.deep
def test_fifty_of_an_address(clinic):
    browser = clinic.browser("public")
    for number in range(50):
        assert log_in(browser, f"name {number}", "wrong").status_code == 401
    assert log_in(browser, "olga").status_code == 429


def test_an_address_that_a_client_claims_is_not_believed(clinic):
    """Else every try would come from somewhere else. Behind a proxy, its own last word is."""
    browser = clinic.browser("public")
    for number in range(50):
        forged = {"x-forwarded-for": f"198.51.100.{number}"}
        browser.post("/login", {"name": f"name {number}", "password": "wrong"}, headers=forged)
    assert log_in(browser, "olga").status_code == 429
    house = dataclasses.replace(clinic.house, settings=Settings(origin=ORIGIN, grid_ms=1, behind_proxy=True))
    client = TestClient(make_app(house), base_url=ORIGIN, follow_redirects=False)
    form, headers = {"name": "olga", "password": PASSWORD}, {"origin": ORIGIN}
    sent = client.post("/login", data=form, headers={**headers, "x-forwarded-for": "1.2.3.4, 198.51.100.7"})
    assert sent.status_code == 303
    anybody = TestClient(make_app(house), base_url=ORIGIN)
    for number in range(50):
        told = {**headers, "x-forwarded-for": f"198.51.100.{number}, 203.0.113.5"}
        anybody.post("/login", data={"name": f"{number}", "password": "x"}, headers=told)
    fresh = TestClient(make_app(house), base_url=ORIGIN, follow_redirects=False)
    assert fresh.post("/login", data=form, headers={**headers, "x-forwarded-for": "203.0.113.5"}).status_code == 429


def test_a_session_that_somebody_chose_is_not_taken_on(clinic):
    chosen = "Z" * 43
    victim = clinic.client()
    victim.cookies.set(COOKIE, chosen)
    given = cookie_of(log_in(Browser(client=victim, csrf=""))).value
    assert given != chosen
    attacker = clinic.client()
    attacker.cookies.set(COOKIE, chosen)
    assert attacker.get("/me").status_code == 303


def test_logging_in_anew_ends_the_session_before(clinic):
    browser = clinic.browser("public")
    first = cookie_of(log_in(browser)).value
    session = clinic.house.people.sessions.find(first)
    again = cookie_of(log_in(Browser(client=browser.client, csrf=session.csrf))).value
    assert again != first and clinic.house.people.sessions.find(first) is None


def test_a_login_that_another_site_sends_is_refused(clinic):
    client = clinic.client()
    for origin in ("https://evil.example", "null"):
        sent = client.post("/login", data={"name": "olga", "password": PASSWORD}, headers={"origin": origin})
        assert sent.status_code == 403 and "set-cookie" not in sent.headers
    assert client.post("/login", data={"name": "olga", "password": PASSWORD}).status_code == 403


BAD = [
    "https://evil.example",
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "/%0a/evil.example\r\nset-cookie: x=y",
    "javascript:alert(1)",
    " //evil.example",
    "evil.example",
    "/login",
    "/logout",
    "",
    "/" + "a" * 600,
]


@pytest.mark.thin(6)
@pytest.mark.parametrize("onward", BAD)
def test_a_login_leads_nowhere_else(nobody, onward):
    assert log_in(nobody, next=onward).headers["location"] == "/"
    assert nobody.get("/login", params={"next": onward}).headers["location"] == "/"


@pytest.mark.parametrize("onward", ["/d/patients", "/ask?table=a%20b", "/a/r-1#plan", "/d/caf%C3%A9"])
def test_a_login_leads_where_one_was_going(nobody, clinic, onward):
    assert safe_path(onward) == onward
    assert log_in(nobody, next=onward).headers["location"] == onward


def test_the_way_survives_a_wrong_password(nobody):
    first = nobody.get("/d/patients").headers["location"]
    assert 'name="next" value="/d/patients"' in nobody.get(first).text
    assert 'name="next" value="/d/patients"' in log_in(nobody, password="wrong", next="/d/patients").text


def test_failed_logins_are_kept_for_owners_and_typed_texts_are_not(clinic):
    browser = clinic.browser("public")
    log_in(browser, "olga", "wrong")
    log_in(browser, "my secret password", "wrong")
    kept = [denial.data() for denial in clinic.house.people.denials.all()[:2]]
    assert [(each["who"], each["route"], each["why"]) for each in kept] == [
        ("somebody", "/login", WRONG),
        ("olga", "/login", WRONG),
    ]
    words = clinic.browser("owner").text("/admin")
    assert WRONG in words and "my secret password" not in words


def test_the_first_owner(tmp_path):
    made = world(tmp_path / "clinic")
    browser, link = made.browser("public"), f"/setup/{made.setup}"
    assert "There are no accounts yet" in browser.text("/login")
    assert "Create the owner" in browser.text(link)
    form = {"name": "Ada", "password": PASSWORD, "again": PASSWORD}
    for wrong in ({"again": "other"}, {"name": " "}, {"password": "short", "again": "short"}):
        refused = browser.post(link, form | wrong)
        assert refused.status_code == 400 and 'role="alert"' in refused.text
        assert PASSWORD not in refused.text
    assert browser.post("/setup/" + "A" * 43, form).status_code == 404
    assert made.house.people.roster.all() == []
    sent = browser.post(link, form)
    assert (sent.status_code, sent.headers["location"]) == (303, "/")
    assert "Your role is owner" in browser.text("/me")
    assert made.client().get(link).status_code == 404
    late = made.browser("public").post(link, form | {"name": "Eve"})
    assert late.status_code == 404 and "no longer valid" in late.text
    assert [person.name for person in made.house.people.roster.all()] == ["Ada"]
    assert "There are no accounts" not in made.browser("public").text("/login")
    made.house.close()


def test_of_two_who_come_by_the_setup_link_at_once_one_is_the_owner(tmp_path, monkeypatch):
    """The second passes the check while the first one's password is hashed."""
    made = world(tmp_path / "clinic")
    people, link = made.house.people, f"/setup/{made.setup}"
    form = {"name": "Ada", "password": PASSWORD, "again": PASSWORD}
    first, second, hash_new = made.browser("public"), made.browser("public"), people.passwords.hash_new
    sent = []

    def hash_late(password, names):
        monkeypatch.setattr(people.passwords, "hash_new", hash_new)
        sent.append(first.post(link, form))
        return hash_new(password, names)

    monkeypatch.setattr(people.passwords, "hash_new", hash_late)
    late = second.post(link, {**form, "name": "Eve"})
    assert sent[0].status_code == 303 and late.status_code == 400
    assert "no longer valid" in late.text and "<form method" not in late.text.partition("<main")[2]
    assert [(each.name, each.role) for each in people.roster.all()] == [("Ada", "owner")]
    assert second.get("/me").status_code in (303, 401)
    made.house.close()


def test_the_secret_of_the_setup_link_is_in_no_log(tmp_path):
    made = world(tmp_path / "clinic")
    made.browser("public").get(f"/setup/{made.setup}")
    made.house.close()
    log = (tmp_path / "console.log").read_text()
    assert "/setup/{link}" in log and made.setup not in log
