"""The page about the lecture notes: what its tables say is what the pages show that they name."""

import re

import pytest

from manual.pages import ROOT, read

PAGE = ROOT / "docs" / "notes.md"
_LINK = re.compile(r"\]\(([\w/.-]*)(#[\w-]+)?\)")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def rows(text):
    """The rows of the tables whose middle column says what is run: what the notes say, that, and its number."""
    found, table = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")] if line.startswith("| ") else []
        table = cells == ["in the notes", "here", "number"] or (table and bool(line.startswith("|")))
        if table and cells and cells[0] != "in the notes":
            found.append(tuple(cells + [""] * (3 - len(cells))))
    return found


def shown_by(path, command):
    """What a page shows below a command; None where it does not have it."""
    for block in read(path).blocks:
        if block.language == "console" and f"$ {command}" in block.text.splitlines():
            _, _, rest = block.text.partition(f"$ {command}\n")
            return rest.partition("\n$ ")[0]
    return None


def problem(row):
    """What is wrong with a row, in words; None where nothing is."""
    _, here, number = row
    link, command = _LINK.search(here), re.search(r"`(discreet [^`]*)`", here)
    path = ROOT / "docs" / link[1] if link and link[1] else PAGE
    if not path.is_file():
        return f"there is no page {path.name}"
    if command is None or command[1].count(" ") < 2:
        text = path.read_text(encoding="utf-8")
    else:
        text = shown_by(path, command[1])
        if text is None:
            return f"{path.name} does not run {command[1]!r}"
        text += command[1]
    missing = [
        each for each in _NUMBER.findall(number) if not re.search(rf"(?<![\d.]){re.escape(each)}(?![\d.]*\d)", text)
    ]
    return f"{path.name} does not show {missing}" if missing else None


def test_every_row_is_shown_by_a_page():
    told = rows(PAGE.read_text(encoding="utf-8"))
    assert len(told) >= 40
    assert [f"{row[0]}: {problem(row)}" for row in told if problem(row)] == []


@pytest.mark.parametrize(
    "row",
    [
        ("a number that is not shown", "`discreet attack census` ([census](lab/census.md))", "2 solutions"),
        ("a command that is not run", "`discreet attack census --now 3` ([census](lab/census.md))", "1"),
        ("a page that is not there", "[nowhere](lab/nowhere.md)", "1"),
    ],
)
def test_a_wrong_row_is_seen(row):
    assert problem(row) is not None
