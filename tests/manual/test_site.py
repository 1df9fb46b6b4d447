"""The site builds, every page has its place, every link and anchor leads somewhere, and nothing is fetched from elsewhere."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from manual import site
from manual.pages import ROOT, name_of, pages

OUTER = [
    ROOT / name
    for name in (
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "benchmarks/RESULTS.md",
        "examples/README.md",
        "verify/README.md",
    )
]


#: What the runner of pages reads.
FOR_TESTS = re.compile(r"<!-- (world|not run|file|into|exit|let|noisy)\b")

#: What a style makes a browser fetch from elsewhere.
ELSEWHERE = re.compile(r"(?:url\(|@import)\s*[\"']?\s*(?:https?:)?//[^\s\"')]*", re.IGNORECASE)


class Fetched(HTMLParser):
    """What a page makes a browser fetch; a link that a reader may follow is none of it."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        told = {name: value or "" for name, value in attributes}
        addresses = [told[name] for name in ("src", "data", "poster", "background") if name in told]
        addresses += [each.strip() for each in told.get("srcset", "").split(",")]
        if tag in ("image", "use", "feimage") or (tag == "link" and told.get("rel") != "canonical"):
            addresses += [told.get("href", ""), told.get("xlink:href", "")]
        self.found += [address for address in addresses if re.match(r"\s*(https?:)?//", address, re.IGNORECASE)]
        self.found += ELSEWHERE.findall(told.get("style", ""))

    def handle_data(self, data):
        self.found += ELSEWHERE.findall(data) if self.lasttag == "style" else []


def fetched(text):
    parser = Fetched()
    parser.feed(text)
    return parser.found


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The site, built in a folder of its own by the very command."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "STAGE", folder / "stage")
        patch.setattr(site, "SITE", folder / "site")
        assert site.main() == 0
    yield folder / "site"
    shutil.rmtree(folder)


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_the_site_fetches_nothing_from_elsewhere(built):
    found = {path: fetched(path.read_text()) for path in built.rglob("*.html")}
    assert len(found) > 80
    assert {path: addresses for path, addresses in found.items() if addresses} == {}
    assert '<span class="flag">--epsilon</span>' in (built / "start.html").read_text()
    assert (built / "index.html").exists() and (built / "reference" / "verbs.html").exists()
    for sheet in built.rglob("*.css"):
        assert not ELSEWHERE.search(sheet.read_text()), sheet


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_comments_of_the_tests_are_not_in_the_site(built):
    for path in built.rglob("*.html"):
        assert not FOR_TESTS.search(path.read_text()), path


def test_comments_of_the_tests_are_not_in_what_the_site_is_made_of(tmp_path):
    names = site.stage(tmp_path / "stage")
    texts = {name: (tmp_path / "stage" / "docs" / name).read_text(encoding="utf-8") for name in names}
    assert len(texts) > 80
    for name, page in texts.items():
        prose = "".join(text for is_code, text in site.parts(page) if not is_code)
        assert not FOR_TESTS.search(re.sub("`[^`]*`", "", prose)), name
    assert FOR_TESTS.search((ROOT / "docs" / "start.md").read_text(encoding="utf-8"))


def test_flags_of_commands_do_not_break_and_words_elsewhere_are_left():
    block = '<div class="language-console highlight"><pre>$ discreet init --epsilon 1, a--b ----</pre></div>--epsilon'
    told = block.replace("init --epsilon", 'init <span class="flag">--epsilon</span>')
    assert site.kept_whole(block) == told


@pytest.mark.parametrize(
    "planted",
    [
        '<img srcset="a.png 1x, https://cdn.example/b.png 2x">',
        '<source srcset="//cdn.example/b.png">',
        '<object data="https://cdn.example/x.svg"></object>',
        '<video src="//cdn.example/x.mp4"></video>',
        '<video poster="https://cdn.example/x.png"></video>',
        '<embed src="https://cdn.example/x">',
        '<svg><image href="https://cdn.example/x.png"/></svg>',
        '<p style="background: url(//cdn.example/x.png)">',
        "<p style=\"background: URL( 'https://cdn.example/x.png')\">",
        "<style>@import '//cdn.example/x.css';</style>",
    ],
)
def test_what_a_browser_would_fetch_is_seen_wherever_it_is_written(planted):
    assert fetched(planted) != []
    assert fetched(planted.replace("https://cdn.example/", "assets/").replace("//cdn.example/", "assets/")) == []


