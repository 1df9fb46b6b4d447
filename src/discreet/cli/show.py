"""What the command line prints: JSON for programs, a few plain lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text as RichText

from discreet import exact
from discreet.cli import streams
from discreet.errors import DiscreetError, UsageError

if TYPE_CHECKING:  # a wrong flag should not have to wait for numpy and an engine
    from discreet.api import Forgotten, Project, Standing
    from discreet.ledger.repair import Repaired, Report
    from discreet.release import Release, Spending
    from discreet.schema.schema import Table

#: More rows than this are cut on a screen; --json, --csv and --parquet have them all.
MOST_ROWS = 60


def out(data: Mapping[str, Any], text: str | RichTable | list[Any], *, as_json: bool) -> None:
    """Print one of the two."""
    with streams.delivered():
        if as_json:
            streams.write_json(data)
        else:
            streams.write_lines(text if isinstance(text, list) else [text])


def notes(told: list[str]) -> None:
    """Owner's notes, on stderr."""
    for note in dict.fromkeys(told):
        streams.say(f"note: {note}")


def failure(problem: DiscreetError, data: Mapping[str, Any], *, as_json: bool) -> None:
    """An error: as JSON on stdout, or as sentences on stderr."""
    if not as_json:
        streams.say(f"{type(problem).__name__}: {problem.told()}")
        return
    with suppress(streams.OutputLost, streams.ReaderGone), streams.delivered():
        streams.write_json(data)


@contextmanager
def progress(words: str, *, engines: Iterable[str] = ()) -> Iterator[None]:
    """A spinner on stderr while something takes long; nothing where stderr is no terminal.

    `engines`: the addresses of those that may be needed. Spark takes half a minute to start, and says nothing.
    """
    from discreet.schema.address import kind

    starts = any(kind(address) == "spark" for address in engines)
    with streams.progress_console().status(f"{words}; starting Spark first (about half a minute)" if starts else words):
        yield


def made(project: Project, *, declared: bool) -> tuple[dict[str, Any], str]:
    """What `init` made: beside a discreet.toml that was there before, the ledger alone."""
    if not declared:
        text = "made discreet.toml and its ledger\nnext: discreet add FILE"
    else:
        private = [name for name, table in project.file.tables.items() if not table.public]
        text = "made the ledger; discreet.toml was here already, and is as it was\n"
        text += f"next: discreet refresh {private[0]}" if private else "next: discreet add FILE"
    return {"project": str(project.folder), "made": [*([] if declared else ["discreet.toml"]), "ledger"]}, text


def added(table: Table, *, limit_said: bool, warnings: list[str]) -> tuple[dict[str, Any], str]:
    """What `add` declared. limit_said: whether the owner gave a rows_per_person."""
    from discreet.schema.column import type_name

    columns = {column.name: type_name(column) for column in table.schema.columns}
    lines = [f"declared {table.name!r} in discreet.toml: {'public' if table.public else 'private'}", ""]
    lines += [f"  {name:20} {type_}" for name, type_ in columns.items()]
    if not table.public:
        lines += [
            "",
            "Now say in discreet.toml what is known about the columns, without looking at the data:",
            '  low and high for numbers and dates; type = "category" with its values for groups.',
            f"Then: discreet refresh {table.name}, which shows what did not fit.",
        ]
        if table.schema.unit.ends:
            lines[-3:] = [
                "A person is protected with all their edges. discreet graph stats finds a limit on edges privately;",
                f"  rows_per_person in [tables.{table.name}] says one. directed = true tells a to b from b to a.",
                f"Then: discreet refresh {table.name}, which shows what was left out.",
            ]
        elif not table.schema.unit.is_row and not limit_said:
            lines += [
                "A person counts with one row until you say rows_per_person;",
                f"  discreet bounds {table.name} rows_per_person --epsilon 0.1 finds a good one privately.",
            ]
        if table.budget is None:
            lines += ["And give it a budget:  budget = { epsilon = 3.0, delta = 1e-6 }"]
    lines += [f"note: {warning}" for warning in warnings]
    data = {"table": table.name, "public": table.public, "columns": columns, "warnings": warnings}
    return data, "\n".join(lines)


