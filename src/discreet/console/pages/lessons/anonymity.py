"""k-anonymity and linkage: three harmless columns are a name, and groups of k can still share a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.console.pages.lessons.lesson import Figure, Lesson, LessonQuestion
from discreet.lab.evidence import percent

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.lab.worlds.state import GeneratedState

#: People of the generated state; its ZIP codes have as many people as real ones.
PEOPLE = 30_000
ZIPS, DIAGNOSES = 4, 8
#: What is published of ZIP code, birth date and sex: their names, and the columns of `_columns`.
PUBLISHED = (
    ("sex", ("sex",)),
    ("ZIP code and sex", ("zip", "sex")),
    ("birth date and sex", ("birth", "sex")),
    ("ZIP code, birth date, sex", ("zip", "birth", "sex")),
    ("ZIP code, birth month, sex", ("zip", "month", "sex")),
    ("ZIP code, birth year, sex", ("zip", "year", "sex")),
    ("three digits, birth year, sex", ("region", "year", "sex")),
    ("three digits, ten years, sex", ("region", "decade", "sex")),
)
#: A hospital's patients, 4-anonymous: ZIP code, age, and the conditions of a group.
INPATIENTS = (
    ("130**", "< 30", ("heart disease", "heart disease", "viral infection", "viral infection")),
    ("1485*", "≥ 40", ("cancer", "heart disease", "viral infection", "viral infection")),
    ("130**", "3*", ("cancer", "cancer", "cancer", "cancer")),
)


def make() -> Lesson:
    """A generated state, and twelve patients in groups of four."""
    from discreet.lab.worlds.state import make_state

    state = make_state(PEOPLE)
    alone, voters = _governor_and_alone(state)
    return Lesson(
        name="anonymity",
        title="k-anonymity and linkage",
        lead="A table without names can still identify you, if three of its columns are also on a list with names.",
        paragraphs=(
            "Massachusetts gave researchers the hospital stays of its employees: no names, but ZIP code, birth date "
            "and sex. Latanya Sweeney bought the list of voters of Cambridge for 20 dollars: 54,000 people, seven ZIP "
            "codes, and the same three columns beside the names. "
            f"{voters[0]} voters had the birth date of Governor Weld, {voters[1]} of them were men, and {voters[2]} of "
            "these lived in his ZIP code. So she could identify his medical record.",
            f"This is no exception. In the generated state below, {percent(alone)} of people are the only one with "
            "their ZIP code, birth date and sex; for the United States the estimate was 87%.",
            "The first defence is to generalize: publish the year instead of the day, and three digits of the ZIP code "
            "instead of five, until everybody shares their values with k - 1 others. That is k-anonymity. "
            "It stops the attack with this list, but the table loses detail.",
            "It does not stop the next attack. In the second figure every group has four people, and in one group all "
            "four have cancer. "
            "Anybody who knows that you are in this group learns your condition without finding your row. And "
            "k-anonymity protects only against the columns that its author thought of; the next list may have "
            "another one.",
            "Differential privacy needs no list of dangerous columns. It limits how much one person can change "
            "anything that is published: "
            "a count of people like you, with noise, is almost the same with you and without you.",
        ),
        figures=(_uniqueness(state.people), _inpatients()),
        verb="discreet attack linkage",
        to="/lab/linkage",
        there="Run the attack in the lab",
        task="Move the published dates to the right until you share your values with at least ten others. Which "
        "step does the most? Is your diagnosis hidden then?",
        question=LessonQuestion(
            text="Your neighbour is 35, lives in ZIP code 13053, and is one of the twelve patients of the second "
            "figure. The table is 4-anonymous. How likely is it, in percent, that your neighbour has cancer?",
            answer=100,
            solution="100%. The neighbour is in the group 130**, 3*. All four people in it have cancer, so it does not "
            "matter which row is the neighbour's: k is 4, but the group has only one condition (l = 1).",
        ),
        play={"people": PEOPLE, "zips": ZIPS, "diagnoses": DIAGNOSES},
    )


def _governor_and_alone(state: GeneratedState) -> tuple[float, tuple[int, int, int]]:
    """The share of people who are alone; and the voters with the governor's birth date, sex and ZIP code."""
    import pyarrow.compute as pc

    from discreet.lab.anonymize import check

    voters, counts = state.voters, []
    governor = voters.filter(pc.equal(voters["person"], state.governor)).to_pylist()[0]
    for name in ("birth", "sex", "zip"):
        voters = voters.filter(pc.equal(voters[name], governor[name]))
        counts.append(voters.num_rows)
    alone = check(state.people, quasi=("zip", "birth", "sex")).unique_share
    return alone, (counts[0], counts[1], counts[2])


def _uniqueness(people: pa.Table) -> Figure:
    import pyarrow as pa
    import pyarrow.compute as pc

    from discreet.lab.anonymize import check

    year = pc.year(people["birth"])
    columns = {
        "zip": people["zip"],
        "region": pc.utf8_slice_codeunits(people["zip"], 0, 3),
        "birth": people["birth"],
        "month": pc.add(pc.multiply(year, 12), pc.month(people["birth"])),
        "year": year,
        "decade": pc.divide(year, 10),
        "sex": people["sex"],
    }
    table = pa.table(columns)
    bars, rows = [], []
    for title, names in PUBLISHED:
        report = check(table, quasi=names)
        bars.append({"label": title, "value": 100 * report.unique_share, "text": percent(report.unique_share)})
        rows.append((title, percent(report.unique_share), report.k, report.classes))
    return Figure(
        chart={"chart": "bars", "title": "Percent of people who are the only one with these values", "bars": bars},
        caption=f"{PEOPLE:,} generated people in {ZIPS} ZIP codes, 7,500 in each on average. The smallest group is k: "
        "everybody shares these values with at least k - 1 others.",
        columns=("published", "people who are alone", "smallest group (k)", "groups"),
        rows=tuple(rows),
    )


def _inpatients() -> Figure:
    bars, rows = [], []
    for place, age, conditions in INPATIENTS:
        most = max(set(conditions), key=conditions.count)
        share = conditions.count(most) / len(conditions)
        label = f"{place}, {age}"
        bars.append({"label": label, "value": 100 * share, "text": f"{percent(share)} {most}"})
        rows.append((label, len(conditions), len(set(conditions)), percent(share)))
    return Figure(
        chart={"chart": "bars", "title": "Percent of a group with its most common condition", "bars": bars},
        caption="Twelve patients in groups of four: the table is 4-anonymous. A group with one condition hides nobody.",
        columns=("ZIP code, age", "people (k)", "different conditions (l)", "share of the most common"),
        rows=tuple(rows),
    )
