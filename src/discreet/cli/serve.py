"""`discreet serve`: the console and its HTTP API, for people in a browser and for programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import terminal
from discreet.cli.flags import HERE, Folder, Json


def serve(
    host: Annotated[str, typer.Option("--host", help="The address to serve at; 0.0.0.0 is everywhere.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port; 0 is any that is free.")] = 8000,
    cert: Annotated[Path | None, typer.Option("--cert", help="A certificate, for TLS (PEM, with its chain).")] = None,
    key: Annotated[Path | None, typer.Option("--key", help="The certificate's key.")] = None,
    behind_proxy: Annotated[bool, typer.Option("--behind-proxy", help="A proxy in front ends TLS.")] = False,
    origin: Annotated[str | None, typer.Option("--origin", help="Where browsers find it: https://name.")] = None,
    grid_ms: Annotated[int | None, typer.Option("--grid-ms", help="Answers leave on this grid of time.", min=1)] = None,
    deadline: Annotated[float | None, typer.Option("--deadline", help="Seconds that a question may take.")] = None,
    at_once: Annotated[int | None, typer.Option("--at-once", help="Questions that run together.", min=1)] = None,
    log: Annotated[Path | None, typer.Option("--log", help="Where a line for each visit goes; else to stderr.")] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Serve the console: tables, questions, answers, budgets, synthetic data, surveys, for owners, analysts and all."""
    from discreet.console.app_state import open_state
    from discreet.console.listener import open_listener, origin_of, run_server, settings_of
    from discreet.console.lock import ConsoleLock
    from discreet.project.folder import nearest_project_folder

    folder = nearest_project_folder(project)
    door = open_listener(host, port, certificate=cert, key=key, behind_proxy=behind_proxy)
    settings = settings_of(
        origin_of(origin, door, behind_proxy=behind_proxy),
        behind_proxy=behind_proxy,
        grid_ms=grid_ms,
        deadline_s=deadline,
        at_once=at_once,
    )
    address = settings.origin
    lock = ConsoleLock(folder, address=address)
    house, setup = open_state(folder, settings, log=log)
    data = {"address": address, "setup": None if setup is None else f"{address}/setup/{setup}"}
    text = f"serving {address} until Ctrl-C"
    if setup is not None:
        text += f"\nfirst, make yourself the owner: {address}/setup/{setup}"

    def ready() -> None:
        terminal.print_result(data, text, as_json=as_json)
        sys.stdout.flush()

    try:
        run_server(house, door, ready=ready)
    finally:
        lock.close()
