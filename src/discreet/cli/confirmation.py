"""Asking before something that cannot be undone."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from discreet.errors import Command, Flag, Message, UsageError

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before something that cannot be undone.")]


def confirm(act: str, *, yes: bool, command: Command | None = None, needs_terminal: bool = False) -> None:
    """Ask whether to go on, where a person sits at a terminal. Refuse if they say no.

    `act`: what will happen. Without a terminal there is nobody to ask: what `needs_terminal` is refused, and so is what
    has a `command` to type instead; all else goes on, as in scripts.
    """
    if yes:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        if not typer.confirm(f"{act[:1].upper()}{act[1:]}.\nGo on?", err=True):
            raise UsageError("nothing was changed")
    elif command is not None:
        raise UsageError(f"{act}. Nothing was changed, because this was not confirmed", hint=Message(command))
    elif needs_terminal:
        raise UsageError(
            f"{act}. Nothing was changed, because this was not confirmed",
            hint=Message("add ", Flag("yes"), " if you mean it"),
        )
