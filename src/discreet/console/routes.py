"""The one table of routes and roles: who may come where. The application serves these and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from discreet.console.answer import Answer
from discreet.console.visit import Role, Visit

if TYPE_CHECKING:
    from discreet.console.desk import Desk

Handler = Callable[[Visit], Answer]

#: How the other faces of a page end.
TWINS = ("json", "csv")

#: The areas, each with its own ROUTES.
AREAS = (
    "home", "table", "ask", "answers", "budget", "log", "published", "synth", "tables", "survey", "lab", "learn",
    "login", "me", "admin", "api",
)  # fmt: skip

#: What respondents of surveys use, with no login and no cookie: public, answered by the collector's own application
#: (discreet.collect) under its own strict headers. A method and an address each; nothing of it is in the table below.
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
    are busy with. known: whether a text of its path's end is a name that an owner chose; such a name may look like a
    twin's, or hold a slash.
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
    known: Callable[[Desk, str], bool] | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Its address, after those of its twins: a name may end like one of them."""
        if self.method != "GET" or self.api or not self.twins or self.known is not None:
            return (self.path,)
        stem = "/index" if self.path == "/" else self.path
        return f"{stem}.json", f"{stem}.csv", self.path

    @property
    def spelt(self) -> str:
        """Its address as people read it."""
        return spelt(self.path)

    def looks(self, path: str, address: str) -> str:
        """Which of its faces (html, json, csv) an address looks like, before anything is known of names."""
        end = address.rpartition(".")[2]
        return end if end in TWINS and (path != self.path or (self.twins and self.known is not None)) else "html"

    def face(self, looks: str, params: Mapping[str, str], desk: Desk) -> tuple[str, dict[str, str]]:
        """Which face is wanted, and the parts of the address: a whole name comes before a twin of a shorter one."""
        if self.known is None or looks == "html":
            return looks, dict(params)
        name = list(params)[-1]
        if self.known(desk, params[name]):
            return "html", dict(params)
        return looks, {**params, name: params[name].removesuffix(f".{looks}")}


def spelt(path: str) -> str:
    """An address as people read it: where a name may hold slashes is the router's business.

    >>> spelt("/d/{table:path}")
    '/d/{table}'
    """
    return path.replace(":path}", "}")


def table() -> tuple[Route, ...]:
    """Every route there is."""
    return tuple(route for area in AREAS for route in import_module(f"discreet.console.pages.{area}").ROUTES)
