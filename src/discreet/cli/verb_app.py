"""What the command line adds to Typer: groups with a default verb, old spellings of flags that still work, and only as
much of the application as was called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.models import CommandInfo, TyperInfo

from discreet.cli import standard_streams

#: What `--output` was called, by verb, before there was one spelling. It still works, and help does not list it.
OLD_OUTPUTS = {
    "anonymize": "--out",
    "check": "--out",
    "publish": "--to",
    "release write": "--to",
    "ledger backup": "--to",
    "synth inspect": "--html",
    "audit measure": "--plot",
    "attack all": "--report",
}
#: Of every attack by its name.
OLD_PICTURE = "--plot"


class VerbCommand(TyperCommand):
    """A verb that also takes the old spellings of its flags."""

    def get_help(self, ctx: Any) -> str:
        """The help text, in letters that the terminal has."""
        return standard_streams.spell_for_stdout(super().get_help(ctx))

    def make_parser(self, ctx: Any) -> Any:
        """The parser of the flags, old spellings included."""
        parser = super().make_parser(ctx)
        path = ctx.command_path.partition(" ")[2]
        old = OLD_OUTPUTS.get(path, OLD_PICTURE if path.startswith("attack ") else None)
        for option in self.params:
            if old is not None and "--output" in option.opts:
                parser.add_option(obj=cast(TyperOption, option), opts=[old], dest=option.name)
        return parser

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The usage line, without arguments that help does not list."""
        pieces = [self.options_metavar] if self.options_metavar else []
        shown = [option for option in self.get_params(ctx) if not getattr(option, "hidden", False)]
        return pieces + [piece for option in shown for piece in option.get_usage_pieces(ctx)]


class VerbGroup(TyperGroup):
    """A group of verbs."""

    def get_help(self, ctx: Any) -> str:
        """The help text, in letters that the terminal has."""
        return standard_streams.spell_for_stdout(super().get_help(ctx))


class VerbApp(typer.Typer):
    """A Typer application whose verbs are `VerbCommand`s."""

    def __init__(
        self,
        *,
        help: str,
        cls: type[VerbGroup] = VerbGroup,
        no_args_is_help: bool = False,
        subcommand_metavar: str | None = None,
        context_settings: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            cls=cls,
            help=help,
            no_args_is_help=no_args_is_help,
            subcommand_metavar=subcommand_metavar,
            context_settings=context_settings,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
        )

    def command(  # type: ignore[override]  # fewer settings than Typer's
        self, name: str | None = None, *, short_help: str | None = None, hidden: bool = False
    ) -> Callable[..., Any]:
        """Register a verb."""
        return super().command(name, cls=VerbCommand, short_help=short_help, hidden=hidden)


class DefaultVerbGroup(VerbGroup):
    """A group whose first verb is meant where none is named: `budget patients` is `budget show patients`.

    The first word that is no flag decides, by its spelling alone, so that no declaration changes what a command does.
    A table with the name of a verb is named after the verb (`budget show grant`) or after `--` (`budget -- grant`).
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the verb first: the one that was named, else the default."""
        if args or not (self.no_args_is_help or ctx.resilient_parsing):
            place = self._place_of_verb(args)
            if place is not None:
                args = [args[place], *args[:place], *args[place + 1 :]]
            elif args[:1] in (["-h"], ["--help"]):
                args = args[:1]
            else:
                args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)

    def _place_of_verb(self, args: list[str]) -> int | None:
        """Where the first word that is no flag stands, if it is a verb of this group."""
        place = 0
        while place < len(args) and args[place].startswith("-"):
            if args[place] == "--":
                return None
            place += 2 if args[place] in self._flags_with_value() else 1
        return place if place < len(args) and args[place] in self.commands else None

    def _flags_with_value(self) -> set[str]:
        options = [option for verb in self.commands.values() for option in verb.params]
        flags = {flag for option in options if not getattr(option, "is_flag", True) for flag in option.opts}
        return flags | set(OLD_OUTPUTS.values())


def app_for(app: typer.Typer, words: Sequence[str]) -> typer.Typer:
    """The application with the called verb alone; where none is named, with the line of each verb in the list.

    Typer reads every flag of what it is given, which for all verbs takes longer than most of them run.

    `--` may stand before the verb. Any other flag there is either --help, which lists, or wrong.
    """
    if "_DISCREET_COMPLETE" in os.environ:  # a shell completes words that are not here
        return app
    names = [word for word in words if word != "--"][:1]
    part = copy(app)
    part.registered_callback = app.registered_callback or TyperInfo(callback=_no_callback)  # one verb is still a verb
    part.registered_commands = [each for each in app.registered_commands if _name(each) in names]
    part.registered_groups = [each for each in app.registered_groups if each.name in names]
    if not part.registered_commands and not part.registered_groups:
        part.registered_commands = [_listed_command(each) for each in app.registered_commands]
        part.registered_groups = [_listed_group(each) for each in app.registered_groups]
    return part


def _name(command: CommandInfo) -> str:
    assert command.callback is not None
    return command.name or command.callback.__name__


def _listed_command(command: CommandInfo) -> CommandInfo:
    """A verb as its line: no flags."""
    assert command.callback is not None
    line = copy(command)
    line.name, line.help, line.callback = _name(command), command.help or command.callback.__doc__, _no_callback
    return line


def _listed_group(group: TyperInfo) -> TyperInfo:
    """A group as its line: no verbs."""
    line = copy(group)
    line.typer_instance = copy(group.typer_instance)
    assert line.typer_instance is not None
    line.typer_instance.registered_commands, line.typer_instance.registered_groups = [], []
    line.typer_instance.registered_callback = TyperInfo(callback=_no_callback)
    return line


def _no_callback() -> None:
    """Stands for a verb that is only listed, and never called."""
