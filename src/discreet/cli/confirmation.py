"""Asking before something that cannot be undone."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from discreet.errors import Flag, Message, UsageError

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before something that cannot be undone.")]


def confirm(act: str, *, yes: bool, needs_terminal: bool = False) -> None:
    """Ask whether to go on, where a person sits at a terminal. Refuse if they say no.

    Without a terminal there is nobody to ask: what `needs_terminal` is refused, all else goes on, as in scripts.
    """
    if yes:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        if not typer.confirm(f"{act}.\nGo on?", err=True):
            raise UsageError("nothing was changed")
    elif needs_terminal:
        raise UsageError(act, hint=Message("add ", Flag("yes"), " if you mean it"))
