"""The one table of routes and roles: who may come where. The application serves these and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse
from discreet.console.visitor import Role

if TYPE_CHECKING:
    from discreet.console.project_handle import ProjectHandle

Handler = Callable[[RequestContext], HandlerResponse]

#: How the other faces of a page end.
DATA_FORMATS = ("json", "csv")

#: The areas, each with its own ROUTES.
AREAS = (
    "pages.home", "pages.data_catalog", "pages.table_declaration", "pages.query_history", "pages.ask",
    "pages.answer_list", "pages.answers", "pages.answer_notes", "pages.answer_comparison", "pages.budget", "pages.log",
    "pages.publication", "pages.synth", "pages.table_workloads", "pages.surveys", "pages.lab", "pages.learn",
    "pages.help_pages", "pages.login", "pages.me", "pages.admin", "pages.owner_tables", "pages.describe_table",
    "pages.table_form", "pages.analysts", "pages.jobs", "api.handlers",
)  # fmt: skip

#: What respondents of surveys use, with no login and no cookie: public, answered by the collector's own application
#: (discreet.surveys.collector) under its own strict headers. A method and an address each; nothing of it is in the
#: table below.
RESPONDENTS = (
    ("POST", "/collect/{survey}"),
    ("GET", "/surveys/{survey}.json"),
    ("GET", "/surveys/{survey}/results.json"),
    ("GET", "/s/{survey}"),
    ("GET", "/s/{survey}/results"),
    ("GET", "/static/{file}"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One address with one method.

    role: the least role that may come. gridded: its answers depend on data, and leave on the time grid. twins: a page
    that also has a .json and a .csv. api: for programs: JSON, by token alone; `body` and `returns` are its models.
    lines: said of it in the API's document. instant: answered at once, to nobody in particular, whatever the threads
    are busy with. upload: its body is a file, which is stored while it comes; its form's token is in a header.
    most_fields: how many fields its form may have. known: whether a text of its path's end is a name that an owner
    chose; such a name may look like a twin's, or hold a slash.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    handler: Handler
    role: Role
    gridded: bool = False
    twins: bool = True
    api: bool = False
    body: Any = None
    returns: Any = None
    lines: str = ""
    instant: bool = False
    upload: bool = False
    most_fields: int = 1_000
    is_declared_name: Callable[[ProjectHandle, str], bool] | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Its address, after those of its twins: a name may end like one of them."""
        if self.method != "GET" or self.api or not self.twins or self.is_declared_name is not None:
            return (self.path,)
        stem = "/index" if self.path == "/" else self.path
        return f"{stem}.json", f"{stem}.csv", self.path

    @property
    def display_path(self) -> str:
        """Its address as people read it."""
        return display_path(self.path)

    def guess_format(self, path: str, address: str) -> str:
        """Which of its faces (html, json, csv) an address looks like, before anything is known of names."""
        end = address.rpartition(".")[2]
        return (
            end
            if end in DATA_FORMATS and (path != self.path or (self.twins and self.is_declared_name is not None))
            else "html"
        )

    def resolve_format(
        self, guessed_format: str, params: Mapping[str, str], handle: ProjectHandle
    ) -> tuple[str, dict[str, str]]:
        """Which face is wanted, and the parts of the address: a whole name comes before a twin of a shorter one."""
        if self.is_declared_name is None or guessed_format == "html":
            return guessed_format, dict(params)
        name = list(params)[-1]
        if self.is_declared_name(handle, params[name]):
            return "html", dict(params)
        return guessed_format, {**params, name: params[name].removesuffix(f".{guessed_format}")}


def display_path(path: str) -> str:
    """An address as people read it: where a name may hold slashes is the router's business.

    >>> display_path("/d/{table:path}")
    '/d/{table}'
    """
    return path.replace(":path}", "}")


@cache
def route_table() -> tuple[Route, ...]:
    """Every route there is."""
    return tuple(route for area in AREAS for route in import_module(f"discreet.console.{area}").ROUTES)
