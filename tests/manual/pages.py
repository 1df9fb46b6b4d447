"""A page of the manual, cut into the blocks that its author wrote, with what the comments before them say.

The contract of a page:

- `<!-- world: NAME -->`: which files lie in the folder at the start.
- A console block holds lines `$ discreet …`, with what they print or without; python and pycon blocks are executed.
- The lines before a block may say `<!-- exit: 3 -->`, `<!-- file: NAME -->`, `<!-- into: NAME -->`,
  `<!-- not run: REASON -->`, `<!-- let NAME = last release -->` or `<!-- noisy -->`: numbers that Python, an
  explanation or a plan prints are compared, unless a page says that they are noise.
- Nothing hides from the runner: a text block with a prompt, an indented command, a block without a language, and code
  in a quotation, in a deep indent, in a list's first line or in HTML are refused.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
#: What a block may be. Those that are neither run nor written are pictures in letters.
RUN = {"console", "python", "pycon"}
DATA = {"toml", "json", "csv", "yaml", "sql", "ini"}
LANGUAGES = RUN | DATA | {"text", "html"}
DIRECTIVES = {"exit", "file", "into", "not run", "let", "world", "noisy"}
_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})\s*([\w-]*)")
_COMMENT = re.compile(r"^\s*<!--\s*(.*?)\s*-->\s*$")
_HIDDEN = re.compile(r"^(\$ |discreet [a-z]|>>> )")
#: Fences that readers see as code and that the runner does not: in a quotation, behind a list's mark, deeply indented.
_UNSEEN_FENCE = re.compile(r"^(?: {4,}|(?=\s*(?:>|[-*+]\s|\d+[.)]\s))(?:\s*(?:>|[-*+]\s|\d+[.)]\s))+\s*)(?:`{3}|~{3})")
_QUOTED = re.compile(r"^\s{0,3}>[\s>]*(?:\$ |discreet [a-z]| {5,}\S)")
_HTML_CODE = re.compile(r"<(?:pre|code|samp|xmp|listing)\b", re.IGNORECASE)


class PageError(AssertionError):
    """A page breaks the contract, or tells something that is not so."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block: where it is, what it is, and what the comments before it say."""

    line: int
    language: str
    text: str
    exit_code: int = 0
    file: str | None = None
    into: str | None = None
    not_run: str | None = None
    noisy: bool = False
    lets: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page: its blocks in order, and the world that they begin in."""

    path: Path
    world: str
    blocks: tuple[Block, ...]


def pages() -> list[Path]:
    """Every page that the runner takes, the README first."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(path: Path) -> str:
    """A page's path as its test is called."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def read(path: Path) -> Page:
    """The page at `path`; refuses one that breaks the contract."""
    world, blocks, said = "empty", [], {}
    lines = path.read_text(encoding="utf-8").splitlines()
    number = 0
    before = ""
    while number < len(lines):
        line = lines[number]
        fence, comment = _FENCE.match(line), _COMMENT.match(line)
        where = f"{name_of(path)}:{number + 1}"
        if fence:
            block, number = _block(lines, number, fence, said, where)
            blocks.append(block)
            said = {}
        elif comment:
            key, value = _directive(comment[1], where)
            if key == "world":
                world = value
            elif key == "let":
                said.setdefault("let", []).append(value)
            elif key is not None:
                said[key] = value
        elif line.strip():
            if said:
                raise PageError(f"{where}: {sorted(said)} stands before no block")
            _refuse_hidden(line.expandtabs(4), before, where)
        before = line.expandtabs(4)
        number += 1
    if said:
        raise PageError(f"{name_of(path)}: {sorted(said)} stands before no block")
    return Page(path=path, world=world, blocks=tuple(blocks))


def _refuse_hidden(line, before, where):
    """Refuse a line of prose that a reader sees as code and that is never run."""
    # A list item's next line may be indented; code of Markdown's old kind has a blank line before it.
    indented = line.startswith("    ") and (not before.strip() or before.startswith("    "))
    if indented and _HIDDEN.match(line.strip()):
        raise PageError(f"{where}: an indented command is never run; write a ```console block")
    if _UNSEEN_FENCE.match(line) or _QUOTED.match(line):
        raise PageError(f"{where}: code in a quotation, a list's mark or a deep indent is never run; put it below")
    if _HTML_CODE.search(re.sub(r"`[^`]*`", "", line)):
        raise PageError(f"{where}: code in HTML is never run; write a fenced block")


def _directive(text, where):
    """A comment as (key, value); (None, "") where it is no word to the runner."""
    key, colon, value = text.partition(":")
    key, value = key.strip(), value.strip()
    let = re.fullmatch(r"let ([A-Z][A-Z_0-9]*) = (last \w+)", text)
    if let:
        return "let", (let[1], let[2])
    if key.startswith("let "):
        raise PageError(f"{where}: write it as <!-- let RELEASE = last release -->")
    if key == "not run" and len(value.split()) < 2:
        raise PageError(f"{where}: a block that is not run says why: <!-- not run: REASON -->")
    if text == "noisy":
        return "noisy", text
    if key in DIRECTIVES:
        if key == "noisy":
            raise PageError(f"{where}: write it as <!-- noisy -->")
        if not value:
            raise PageError(f"{where}: {key!r} says nothing")
        return key, value
    if colon and re.fullmatch(r"[a-z]+( [a-z]+)?", key):
        raise PageError(f"{where}: the runner does not know {key!r}; it knows {', '.join(sorted(DIRECTIVES))}")
    return None, ""


def _block(lines, number, fence, said, where):
    """The block that begins at a line, and the line that it ends at."""
    indent, marks, language = len(fence[1]), fence[2], fence[3]
    end = number + 1
    while end < len(lines) and not re.fullmatch(rf" {{0,3}}{re.escape(marks)}\s*", lines[end]):
        end += 1
    if end == len(lines):
        raise PageError(f"{where}: this block never ends")
    text = "".join(line[min(indent, len(line) - len(line.lstrip())) :] + "\n" for line in lines[number + 1 : end])
    if language not in LANGUAGES:
        raise PageError(
            f"{where}: a block of {language or 'no language'!r}; write one of {', '.join(sorted(LANGUAGES))}"
        )
    exit_code = said.get("exit", "0")
    if not exit_code.isdigit() or (exit_code != "0" and language != "console"):
        raise PageError(f"{where}: exit is a whole number, and goes with console")
    if language in RUN and ("file" in said or "into" in said) and language != "python":
        raise PageError(f"{where}: a {language} block is no file")
    if "noisy" in said and language not in ("console", "pycon"):
        raise PageError(f"{where}: noisy goes with console and pycon, of which numbers are compared")
    block = Block(
        line=number + 1,
        language=language,
        text=text,
        exit_code=int(exit_code),
        file=said.get("file"),
        into=said.get("into"),
        not_run=said.get("not run"),
        noisy="noisy" in said,
        lets=dict(said.get("let", [])),
    )
    if language not in RUN and block.file is None and block.not_run is None:
        hidden = [each for each in text.splitlines() if re.match(r"\s*(\$ |>>> )", each)]
        if hidden:
            raise PageError(
                f"{where}: {hidden[0].strip()!r} in a {language} block is never run; write console or pycon"
            )
    return block, end
