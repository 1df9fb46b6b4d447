"""Asking for confirmation before something that cannot be undone."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from discreet.errors import Command, Flag, Message, UsageError

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]

_UNCONFIRMED = "Nothing was changed, because this was not confirmed"


def confirm(act: str, *, yes: bool, command: Command | None = None, needs_terminal: bool = False) -> None:
    """Ask whether to continue, if a person sits at a terminal. Refuse if they say no.

    `act`: what will happen. Without a terminal there is nobody to ask: the act is refused if `needs_terminal`, or if
    there is a `command` to type instead; otherwise it is done, as scripts expect.
    """
    if yes:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        if not typer.confirm(f"{act[:1].upper()}{act[1:]}.\nContinue?", err=True):
            raise UsageError("nothing was changed")
    elif command is not None:
        raise UsageError(f"{act}. {_UNCONFIRMED}", hint=Message(command))
    elif needs_terminal:
        raise UsageError(f"{act}. {_UNCONFIRMED}", hint=Message("add ", Flag("yes"), " to confirm"))
