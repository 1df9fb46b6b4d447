"""Debian's Chromium, driven by Playwright. Every page here may speak to its own origin only."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

#: Patient, for machines that are busy with the rest of the suite.
PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)

Opened = Callable[..., Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("the browser tests need Chromium (Debian: apt-get install chromium)")
    with sync_playwright() as play:
        opened = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-background-networking"]
        )
        yield opened
        opened.close()


@pytest.fixture
def opened(browser: Browser) -> Opened:
    """`with opened(address) as page`: a fresh browser profile, whose every fault fails the test."""

    @contextmanager
    def open_page(address: str, **options: Any) -> Iterator[Page]:
        context = browser.new_context(reduced_motion="reduce", **options)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        abroad: list[str] = []
        problems: list[str] = []
        origin = "/".join(address.split("/")[:3]) + "/"
        context.on(
            "request", lambda request: abroad.append(request.url) if not request.url.startswith(origin) else None
        )
        page.on("pageerror", lambda error: problems.append(str(error)))
        # Anything the content policy stops is reported on the console.
        page.on(
            "console", lambda message: problems.append(message.text) if "Content Security" in message.text else None
        )
        page.goto(address)
        yield page
        assert context.cookies() == []
        context.close()
        assert not abroad, abroad
        assert not problems, problems

    return open_page
