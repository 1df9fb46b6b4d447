"""What the owner reads of versions: which rows were kept when one was made, what looks wrong, what was erased.

All exact.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import Command, DiscreetError, Flag, Message
from discreet.present.cell_text import counted

if TYPE_CHECKING:
    from discreet.engines.engine import DeclarationOutcome
    from discreet.project.project import ErasureReport, Project, RemovalReport
    from discreet.project.value_causes import ValueCause
    from discreet.schema.schema import Table
    from discreet.schema.source_layout import SourceLayout


def refresh_output(
    table: Table, version: int, making: DeclarationOutcome, *, answered: bool, causes: Sequence[ValueCause] = ()
) -> tuple[dict[str, Any], str]:
    """What making a version did: exact, for the owner only. `answered`: an earlier version was asked something.

    `causes`: why values did not fit.
    """
    from discreet.project.value_causes import causes_data

    name = table.name
    left_out = making.exact_truncated + making.exact_without_person + making.exact_loops + making.exact_doubles
    read = making.exact_rows + left_out if making.exact_added is None else making.exact_added
    kept = f", of which {making.exact_rows:,} are kept and {left_out:,} left out" if left_out else ""
    rows = f"{counted(read, 'row')}{kept}" if making.exact_added is None else _added(making)
    lines = [f"made version {version} of {name!r} from {rows} (exact numbers, for the owner only)"]
    if table.schema.unit.through is not None:
        lines.append("  a row counts once for each person that it belongs to")
    if answered:
        lines.append("  older answers stay; the same query on this version is a new query, and is charged")
    if making.exact_persons is not None:
        lines.append(f"  {counted(making.exact_persons, 'person')}")
    if making.exact_without_person:
        lines.append(f"  {_left_out(making.exact_without_person, 'row', 'without a person')}")
    if making.exact_truncated:
        lines.append(f"  {_left_out(making.exact_truncated, 'row', 'beyond rows_per_person')}")
    if making.exact_loops:
        lines.append(f"  {_left_out(making.exact_loops, 'edge', 'from a person to themselves')}")
    if making.exact_doubles:
        lines.append(f"  {_left_out(making.exact_doubles, 'row', 'repeating an edge')}")
    if making.exact_one_way is not None:
        lines.append(
            f"  {making.exact_one_way:,} of {making.exact_rows:,} edges occur in one direction only, and count "
            "as both; with directed = true, the two directions differ"
        )
    empty = [column for column, nulled in making.exact_nulled.items() if 0 < nulled == read]
    for column, nulled in making.exact_nulled.items():
        if column in empty:
            lines.append(
                f"  {column}: none of {nulled:,} values fits, so all are NULL: check how the column is declared"
            )
        elif nulled:
            lines.append(f"  {column}: {_values(nulled, 'did not fit and is NULL', 'did not fit and are NULL')}")
        lines += [f"    {_cause_line(cause)}" for cause in causes if cause.column == column]
    lines += [f"  {line}" for line in _marks(table, making)]
    for column, clamped in making.exact_clamped.items():
        if clamped:
            moved = _values(clamped, "was moved to the nearest bound", "were moved to the nearest bound")
            lines.append(f"  {column}: {moved}")
    lines += [f"  {line}" for line in (*_rounding(table, making), *_dominant_person_note(making))]
    data = {
        "table": name,
        "version": version,
        "made": True,
        "read": read,
        "added": making.exact_added,
        "rows": making.exact_rows,
        "persons": making.exact_persons,
        "without_person": making.exact_without_person,
        "truncated": making.exact_truncated,
        "loops": making.exact_loops,
        "doubles": making.exact_doubles,
        "one_way": making.exact_one_way,
        "nulled": dict(making.exact_nulled),
        "marked": dict(making.exact_marked),
        "clamped": dict(making.exact_clamped),
        "rounded": {
            column: {"values": rounded.exact_values, "most": float(rounded.exact_most)}
            for column, rounded in making.exact_rounded.items()
        },
        "dominant": None
        if making.exact_dominant is None
        else {"person": list(making.exact_dominant.exact_person), "rows": making.exact_dominant.exact_rows},
        "empty": empty,
        "causes": causes_data(causes),
    }
    return data, "\n".join(lines)


def _added(making: DeclarationOutcome) -> str:
    """What a version consists of that builds on the one before. What did not fit is counted in the added rows."""
    return (
        f"the version before and {counted(making.exact_added or 0, 'row')} of added files; "
        f"{counted(making.exact_rows, 'row')} in all; what did not fit is counted in the added rows only"
    )


def _left_out(count: int, noun: str, which: str) -> str:
    return f"{counted(count, noun)} {which} {'was' if count == 1 else 'were'} left out"


def _values(count: int, one: str, several: str) -> str:
    return f"1 value {one}" if count == 1 else f"{count:,} values {several}"


def _cause_line(cause: ValueCause) -> str:
    """What of the values, and the setting that lets them fit."""
    return f"{cause.exact_values:,} of {cause.exact_lost:,} values {cause.reason}: {cause.setting}"


def cause_notes(project: Project, table: Table, making: DeclarationOutcome) -> Sequence[ValueCause]:
    """Why values did not fit, as far as the first rows tell."""
    from discreet.project.value_causes import likely_causes

    with suppress(DiscreetError, OSError):  # a file that went away since: what was done is done
        engine = project.curator.engine.at(table.engine)
        return likely_causes(table, making.exact_nulled, folder=project.folder, engine=engine)[0]
    return ()


def first_cause_notes(project: Project, table: Table) -> list[str]:
    """Why values of a table that was just declared will not fit, as far as the first rows tell: before it is made."""
    from discreet.project.value_causes import ROWS_LOOKED_AT, likely_causes

    with suppress(DiscreetError, OSError):
        engine = project.curator.engine.at(table.engine)
        every = {column.name: 1 for column in table.schema.columns}
        causes, is_complete = likely_causes(table, every, folder=project.folder, engine=engine)
        where = "" if is_complete else f" (of the first {ROWS_LOOKED_AT:,} rows)"
        return [f"{str(cause).replace('did not fit', 'do not fit')}{where}" for cause in causes]
    return []


def day_order_notes(project: Project, table: Table) -> list[str]:
    """Columns of dates of which only the owner can say which number is the day."""
    from discreet.project import value_causes

    with suppress(DiscreetError, OSError):
        engine = project.curator.engine.at(table.engine)
        return value_causes.day_order_notes(table, folder=project.folder, engine=engine)
    return []


def unchanged_output(table: Table, version: int, *, differs: bool) -> tuple[dict[str, Any], str]:
    """That no version was made, because nothing has changed. `differs`: file and ledger state different limits."""
    same = "its columns and its source are the same" if differs else "its declaration is the same, and so is its source"
    text = Message(
        f"{table.name!r} is unchanged: no new version was made; the newest is version {version}\n  {same}\n  ",
        Command("refresh", table.name, Flag("force", True)),
        " makes a new version anyway; queries on it are charged again",
    )
    return {"table": table.name, "version": version, "made": False}, text


def unknown_change_note(engine: str) -> str:
    """Why a version was made although nothing seems to have changed."""
    from discreet.schema.address import DEFAULT

    why = "its files were touched since" if engine == DEFAULT else f"rows on {engine} can change without a visible sign"
    return f"no change is visible, but {why}, so a new version was made"


def _marks(table: Table, making: DeclarationOutcome) -> Iterator[str]:
    """How many cells hold a mark that is read as missing, so that no value vanishes without a word."""
    from discreet.schema.column import CategoryColumn

    for column in table.schema.columns:
        marked = making.exact_marked.get(column.name, 0)
        if marked:
            keep = "; a category keeps marks that are among its values" if isinstance(column, CategoryColumn) else ""
            cells = f"{marked:,} cells are" if marked > 1 else "1 cell is"
            yield f"{column.name}: {cells} read as missing, because of a mark such as NA, null or -{keep}"


def _rounding(table: Table, making: DeclarationOutcome) -> Iterator[str]:
    """How many values were rounded, and where the step is the reason to doubt averages."""
    from discreet.schema.column import NumberColumn
    from discreet.schema.grid_step import is_coarse

    for column in table.schema.columns:
        rounded = making.exact_rounded.get(column.name)
        if rounded is None or not rounded.exact_values or not isinstance(column, NumberColumn):
            continue
        step, most = _plain(column.step), _plain(rounded.exact_most)
        yield f"{column.name}: {rounded.exact_values:,} values were rounded to steps of {step}, by up to {most}"
        if column.low is None or column.high is None:
            yield (
                f"warning: {column.name}: low and high are not declared, so its step is {step}, and averages can be "
                "off by half a step. Declare both, and the step follows from them; or declare a smaller step"
            )
        elif is_coarse(column):
            low, high = column.label(column.low or 0), column.label(column.high or 0)
            yield (
                f"warning: {column.name}: steps of {step} are coarse for {low} to {high}, and averages can be off by "
                "half a step. Declare a smaller step, or none: then it follows from low and high"
            )


def _plain(number: Fraction) -> str:
    """A number of at most 15 decimals, written out.

    >>> _plain(Fraction(1, 100_000)), _plain(Fraction(1000))
    ('0.00001', '1000')
    """
    return f"{float(number):.15f}".rstrip("0").rstrip(".")


def _dominant_person_note(making: DeclarationOutcome) -> Iterator[str]:
    """Somebody with far more rows than anybody else is perhaps nobody."""
    dominant = making.exact_dominant
    if dominant is not None:
        named = ", ".join(repr(part[:60]) for part in dominant.exact_person)
        yield (
            f"warning: one person, {named}, has {dominant.exact_rows:,} rows, over 100 times as many as others have on "
            "average. If this id stands for unknown persons, add it to null in the section of the table: rows without "
            "a person are left out"
        )


def edited_warning(places: str, table: str) -> str:
    """That totals of a new version must not be published by another table of places than those of the last."""
    return (
        f"{places!r} has changed since exact totals of {table!r} were published with it. Exact totals with "
        f"the new {places!r}, next to those with the old one, can reveal where one person lives: publish noisy totals, "
        "or undo the change"
    )


def encoding_notes(project: Project, table: Table) -> list[str]:
    """Whether the text files of a table are in another encoding than UTF-8, which nothing else would tell."""
    from discreet.engines.encoding import encoding_note
    from discreet.engines.file_source import find
    from discreet.schema.address import DEFAULT

    if table.engine != DEFAULT:
        return []
    with suppress(DiscreetError, OSError):  # a file that went away since: what was done is done
        note = encoding_note(find(table.source, folder=project.folder, layout=table.layout))
        return [] if note is None else [note]
    return []


def layout_notes(table: Table, given: SourceLayout) -> list[str]:
    """What was read from the files about how they are laid out, and is declared from now on."""
    detected = {key: value for key, value in table.layout.settings().items() if key not in given.settings()}
    if not detected:
        return []
    settings = ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in detected.items())
    return [f"read from the file and written to discreet.toml: {settings}. Change it there if it is wrong"]


def left_out_notes(project: Project, table: Table) -> list[str]:
    """Which columns of a source cannot be declared: nested ones, and those that not all of its files have."""
    from discreet.engines.file_source import find
    from discreet.schema.address import DEFAULT

    if table.engine != DEFAULT:
        return []
    with suppress(DiscreetError, OSError):
        source = find(table.source, folder=project.folder, layout=table.layout)
        listed = ", ".join(repr(name[:60]) for name in source.left_out[:10])
        more = f" and {len(source.left_out) - 10:,} more" if len(source.left_out) > 10 else ""
        why = "not every file has them" if source.parts else "their values are nested or bytes"
        return [f"left out of {table.source}, because {why}: {listed}{more}"] if source.left_out else []
    return []


def network_location_notes(table: Table) -> list[str]:
    """That the network of a server's table is kept here: before its rows come."""
    from discreet.schema.address import DEFAULT, engine_kind

    if table.engine == DEFAULT or not table.schema.unit.ends:
        return []
    kind = engine_kind(table.engine)
    return [
        f"refresh reads the ends of all edges from {kind} once and keeps the network next to the ledger, readable by "
        f"its owner only: it does not stay on {kind} alone"
    ]


