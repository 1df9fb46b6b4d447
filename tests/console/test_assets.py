"""Style sheets and scripts: cached for ever under what they contain, and under nothing else."""

import re

import pytest

from console.house import world
from discreet.console import assets
from discreet.console.assets import FOR_EVER, assets_digest, with_digest


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("assets") / "clinic")
    yield made
    made.house.close()


def test_what_a_page_names_is_kept_for_ever_and_nothing_else(clinic):
    nobody = clinic.browser("public")
    page = nobody.get("/login")
    names = re.findall(r'(?:href|src)="(/assets/[^"]+)"', page.text)
    assert len(names) >= 4 and all(name.startswith(f"/assets/{assets_digest()}/") for name in names)
    for name in names:
        found = nobody.get(name)
        assert (found.status_code, found.headers["cache-control"]) == (200, FOR_EVER), name
        assert found.content == nobody.get(name.replace(f"/{assets_digest()}", "")).content
    assert page.headers["cache-control"] == "no-store"
    assert nobody.get("/assets/style.css").headers["cache-control"] == "no-store"
    for path in ("none.css", "../app.py", f"{assets_digest()}/style.css"):
        found = nobody.get(f"/assets/{assets_digest()}/{path}")
        assert (found.status_code, found.headers["cache-control"]) == (404, "no-store"), path
    assert nobody.get("/assets/0123456789abcdef/style.css").status_code == 404


def test_another_content_is_another_address(tmp_path, monkeypatch):
    (tmp_path / "a.css").write_text("a {}")
    monkeypatch.setattr(assets, "FOLDER", tmp_path)
    seen = set()
    for name, text in (("a.css", "a {}"), ("a.css", "b {}"), ("b.js", "")):
        (tmp_path / name).write_text(text)
        assets_digest.cache_clear()
        seen.add(assets_digest())
    assets_digest.cache_clear()
    assert len(seen) == 3


def test_texts_of_people_are_no_addresses():
    assert with_digest("<p>=&#34;/assets/x</p>") == "<p>=&#34;/assets/x</p>"
