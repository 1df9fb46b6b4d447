"""What the command line prints: JSON for programs, a few plain lines for people."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text as RichText

from discreet import exact
from discreet.cli import standard_streams
from discreet.errors import DiscreetError, UsageError
from discreet.ledger.receipts import practice_was_opened

if TYPE_CHECKING:  # a wrong flag should not have to wait for numpy and an engine
    from discreet.accounting.guarantee import Guarantee
    from discreet.cli.row_file import RowFile
    from discreet.ledger.repair import LedgerVerification, RepairOutcome
    from discreet.project.project import BudgetStatus, Project
    from discreet.release import Release, Spending
    from discreet.schema.schema import Table

#: More rows than this are cut on a screen; --json and --output have them all.
MOST_ROWS = 60

#: What the best numbers are.
BEST_LEGEND = (
    "best: whole numbers that add up, none negative; nearer to the exact ones in small groups, but not unbiased."
)


def print_result(data: Mapping[str, Any], text: str | RichTable | list[Any], *, as_json: bool) -> None:
    """Print one of the two. What was read from a practice project says so."""
    data = {**data, "practice": True} if practice_was_opened() else data
    with standard_streams.flush_or_raise():
        if as_json:
            standard_streams.write_json(data)
        else:
            standard_streams.write_lines(text if isinstance(text, list) else [text])


def engines_of(project: Project) -> list[str]:
    """The engines of a project's tables."""
    return [table.engine for table in project.file.tables.values()]


@contextmanager
def with_owner_notes(project: Project) -> Iterator[None]:
    """Print what has changed for the owner, whether the query inside is answered or refused."""
    try:
        yield
    finally:
        private = [name for name, table in project.file.tables.items() if not table.public]
        print_notes([note for name in private for note in project.warnings(name)])


def changed_since(
    release: Release, project: Project, tables: Collection[str], *, analyst: str | None
) -> list[str] | None:
    """The tables whose files changed since a stored answer was measured; None: not checked, or not known.

    For the owner alone (docs/decisions/0006, 0032): nothing is said if the query names an analyst. Whoever runs the
    command can look at the file. It is read only where its size is the same and its time is not.
    """
    if analyst is not None or not (release.cached or release.derived):
        return None
    with progress("comparing the source with the version"):
        return project.changed_sources(dict.fromkeys(tables))


def first_version_note(project: Project, table: str) -> str:
    """What the first answer about a table settled, where nobody had run `refresh` before it."""
    limit = limit_words(project.guarantee(table))
    return f"this made version 1 of {table!r} from its source; from now on its limit, {limit}, can only be raised"


def print_notes(owner_notes: list[str]) -> None:
    """Owner's notes, on stderr."""
    for note in dict.fromkeys(owner_notes):
        standard_streams.print_stderr(f"note: {note}")


def print_failure(problem: DiscreetError, data: Mapping[str, Any], *, as_json: bool) -> None:
    """An error: as JSON on stdout, or as sentences on stderr."""
    if not as_json:
        standard_streams.print_stderr(f"{type(problem).__name__}: {problem.command_line_text()}")
        return
    with suppress(standard_streams.OutputLost, standard_streams.ReaderGone), standard_streams.flush_or_raise():
        standard_streams.write_json(data)


@contextmanager
def progress(words: str, *, engines: Iterable[str] = ()) -> Iterator[None]:
    """A spinner on stderr while something takes long; nothing where stderr is no terminal.

    `engines`: the addresses of those that may be needed. Spark takes half a minute to start, and says nothing.
    """
    from discreet.schema.address import engine_kind

    starts = any(engine_kind(address) == "spark" for address in engines)
    with standard_streams.progress_console().status(
        f"{words}; starting Spark first (about half a minute)" if starts else words
    ):
        yield