def changed_source_note(table: str) -> str:
    """That a stored answer is about an earlier state of a source."""
    return Message(
        f"the source of {table!r} has changed since this stored answer was measured; ",
        Command("refresh", table),
        " makes a new version, on which the query is charged again",
    )


def remove_output(report: RemovalReport) -> tuple[dict[str, Any], str]:
    """What removing a table took away."""
    made = f"{report.versions:,} version{'s' * (report.versions != 1)}"
    text = f"removed {report.table!r}: its declaration, and {made}; its source is unchanged"
    if report.missing:
        text += f"\n  these files could not be deleted; delete them yourself: {', '.join(report.missing)}"
    return {"table": report.table, "versions": report.versions, "left": list(report.missing)}, text


def retire_output(report: RemovalReport) -> tuple[dict[str, Any], str]:
    """What retiring a table took away, and what stays."""
    data, _ = remove_output(report)
    made = f"{report.versions:,} version{'s' * (report.versions != 1)}"
    text = (
        f"retired {report.table!r}: its declaration, and the stored rows of {made}, are deleted; its source is "
        "unchanged\n  its releases stay readable, and its budget stays as it is, should the table be declared again"
    )
    if report.missing:
        text += f"\n  these files could not be deleted; delete them yourself: {', '.join(report.missing)}"
    return data, text


