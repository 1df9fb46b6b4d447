"""`discreet people`: who may use the console, and with which tokens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from discreet.cli import terminal
from discreet.cli.extras import require_extra
from discreet.cli.flags import HERE, Folder, Json
from discreet.cli.verb_app import VerbApp
from discreet.errors import Flag, Message, UsageError

if TYPE_CHECKING:
    from discreet.console.people.people import People
    from discreet.console.people.roster import Person, PersonRole

people_app = VerbApp(no_args_is_help=True, help="Console accounts: who can log in, and their tokens.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the account.")]
Piped = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from the first line of standard input.")
]
Temporary = Annotated[
    bool, typer.Option("--temporary", help="The person must choose another password when they first log in.")
]


@people_app.command()
def add(
    name: Name,
    role: Annotated[str, typer.Option("--role", help="Role: analyst or owner.")] = "analyst",
    analyst: Annotated[
        str | None,
        typer.Option("--analyst", help="Analyst name that their queries are charged to. Default: their own name."),
    ] = None,
    password_stdin: Piped = False,
    temporary: Temporary = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Create a console account. Asks for its password."""
    people = _people(project)
    checked = _role(role)
    if people.roster.find(name) is not None:
        raise UsageError(f"there is already an account {name!r}", hint="choose another name")
    made = people.add(
        name, role=checked, password=_password(piped=password_stdin), analyst=analyst, temporary=temporary
    )
    terminal.print_result(made.data(), f"{made.name} can log in as {_with_article(made.role)}", as_json=as_json)


@people_app.command(name="list")
def list_(project: Folder = HERE, as_json: Json = False) -> None:
    """List accounts, including disabled ones."""
    persons = _people(project).roster.all()
    lines = [_line(person) for person in persons] or ["no accounts yet: run discreet people add NAME --role owner"]
    terminal.print_result({"people": [person.data() for person in persons]}, lines, as_json=as_json)


@people_app.command()
def role(
    name: Name,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="Role: analyst or owner.")],
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Change the role of an account. The person has to log in again."""
    person = _people(project).roster.set_role(name, _role(role))
    terminal.print_result(person.data(), f"{person.name} is now {_with_article(person.role)}", as_json=as_json)


@people_app.command()
def password(
    name: Name,
    password_stdin: Piped = False,
    temporary: Temporary = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Set a new password for an account. The person has to log in again, everywhere."""
    people = _people(project)
    account = people.roster.get(name)
    person = people.set_password(account.name, _password(piped=password_stdin), temporary=temporary)
    terminal.print_result(person.data(), f"{person.name} has a new password", as_json=as_json)


@people_app.command()
def disable(name: Name, project: Folder = HERE, as_json: Json = False) -> None:
    """Disable an account. Its sessions end now, and its tokens are revoked permanently."""
    person = _people(project).roster.disable(name)
    terminal.print_result(
        person.data(), f"{person.name} can no longer log in; their tokens are revoked", as_json=as_json
    )


@people_app.command()
def enable(name: Name, project: Folder = HERE, as_json: Json = False) -> None:
    """Enable a disabled account."""
    person = _people(project).roster.enable(name)
    terminal.print_result(
        person.data(), f"{person.name} can log in again as {_with_article(person.role)}", as_json=as_json
    )


@people_app.command()
def token(
    name: Name,
    label: Annotated[str, typer.Option("--label", help="What the token is for; shown in lists.")],
    days: Annotated[int, typer.Option("--days", help="Days until the token expires.")] = 90,
    role: Annotated[
        str | None, typer.Option("--role", help="Role: analyst or owner, not above the person's own role.")
    ] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Create a token for a person's programs. It is shown only once."""
    people = _people(project)
    text, made = people.tokens.make(
        people.roster.get(name), label=label, days=days, role=None if role is None else _role(role)
    )
    data = {**made.data(people.clock()), "token": text}
    until = f"It is valid until {data['expires']} for {made.person.name} as {_with_article(made.role)}."
    terminal.print_result(data, [text, until, "Keep it like a password: it is not shown again."], as_json=as_json)


@people_app.command()
def tokens(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Account whose tokens to list. Default: all accounts.")
    ] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """List tokens, including expired and revoked ones."""
    people = _people(project)
    listed_tokens = people.tokens.all(None if name is None else people.roster.get(name))
    now = people.clock()
    lines = [
        f"{one.number}  {one.person.name}  {one.label}  {one.role}  {one.why_not(now) or 'valid'}"
        f"  last used: {one.used or 'never'}"
        for one in listed_tokens
    ]
    terminal.print_result({"tokens": [one.data(now) for one in listed_tokens]}, lines or ["no tokens"], as_json=as_json)


@people_app.command()
def revoke(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="Number of the token, from `people tokens`.")],
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Revoke a token permanently."""
    people = _people(project)
    revoked = people.tokens.revoke(number)
    terminal.print_result(
        revoked.data(people.clock()), f"token {number} of {revoked.person.name} is revoked", as_json=as_json
    )


def _people(project: Path) -> People:
    require_extra("console", verb="people")
    from discreet.console.people.people import People
    from discreet.project.folder import nearest_project_folder

    return People.of(nearest_project_folder(project))


def _role(text: str) -> PersonRole:
    require_extra("console", verb="people")
    from discreet.console.people.roster import role_of

    return role_of(text)


def _password(*, piped: bool) -> str:
    """From standard input, or asked for twice at the terminal; never a flag, which every process could read."""
    if piped:
        return _first_line()
    if not sys.stdin.isatty():
        raise UsageError(
            "cannot ask for the password: standard input is not a terminal", hint=Message(Flag("password-stdin", True))
        )
    return cast("str", typer.prompt("Password", hide_input=True, confirmation_prompt="Repeat the password"))


def _first_line() -> str:
    try:
        return sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError:
        raise UsageError("the password on standard input is not UTF-8 text") from None


def _with_article(role: str) -> str:
    return f"an {role}"  # analyst, owner


def _line(person: Person) -> Any:
    charged = "" if person.analyst == person.name else f", charged as {person.analyst}"
    return f"{person.name}  {person.role}{charged}{'  (disabled)' if person.disabled else ''}"
