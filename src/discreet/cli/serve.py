"""`discreet serve`: the console and its HTTP API, for people in a browser and for programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import terminal
from discreet.cli.extras import require_extra
from discreet.cli.flags import HERE, Folder, Json


def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 means all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 picks a free one.")] = 8000,
    cert: Annotated[Path | None, typer.Option("--cert", help="TLS certificate (PEM, with its chain).")] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Private key of the certificate.")] = None,
    behind_proxy: Annotated[bool, typer.Option("--behind-proxy", help="A reverse proxy terminates TLS.")] = False,
    origin: Annotated[str | None, typer.Option("--origin", help="Address that browsers use: https://name.")] = None,
    grid_ms: Annotated[
        int | None, typer.Option("--grid-ms", help="Send answers only at multiples of this time.", min=1)
    ] = None,
    deadline: Annotated[float | None, typer.Option("--deadline", help="Seconds that a query may take.")] = None,
    at_once: Annotated[
        int | None, typer.Option("--at-once", help="Number of queries that run at the same time.", min=1)
    ] = None,
    largest_upload: Annotated[
        int | None, typer.Option("--largest-upload", help="Largest file that an owner may upload, in MB.", min=1)
    ] = None,
    sources: Annotated[
        list[Path] | None, typer.Option("--sources", help="Another folder with files for tables. Repeatable.")
    ] = None,
    log: Annotated[Path | None, typer.Option("--log", help="File for one line per request. Default: stderr.")] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Serve the console: tables, queries, answers, budgets, synthetic data and surveys, for owners and analysts."""
    require_extra("console", verb="serve")
    from discreet.console.app_state import ConsoleLock, open_state
    from discreet.console.listener import open_listener, origin_of, run_server, settings_of
    from discreet.project.folder import nearest_project_folder

    folder = nearest_project_folder(project)
    door = open_listener(host, port, certificate=cert, key=key, behind_proxy=behind_proxy)
    settings = settings_of(
        origin_of(origin, door, behind_proxy=behind_proxy),
        behind_proxy=behind_proxy,
        grid_ms=grid_ms,
        deadline_s=deadline,
        at_once=at_once,
        largest_upload=None if largest_upload is None else largest_upload * 1_000_000,
        source_folders=None if not sources else tuple(folder.resolve() for folder in sources),
    )
    address = settings.origin
    lock = ConsoleLock(folder, address=address)
    house, setup = open_state(folder, settings, log=log)
    data = {"address": address, "setup": None if setup is None else f"{address}/setup/{setup}"}
    text = f"serving {address}; press Ctrl-C to stop"
    if setup is not None:
        text += f"\nfirst, create the owner account: {address}/setup/{setup}"

    def ready() -> None:
        terminal.print_result(data, text, as_json=as_json)
        sys.stdout.flush()

    try:
        run_server(house, door, ready=ready)
    finally:
        lock.close()
