"""A project's folder: found at or above a place, or made, with its discreet.toml and its ledger."""

from __future__ import annotations

import shutil
from os import PathLike
from pathlib import Path

from discreet import exact
from discreet.errors import Command, DiscreetError, Flag, Message, ProjectError, UsageError
from discreet.ledger import repair
from discreet.ledger.filesystem import state_root
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import DatabaseAddress, LedgerLocation, is_address
from discreet.ledger.ledger_move import move_to_postgres
from discreet.project.budget import budget_of
from discreet.schema.project_file import DEFAULT_LEDGER, NAME, ProjectFile, read_file
from discreet.schema.schema import Budget
from discreet.schema.toml_edit import set_ledger, write

_SQLITE = "sqlite:///"


def nearest_project_folder(path: str | PathLike[str]) -> Path:
    """The nearest folder at or above `path` that holds a discreet.toml."""
    start = Path(path).resolve()
    if not start.exists():
        raise ProjectError(f"there is no folder {str(path)!r}")
    for folder in (start, *start.parents):
        if (folder / NAME).is_file():
            return folder
        if (folder / ".discreet" / "ledger.db").is_file():
            raise _missing_file_refusal(folder)
    raise ProjectError(
        f"there is no {NAME} here or in a folder above", hint=Message("run ", Command("init"), " to create one")
    )


def make_project_folder(
    path: str | PathLike[str], *, epsilon: object = None, delta: object = None, practice: bool = False
) -> Path:
    """Write a new discreet.toml and an empty ledger; refuses to overwrite. Beside a discreet.toml: the ledger alone.

    practice: for generated or public data only, which never changes. See `start_practice_again`.
    """
    folder = Path(path)
    if (folder / NAME).exists():
        if epsilon is not None or delta is not None:
            raise ProjectError(
                f"{NAME} already exists here, and budgets are declared in it", hint=f"write the budget into {NAME}"
            )
        if practice and not read_file(folder / NAME).practice:
            raise ProjectError(
                f"{NAME} already exists here, and does not declare a practice project",
                hint="make a practice project in another folder",
            )
        return _make_missing_ledger(folder.resolve())
    if (folder / ".discreet" / "ledger.db").exists():
        raise _missing_file_refusal(folder)
    text = f'[project]\nledger = "{DEFAULT_LEDGER}"\n'
    text += "practice = true    # generated or public data only; never a real project\n" if practice else ""
    if (budget := budget_of(epsilon, delta)) is not None:
        text += _budget_line(budget) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / NAME, text)
    except OSError as problem:
        raise ProjectError(f"cannot write {NAME} in {str(path)!r}: {problem.strerror}") from None
    try:
        return _make_missing_ledger(folder.resolve())
    except BaseException:
        (folder / NAME).unlink()
        raise


def _missing_file_refusal(folder: Path) -> ProjectError:
    """A discreet.toml was deleted, and its ledger is there."""
    lines = ["[project]", f'ledger = "{DEFAULT_LEDGER}"']
    if _is_practice_ledger(folder / ".discreet" / "ledger.db"):
        lines.append("practice = true")
    return ProjectError(
        f"there is a ledger in {str(folder)!r} but no {NAME}: that file was deleted or moved",
        hint=Message(
            f"restore {NAME} from a backup; or write a new one with the lines {', '.join(lines[:-1])} and "
            f"{lines[-1]}, and declare each table again under its old name: ",
            Command("add", "FILE", Flag("name", "TABLE")),
            ". The ledger keeps every limit and what is spent",
        ),
    )


def _is_practice_ledger(path: Path) -> bool:
    """Whether a ledger was made for practice; no where it cannot be read, as its next use says."""
    try:
        with Ledger.open(path) as ledger:
            return ledger.state.practice
    except DiscreetError:
        return False


def ledger_path(folder: Path, file: ProjectFile) -> LedgerLocation:
    """Where the ledger lies: a file, or a database that several machines share."""
    if is_address(file.ledger):
        address = DatabaseAddress(url=file.ledger)
        if address.has_secret:
            raise _password_refusal("[project] ledger")
        return address
    if not file.ledger.startswith(_SQLITE):
        raise ProjectError(
            f"[project] ledger = {file.ledger[:40]!r} is not supported", hint=f'ledger = "{DEFAULT_LEDGER}"'
        )
    return folder / file.ledger.removeprefix(_SQLITE)


