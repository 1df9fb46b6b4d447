"""A console in which something of everything has happened, and an address for each of its pages."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from browser.console.place import NAMES, Hand, Place
from discreet.console.jobs.job_queue import CHARGING, JobQueue, Progress
from discreet.console.jobs.survey_host import survey_host_of
from discreet.console.pages import lessons
from discreet.console.routes import Route, route_table
from discreet.console.visitor import Visitor
from discreet.surveys.collector.survey_store import IncomingReport, ReportBatch

COUNTS = "SELECT disease, count(*) AS n FROM patients GROUP BY disease"
CROSSED = "SELECT disease, ward, count(*) AS n FROM patients GROUP BY disease, ward"
AGES = "SELECT age, count(*) AS n FROM patients GROUP BY age"
#: Many rows, most of them below the noise: a table that scrolls in its box, beside a chart.
LONG = "SELECT day, count(*) AS n FROM visits GROUP BY day"
#: Among its groups is NULL, which is empty: its average is nearly all noise.
EMPTY = "SELECT disease, avg(age) AS mean FROM patients GROUP BY disease"
COST = "SELECT avg(cost) AS mean FROM visits"
TWO = "SELECT sex, count(*) AS n FROM patients GROUP BY sex; SELECT sum(age) AS total FROM patients"
#: A file that no table is made from yet; its names are hard to show.
SPARE = 'customer id,amount in \u20ac,<b>is it "new"?</b>,day\n' + "".join(
    f"c{n % 20},{n % 90},{'yes' if n % 3 else 'no'},2026-01-{1 + n % 28:02}\n" for n in range(60)
)
TOWNS = ("Bern", "<b>Genf</b>", "Saint-Sulpice-le-Verdon", "Chur")
GUESTS = """
[tables.guests]
source = "guests.csv"
budget = { epsilon = 100, delta = 1e-6 }
[tables.guests.columns.nights]
type = "integer"
[tables.guests.columns.town]
type = "text"
[tables.guests.columns.came]
type = "boolean"
true = ["yes"]
false = ["no"]
"""
#: Two networks: of `links` each row is protected, and the nodes are public; of `friends` each person with all links.
NETWORKS = """
[tables.links]
source = "links.csv"
budget = { epsilon = 100, delta = 1e-6 }
[tables.links.columns.from]
type = "text"
[tables.links.columns.to]
type = "text"
[tables.members]
source = "members.csv"
public = true
[tables.members.columns.id]
type = "text"
[tables.members.columns.colour]
type = "text"
[tables.friends]
source = "friends.csv"
ends = ["from", "to"]
rows_per_person = 8
budget = { epsilon = 100, delta = 1e-6 }
"""
PLAN = 'table = "patients"\nattributes = ["sex", "disease"]\n\n[hierarchy]\ncolumns = ["ward"]\nroot = "all"\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What was made, by the names that addresses have."""

    answer: str
    crossed: str
    empty: str
    long: str
    both: str
    draft: str
    again: str
    ranges: str
    marginals: str
    days: str
    links: str
    friends: str
    tables: str
    model: str
    works: Mapping[str, tuple[str, ...]]
    described: str
    survey: str
    invited: str


def furnish(place: Place) -> Made:
    """Ask, publish, fit, request: through the forms of the pages themselves."""
    (place.house.handle.folder / "spare.csv").write_text(SPARE)
    declare_guests(place.house.handle.folder)
    declare_networks(place.house.handle.folder)
    with place.hand("owner") as owner, place.hand("analyst") as analyst:
        owner.done("/admin/tables/refresh", table="patients")  # for its report
        owner.done("/admin/tables/refresh", table="friends")
        answer, crossed = analyst.ask(COUNTS), owner.ask(CROSSED, epsilon="2")
        owner.ask(AGES, epsilon="0.02")
        empty = analyst.ask(EMPTY, epsilon="2")
        long = owner.ask(LONG, epsilon="0.05")
        analyst.ask(COST)
        both = owner.send("/ask", sql=TWO, by="epsilon", epsilon="1", confidence="0.95", act="ask", key="a" * 24)
        again = analyst.send(f"/a/{answer}/again", epsilon="0.5", key="b" * 24)
        _publish(owner, answer)
        analyst.send("/me/tokens", label="a notebook", days="30", role="analyst")
        made = Made(
            answer=answer,
            crossed=crossed,
            empty=empty,
            long=long,
            both=both.removeprefix("/ask/answer/"),
            draft=owner.send("/ask", sql=COST, by="epsilon", epsilon="1", confidence="0.95", act="rehearse"),
            again=again.removeprefix("/a/"),
            ranges=_release(analyst.done("/tables/new/ranges", table="patients", column="age", epsilon="1")),
            marginals=_release(
                analyst.done("/tables/new/marginals", table="patients", columns=["sex", "disease"], epsilon="1")
            ),
            days=_release(analyst.done("/tables/new/marginals", table="visits", columns=["day"], epsilon="1")),
            links=_release(
                analyst.done("/tables/new/network", table="links", nodes="members", by="colour", epsilon="2")
            ),
            friends=_release(analyst.done("/tables/new/network", table="friends", only="edges,degrees", epsilon="1")),
            tables=_release(owner.done("/tables/new/publish", plan=PLAN, epsilon="2", act="pay")),
            model=_release(
                analyst.done("/synth/new", table="patients", model="privbayes", epsilon="1", columns=["sex", "disease"])
            ),
            described=_release(owner.done("/admin/tables/describe", table="guests", epsilon="6")),
            survey=survey(place, reports=60),
            invited=_release(
                owner.send(
                    "/survey/new",
                    question="How tall are you?",
                    kind="number",
                    low="120",
                    high="220",
                    step="1",
                    epsilon="2",
                    tokens="on",
                )
            ),
            works={},
        )
        owner.send("/lab/differencing")
        analyst.send("/budget/requests", table="patients", epsilon="1", why="For the yearly report.")
        owner.send("/budget/requests/1/decline", word="Next year.")
        analyst.send("/budget/requests", table="visits", epsilon="2", why="For the quarterly report.")
        assert analyst.client.get("/admin").status_code == 403  # a denial, for the owner to see
    return replace(made, works=works(place))  # last: they keep the threads of jobs


