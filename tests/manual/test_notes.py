"""The page about the lecture notes: each number of its tables stands in what its own command prints, and nowhere else will do."""

import re

import pytest

from manual.pages import ROOT, read
from manual.test_site import slugs

PAGE = ROOT / "docs" / "notes.md"
_LINK = re.compile(r"\]\(([\w/.-]*)(#[\w-]+)?\)")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_HEADING = re.compile(r"(#+) ")
#: Rows whose answer is no number, and the word for it that the command prints.
_WORDS = {"refused": "Refused", "is free": "is free"}


def rows(text):
    """The rows of the tables whose middle column says what is run: what the notes say, that, and its number."""
    table_rows, is_table = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")] if line.startswith("| ") else []
        is_table = cells == ["in the notes", "here", "number"] or (is_table and bool(line.startswith("|")))
        if is_table and cells and cells[0] != "in the notes":
            table_rows.append(tuple(cells + [""] * (3 - len(cells))))
    return table_rows


def shown_by(path, command):
    """What a page shows below a command, without the command; None where it does not have it."""
    for block in read(path).blocks:
        if block.language == "console" and f"$ {command}" in block.text.splitlines():
            _, _, rest = block.text.partition(f"$ {command}\n")
            return rest.partition("\n$ ")[0] if not rest.startswith("$ ") else ""
    return None


def section_code(path, anchor):
    """The blocks of a section, without its prose; None where there is no such section."""
    lines = path.read_text(encoding="utf-8").splitlines()
    level, start = None, None
    fenced = set()
    for block in read(path).blocks:
        fenced |= set(range(block.line, block.line + len(block.text.splitlines()) + 1))
    for number, line in enumerate(lines, 1):
        heading = None if number in fenced else _HEADING.match(line)
        if heading and start is None and slugs(line + "\n") == {anchor}:
            level, start = len(heading[1]), number
        elif heading and start is not None and len(heading[1]) <= level:
            return _blocks_between(path, start, number)
    return None if start is None else _blocks_between(path, start, len(lines) + 1)


def _blocks_between(path, start, end):
    return "\n".join(block.text for block in read(path).blocks if start < block.line < end)


def problem(row):
    """What is wrong with a row, in words; None where nothing is."""
    _, here, answer = row
    link, command = _LINK.search(here), re.search(r"`(discreet \S+ [^`]*|discreet budget)`", here)
    if link is None:
        return "it links to no page"
    path, anchor = ROOT / "docs" / link[1] if link[1] else PAGE, (link[2] or "")[1:]
    if not path.is_file():
        return f"there is no page {path.name}"
    if command is not None:
        text = shown_by(path, command[1])
        if text is None:
            return f"{path.name} does not run {command[1]!r}"
    else:
        text = section_code(path, anchor)
        if text is None:
            return f"{path.name} has no section {anchor!r}, and the row no command"
    numbers = _NUMBER.findall(answer)
    if not numbers and not any(answer == words and printed in text for words, printed in _WORDS.items()):
        return "it gives no number"
    missing = [each for each in numbers if not stands_in(each, text)]
    return f"{path.name} does not show {missing} there" if missing else None


def stands_in(number, text):
    """Whether a number is in a text by itself: not as a part of another. Python writes 7_714 for 7,714, and 3/4 as 3, 4."""
    text = re.sub(r"(?<=\d)_(?=\d)", ",", text)
    return re.search(rf"(?<![\d.,])(?<!\d-){re.escape(number)}(?![\d]|[.,]\d)", text) is not None


def test_every_row_is_shown_by_its_own_command():
    page_rows = rows(PAGE.read_text(encoding="utf-8"))
    assert len(page_rows) >= 95
    assert [f"{row[0]}: {problem(row)}" for row in page_rows if problem(row)] == []


def test_a_wrong_number_in_any_row_is_seen():
    """Each number of each row is made another: by digits around it, and behind it."""
    for what, here, answer in rows(PAGE.read_text(encoding="utf-8")):
        for number in _NUMBER.finditer(answer):
            for wrong in (f"7{number[0].replace(',', '')}31", f"{number[0]}77"):
                planted = answer[: number.start()] + wrong + answer[number.end() :]
                assert problem((what, here, planted)) is not None, (what, planted)


def test_lessons_that_the_page_names_exist():
    from discreet.console.pages.lessons import NAMES

    named = set(re.findall(r"`/learn/([\w-]+)`", PAGE.read_text(encoding="utf-8"))) - {"teacher"}
    assert len(named) >= 10 and named <= set(NAMES)


CENSUS = "`discreet attack census` ([census](lab/census.md))"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("a number that is not shown", CENSUS, "2 solutions"), "not show"),
        (("one that another command of the page shows", CENSUS, "22 solutions"), "not show ['22']"),
        (("one that prose alone has", CENSUS, "64 blocks"), "not show ['64']"),
        (("one that is a part of another", CENSUS, "9.0% to 100%"), "not show ['9.0']"),
        (
            ("one that the command alone has", "`discreet attack linkage --search` ([linkage](lab/linkage.md))", "7"),
            "not show",
        ),
        (("a command that is not run", "`discreet attack census --now 3` ([census](lab/census.md))", "1"), "not run"),
        (
            ("a command whose answer is not shown", "`discreet attack ratings --no-dates --targets 100` ([it](lab/ratings.md))", "1"),
            "not show",
        ),
        (("a page that is not there", "[nowhere](lab/nowhere.md#here)", "1"), "no page"),
        (("a page without a section", "[census](lab/census.md)", "7"), "no section"),
        (("a section that is not there", "[census](lab/census.md#nowhere)", "7"), "no section"),
        (("a number in the prose of a section", "[epsilon](concepts/epsilon.md#as-odds)", "1,000"), "not show"),
        (("a number of the next section", "[epsilon](concepts/epsilon.md#as-odds)", "0.136"), "not show"),
        (("no number", CENSUS, "as above"), "no number"),
        (("nothing", CENSUS, ""), "no number"),
        (("nowhere", "`discreet attack census`", "7"), "links to no page"),
    ],
)  # fmt: skip
def test_a_wrong_row_is_seen(row, words):
    assert words in (problem(row) or "nothing")
