"""As much of the command line as was called: one verb, or the list of all. Typer reads every flag of what it is given,
which for all verbs takes longer than most of them run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy

import typer
from typer.models import CommandInfo, TyperInfo


def app_for(app: typer.Typer, words: Sequence[str]) -> typer.Typer:
    """The application with the called verb alone; where none is named, with the line of each verb in the list.

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
    pass