def init_output(project: Project, *, declared: bool) -> tuple[dict[str, Any], str]:
    """What `init` made: beside a discreet.toml that was there before, the ledger alone."""
    if not declared:
        text = "created discreet.toml and its ledger\nnext: discreet add FILE"
    else:
        private = [name for name, table in project.file.tables.items() if not table.public]
        text = "created the ledger; discreet.toml was here already and is unchanged\n"
        text += f"next: discreet refresh {private[0]}" if private else "next: discreet add FILE"
    if project.file.practice:
        mark = "this is a practice project, for generated or public data: it protects nobody"
        text = f"{mark}, and can never become a real one\n{text}"
    return {"project": str(project.folder), "made": [*([] if declared else ["discreet.toml"]), "ledger"]}, text


def add_output(
    table: Table,
    *,
    limit_said: bool,
    warnings: list[str],
    ledger_limit: Guarantee | None = None,
    columns_said: bool = False,
    version_follows: bool = False,
) -> tuple[dict[str, Any], str]:
    """What `add` declared. limit_said: whether the owner gave a rows_per_person. ledger_limit: the ledger's.

    columns_said: the owner has said what the columns are. version_follows: they are asked next whether to refresh it.
    """
    from discreet.accounting.guarantee import large_limit_sentence
    from discreet.project.budget import budget_line
    from discreet.schema.column import type_name

    columns = {column.name: type_name(column) for column in table.schema.columns}
    lines = [f"declared {table.name!r} in discreet.toml: {'public' if table.public else 'private'}"]
    if columns and not version_follows:  # who was asked has just read them
        lines += ["", *(f"  {name:20} {type_}" for name, type_ in columns.items())]
    if not table.public:
        lines += [
            "",
            "Now declare in discreet.toml what is known about the columns, without looking at the data:",
            '  low and high for numbers and dates; type = "category" with its values for groups.',
            f"Then run discreet refresh {table.name}. It shows what did not fit.",
        ]
        if columns_said and not table.schema.unit.ends:
            lines[-3:] = [] if version_follows else [f"Next: discreet refresh {table.name}. It shows what did not fit."]
        if table.schema.unit.ends:
            limit = [
                "A person is protected with all their edges. discreet graph stats finds a limit on edges privately;",
                f"  rows_per_person in [tables.{table.name}] sets one. With directed = true, a to b and b to a differ.",
            ]
            lines[-3:] = [
                *(["A person is protected with all their edges."] if limit_said else limit),
                f"Then run discreet refresh {table.name}. It shows what was left out.",
            ]
        elif not table.schema.unit.is_row and not limit_said:
            lines += [
                "Queries use one row per person until you set rows_per_person;",
                f"  discreet bounds {table.name} rows_per_person --epsilon 0.1 finds a good value privately.",
            ]
        if table.budget is None and ledger_limit is not None:
            lines += [f"The ledger keeps its limit; also write it to discreet.toml:  {budget_line(ledger_limit)}"]
        elif table.budget is None:
            lines += ["Also give it a budget:  budget = { epsilon = 3.0, delta = 1e-6 }"]
    limit_epsilon = ledger_limit.epsilon if ledger_limit else table.budget.epsilon if table.budget else None
    large_limit = None if table.public else large_limit_sentence(limit_epsilon)
    lines += [f"note: {warning}" for warning in (*([large_limit] if large_limit else []), *warnings)]
    data = {
        "table": table.name,
        "public": table.public,
        "columns": columns,
        "warnings": warnings,
        "large_limit": large_limit,
    }
    return data, "\n".join(lines)


def added_tables_text(tables: list[dict[str, Any]]) -> str:
    """What `add` declared of several files."""
    lines = [f"declared {len(tables):,} tables in discreet.toml:"]
    for table in tables:
        kind = "public" if table["public"] else "private"
        lines.append(f"  {table['table']:20} {kind}, {len(table['columns']):,} columns")
    large = [table["large_limit"] for table in tables if table["large_limit"]]
    lines += dict.fromkeys(
        f"note: {each}" for each in [*large, *(note for table in tables for note in table["warnings"])]
    )
    return "\n".join([*lines, "Next: discreet refresh TABLE for each. It shows what did not fit."])


