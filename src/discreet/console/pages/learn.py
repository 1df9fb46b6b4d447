"""/learn: lessons that can be played, for everybody. Nothing here reads a table of the project."""

from __future__ import annotations

from discreet.console.pages import lessons
from discreet.console.pages.lessons.lesson import LessonQuestion
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, NotFound, Page, PageTable
from discreet.console.routes import Route

#: More of an answer than this is not read.
MOST_TYPED = 200


def index(_: RequestContext) -> HandlerResponse:
    """The lessons, in order."""
    all_lessons = [lessons.lesson(name) for name in lessons.NAMES]
    lesson_rows = [{"name": each.name, "title": each.title, "lead": each.lead} for each in all_lessons]
    grid = PageTable(columns=("name", "title", "lead"), rows=[list(each.values()) for each in lesson_rows])
    return Page(template="learn.html", data={"lessons": lesson_rows}, table=grid)


def show(context: RequestContext) -> HandlerResponse:
    """One lesson. Its first figure's numbers are its CSV."""
    name = context.params["lesson"]
    if name not in lessons.NAMES:
        raise NotFound
    lesson = lessons.lesson(name)
    place = lessons.NAMES.index(name)
    beside = {
        "number": place + 1,
        "of": len(lessons.NAMES),
        "before": _lesson_link(place - 1),
        "after": _lesson_link(place + 1),
        **_checked_answer(lesson.question, context.query_text("answer").strip()[:MOST_TYPED]),
    }
    first = lesson.figures[0]
    return Page(
        template="learn_lesson.html",
        data={"lesson": lesson.to_data(), **beside},
        table=PageTable(columns=first.columns, rows=first.rows),
    )


def teacher(context: RequestContext) -> HandlerResponse:
    """All lessons with their questions on one page to print, with the solutions unless they are not wanted."""
    solutions = context.query_text("solutions") != "no"
    all_lessons = [lessons.lesson(name).to_data() for name in lessons.NAMES]
    for each in () if solutions else all_lessons:
        each["question"] = {name: each["question"][name] for name in ("text", "choices")}
    columns = ("name", "title", "question", "answer", "solution") if solutions else ("name", "title", "question")
    rows = [
        [
            each["name"],
            each["title"],
            *(each["question"][name] for name in ("text", "answer", "solution") if name in each["question"]),
        ]
        for each in all_lessons
    ]
    data = {"lessons": all_lessons, "solutions": solutions}
    return Page(template="learn_teacher.html", data=data, table=PageTable(columns=columns, rows=rows))


def _checked_answer(question: LessonQuestion, given: str) -> dict[str, str]:
    """An answer as it was typed, and whether it is right; both empty where none was given."""
    verdict = "" if not given else "right" if question.is_right(given) else "wrong"
    return {"given": given, "verdict": verdict}


def _lesson_link(place: int) -> dict[str, str] | None:
    """The lesson before or after, where there is one."""
    if not 0 <= place < len(lessons.NAMES):
        return None
    lesson = lessons.lesson(lessons.NAMES[place])
    return {"name": lesson.name, "title": lesson.title}


ROUTES = (
    Route(method="GET", path="/learn", handler=index, role="public"),
    Route(method="GET", path="/learn/teacher", handler=teacher, role="public"),
    Route(method="GET", path="/learn/{lesson}", handler=show, role="public"),
)
