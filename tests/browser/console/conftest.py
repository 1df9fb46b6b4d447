"""One server and one Chromium for a file of tests. Whoever comes is watched: every fault of a page fails its test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Locator, Page, Request

from browser.conftest import PATIENCE_MS
from browser.console.place import Place, placed
from browser.console.png_palette import with_palette

#: `with coming("owner") as page`; at="/ask" goes there, statuses={422} expects refusals.
Coming = Callable[..., AbstractContextManager[Page]]
Picture = Callable[..., None]

WIDE = {"width": 1200, "height": 780}
#: Bytes of a picture.
LARGEST = 120_000
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module", autouse=True)
def _state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The ledger's anchors live as long as the server does: a file of tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A console over a small clinic. A file with other wishes has a fixture of its own."""
    with placed(tmp_path_factory.mktemp("place") / "clinic") as found:
        yield found


class Faults:
    """What a browser has to complain of."""

    def __init__(self, origin: str, statuses: set[int]) -> None:
        self.origin = f"{origin}/"
        self.statuses = {f"status of {status} " for status in statuses}
        self.found: list[str] = []

    def watch(self, context: BrowserContext, *, dialogs: bool) -> None:
        context.on("request", self._request)
        context.on("console", self._said)
        context.on("weberror", lambda error: self.found.append(f"error: {error.error}"))
        if not dialogs:
            context.on("dialog", self._dialog)

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.origin, "data:", "blob:", "about:")):
            self.found.append(f"a request to elsewhere: {request.url}")

    def _said(self, message: ConsoleMessage) -> None:
        expected = any(status in message.text for status in self.statuses)
        if message.type in ("error", "warning", "assert") and not expected:
            self.found.append(f"{message.type} on {message.page and message.page.url}: {message.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.found.append(f"a dialog: {dialog.message}")
        dialog.dismiss()


def slow_down(context: BrowserContext, page: Page) -> None:
    """To find tests and scripts that are right only where everything is quick: DISCREET_LATENCY_MS is added to every
    request of the page, and its processor is DISCREET_CPU_SLOWDOWN times slower."""
    if wait_ms := int(os.environ.get("DISCREET_LATENCY_MS", "0")):
        conditions = {"offline": False, "latency": wait_ms, "downloadThroughput": -1, "uploadThroughput": -1}
        context.new_cdp_session(page).send("Network.emulateNetworkConditions", conditions)
    if factor := int(os.environ.get("DISCREET_CPU_SLOWDOWN", "0")):
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": factor})


@contextmanager
def visiting(
    browser: Browser,
    place: Place,
    role: str,
    *,
    statuses: set[int] = frozenset(),
    dialogs: bool = False,
    **options: Any,
) -> Iterator[tuple[Page, list[str]]]:
    """Somebody with a role, in a fresh browser of their own, and what it complains of."""
    options = {"viewport": WIDE, "reduced_motion": "reduce", "base_url": place.url, **options}
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    if role != "public":
        name, secret = place.house.settings.cookie, place.cookie(role)
        context.add_cookies([{"name": name, "value": secret, "url": place.url, "httpOnly": True}])
    faults = Faults(place.url, statuses)
    faults.watch(context, dialogs=dialogs)
    page = context.new_page()
    slow_down(context, page)
    yield page, faults.found
    context.close()


@pytest.fixture
def coming(browser: Browser, place: Place) -> Coming:
    """The same, where every fault fails the test."""

    @contextmanager
    def come(role: str = "public", *, at: str = "", **more: Any) -> Iterator[Page]:
        with visiting(browser, place, role, **more) as (page, found):
            if at:
                page.goto(at)
            yield page
        assert not found, found

    return come


@pytest.fixture
def picture() -> Picture:
    """Keep a picture for the documents, where DISCREET_PICTURES names a folder; else nothing."""
    folder = os.environ.get("DISCREET_PICTURES")

    def keep(shown: Page | Locator, name: str) -> None:
        if folder:
            path = Path(folder) / f"{name}.png"
            path.write_bytes(with_palette(shown.screenshot()))
            assert path.stat().st_size < LARGEST, f"{name}.png is too large for the documents"

    return keep
