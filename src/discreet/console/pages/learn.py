"""/learn: six lessons that can be played, for everybody. Nothing here reads a table of the project."""

from __future__ import annotations

from discreet.console import learning
from discreet.console.answer import Answer, Grid, Missing, Page
from discreet.console.routes import Route
from discreet.console.visit import Visit


def index(_: Visit) -> Answer:
    """The lessons, in order."""
    found = [learning.lesson(name) for name in learning.NAMES]
    told = [{"name": each.name, "title": each.title, "lead": each.lead} for each in found]
    grid = Grid(columns=("name", "title", "lead"), rows=[list(each.values()) for each in told])
    return Page(template="learn.html", data={"lessons": told}, table=grid)


def show(visit: Visit) -> Answer:
    """One lesson. Its first figure's numbers are its CSV."""
    name = visit.params["lesson"]
    if name not in learning.NAMES:
        raise Missing
    lesson = learning.lesson(name)
    place = learning.NAMES.index(name)
    beside = {"number": place + 1, "of": len(learning.NAMES), "before": _named(place - 1), "after": _named(place + 1)}
    first = lesson.figures[0]
    return Page(
        template="learn_lesson.html",
        data={"lesson": lesson.to_data(), **beside},
        table=Grid(columns=first.columns, rows=first.rows),
    )


def _named(place: int) -> dict[str, str] | None:
    """The lesson before or after, where there is one."""
    if not 0 <= place < len(learning.NAMES):
        return None
    lesson = learning.lesson(learning.NAMES[place])
    return {"name": lesson.name, "title": lesson.title}


ROUTES = (
    Route(method="GET", path="/learn", handler=index, role="public"),
    Route(method="GET", path="/learn/{lesson}", handler=show, role="public"),
)
