"""Builds the manual as a site: `python -m manual.site` stages the pages under build/manual, and zensical makes site/.

Pages are staged, not built where they lie, for two reasons. They link to pages outside docs/ (SECURITY.md, the results
of benchmarks, the examples, the checker), which come along as pages; links to source files, which a site does not have,
become plain words. And the comments that the tests read have no place in what people read.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STAGE = ROOT / "build" / "manual"
SITE = ROOT / "site"
#: Pages outside docs/ that the site has, too, and where.
BESIDE = {
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "benchmarks/RESULTS.md": "project/results.md",
    "examples/README.md": "examples.md",
    "verify/README.md": "verify.md",
}
_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,}).*?^ {0,3}\2[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE)
_CONSOLE = re.compile(r'<div class="language-console highlight">.*?</pre>', re.DOTALL)
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


class Broken(Exception):
    """A page has no place, or a link leads nowhere."""


def main() -> int:
    """Stage and build; say where it lies."""
    try:
        pages = stage(STAGE)
        check_nav(pages)
    except Broken as problem:
        print(f"docs: {problem}", file=sys.stderr)
        return 1
    program = Path(sys.executable).with_name("zensical")
    built = subprocess.run(
        [str(program), "build", "--clean", "--strict", "-f", str(STAGE / "zensical.toml")], cwd=STAGE
    )
    if built.returncode:
        return built.returncode
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.move(STAGE / "site", SITE)
    for path in SITE.rglob("*.html"):
        path.write_text(kept_whole(path.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"docs: {len(pages)} pages; open {SITE / 'index.html'}")
    return 0


def stage(folder: Path) -> list[str]:
    """Copy docs/ and the pages beside it into a new folder, links adjusted; the pages' names."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder / "zensical.toml")
    sources = {path: path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))}
    sources |= {ROOT / name: place for name, place in BESIDE.items() if (ROOT / name).exists()}
    pictures: dict[Path, str] = {}
    for source, place in sources.items():
        target = folder / "docs" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(staged(source, place, sources, pictures), encoding="utf-8")
    for source, place in pictures.items():
        (folder / "docs" / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / "docs" / place)
    return list(sources.values())


def staged(source: Path, place: str, sources: dict[Path, str], pictures: dict[Path, str]) -> str:
    """A page's text as the site needs it. `pictures` gathers those that lie outside docs/, and where they go."""

    def link(found: re.Match[str]) -> str:
        picture, words, address = found.groups()
        target, mark, anchor = address.partition("#")
        if "://" in address or not target or address.startswith("mailto:"):
            return found[0]
        path = (source.parent / target).resolve()
        if path in sources:
            return f"{picture}[{words}]({_from(place, sources[path])}{mark}{anchor})"
        if path.is_relative_to(ROOT / "docs") and path.is_file():
            return f"{picture}[{words}]({_from(place, path.relative_to(ROOT / 'docs').as_posix())})"
        if not path.exists():
            raise Broken(f"{place}: [{words}]({address}) is a broken link")
        if picture:
            pictures[path] = f"project/{path.relative_to(ROOT).as_posix()}"
            return f"![{words}]({_from(place, pictures[path])})"
        return words  # a file or folder of the repository

    return "".join(
        text if code else _LINK.sub(link, _COMMENT.sub("", text)) for code, text in parts(source.read_text("utf-8"))
    )


def kept_whole(html: str) -> str:
    """A built page whose flags do not break: a browser that wraps a long command would leave `--` on a line alone."""
    return _CONSOLE.sub(lambda block: _FLAG.sub(r'<span class="flag">\g<0></span>', block[0]), html)


def parts(text: str) -> Iterator[tuple[bool, str]]:
    """A page cut into prose and fenced code: (is code, text)."""
    end = 0
    for fence in _FENCE.finditer(text):
        yield False, text[end : fence.start()]
        yield True, fence[0]
        end = fence.end()
    yield False, text[end:]


def _from(place: str, other: str) -> str:
    return Path(os.path.relpath(other, Path(place).parent)).as_posix()


def check_nav(pages: list[str]) -> None:
    """Every page has one place in zensical.toml, and every place its page."""
    places = list(_places(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]))
    told = set(places)
    if twice := sorted(place for place in told if places.count(place) > 1):
        raise Broken(f"zensical.toml lists these pages twice: {', '.join(twice)}")
    if missing := sorted(set(pages) - told):
        raise Broken(f"the navigation of zensical.toml does not list {', '.join(missing)}")
    if strange := sorted(told - set(pages)):
        raise Broken(f"zensical.toml lists pages that do not exist: {', '.join(strange)}")


def _places(nav: Any) -> Iterator[str]:
    match nav:
        case str():
            yield nav
        case list():
            for each in nav:
                yield from _places(each)
        case dict():
            for each in nav.values():
                yield from _places(each)


if __name__ == "__main__":
    sys.exit(main())
