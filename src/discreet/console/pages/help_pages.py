"""/help: the manual, for everybody. It says nothing of the project."""

from __future__ import annotations

from discreet.console import manual_pages
from discreet.console.request_context import RequestContext
from discreet.console.responses import Download, HandlerResponse, NotFound, Page, PageTable
from discreet.console.routes import Route

#: Of the contents: each folder and its title, in their order; the first is the pages beside them.
FOLDERS = {
    "": "Start",
    "concepts": "Concepts",
    "how-to": "How-to",
    "guides": "Guides",
    "tables": "Tables",
    "lab": "Lab",
    "engines": "Engines",
    "reference": "Reference",
    "proofs": "Proofs",
    "decisions": "Decisions",
}
MOST_SOUGHT = 100


def index(context: RequestContext) -> HandlerResponse:
    """The contents, or the pages that have all words of a search."""
    words = context.query_text("words").strip()[:MOST_SOUGHT]
    pages = [page for page in manual_pages.page_paths() if _has_words(page, words)]
    listed = [{"page": page, "title": manual_pages.title_of(page), "folder": _folder(page)} for page in pages]
    parts = [
        {"title": title, "pages": [each for each in listed if each["folder"] == folder]}
        for folder, title in FOLDERS.items()
    ]
    return Page(
        template="help.html",
        data={"words": words, "parts": [part for part in parts if part["pages"]]},
        table=PageTable(columns=("page", "title"), rows=[[each["page"], each["title"]] for each in listed]),
    )


def show(context: RequestContext) -> HandlerResponse:
    """One page of the manual."""
    page = context.params["page"]
    if page not in manual_pages.page_paths():
        raise NotFound
    data = {
        "page": page,
        "title": manual_pages.title_of(page),
        "folder": FOLDERS[_folder(page)],
        "markdown": manual_pages.markdown_of(page),
    }
    return Page(template="help_page.html", data=data)


def picture(context: RequestContext) -> HandlerResponse:
    """A picture of the manual."""
    name = context.params["file"]
    path = manual_pages.picture_paths().get(name)
    if path is None:
        raise NotFound
    return Download(content=path.read_bytes(), media_type=manual_pages.PICTURES[path.suffix.lower()])


def _folder(page: str) -> str:
    folder = page.rpartition("/")[0]
    return folder if folder in FOLDERS else ""


def _has_words(page: str, words: str) -> bool:
    text = manual_pages.markdown_of(page).lower() if words else ""
    return all(word in text for word in words.lower().split())


ROUTES = (
    Route(method="GET", path="/help", handler=index, role="public"),
    Route(method="GET", path="/help/files/{file:path}", handler=picture, role="public", twins=False),
    Route(method="GET", path="/help/{page:path}", handler=show, role="public"),
)
