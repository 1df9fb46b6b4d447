"""Help: every page of the console opens a page of the manual that exists, and nothing but the manual is served."""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from browser.console.furnished import FILES
from console.house import world
from discreet.console import help_links, manual_pages
from discreet.console.help_links import HELP, help_address
from discreet.console.pages.help_pages import FOLDERS
from discreet.console.routes import route_table

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [route for route in route_table() if route.method == "GET" and not route.api and route.path not in FILES]
#: A page of each kind: pictures, tables, proofs, code in lists.
SOME = ("index", "console", "graphs", "concepts/budgets", "proofs/graphs", "how-to/README", "reference/json")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("help") / "clinic")
    yield made
    made.house.handle.close()


def missing(table):
    """What a table of help lacks, has too much, or sends nowhere."""
    wrong = [f"{path} has no help" for path in {route.path for route in PAGES} - set(table)]
    wrong += [f"{path} is no page" for path in set(table) - {route.path for route in PAGES}]
    for path, place in table.items():
        page, _, anchor = place.partition("#")
        if page not in manual_pages.page_paths():
            wrong.append(f"{path}: no page {page}")
        elif anchor and anchor not in manual_pages.anchors_of(page):
            wrong.append(f"{path}: no section {place}")
    return wrong


def test_every_page_has_help_that_exists():
    assert missing(HELP) == []


def test_a_table_with_a_hole_is_seen():
    less = dict(HELP)
    del less["/ask"]
    assert missing(less) == ["/ask has no help"]
    assert missing({**HELP, "/ask": "ask"}) == ["/ask: no page ask"]
    assert missing({**HELP, "/ask": "console#asks"}) == ["/ask: no section console#asks"]


def test_an_address_has_the_help_of_its_own_route():
    for route in PAGES:
        address = re.sub(r"\{[^}]+\}", "r-1", route.path)
        assert help_address(address) == f"/help/{HELP[route.path]}"
    assert help_address("/d/a name/with a slash") == "/help/guides/declaring"
    assert help_address("/nowhere/at/all") == f"/help/{help_links.DEFAULT}"


@pytest.mark.parametrize(
    ("role", "path"), [("public", "/learn"), ("public", "/nothing"), ("owner", "/admin"), ("analyst", "/ask")]
)
def test_a_page_links_its_help(clinic, role, path):
    page = clinic.browser(role).get(path).text
    assert f'href="{help_address(path)}" aria-label="Help with this page"' in page


@pytest.mark.parametrize("name", SOME)
def test_a_page_of_the_manual_loads_nothing_and_links_to_what_there_is(clinic, name):
    browser = clinic.browser("public")
    got = browser.get(f"/help/{name}")
    assert got.status_code == 200 and "script-src 'self'" in got.headers["content-security-policy"]
    body = got.text.partition('<article class="manual">')[2].partition("</article>")[0]
    assert body.count("<h1") == 1 and "<!--" not in body and "&lt;!--" not in body
    assert not re.search(r"<(script|style|iframe|object|embed|form)|\sstyle=\"|\son[a-z]+=\"|javascript:", body)
    assert all(source.startswith("/help/files/") for source in re.findall(r'\ssrc="([^"]*)"', body))
    for source in re.findall(r'\ssrc="([^"]*)"', body):
        shown = browser.get(source)
        assert shown.status_code == 200 and shown.headers["content-type"] == "image/png"
        assert shown.content.startswith(b"\x89PNG")


def test_every_link_of_the_manual_leads_to_a_page_and_a_section():
    links = 0
    for page in manual_pages.page_paths():
        for address in re.findall(r'href="((?:/help/|#)[^"]*)"', manual_pages.html_of(page)):
            there, _, anchor = address.removeprefix("/help/").partition("#")
            there = there or page
            assert there in manual_pages.page_paths(), (page, address)
            assert not anchor or anchor in manual_pages.anchors_of(there), (page, address)
            links += 1
    assert links > 300
    assert {page.rpartition("/")[0] for page in manual_pages.page_paths()} == set(FOLDERS)


@pytest.mark.parametrize(
    "address",
    [
        "/help/../SECURITY",
        "/help/..%2F..%2Fpyproject",
        "/help/%2e%2e/%2e%2e/etc/passwd",
        "/help//etc/passwd",
        "/help/console.md",
        "/help/files/../pyproject.toml",
        "/help/files/..%2F..%2Fpyproject.toml",
        "/help/files/console.md",
        "/help/files/pictures",
        "/help/files//etc/passwd",
        "/help/files/pictures/%00ask.png",
        "/help/stylesheets/extra.css",
    ],
)
def test_nothing_else_is_served(clinic, address):
    assert clinic.browser("public").get(address).status_code == 404


def test_what_a_page_could_do_is_words():
    render = manual_pages._parser().render
    shown = render(
        '<script>alert(1)</script>\n\nA <img src=x onerror="alert(1)"> b\n\n<!-- world: clinic -->\n\n[x](javascript:alert(1))'
    )
    assert "<script" not in shown and "<img" not in shown and "world" not in shown and 'href="javascript' not in shown
    assert manual_pages.address_of("data:text/html,x", "start") is None
    assert manual_pages.address_of("../SECURITY.md", "console") is None
    assert manual_pages.address_of("../console.md#ask", "how-to/survey") == "/help/console#ask"


def test_the_manual_is_searched(clinic):
    browser = clinic.browser("public")
    listed = browser.get("/help.json", params={"words": "homophily triangles"}).json()["parts"]
    pages = [each["page"] for part in listed for each in part["pages"]]
    assert "graphs" in pages and "start" not in pages
    assert "No page has all of these words." in browser.get("/help", params={"words": "<b>xyzzy"}).text


def test_the_wheel_is_to_have_the_manual():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {"docs": "discreet/docs", "verify": "discreet/verify"}
    assert manual_pages.folder() == ROOT / "docs"


@pytest.mark.deep
def test_the_wheel_has_the_manual(tmp_path):
    from hatchling.builders.wheel import WheelBuilder

    (made,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = set(zipfile.ZipFile(made).namelist())
    assert {f"discreet/docs/{page}.md" for page in manual_pages.page_paths()} <= names
    assert {f"discreet/docs/{name}" for name in manual_pages.picture_paths()} <= names


def test_an_installed_package_reads_its_own_copy(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "discreet"
    (package / "docs").mkdir(parents=True)
    (package / "docs" / "index.md").write_text("# Hello\n")
    monkeypatch.setattr(manual_pages.discreet, "__file__", str(package / "__init__.py"))
    assert manual_pages.folder.__wrapped__() == package / "docs"
    (package / "docs" / "index.md").unlink()
    assert manual_pages.folder.__wrapped__() is None
