"""The page of verbs: every command of the Typer application, with its help, arguments, flags and defaults."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from manual.tables import code, page, table
from manual.words import Undocumented, agree, words

#: Flags that every verb takes, told once.
EVERYWHERE = {"--json", "--project"}
OPENING = """\
Every verb, as `discreet --help` shows it. All of them accept `--json` (print JSON; its [keys are listed](json.md)),
`--project DIR` (the project folder; default: the nearest one above) and `--help`. Shell completion, output files and
earlier spellings are explained on [the page of the command line](../guides/command-line.md).

Exit codes: 0 answered; 2 wrong usage; 3 refused; 4 budget exceeded; 5 ledger or store fault; 6 the charged query could
not be completed; 130 stopped by Ctrl-C (a verb that charges says what was charged until then; that stays charged); 141
the program that reads the output closed it, as in `| head -1`. [Errors](errors.md) lists the errors and their codes."""


def application() -> Any:
    """The command line as Typer builds it."""
    import typer

    from discreet.cli.main import app

    return typer.main.get_command(app)


def verbs(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every verb by its whole name, in the order of the help text, without those that help does not list."""
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            if not inner.hidden:
                yield from verbs(inner, (*path, name))
    else:
        yield " ".join(path), command


def text(command: Any = None) -> str:
    """The page."""
    found = dict(verbs(command or application()))
    said = words("verbs")
    agree(set(found), set(said), what="verbs", where="manual/words/verbs.toml")
    overview = table(
        ("verb", "what it does"),
        [(f"[`discreet {name}`](#{_anchor(name)})", _first(verb)) for name, verb in found.items()],
    )
    parts = [_verb(name, verb, said[name]["notes"]) for name, verb in found.items()]
    return page("Verbs", OPENING, overview, *parts)


def _anchor(name: str) -> str:
    return "discreet-" + name.replace(" ", "-")


def _first(verb: Any) -> str:
    """A verb's help text on one line."""
    if not verb.help:
        raise Undocumented("a verb has no help text: write a docstring")
    return " ".join(verb.help.split())


def _verb(name: str, verb: Any, notes: list[str]) -> str:
    listed = [each for each in verb.params if not each.hidden]
    arguments = [each for each in listed if not each.opts[0].startswith("-")]
    options = [each for each in listed if each.opts[0].startswith("-") and not EVERYWHERE & set(each.opts)]
    shown = " ".join(["discreet", name, *(_shown(each) for each in arguments)])
    required = [f"{_flag(each)} {_value(each)}".strip() for each in options if each.required]
    lines = [f"## discreet {name}", "", _first(verb), "", f"`{' '.join([shown, *required])}`", ""]
    rows = [(code(_name(each)), _default(each), _help(name, each)) for each in arguments]
    rows += [(code(_flags(each)), _default(each), _help(name, each)) for each in options]
    if rows:
        lines += [table(("argument or flag", "default", "meaning"), rows)]
    lines += [note + "\n" for note in notes]
    return "\n".join(lines)


def _name(argument: Any) -> str:
    return argument.metavar or argument.name.upper() + ("..." if argument.nargs == -1 else "")


def _shown(argument: Any) -> str:
    name = _name(argument)
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _flag(option: Any) -> str:
    return next((each for each in option.opts if each.startswith("--")), option.opts[0])


def _flags(option: Any) -> str:
    told = ", ".join([*option.opts, *option.secondary_opts])
    return f"{told} {_value(option)}".strip() + (" ..." if option.multiple else "")


def _value(option: Any) -> str:
    """What goes behind a flag, in capitals."""
    if option.is_flag:
        return ""
    if option.metavar:
        return str(option.metavar)
    if choices := getattr(option.type, "choices", None):
        return "|".join(str(getattr(each, "value", each)) for each in choices)
    kind = option.type.name.partition(" ")[0]  # "int range" is an int as well
    return {"int": "N", "integer": "N", "float": "X", "path": "PATH"}.get(kind, "TEXT")


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or value == [] or (value is False and not parameter.secondary_opts):
        return ""
    if isinstance(value, bool):
        return code((parameter.opts if value else parameter.secondary_opts)[0])
    return code(str(value.value if isinstance(value, Enum) else value))


def _help(name: str, parameter: Any) -> str:
    if not parameter.help:
        raise Undocumented(f"{parameter.opts[0]!r} of discreet {name} has no help text: write one beside it")
    return str(parameter.help)