def declare_guests(folder: Path) -> None:
    """A table of which bounds and words are found: some counts above the noise, some below."""
    lines = [f"{(n * n) % 97},{TOWNS[n % 7 % len(TOWNS)]},{'yes' if n % 9 else 'no'}" for n in range(900)]
    (folder / "guests.csv").write_text("\n".join(["nights,town,came", *lines]) + "\n")
    with (folder / "discreet.toml").open("a") as file:
        file.write(GUESTS)


def declare_networks(folder: Path) -> None:
    """Rings with chords: of one table the links are protected, and of the other the persons."""
    for name, steps in (("links", (1, 2, 5)), ("friends", (1, 3, 7))):
        ring = sorted({tuple(sorted((place, (place + step) % 30))) for place in range(30) for step in steps})
        lines = ["from,to", *(f"p{one},p{other}" for one, other in ring)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    colours = [f"p{place},{'red' if place % 2 else 'blue'}" for place in range(31)]
    (folder / "members.csv").write_text("\n".join(["id,colour", *colours]) + "\n")
    with (folder / "discreet.toml").open("a") as file:
        file.write(NETWORKS)


def works(place: Place) -> Mapping[str, tuple[str, ...]]:
    """By area: addresses of a job that is running until the server ends, and of one that has ended."""
    handle, settings, clock = place.house.handle, place.house.settings, place.house.people.clock
    queue, analyst = handle.singleton(JobQueue, lambda: JobQueue(settings, wall=clock)), NAMES["analyst"]
    visitor = Visitor(role="analyst", name=analyst)

    def run(tell: Progress) -> str:
        while True:
            tell("measuring", 0.4)
            time.sleep(0.5)

    areas = {"tables": "marginals of patients", "admin/tables": "erasing a person from visits", "synth": "a model"}
    ended = {area: queue.start(visitor, lambda _: "/", area=area, words=areas[area], key=area) for area in areas}
    assert all(job.wait(60) for job in ended.values())
    running = {
        area: queue.start(
            visitor,
            run,
            area=area,
            words=areas[area],
            key=f"{area} runs",
            stop_terms=CHARGING if area == "tables" else None,
        )
        for area in ("tables", "admin/tables")
    }
    jobs = {area: (running[area], ended[area]) if area in running else (ended[area],) for area in areas}
    return {area: tuple(f"/{area}/underway/{job.id}" for job in listed) for area, listed in jobs.items()}


def survey(place: Place, *, reports: int) -> str:
    """A survey to which so many people have answered, two of three of them with yes."""
    with place.hand("owner") as owner:
        to = owner.send(
            "/survey/new", question="Did you dance?", kind="choices", choices="yes\nno", epsilon="2", minimum="20"
        )
    id_, store = _release(to), survey_host_of(place.house.handle).store
    randomizer = store.survey(id_).randomizer
    drawn = [randomizer.randomize("no" if n % 3 == 0 else "yes") for n in range(reports)]
    store.add([ReportBatch(id_, tuple(IncomingReport(secrets.token_bytes(16), report, None) for report in drawn))])
    return id_


def _publish(owner: Hand, release: str) -> None:
    owner.send(
        f"/r/{release}/publish",
        name="Diseases of the clinic",
        description="How many patients have each disease.",
        curators="The clinic",
        region="Nowhere",
    )


def _release(to: str) -> str:
    return to.partition("#")[0].rpartition("/")[2]


def addresses(made: Made) -> Mapping[str, tuple[str, ...]]:
    """For every page that is got, addresses with sensible parts; by its path in the table of routes."""
    a, r, t, s = f"/a/{made.answer}", f"/r/{made.answer}", f"/tables/{made.ranges}", f"/synth/{made.model}"
    addresses_by_path: dict[str, tuple[str, ...]] = {
        "/": ("/",),
        "/jump": ("/jump?to=pat",),
        "/d/{table:path}": ("/d/patients", "/d/wards"),
        "/ask": ("/ask", f"/ask?release={made.answer}&within=2"),
        "/ask/draft/{draft}": (made.draft,),
        "/ask/history": ("/ask/history",),
        "/ask/answer/{key}": (f"/ask/answer/{made.both}",),
        "/d": ("/d",),
        "/a": ("/a?table=patients", "/a?q=count&sort=name"),
        "/a/{release}": (
            f"{a}?confidence=0.5",
            f"/a/{made.empty}",
            f"/a/{made.crossed}",
            f"/a/{made.long}",
            f"/a/{made.again}",
            f"/a/{made.ranges}",
        ),
        "/a/{release}/beside": (f"{a}/beside?other={made.again}", f"/a/{made.crossed}/beside?other={made.answer}"),
        "/budget": ("/budget",),
        "/log": ("/log?kind=charge",),
        "/r": ("/r",),
        "/r/{release}": (r,),
        "/r/{release}/publish": (f"/r/{made.crossed}/publish",),
        "/tables": ("/tables",),
        "/tables/new/histogram": ("/tables/new/histogram?table=patients&columns=disease&epsilon=1",),
        "/tables/new/ranges": ("/tables/new/ranges?table=patients&column=age&epsilon=1",),
        "/tables/new/marginals": ("/tables/new/marginals?table=patients&columns=sex&columns=disease&epsilon=1",),
        "/tables/new/publish": ("/tables/new/publish",),
        "/tables/new/network": (
            "/tables/new/network?table=links&nodes=members&by=colour&epsilon=2",
            "/tables/new/network",
            "/tables/new/network?table=friends&epsilon=1",
        ),
        "/tables/reconcile": ("/tables/reconcile?table=patients",),
        "/jobs": ("/jobs",),
        "/tables/underway/{work}": made.works["tables"],
        "/tables/{release}": (
            f"{t}?between=20..40&quantiles=0.5",
            f"/tables/{made.described}",
            f"/tables/{made.links}",
            f"/tables/{made.marginals}",
            f"/tables/{made.days}?t=1",
            f"/tables/{made.friends}",
            f"/tables/{made.tables}",
        ),
        "/synth": ("/synth",),
        "/synth/new": ("/synth/new?table=patients&model=mst&epsilon=1",),
        "/synth/underway/{work}": made.works["synth"],
        "/synth/{release}": (s,),
        "/synth/{release}/beside": (f"{s}/beside?other={made.model}",),
        "/survey": ("/survey",),
        "/survey/new": ("/survey/new?question=Which%3F&kind=choices&choices=a%0Ab&epsilon=1",),
        "/survey/{survey}": (f"/survey/{made.survey}", f"/survey/{made.invited}"),
        "/survey/{survey}/sheet": (f"/survey/{made.survey}/sheet",),
        "/api": ("/api",),
        "/lab": ("/lab",),
        "/lab/{attack}": ("/lab/differencing", "/lab/reconstruction"),  # one that was run, and one that was not
        "/learn": ("/learn",),
        "/learn/teacher": ("/learn/teacher",),
        "/learn/{lesson}": tuple(f"/learn/{name}" for name in lessons.NAMES),
        "/help": ("/help?words=epsilon",),
        "/help/{page:path}": ("/help/console", "/help/graphs"),
        "/login": (),  # leads on, for who is in
        "/setup/{link}": (),  # has its own test
        "/me": ("/me",),
        "/admin": ("/admin",),
        "/admin/tables": ("/admin/tables",),
        "/admin/tables/new": ("/admin/tables/new", "/admin/tables/new?source=spare.csv"),
        "/admin/tables/edit": ("/admin/tables/edit?table=visits",),
        "/admin/tables/underway/{work}": made.works["admin/tables"],
        "/admin/tables/describe": (
            "/admin/tables/describe?table=guests&epsilon=2",
            "/admin/tables/describe?table=patients",
        ),
        "/admin/table/{table:path}": ("/admin/table/patients", "/admin/table/wards"),
        "/admin/analysts": ("/admin/analysts",),
        "/admin/tokens": ("/admin/tokens",),
        "/admin/denials": ("/admin/denials",),
        "/admin/routes": ("/admin/routes",),
    }
    return addresses_by_path


#: Files, and answers for programs: nothing that a browser shows.
FILES = (
    "/healthz",
    "/ask/rows/{table:path}.csv",
    "/ask/rows/{table:path}.parquet",
    "/log/ledger.jsonl",
    "/a/{release}.parquet",
    "/a/{release}.svg",
    "/r/{release}.zip",
    "/r/{release}/files/{file}",
    "/tables/{release}/download",
    "/synth/{release}/sample",
    "/synth/{release}/model",
    "/help/files/{file:path}",
    "/survey/{survey}/card",
)


def pages() -> list[Route]:
    """Every page that a browser gets."""
    return [route for route in route_table() if route.method == "GET" and not route.api and route.path not in FILES]