def answer_lines(release: Release, budget_status: BudgetStatus, *, best: bool = False) -> list[Any]:
    """An answer for people: a table, how wrong it may be, what it cost. best: with the best numbers."""
    lines = table_lines(release, best=best)
    stored = f"stored answer: free (it cost {release.purchase_cost})" if release.cached else ""
    free = stored or ("derived from earlier answers: free" if release.derived else "")
    price = free or f"cost {release.cost}"
    lines += [
        "",
        legend_line(release),
        *(best_legend([release]) if best else []),
        f"{price}; {spent_words(budget_status)}. Release {release.id}, version {release.version}.",
    ]
    lines += [f"note: {warning}" for warning in release.warnings]
    return lines


def best_legend(releases: Sequence[Release]) -> list[str]:
    """What the best numbers are; or that there are none beside those shown."""
    if any(release.best_places for release in releases):
        return [BEST_LEGEND]
    return ["best: the numbers shown are the best ones; there are no others beside them."]


def table_lines(release: Release, *, best: bool = False) -> list[Any]:
    """The rows of an answer for people, as many as a screen has room for."""
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    heads, rows = marked_cells(release)
    if best:
        heads, rows = _with_best(release, heads, rows)
    for head in heads:
        table.add_column(RichText(head), no_wrap=True)
    for row_cells in rows:
        table.add_row(*(RichText(cell) for cell in row_cells))
    lines: list[Any] = [table]
    if len(release.rows) > MOST_ROWS:
        lines.append(f"… {len(release.rows) - MOST_ROWS:,} more rows; -o FILE.csv writes them all")
    return lines


def marked_cells(release: Release) -> tuple[list[str], list[list[str]]]:
    """The heads and the rows that a screen shows: numbers below numbers, and ~ behind those that their noise drowns.

    (Set in columns here: a table that justifies would strip the room that the others leave for the mark.)
    """
    rows, places = range(min(MOST_ROWS, len(release.rows))), range(len(release.columns))
    heads = [column.name for column in release.columns]
    cells = [[release.cell_text(row, place) for place in places] for row in rows]
    for place, column in enumerate(release.columns):
        if column.kind != "key":
            width = max(cell_len(text) for text in (heads[place], *(row[place] for row in cells)))
            heads[place] = _right(heads[place], width)
            for row in rows:
                lost = release.rows[row][place] is not None and release.is_below_noise(row, place)
                cells[row][place] = _right(cells[row][place], width) + (" ~" if lost else "")
    return heads, cells