def answer(release: Release, standing: Standing) -> list[Any]:
    """An answer for people: a table, how wrong it may be, what it cost."""
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    heads, rows = marked(release)
    for head in heads:
        table.add_column(RichText(head), no_wrap=True)
    for told in rows:
        table.add_row(*(RichText(cell) for cell in told))
    lines: list[Any] = [table]
    if len(release.rows) > MOST_ROWS:
        lines.append(f"… {len(release.rows) - MOST_ROWS} more rows; --csv FILE writes them all")
    stored = f"stored answer, bought for {_spending(release.bought)}: free now" if release.cached else ""
    free = stored or ("derived from earlier answers: free" if release.derived else "")
    price = free or f"cost {_spending(release.cost)}"
    lines += [
        "",
        _legend(release),
        f"{price}; {spent(standing)}. Release {release.id}, version {release.version}.",
    ]
    lines += [f"note: {warning}" for warning in release.warnings]
    return lines


def marked(release: Release) -> tuple[list[str], list[list[str]]]:
    """The heads and the rows that a screen shows: numbers below numbers, and ~ behind those that their noise drowns.

    (Set in columns here: a table that justifies would strip the room that the others leave for the mark.)
    """
    rows, places = range(min(MOST_ROWS, len(release.rows))), range(len(release.columns))
    heads = [column.name for column in release.columns]
    cells = [[release.shown(row, place) for place in places] for row in rows]
    for place, column in enumerate(release.columns):
        if column.kind != "key":
            width = max(cell_len(text) for text in (heads[place], *(row[place] for row in cells)))
            heads[place] = _right(heads[place], width)
            for row in rows:
                lost = release.rows[row][place] is not None and release.drowned(row, place)
                cells[row][place] = _right(cells[row][place], width) + (" ~" if lost else "")
    return heads, cells


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def spent(standing: Standing) -> str:
    """Where a budget stands, in a few words."""
    return f"{_spending(standing.spent)} spent of {_spending(standing.limit)}"


def _legend(release: Release) -> str:
    from discreet.release import legend

    places = [place for place, column in enumerate(release.columns) if column.kind != "key"]
    cells = [(row, place) for row in range(len(release.rows[:MOST_ROWS])) for place in places]
    hidden = [cell for cell in cells if release.rows[cell[0]][cell[1]] is None]
    below_noise = any(release.drowned(*cell) for cell in cells if cell not in hidden)
    return legend(release.confidence, mark="~" if below_noise else "", dash=bool(hidden))


def forgotten(erased: Forgotten) -> tuple[dict[str, Any], str]:
    """What forgetting erased: exact, for the owner only."""
    tables = ", ".join(erased.tables)
    text = (
        f"{tables}: erased from {erased.exact_versions} versions in all (this note is exact: for the owner)\n"
        "  answers given before stay, and so does what they cost; later versions leave this person out"
    )
    if not erased.exact_versions:
        text += (
            "\n  nobody by that name was there: look whether it is spelled as in the source (whoever has it is left out"
            " of later versions all the same, so that no tombstone says that somebody was there)"
        )
    if erased.others:
        text += f"\n  other tables of the same people, in which nothing was erased: {', '.join(erased.others)}"
    if erased.missing:
        listed = ", ".join(erased.missing)
        text += f"\n  not there, so that nobody was erased from them; if copies lie elsewhere, delete them: {listed}"
    if erased.left:
        listed = ", ".join(erased.left)
        text += f"\n  half of a table that a killed making left, so that nobody was erased from it; delete it: {listed}"
    data = {
        "tables": list(erased.tables),
        "versions": erased.exact_versions,
        "others": list(erased.others),
        "missing": list(erased.missing),
        "left": list(erased.left),
    }
    return data, text


def _spending(spending: Spending, *, up: bool = True) -> str:
    if spending.epsilon is None:
        rho = spending.rho if spending.rho is not None else Fraction(0)
        return f"rho {exact.show(rho, up=up)} (no pure epsilon)"
    delta = f", delta {exact.show(spending.delta, up=up)}" if spending.delta else ""
    return f"epsilon {exact.show(spending.epsilon, up=up)}{delta}"