def move_ledger(folder: Path, url: str) -> tuple[DatabaseAddress, int]:
    """Move a project's ledger to PostgreSQL, point discreet.toml at it, and set the old file aside.

    Returns where it is now, and how many rows it has. What fails on the way leaves nothing that answers twice: from
    the moment the ledger is there, the anchor refuses the file.
    """
    source, target = ledger_path(folder, read_file(folder / NAME)), DatabaseAddress(url=url)
    if target.has_secret:
        raise _password_refusal("the address")
    refuse_state_inside(folder)
    rows = move_to_postgres(source, target)
    set_ledger(folder / NAME, url)
    if isinstance(source, Path):
        _set_aside(source)
    return target, rows


def _password_refusal(where: str) -> UsageError:
    return UsageError(f"{where} contains a password, which {NAME} must not", hint="use ~/.pgpass or PGPASSWORD")


def _set_aside(path: Path) -> None:
    """Keep the file of a ledger that moved as evidence, with its log where another process still has it open."""
    for ending in ("", "-wal", "-shm"):
        old = path.with_name(path.name + ending)
        if old.exists():
            old.rename(path.with_name(f"{path.name}.moved{ending}"))


def refuse_state_inside(folder: Path) -> None:
    """The key and the head lie outside the project, or restoring its folder would restore the budget unseen."""
    state = state_root()
    if not state.is_absolute() or folder.resolve() in (state.resolve(), *state.resolve().parents):
        raise ProjectError(
            "the state folder is inside the project folder",
            hint="set DISCREET_STATE to an absolute path outside it, or keep the project in a folder of its own",
        )


def _make_missing_ledger(folder: Path) -> Path:
    """Make the ledger of a project that has none yet."""
    file = read_file(folder / NAME)
    path = ledger_path(folder, file)
    if isinstance(path, Path) and path.exists():
        raise ProjectError(
            f"{NAME} already exists here", hint=Message("run ", Command("add", "FILE"), " to declare a table")
        )
    refuse_state_inside(folder)
    Ledger.create(path, practice=file.practice).close()
    beside = path.parent if isinstance(path, Path) else folder / ".discreet"
    if beside.name == ".discreet" and not (beside / ".gitignore").exists():
        beside.mkdir(mode=0o700, exist_ok=True)
        (beside / ".gitignore").write_text("*\n")  # copies of private tables lie here
    return folder


def start_practice_again(path: str | PathLike[str]) -> Path:
    """Delete the ledger and the stored tables of a practice project, and make an empty ledger. Declarations stay."""
    refuse_starting_again(path)
    folder = nearest_project_folder(path)
    where = ledger_path(folder, read_file(folder / NAME))
    refuse_state_inside(folder)
    if not isinstance(where, Path):
        raise UsageError(
            "this ledger is in a database, so it cannot be reset: Discreet deletes no database tables",
            hint="use another database",
        )
    is_practice = where.exists()
    if is_practice:
        repair.delete_practice_ledger(where)
    _make_missing_ledger(folder)  # refuses where a real ledger is missing
    if is_practice:  # else the tables are another ledger's: the file names a new one
        shutil.rmtree(folder / ".discreet" / "tables", ignore_errors=True)
    return folder


def refuse_starting_again(path: str | PathLike[str]) -> None:
    """Refuse to start again where there is no project, or a real one."""
    start = Path(path).resolve()
    if not any((place / NAME).is_file() or (place / ".discreet").is_dir() for place in (start, *start.parents)):
        raise UsageError(
            "there is no project here or in a folder above, so there is nothing to start again",
            hint=Message(Command("init", Flag("practice", True))),
        )
    folder = nearest_project_folder(path)
    file = read_file(folder / NAME)
    if file.practice:
        return
    where = ledger_path(folder, file)
    if isinstance(where, Path) and _is_practice_ledger(where):
        raise _unmarked_practice_refusal()
    raise repair.not_practice()


def refuse_other_mark(file: ProjectFile, ledger: Ledger) -> None:
    """Refuse a file that calls a practice project real, or a real one practice: the mark in the ledger is final."""
    if file.practice == ledger.state.practice:
        return
    ledger.close()
    if file.practice:
        raise ProjectError(
            f"{NAME} says practice = true, but the ledger was made for a real project, and that cannot change",
            hint=f"remove the line from {NAME}",
        )
    raise _unmarked_practice_refusal()


def _unmarked_practice_refusal() -> ProjectError:
    return ProjectError(
        "the ledger was made for practice, so this can never become a real project",
        hint=Message(
            f"write practice = true below [project] in {NAME}; or run ", Command("init"), " in another folder"
        ),
    )


def _budget_line(budget: Budget) -> str:
    epsilon, delta = (exact.show(part, digits=40) for part in (budget.epsilon, budget.delta))
    return f"budget = {{ epsilon = {epsilon}, delta = {delta} }}"