def _with_best(release: Release, heads: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """After each column of counts or sums its best numbers."""
    from discreet.present.cell_text import DASH

    best, places = release.best(), release.best_places
    wide_heads: list[str] = []
    wide_rows: list[list[str]] = [[] for _ in rows]
    for place, head in enumerate(heads):
        wide_heads.append(head)
        for wide, row in zip(wide_rows, rows, strict=True):
            wide.append(row[place])
        if place in places:
            cells = [best[row][place] for row in range(len(rows))]
            texts = [DASH if cell is None else f"{cell:,}" for cell in cells]
            width = max(cell_len(text) for text in ("best", *texts))
            wide_heads.append(_right("best", width))
            for wide, text in zip(wide_rows, texts, strict=True):
                wide.append(_right(text, width))
    return wide_heads, wide_rows


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def spent_words(budget_status: BudgetStatus) -> str:
    """Where a budget stands, in a few words: what is spent of it, and what remains."""
    limit, spent, remaining = budget_status.limit, budget_status.spent, budget_status.remaining
    if limit.epsilon is None or spent.epsilon is None or remaining.epsilon is None:
        return f"{_spending(spent)} spent of {_spending(limit)}"
    return (
        f"epsilon {exact.show(spent.epsilon, up=True)} spent of {exact.show(limit.epsilon)}, "
        f"{exact.show(remaining.epsilon)} remaining"
    )


def cost_words(project: Project, release: str | None) -> str:
    """What a release cost the budget."""
    charge = project.ledger.state.charges.get(release or "")
    if charge is None or charge.moved == 0:
        return "nothing"
    return f"epsilon {exact.show(charge.moved, up=True)}"


def budget_cost(project: Project, release: str | None) -> float:
    """What a release cost the budget, for JSON."""
    charge = project.ledger.state.charges.get(release or "")
    return 0.0 if charge is None else exact.as_float(charge.moved, up=True)


def legend_line(release: Release) -> str:
    """What ± means for an answer, and its marks."""
    from discreet.release import legend

    places = [place for place, column in enumerate(release.columns) if column.kind != "key"]
    cells = [(row, place) for row in range(len(release.rows[:MOST_ROWS])) for place in places]
    numbers = [cell for cell in cells if release.rows[cell[0]][cell[1]] is not None]
    below_noise = any(release.is_below_noise(*cell) for cell in numbers)
    # A dash where there is no number at all, as the change in the first month, is not hidden by noise.
    _, hidden, _ = release.count_below_noise()
    return legend(release.confidence, mark="~" if below_noise else "", dash=bool(hidden))


def _spending(spending: Spending, *, up: bool = True) -> str:
    if spending.epsilon is None:
        rho = spending.rho if spending.rho is not None else Fraction(0)
        return f"rho {exact.show(rho, up=up)} (no pure epsilon)"
    delta = f", delta {exact.show(spending.delta, up=up)}" if spending.delta else ""
    return f"epsilon {exact.show(spending.epsilon, up=up)}{delta}"


def limit_words(limit: Guarantee) -> str:
    """A limit in a few words."""
    words = f"epsilon {exact.show(limit.epsilon)}" + (f", delta {exact.show(limit.delta)}" if limit.delta else "")
    return words if limit.accounting == "renyi" else f"{words}, accounting {limit.accounting}"


def budgets_output(
    status_by_table: Mapping[str, BudgetStatus], *, without: Collection[str] = ()
) -> tuple[dict[str, Any], list[Any]]:
    """Budgets by table."""
    data: dict[str, Any] = {}
    lines: list[Any] = []
    for name, budget_status in status_by_table.items():
        data[name] = {
            "population": budget_status.population,
            "limit": budget_status.limit.to_data(up=False),
            "spent": budget_status.spent.to_data(up=True),
            "remaining": budget_status.remaining.to_data(up=False),
            "events": budget_status.events,
            "by_analyst": {who: spent.to_data(up=True) for who, spent in budget_status.by_analyst.items()},
            "accounting": budget_status.accounting,
            "counts_within_50": budget_status.counts,
            "largest_question": exact.as_float(budget_status.largest_question, up=False),
            "notes": list(budget_status.notes),
            "large_limit": budget_status.large_limit,
        }
        shared = f" (population {budget_status.population})" if budget_status.population != name else ""
        plural = "count" if budget_status.counts == 1 else "counts"
        lines.append(
            f"{name}{shared}: {_spending(budget_status.spent)} spent of {_spending(budget_status.limit, up=False)}; "
            f"{_spending(budget_status.remaining, up=False)} remaining,\n  about "
            f"{budget_status.counts:,} more {plural} of everybody at plus or minus 50; "
            f"{_largest(budget_status)}; queries so far: {budget_status.events:,}"
        )
        lines += [f"  note: {budget_status.large_limit}"] if budget_status.large_limit else []
        lines += [f"  note: {note}" for note in budget_status.notes]
        lines += [
            f"  {who or 'unnamed analyst'}: {_spending(spent)}" for who, spent in budget_status.by_analyst.items()
        ]
    lines += [
        f"{name}: no budget yet; add budget = {{ epsilon = 3.0, delta = 1e-6 }} below its source" for name in without
    ]
    return {"tables": data}, lines or ["no private table is declared yet; declare one with discreet add FILE"]


def _largest(budget_status: BudgetStatus) -> str:
    """What a single question may have; small ones, by their squares in rho, may go further in all."""
    if budget_status.largest_question <= 0:
        return "the remaining budget is too small for a count of everybody"
    return f"a single count of everybody can use at most --epsilon {exact.show(budget_status.largest_question)}"


def verification_line(report: LedgerVerification) -> str:
    """What verifying the ledger found."""
    if report.sound:
        return f"ledger OK: {report.rows:,} {'entry' if report.rows == 1 else 'entries'} verified"
    where = f" at entry {report.row:,}" if report.row is not None else ""
    return f"ledger verification failed{where}: {report.problem}"


def repair_output(done: RepairOutcome, project: Project) -> tuple[dict[str, Any], str]:
    """What an owner's repair did, and where the budgets that it charged stand now."""
    from discreet.answers.query_quote import spending

    lines = []
    for name in done.charged:
        now = project.ledger.account_status(name)
        spent, limit = _spending(spending(now.spent)), _spending(spending(now.limit), up=False)
        lines.append(f"charged the lost spending to {name}: {spent} now counts as spent of {limit}")
    if done.unlocked:
        lines.append(f"unlocked: {', '.join(done.unlocked)}")
    if done.lost:
        lines.append(
            f"the whole budget counts as spent for: {', '.join(done.lost)}; raise the limit with discreet budget grant"
        )
    data = {"charged": list(done.charged), "unlocked": list(done.unlocked), "lost": list(done.lost)}
    return data, "\n".join(lines) or "nothing to repair: no charge is missing, and nothing is locked"


def entries_table(ledger_entries: list[dict[str, Any]]) -> RichTable:
    """The ledger's entries for people."""
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    names = ("population", "table", "version", "analyst", "id")
    for name in ("entry", "time", "kind", "epsilon", *names):
        table.add_column(name, no_wrap=True)
    for entry in ledger_entries:
        body = entry["body"]
        price = body.get("price") or (body.get("guarantee") or {}).get("epsilon")
        cells = ["" if body.get(name) is None else str(body[name]) for name in names]
        shown = "" if price is None else exact.show(exact.read(price), up=True)
        if "moved" in body:  # what it cost the budget, as `releases` says
            shown = exact.show(Fraction(body["moved"], exact.EPSILON_UNITS), up=True)
        how = next((f", {word}" for word in ("stopped", "late") if body.get(word) is True), "")  # of a failure
        table.add_row(str(entry["seq"]), entry["time"][:19], f"{entry['kind']}{how}", shown, *map(RichText, cells))
    return table


def save_rows(release: Release, files: Iterable[RowFile], *, best: bool = False) -> list[str]:
    """Write an answer's rows to files; return lines that say so. best: with the best numbers, as NAME_best."""
    lines, rows = [], f"{len(release.rows):,} row{'' if len(release.rows) == 1 else 's'}"
    with explain_write_failure("the answer is"):
        for file in files:
            file.write_table(release.to_arrow(best=best))
            lines.append(f"wrote {rows} to {file.path}")
    return lines


#: How to have what was charged in another file.
_ANOTHER_FILE = "run the same command with another file and without --fresh: it is free"


@contextmanager
def explain_write_failure(subject: str, *, hint: str = _ANOTHER_FILE) -> Iterator[None]:
    """Files of what was charged are written inside; one that cannot be is told with the way to have it again."""
    try:
        yield
    except OSError as problem:
        raise UsageError(
            f"{subject} stored, but could not be written: {problem.strerror or problem}",
            hint=hint,
        ) from None