@pytest.mark.parametrize(
    "sheet", ["a{b:url(//x.example/y)}", "a{b:url('https://x.example/y')}", "@import '//x.example'"]
)
def test_what_a_sheet_would_fetch_is_seen(sheet):
    assert ELSEWHERE.search(sheet)
    assert not ELSEWHERE.search("a{b:url(fonts/y.woff2)}c{d:url(data:image/svg+xml,<svg xmlns='http://x'/>)} // note")


def test_what_would_be_fetched_is_seen():
    assert fetched('<script src="https://cdn.example/x.js"></script><link rel=stylesheet href=//fonts.example/a>') != []
    assert fetched('<a href="https://example.org">x</a><img src="a.png"><script src="assets/x.js"></script>') == []


def slugs(text):
    """Anchors of a page's headings, as the site and GitHub make them."""
    found = set()
    for code, part in site.parts(text):
        for heading in [] if code else re.findall(r"^#{1,6} (.*)$", part, re.MULTILINE):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
            found.add(re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain.replace("`", "")).strip()))
    return found


@pytest.mark.parametrize("page", [*pages(), *OUTER], ids=name_of)
def test_links_between_pages_lead_somewhere(page):
    prose = "".join(text for code, text in site.parts(page.read_text()) if not code)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        assert other.exists(), target
        assert not anchor or other.suffix != ".md" or anchor in slugs(other.read_text()), target
    for path in re.findall(r"`((?:src|docs|tests|benchmarks|examples|verify|manual)/[\w./-]+)`", prose):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_a_page_has_one_title_and_no_deep_headings(page):
    prose = "\n".join(text for code, text in site.parts(page.read_text()) if not code)
    assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1
    assert not re.search(r"^####", prose, re.MULTILINE)


def test_a_page_without_a_place_is_missed():
    with pytest.raises(site.Broken, match=r"planted\.md"):
        site.check_nav([*site._places([{"A": "index.md"}]), "planted.md"])


def test_a_page_that_is_listed_twice_is_seen(tmp_path, monkeypatch):
    (tmp_path / "zensical.toml").write_text('[project]\nnav = [{ "A" = "a.md" }, { "B" = [{ "A" = "a.md" }] }]\n')
    monkeypatch.setattr(site, "ROOT", tmp_path)
    with pytest.raises(site.Broken, match=r"twice: a\.md"):
        site.check_nav(["a.md"])


def test_a_link_that_leads_nowhere_is_missed(tmp_path):
    page = ROOT / "docs" / "scale.md"
    assert site.staged(page, "scale.md", {page: "scale.md"}, {})
    planted = Path(tmp_path / "planted.md")
    planted.write_text("[gone](nowhere.md)\n")
    with pytest.raises(site.Broken, match="is a broken link"):
        site.staged(planted, "planted.md", {}, {})


def test_links_out_of_the_manual_become_words_or_pages(tmp_path):
    sources = {ROOT / "SECURITY.md": "project/security.md", ROOT / "docs" / "scale.md": "scale.md"}
    planted = ROOT / "docs" / "tables" / "planted.md"
    text = "<!-- world: clinic -->\n[who](../../SECURITY.md#x), [code](../../src/discreet), [far](../scale.md)\n```text\n[a](b)\n```\n"

    class Read(type(planted)):
        def read_text(self, *_):
            return text

    told = site.staged(Read(planted), "tables/planted.md", sources, {})
    assert told == "[who](../project/security.md#x), code, [far](../scale.md)\n```text\n[a](b)\n```\n"