def budgets(found: Mapping[str, Standing]) -> tuple[dict[str, Any], list[Any]]:
    """Budgets by table."""
    data: dict[str, Any] = {}
    lines: list[Any] = []
    for name, standing in found.items():
        data[name] = {
            "population": standing.population,
            "limit": standing.limit.to_data(up=False),
            "spent": standing.spent.to_data(up=True),
            "remaining": standing.remaining.to_data(up=False),
            "events": standing.events,
            "by_analyst": {who: spent.to_data(up=True) for who, spent in standing.by_analyst.items()},
            "accounting": standing.accounting,
            "counts_within_50": standing.counts,
            "largest_question": exact.as_float(standing.largest_question, up=False),
            "notes": list(standing.notes),
        }
        shared = f" (population {standing.population})" if standing.population != name else ""
        lines.append(
            f"{name}{shared}: {_spending(standing.spent)} spent of {_spending(standing.limit, up=False)}; "
            f"{_spending(standing.remaining, up=False)} left,\n  about {data[name]['counts_within_50']:,} more counts "
            f"of everybody at plus or minus 50; {_largest(standing)}; questions so far: {standing.events}"
        )
        lines += [f"  note: {note}" for note in standing.notes]
        lines += [f"  {who or 'nobody named'}: {_spending(spent)}" for who, spent in standing.by_analyst.items()]
    return {"tables": data}, lines or ["no private table is declared yet; discreet add FILE"]


def _largest(standing: Standing) -> str:
    """What a single question may have; small ones, by their squares in rho, may go further in all."""
    if standing.largest_question <= 0:
        return "no count of everybody fits any more"
    return f"a single count of everybody may have --epsilon {exact.show(standing.largest_question)} at most"


def verified(report: Report) -> str:
    """What verifying the ledger found."""
    if report.sound:
        return f"the ledger is whole: {report.rows} rows verified"
    where = f" at row {report.row}" if report.row is not None else ""
    return f"the ledger does not verify{where}: {report.problem}"


def repaired(done: Repaired, project: Project) -> tuple[dict[str, Any], str]:
    """What an owner's repair did, and where the budgets that it charged stand now."""
    from discreet.answers.quoting import spending

    lines = []
    for name in done.charged:
        now = project.ledger.standing(name)
        spent, limit = _spending(spending(now.spent)), _spending(spending(now.limit), up=False)
        lines.append(f"charged what was forgotten to {name}: {spent} counts as spent now, of {limit}")
    if done.unlocked:
        lines.append(f"unlocked: {', '.join(done.unlocked)}")
    if done.lost:
        lines.append(f"the whole budget counts as spent for: {', '.join(done.lost)}; discreet budget grant opens more")
    data = {"charged": list(done.charged), "unlocked": list(done.unlocked), "lost": list(done.lost)}
    return data, "\n".join(lines) or "nothing was forgotten, and nothing is locked"


def entries(found: list[dict[str, Any]]) -> RichTable:
    """The ledger's entries for people."""
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    names = ("population", "table", "version", "analyst", "id")
    for name in ("row", "time", "kind", "epsilon", *names):
        table.add_column(name, no_wrap=True)
    for entry in found:
        body = entry["body"]
        price = body.get("price") or (body.get("guarantee") or {}).get("epsilon")
        cells = ["" if body.get(name) is None else str(body[name]) for name in names]
        shown = "" if price is None else exact.show(exact.read(price), up=True)
        how = next((f", {word}" for word in ("stopped", "late") if body.get(word) is True), "")  # of a failure
        table.add_row(str(entry["seq"]), entry["time"][:19], f"{entry['kind']}{how}", shown, *map(RichText, cells))
    return table


def save(release: Release, *, csv: Path | None, parquet: Path | None) -> None:
    """Write an answer's rows to files."""
    with writing("the answer is"):
        if csv is not None:
            import pyarrow.csv

            pyarrow.csv.write_csv(release.to_arrow(), csv)
        if parquet is not None:
            import pyarrow.parquet

            pyarrow.parquet.write_table(release.to_arrow(), parquet)


@contextmanager
def writing(subject: str) -> Iterator[None]:
    """Files of what was charged are written inside; one that cannot be is told with the way to have it again."""
    try:
        yield
    except OSError as problem:
        raise UsageError(
            f"{subject} stored, but could not be written: {problem.strerror or problem}",
            hint="run the same command with another file and without --fresh or --next: it is free",
        ) from None