def forget_output(erased: ErasureReport) -> tuple[dict[str, Any], str]:
    """What forgetting erased: exact, for the owner only."""
    tables = ", ".join(erased.tables)
    text = (
        f"{tables}: erased from {erased.exact_versions:,} version{'s' * (erased.exact_versions != 1)} "
        "(exact number, for the owner only)\n"
        "  earlier answers and their cost stay; later versions leave this person out"
    )
    if not erased.exact_versions:
        text += (
            "\n  this person was not found: check that the value is spelled as in the source (later versions leave it"
            " out in any case, so that what is kept does not reveal whether somebody was there)"
        )
    if erased.others:
        text += f"\n  nothing was erased from these other tables of the same people: {', '.join(erased.others)}"
    if erased.missing:
        listed = ", ".join(erased.missing)
        text += f"\n  missing, so nothing was erased from them; if there are copies elsewhere, delete them: {listed}"
    if erased.orphaned:
        listed = ", ".join(erased.orphaned)
        text += f"\n  incomplete tables of an interrupted run, so nothing was erased from them; delete them: {listed}"
    data = {
        "tables": list(erased.tables),
        "versions": erased.exact_versions,
        "others": list(erased.others),
        "missing": list(erased.missing),
        "left": list(erased.orphaned),
    }
    return data, text
