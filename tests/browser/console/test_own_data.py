"""From an awkward file to the first right answer, as an owner does it in a browser: at most five typed inputs beyond the
file, and every number is what pandas says."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from browser.console.conftest import Coming, Picture
from browser.console.furnished import declare_guests
from browser.console.place import Place, placed

pytestmark = pytest.mark.xdist_group("console-own-data")
PERSONS = 120


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("own") / "clinic") as found:
        yield found


@dataclass(frozen=True, kw_only=True)
class Awkward:
    """A file, what an owner types and chooses, a query, and what it must come to."""

    content: bytes
    query: str
    answer: float
    name: str = "{table}.csv"
    typed: dict[str, str] = field(default_factory=dict)


def text(rows: list[list[object]], *, delimiter: str = ",") -> bytes:
    return ("\n".join(delimiter.join(map(str, row)) for row in rows) + "\n").encode()


def workbook(frame: pd.DataFrame) -> bytes:
    """An Excel file."""
    content = io.BytesIO()
    frame.to_excel(content, index=False, engine="xlsxwriter")
    return content.getvalue()


def cases() -> dict[str, Awkward]:
    people = pd.DataFrame({"n": range(PERSONS)})
    people["cost"] = (people["n"] * 7 % 100) / 4
    people["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(people["n"] % 59, unit="D")
    people["member"] = (people["n"] % 3 == 0).map({True: "yes", False: "no"})
    comma = [f"{cost:.2f}".replace(".", ",") for cost in people["cost"]]
    repeated = pd.concat([people.assign(k=k) for k in range(3)])
    marked = [("NA" if n % 4 == 0 else n % 50) for n in people["n"]]
    wide = people.assign(**{f"item {k}": (people["n"] * k) % 10 for k in range(58)})
    return {
        "decimal comma": Awkward(
            content=text([["patient_id", "cost"], *zip(people["n"], comma, strict=True)], delimiter=";"),
            typed={"Epsilon": "1000", "cost: Low": "0", "cost: High": "25"},
            query="SELECT sum(cost) AS total FROM {table}",
            answer=float(people["cost"].sum()),
        ),
        "dd.mm.yyyy": Awkward(
            content=text(
                [["patient_id", "day"], *zip(people["n"], people["day"].dt.strftime("%d.%m.%Y"), strict=True)]
            ),
            typed={"Epsilon": "1000", "day: Low": "2026-01-01", "day: High": "2026-12-31"},
            query="SELECT count(*) AS n FROM {table} WHERE day >= DATE '2026-02-01'",
            answer=float((people["day"] >= "2026-02-01").sum()),
        ),
        "NA marks": Awkward(
            content=text([["patient_id", "score"], *zip(people["n"], marked, strict=True)]),
            typed={"Epsilon": "1000", "score: Low": "0", "score: High": "50"},
            query="SELECT count(score) AS n FROM {table}",
            answer=float(pd.to_numeric(pd.Series(marked), errors="coerce").count()),
        ),
        "repeated ids": Awkward(
            content=text([["customer", "cost"], *zip(repeated["n"], repeated["k"] + 1, strict=True)]),
            typed={"Epsilon": "1000", "Rows per person, at most": "3"},
            query="SELECT count(*) AS n FROM {table}",
            answer=float(len(repeated)),
        ),
        "60 columns": Awkward(
            content=wide.drop(columns=["cost", "day", "member"])
            .rename(columns={"n": "user id"})
            .to_csv(index=False)
            .encode(),
            typed={"Epsilon": "1000", "item 7: Low": "0", "item 7: High": "9"},
            query='SELECT sum("item 7") AS total FROM {table}',
            answer=float(wide["item 7"].sum()),
        ),
        "yes and no": Awkward(
            content=text([["patient_id", "member"], *zip(people["n"], people["member"], strict=True)]),
            typed={"Epsilon": "1000"},
            query="SELECT count(*) AS n FROM {table} WHERE member",
            answer=float((people["member"] == "yes").sum()),
        ),
        "title rows": Awkward(
            content=b"Costs of the clinic,\nprinted on 2026-11-01,\n,\n"
            + text([["patient_id", "cost"], *zip(people["n"], people["n"] % 20, strict=True)]),
            typed={"Epsilon": "1000", "cost: Low": "0", "cost: High": "20"},
            query="SELECT sum(cost) AS total FROM {table}",
            answer=float((people["n"] % 20).sum()),
        ),
        "UTF-16": Awkward(
            content=text([["patient_id", "größe"], *zip(people["n"], people["n"] % 20, strict=True)], delimiter="\t")
            .decode()
            .encode("utf-16"),
            typed={"Epsilon": "1000", "größe: Low": "0", "größe: High": "20"},
            query='SELECT sum("größe") AS total FROM {table}',
            answer=float((people["n"] % 20).sum()),
        ),
        "a workbook": Awkward(
            name="{table}.xlsx",
            content=workbook(people[["n", "cost"]].rename(columns={"n": "patient_id"})),
            typed={"Epsilon": "1000", "cost: Low": "0", "cost: High": "25"},
            query="SELECT sum(cost) AS total FROM {table}",
            answer=float(people["cost"].sum()),
        ),
        "spaces and quotes in names": Awkward(
            name="my 'own' <b>file.csv",
            content=b'"the ""patient"" id","it\'s a cost"\n'
            + text([[n, cost] for n, cost in zip(people["n"], people["cost"], strict=True)]),
            typed={
                "Epsilon": "1000",
                "it's a cost: Low": "0",
                "it's a cost: High": "25",
            },
            query='SELECT sum("it\'s a cost") AS total FROM {table}',
            answer=float(people["cost"].sum()),
        ),
    }


CASES = cases()
#: One of each kind of trouble in the fast tier.
FAST = {"decimal comma", "repeated ids", "spaces and quotes in names"}


def marks(kind: str) -> list[pytest.MarkDecorator]:
    return [] if kind in FAST else [pytest.mark.deep]


def fill(page: Page, label: str, value: str) -> None:
    """Type into a field: of the table, or of a column as `column: field`."""
    column, colon, name = label.rpartition(": ")
    inside = page.locator("fieldset.column").filter(
        has=page.locator("legend", has_text=re.compile(f"^{re.escape(column)}$"))
    )
    (inside if colon else page).get_by_label(name, exact=True).fill(value)


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=marks(kind)) for kind in CASES])
def test_from_a_file_to_the_first_right_answer(coming: Coming, tmp_path: Path, picture: Picture, kind: str) -> None:
    case, table = CASES[kind], f"own_{list(CASES).index(kind)}"
    file = tmp_path / case.name.format(table=table)
    file.write_bytes(case.content)
    assert len(case.typed) + 2 <= 5  # the query and its epsilon are typed, too
    with coming("owner", at="/admin/tables/new") as page:
        page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_role("button", name="Upload").click()
        expect(page.get_by_role("heading", name="Declare")).to_be_visible()
        table = page.get_by_label("Name of the table", exact=True).input_value()
        for label, value in case.typed.items():
            fill(page, label, value)
        page.get_by_role("button", name="Preview the table").click()
        expect(page.get_by_role("heading", name="Preview", exact=True)).to_be_visible()
        if kind == "repeated ids":
            picture(page, "declare")
        page.get_by_role("button", name="Write it, and read the file").click()
        expect(page.locator("#report")).to_contain_text("Version 1 was made", timeout=60_000)
        page.get_by_role("link", name=f"Query {table}").click()
        page.wait_for_url(re.compile("/ask"))
        page.wait_for_load_state()
        page.get_by_label("Your query, in SQL").fill(case.query.format(table=table))
        page.get_by_label("Epsilon", exact=True).first.fill("500")
        page.get_by_role("button", name=re.compile("^Ask")).click()
        page.wait_for_url(re.compile(r"/a/r"))
        path = re.sub(r"[?#].*", "", page.url)
        data = page.request.get(f"{path}.csv").text()
        answer = float(data.splitlines()[1].split(",")[0])
        # Noise of a sum of up to 25 has scale 0.05: beyond 40 of them once in 1e17 runs.
        assert answer == pytest.approx(case.answer, abs=2 if "sum(" in case.query else 0.5), data


@pytest.mark.deep
def test_a_description_is_planned_bought_and_declared(coming: Coming, place: Place, picture: Picture) -> None:
    """The plan and its price first, then the release, then the diff: two typed inputs in all."""
    declare_guests(place.house.handle.folder)
    with coming("owner", at="/admin/table/guests") as page:
        page.get_by_role("link", name="Describe its columns privately").click()
        page.get_by_label("Epsilon", exact=True).fill("20")
        page.get_by_role("button", name="Show the plan").click()
        expect(page.get_by_role("heading", name="Before you pay")).to_be_visible()
        expect(page.locator("main")).to_contain_text(re.compile(r"It needs about [\d,]+ rows"))
        picture(page, "describe-plan")
        page.get_by_role("button", name=re.compile("^Pay epsilon 20")).click()
        expect(page.get_by_role("heading", name="Description of guests")).to_be_visible(timeout=60_000)
        expect(page.get_by_role("heading", name="town", exact=True)).to_be_visible()
        page.get_by_role("button", name="Write these bounds and words").click()
        expect(page.locator(".diff")).to_contain_text('values = ["<b>Genf</b>", "Bern", "Chur"')
        page.get_by_role("button", name="Write it").click()
        expect(page.get_by_text("discreet.toml has changed since version 1")).to_be_visible()
        page.get_by_role("button", name="Refresh").click()
        expect(page.locator("#report")).to_contain_text("Version 2 was made", timeout=60_000)
