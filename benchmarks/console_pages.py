"""What each page of the console takes, with a long history: CPU of the server process, and its memory over thousands of visits."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from console_project import History, Session
from console_server import Client, ConsoleServer

#: Visits of a page whose CPU is measured together: the kernel counts in ticks of 10 ms.
VISITS = 20
#: Visits right after a new charge, each: whatever is kept in memory for a state of the ledger is made anew.
FRESH_VISITS = 5
#: The most that a page may take, in CPU ms.
LIMIT_MS = 150
QUERY = "select disease, count(*) n from patients where age >= {low} group by disease"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A page or a price, by its name in the table. form: what is sent, where it is no page."""

    name: str
    path: str
    form: tuple[tuple[str, str], ...] = ()
    role: str = "analyst"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """CPU ms of a visit: by the owner, by an analyst, and by the owner when something was charged just before."""

    name: str
    owner_ms: float
    analyst_ms: float | None
    fresh_ms: float

    @property
    def worst_ms(self) -> float:
        return max(self.owner_ms, self.analyst_ms or 0.0, self.fresh_ms)


def addresses(history: History) -> list[Address]:
    """Every kind of page that there is, once or twice."""
    some, other = history.queries[len(history.queries) // 2], history.queries[0]
    price = (("sql", QUERY.format(low=30)), ("by", "epsilon"), ("epsilon", "0.1"))
    tables = {"ranges": history.ranges, "marginals": history.marginals, "publication": history.publication}
    chosen = "table=patients&columns=disease&columns=ward&epsilon=0.1"
    return [
        Address(name="home", path="/"),
        Address(name="data", path="/d"),
        Address(name="a table", path="/d/patients"),
        Address(name="answers", path="/a"),
        Address(name="answers, last page", path="/a?page=1000"),
        Address(name="answers, searched", path="/a?q=mumps+disease"),
        Address(name="answers, by price", path="/a?sort=price"),
        Address(name="answers, of a table by name", path="/a?table=patients&sort=name"),
        Address(name="answers, of an analyst", path="/a?analyst=analyst+3&sort=oldest"),
        Address(name="answers, JSON", path="/a.json"),
        Address(name="an answer", path=f"/a/{some}"),
        Address(name="an answer at another confidence", path=f"/a/{some}?confidence=0.99"),
        Address(name="an answer of a batch", path=f"/a/{history.batch}?statement=2"),
        Address(name="comparison", path=f"/a/{some}/beside?other={other}"),
        Address(name="an answer as SVG", path=f"/a/{some}.svg"),
        Address(name="an answer as Parquet", path=f"/a/{some}.parquet"),
        Address(name="ask", path="/ask"),
        Address(name="ask, from an answer", path=f"/ask?release={some}"),
        Address(name="price", path="/ask/price", form=price),
        Address(name="history", path="/ask/history"),
        Address(name="jobs", path="/jobs"),
        Address(name="budget", path="/budget"),
        Address(name="log", path="/log"),
        Address(name="log, last page", path="/log?page=1000"),
        Address(name="log, of an analyst", path="/log?analyst=analyst+3"),
        Address(name="jump", path="/jump?to=r-a"),
        Address(name="statistics", path="/tables"),
        *(Address(name=f"{name} release", path=f"/tables/{release}") for name, release in tables.items()),
        Address(name="new histogram", path="/tables/new/histogram"),
        Address(name="new ranges", path="/tables/new/ranges?table=patients&column=age&epsilon=0.1"),
        Address(name="new marginals", path=f"/tables/new/marginals?{chosen}"),
        Address(name="new publication", path="/tables/new/publish"),
        Address(name="new network", path="/tables/new/network"),
        Address(name="reconcile", path="/tables/reconcile"),
        Address(name="synthetic", path="/synth"),
        Address(name="new model", path="/synth/new?table=patients&epsilon=0.1"),
        Address(name="a model", path=f"/synth/{history.models[0]}"),
        Address(name="two models", path=f"/synth/{history.models[0]}/beside?other={history.models[1]}"),
        Address(name="surveys", path="/survey"),
        Address(name="lab", path="/lab"),
        Address(name="learn", path="/learn"),
        Address(name="a lesson", path="/learn/composition"),
        Address(name="teacher's page", path="/learn/teacher"),
        Address(name="help", path="/help"),
        Address(name="help, searched", path="/help?q=epsilon"),
        Address(name="a page of help", path="/help/start"),
        Address(name="published", path="/r"),
        Address(name="me", path="/me"),
        Address(name="API's page", path="/api"),
        Address(name="admin", path="/admin", role="owner"),
        Address(name="admin: tokens", path="/admin/tokens", role="owner"),
        Address(name="admin: denials", path="/admin/denials", role="owner"),
        Address(name="admin: routes", path="/admin/routes", role="owner"),
        Address(name="admin: analysts", path="/admin/analysts", role="owner"),
        Address(name="admin: tables", path="/admin/tables", role="owner"),
        Address(name="admin: a table", path="/admin/table/patients", role="owner"),
        Address(name="admin: new table", path="/admin/tables/new", role="owner"),
        Address(name="admin: describe", path="/admin/tables/describe?table=patients&epsilon=0.1", role="owner"),
        Address(name="publish an answer", path=f"/r/{some}/publish", role="owner"),
    ]


def visit(client: Client, address: Address) -> int:
    """One visit; its status."""
    reply = client.post(address.path, dict(address.form)) if address.form else client.get(address.path)
    return reply.status


def charge(client: Client) -> None:
    """A new release: a query that nobody asked before, answered."""
    body = {"sql": QUERY.format(low=secrets.randbelow(60)), "epsilon": "0.001", "fresh": True}
    reply = client.call("query", body, key=secrets.token_hex(8))
    assert reply.status == 200, (reply.status, reply.content[:300])


def first_visit_ms(server: ConsoleServer, client: Client, address: Address) -> float:
    """CPU ms of the first visit after a start, where everything is read for the first time."""
    return _cpu_ms(server, lambda: visit(client, address), times=1)


def page_costs(server: ConsoleServer, sessions: Sequence[Session], pages: Sequence[Address]) -> list[Cost]:
    """What each page takes once it was seen, and right after a charge."""
    owner, analyst = (Client(server, session) for session in sessions[:2])
    costs = []
    for page in pages:
        may = [owner] if page.role == "owner" else [owner, analyst]
        for client in may:
            status = visit(client, page)
            assert status == 200, f"{page.path}: {status}"
        seen = [_cpu_ms(server, lambda client=client: visit(client, page)) for client in may]  # type: ignore[misc]
        fresh = 0.0
        for _ in range(FRESH_VISITS):
            charge(analyst)
            fresh += _cpu_ms(server, lambda: visit(owner, page), times=1) / FRESH_VISITS
        costs.append(
            Cost(name=page.name, owner_ms=seen[0], analyst_ms=seen[1] if len(seen) > 1 else None, fresh_ms=fresh)
        )
    owner.close()
    analyst.close()
    return costs


def _cpu_ms(server: ConsoleServer, act: Callable[[], object], *, times: int = VISITS) -> float:
    before = server.cpu_s()
    for _ in range(times):
        act()
    return 1000 * (server.cpu_s() - before) / times


def memory_over(
    server: ConsoleServer, sessions: Sequence[Session], pages: Sequence[Address], marks: Sequence[int]
) -> list[tuple[int, float]]:
    """MiB of the server after so many requests of all kinds: pages in turn, prices of ever new queries, and a charge in 100."""
    clients = [Client(server, session) for session in sessions[:8]]
    taken, requests = [], _endless(pages)
    for number in range(1, max(marks) + 1):
        owner = number % 8 == 0
        page = next(each for each in requests if owner or each.role != "owner")
        if number % 100 == 0:
            charge(clients[1])
        elif page.form:
            low, width = number % 61, 1 + number % 997
            sql = f"select ward, count(*) n, {width} w from patients where age >= {low} group by ward"
            assert (
                visit(
                    clients[number % 8],
                    Address(name=page.name, path=page.path, form=(("sql", sql), ("epsilon", "0.1"))),
                )
                == 200
            )
        else:
            status = visit(clients[number % 8], page)
            assert status == 200, f"{page.path}: {status}"
        if number in marks:
            taken.append((number, server.resident_mib()))
    for client in clients:
        client.close()
    return taken


def _endless(pages: Sequence[Address]) -> Iterator[Address]:
    return itertools.cycle(pages)


def memory_text(taken: Sequence[tuple[int, float]]) -> str:
    """Memory after so many requests."""
    rows = "\n".join(f"| {number:,} | {mib:.1f} MiB |" for number, mib in taken)
    return (
        f"Private memory of the server over {taken[-1][0]:,} requests of all kinds by eight people: every page in turn, prices of "
        f"ever new queries, and a charge in 100.\n\n| after | memory |\n|---:|---:|\n{rows}"
    )


def costs_text(costs: Sequence[Cost], *, releases: int, first_ms: float) -> str:
    """The table of pages, the dearest first, and which are over the limit."""
    over = [each.name for each in costs if each.worst_ms > LIMIT_MS]
    lines = [
        f"CPU ms of the server process for a visit, with {releases:,} releases in the history: the mean of {VISITS} visits one after the "
        f"other, and of {FRESH_VISITS}\nvisits of which each comes right after a new charge. The limit is {LIMIT_MS} CPU ms.\n",
        "| page | owner | analyst | after a charge |",
        "|---|---:|---:|---:|",
    ]
    for each in sorted(costs, key=lambda cost: -cost.worst_ms):
        analyst = "" if each.analyst_ms is None else f"{each.analyst_ms:.0f}"
        lines.append(f"| {each.name} | {each.owner_ms:.0f} | {analyst} | {each.fresh_ms:.0f} |")
    lines.append(
        f"\nOver the limit: {', '.join(over) or 'none'}. The first visit of the answers after a start reads all of them: {first_ms:.0f} CPU ms."
    )
    return "\n".join(lines)
