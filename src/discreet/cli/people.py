"""`discreet people`: who may use the console, and with which tokens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from discreet.cli import terminal
from discreet.cli.flags import HERE, Folder, Json
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.console.people.people import People
    from discreet.console.people.roster import Person, PersonRole

people_app = typer.Typer(no_args_is_help=True, help="The console's people: who may come, and with which tokens.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A person's name.")]
Piped = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from the first line of standard input.")
]


@people_app.command()
def add(
    name: Name,
    role: Annotated[str, typer.Option("--role", help="analyst or owner.")] = "analyst",
    analyst: Annotated[
        str | None, typer.Option("--analyst", help="Under which name their questions are charged; else their own.")
    ] = None,
    password_stdin: Piped = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Let somebody use the console. Asks for their password."""
    people = _people(project)
    checked = _role(role)
    if people.roster.find(name) is not None:
        raise UsageError(f"there is a {name!r} already", hint="another name")
    made = people.add(name, role=checked, password=_password(piped=password_stdin), analyst=analyst)
    terminal.print_result(made.data(), f"{made.name} may come as {_with_article(made.role)}", as_json=as_json)


@people_app.command(name="list")
def list_(project: Folder = HERE, as_json: Json = False) -> None:
    """Everybody who may come, or might once."""
    persons = _people(project).roster.all()
    lines = [_line(person) for person in persons] or ["nobody yet: discreet people add NAME --role owner"]
    terminal.print_result({"people": [person.data() for person in persons]}, lines, as_json=as_json)


@people_app.command()
def role(
    name: Name,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="analyst or owner.")],
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Make somebody an owner or an analyst. They have to log in again."""
    person = _people(project).roster.set_role(name, _role(role))
    terminal.print_result(person.data(), f"{person.name} is {_with_article(person.role)} now", as_json=as_json)


@people_app.command()
def password(name: Name, password_stdin: Piped = False, project: Folder = HERE, as_json: Json = False) -> None:
    """Give somebody a new password. They have to log in again, everywhere."""
    people = _people(project)
    account = people.roster.get(name)
    person = people.set_password(account.name, _password(piped=password_stdin))
    terminal.print_result(person.data(), f"{person.name} has a new password", as_json=as_json)


@people_app.command()
def disable(name: Name, project: Folder = HERE, as_json: Json = False) -> None:
    """Keep somebody out. Their sessions end now, and their tokens for good."""
    person = _people(project).roster.disable(name)
    terminal.print_result(
        person.data(), f"{person.name} may not come any more; their tokens are revoked", as_json=as_json
    )


@people_app.command()
def enable(name: Name, project: Folder = HERE, as_json: Json = False) -> None:
    """Let somebody in again who was kept out."""
    person = _people(project).roster.enable(name)
    terminal.print_result(
        person.data(), f"{person.name} may come again, as {_with_article(person.role)}", as_json=as_json
    )


@people_app.command()
def token(
    name: Name,
    label: Annotated[str, typer.Option("--label", help="What it is for, to know it again.")],
    days: Annotated[int, typer.Option("--days", help="How long it holds.")] = 90,
    role: Annotated[
        str | None, typer.Option("--role", help="analyst or owner, and no more than the person's own role.")
    ] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Make a token for somebody's programs. It is shown now and never again."""
    people = _people(project)
    text, made = people.tokens.make(
        people.roster.get(name), label=label, days=days, role=None if role is None else _role(role)
    )
    data = {**made.data(people.clock()), "token": text}
    until = f"It holds until {data['expires']} for {made.person.name} as {_with_article(made.role)}."
    terminal.print_result(
        data, [text, until, "Keep it like a password: it is shown now and never again."], as_json=as_json
    )


@people_app.command()
def tokens(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One person's; else everybody's.")] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """The tokens there are and were."""
    people = _people(project)
    listed_tokens = people.tokens.all(None if name is None else people.roster.get(name))
    now = people.clock()
    lines = [
        f"{one.number}  {one.person.name}  {one.label}  {one.role}  {one.why_not(now) or 'holds'}"
        f"  last used: {one.used or 'never'}"
        for one in listed_tokens
    ]
    terminal.print_result({"tokens": [one.data(now) for one in listed_tokens]}, lines or ["no tokens"], as_json=as_json)


@people_app.command()
def revoke(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="The token's number, as `people tokens` tells it.")],
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """End a token for good."""
    people = _people(project)
    revoked = people.tokens.revoke(number)
    terminal.print_result(
        revoked.data(people.clock()), f"token {number} of {revoked.person.name} holds no more", as_json=as_json
    )


def _people(project: Path) -> People:
    from discreet.console.people.people import People
    from discreet.project.folder import nearest_project_folder

    return People.of(nearest_project_folder(project))


def _role(text: str) -> PersonRole:
    from discreet.console.people.roster import role_of

    return role_of(text)


def _password(*, piped: bool) -> str:
    """From standard input, or asked for twice at the terminal; never a flag, which every process could read."""
    if piped:
        return _first_line()
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask for the password at", hint="--password-stdin")
    return cast("str", typer.prompt("Password", hide_input=True, confirmation_prompt="The same again"))


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
