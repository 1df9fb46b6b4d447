"""A question of a project: priced free by `explain`, paid and answered by `ask`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Protocol

from discreet import exact
from discreet.answers import affordability, instalments
from discreet.answers import sql as answers
from discreet.answers.query_quote import QueryQuote, QueryWish
from discreet.answers.reconcile.earlier_estimate import EarlierEstimate
from discreet.answers.reconcile.missing_precision import estimate_behind_price, estimate_text, helps, suffices
from discreet.answers.repeats import Reads
from discreet.answers.wished_precision import GROUPS_FLAG, WishedPrecision, is_percent, precision_of
from discreet.answers.workload.query_batch import has_many_numbers
from discreet.errors import Flag, Message, UsageError
from discreet.kernel.project_session import ProjectTables, Session
from discreet.kernel.version import Version
from discreet.ledger.charge_request import UNNAMED, Asker
from discreet.ledger.ledger import Ledger
from discreet.plan.price import INTERVAL_SHARE, confidence_of
from discreet.present import notebook
from discreet.release import Release
from discreet.sql.parsed_query import ParsedQuery


class QueryProject(ProjectTables, Protocol):
    """What of a project its queries need."""

    @property
    def ledger(self) -> Ledger: ...

    def sql(self, text: str) -> Question:
        """Parse an SQL query."""

    def stored_statement_reader(self) -> Reads:
        """How the statements of stored answers are read."""

    def settle_query(self, query: ParsedQuery) -> tuple[ParsedQuery, list[Version]]:
        """A question as read against versions that exist, and those versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query that can be answered: `explain` prices it, free; `ask` charges and answers it."""

    project: QueryProject
    query: ParsedQuery
    #: The last explanation or answer, for a notebook to show.
    _last_shown: list[Explanation | Release] = field(default_factory=list, init=False, repr=False, compare=False)

    def explain(
        self,
        *,
        epsilon: object = None,
        within: object = None,
        confidence: object = "0.95",
        delta: object = None,
        share_of_groups: object = None,
        at_most: object = None,
        interval: bool = True,
        in_steps: bool = True,
    ) -> Explanation:
        """The sensitivity with its reasons, the noise, the expected error and the price. Free: no data is read.

        A precision that depends on the data is bought step by step: its first step is explained. `share_of_groups`,
        `at_most` and `interval`: see `ask`. Without `in_steps` such a precision is refused.
        """
        from discreet.answers.explain import explain  # with the dialects of all engines

        precision = _precision(epsilon, within, confidence, share_of_groups, at_most, in_steps=in_steps)
        if precision is not None and not interval:
            raise _needs_interval()
        if precision is not None and self._takes_steps(precision):
            return self._explain_steps(precision)
        wish = wish_of(epsilon, within if precision is None else precision.width, confidence, delta, interval=interval)
        project = self.project
        guarantee = project.guarantee(self.query.table)
        query, version = self.query, project.peek_version(self.query.table)
        curator, ledger = project.curator, project.ledger
        reads = project.stored_statement_reader()
        stored_reading = answers.stored_reading(query, wish, version=version, curator=curator, reads=reads)
        earlier_estimate = (
            None
            if stored_reading is not None
            else answers.estimate_from_releases(query, version=version, curator=curator, reads=reads)
        )
        enough = earlier_estimate is not None and suffices(
            earlier_estimate, wish, version=version, guarantee=guarantee, ledger=ledger
        )
        helping = (
            earlier_estimate if earlier_estimate is not None and not enough and helps(earlier_estimate, wish) else None
        )
        is_free = stored_reading is not None or enough
        resumed = None if is_free else self._resumed_quote(wish, helping)
        quoted = resumed or instalments.quote_within(
            query, wish, version=version, guarantee=guarantee, curator=curator, earlier_estimate=helping
        )
        if not is_free and resumed is None and not quoted.decision.accepted:
            earlier = answers.most_exact_answer(query, self._quote_session())
            raise affordability.budget_refusal(quoted, wish, ledger, earlier=earlier)
        behind = None if quoted.price.refines is not None else helping
        shown = earlier_estimate if enough else estimate_behind_price(behind, quoted.price, wish)
        explanation = Explanation(
            data=explain(
                quoted,
                stored_reading,
                confidence=wish.confidence,
                ledger=ledger,
                earlier_estimate=shown,
                enough=enough,
                already_charged=resumed is not None,
            )
        )
        if not is_free and resumed is None and helping is None and has_many_numbers(query):
            explanation = self._as_one(explanation, wish)
        self._last_shown[:] = [explanation]
        return explanation

    def _takes_steps(self, precision: WishedPrecision) -> bool:
        """Whether a precision is bought step by step. That of discovered keys is refused, with its reason."""
        return not self.query.inquiry.keys and precision.depends_on_data(self.query)

    def _explain_steps(self, precision: WishedPrecision) -> Explanation:
        """The first step of a precision that depends on the data, and what the whole may cost."""
        from discreet.answers.precision_answer import explain_steps

        session = self._quote_session()
        reads = self.project.stored_statement_reader()
        explanation = Explanation(data=explain_steps(self.query, precision, session, reads=reads))
        self._last_shown[:] = [explanation]
        return explanation

    def _as_one(self, explanation: Explanation, wish: QueryWish) -> Explanation:
        """The explanation of a statement that is measured as one workload; as it is, where it is not."""
        from discreet.answers.batch_explanation import explained_as_one

        changed = explained_as_one(self.query, wish, self._quote_session())
        return explanation if changed is None else Explanation(data={**explanation.data, **changed})

    def _resumed_quote(self, wish: QueryWish, earlier_estimate: EarlierEstimate | None) -> QueryQuote | None:
        """The quote under which this was charged by a process that died before it stored the answer, if one did."""
        self.project.ledger.refresh()
        return answers.resumed_quote(self.query, wish, self._quote_session(), earlier_estimate=earlier_estimate)

    def _quote_session(self) -> Session:
        """A session for a price. Free: no version is made, and nobody asks."""
        versions = [self.project.peek_version(scan.table) for scan in self.query.tables]
        return query_session(self.project, versions, UNNAMED)

    def ask(
        self,
        *,
        epsilon: object = None,
        within: object = None,
        confidence: object = "0.95",
        delta: object = None,
        analyst: str | None = None,
        fresh: bool = False,
        key: str | None = None,
        share_of_groups: object = None,
        at_most: object = None,
        interval: bool = True,
    ) -> Release:
        """Charge the ledger and answer. A repeat returns the stored answer, free. `key`: see `Ledger.charge`.

        within: 10, or "5%" of each number. What that costs may depend on the data: it is then bought step by step,
        each charged as it is taken, at most `at_most` in all (a tenth of the table's limit unless told). It is reached
        if a `share_of_groups` ("90%", all unless told) is as precise. One `key` pays one charge: with it there are no
        steps. Without `interval`, quantiles have none, and are nearer at the same price.
        """
        precision = _precision(epsilon, within, confidence, share_of_groups, at_most, in_steps=key is None)
        if precision is not None and not interval:
            raise _needs_interval()
        takes_steps = precision is not None and self._takes_steps(precision)
        wish = wish_of(epsilon, within if precision is None else precision.width, confidence, delta, interval=interval)
        if precision is not None and not takes_steps:
            self._check_cap(precision, wish)
        asker = self.project.asker(analyst, key)
        query, versions = self.project.settle_query(self.query)
        session = query_session(self.project, versions, asker)
        reads = self.project.stored_statement_reader()
        if precision is not None and takes_steps:
            from discreet.answers.precision_answer import answer_within

            release = answer_within(query, precision, session, fresh=fresh, reads=reads)
        else:
            as_one = partial(_ask_as_one, query, wish, session, fresh=fresh) if has_many_numbers(query) else None
            release = answers.ask(query, wish, session, fresh=fresh, reads=reads, as_one=as_one)
        self._last_shown[:] = [release]
        return release

    def _check_cap(self, precision: WishedPrecision, wish: QueryWish) -> None:
        """Refuse a precision whose price is known and above what is allowed. Free."""
        if precision.at_most is None:
            return
        cost = self.explain(within=wish.within, confidence=wish.confidence, delta=wish.delta)["cost"]
        most = max(cost["budget"], cost["epsilon"] or 0)  # of the people whom it touches, where others are ahead
        if most > precision.at_most:
            raise UsageError(
                f"within {precision} costs epsilon {exact.show_float(most, up=True)}, and at most "
                f"{exact.show(precision.at_most)} is allowed",
                hint=Message("a larger ", Flag("at-most"), ", or a wider ", Flag("within")),
            )

    def __repr__(self) -> str:
        return f"<Question about {self.query.table}: {one_line(self.query.text)}>"

    def _repr_html_(self) -> str:
        """The query in a notebook, with its price if it was explained. Free."""
        return notebook.notebook_html(lambda: question_html(self.query.text, self._last_shown), lambda: repr(self))


def _ask_as_one(query: ParsedQuery, wish: QueryWish, session: Session, *, fresh: bool) -> Release | None:
    """A statement of many numbers as one workload; None where it gains too little by that."""
    from discreet.answers.batch import ask_as_one

    releases = ask_as_one([query], wish, lambda _: session, fresh=fresh)
    return None if releases is None else releases[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a query would cost, and why. `data` is what `--json` prints."""

    data: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    @property
    def price(self) -> str:
        """What it costs, in words."""
        cost, estimate_data = self.data["cost"], self.data["told"]
        if estimate_data is not None and estimate_data["enough"]:
            return f"nothing: {estimate_text(estimate_data)}"
        if self.data["stored"] is not None:
            return f"nothing: release {self.data['stored']['release']} already answers it"
        if self.data.get("already_charged"):
            return "nothing: it was charged earlier, but the program ended before the answer was stored"
        epsilon = exact.show_float(cost.get("budget", cost["epsilon"]), up=True)
        return f"epsilon {epsilon}" + (f", delta {cost['delta']}" if cost["delta"] else "")

    @property
    def widths(self) -> list[tuple[str, float]]:
        """The ± of each column, if it is known in advance; for a stored answer, its largest ±."""
        stored = self.data["stored"]
        if stored is not None:
            return [] if stored["plus_minus"] is None else [("the stored numbers", stored["plus_minus"])]
        return [(each["column"], each["plus_minus"]) for each in self.data["noise"] if each["plus_minus"] is not None]

    def __str__(self) -> str:
        parts = [*self._parts(), ("runs", self.data["engine_sql"])]
        return "\n".join(f"{name:10}" + text.replace("\n", "\n" + " " * 10) for name, text in parts)

    def _parts(self) -> Iterator[tuple[str, str]]:
        """What there is to say, line by line, but for the SQL."""
        data, estimate_data = self.data, self.data["told"]
        after = exact.show_float(data["spent_after"]["epsilon"], up=True)
        left = exact.show_float(data["remaining_after"]["epsilon"], up=False)
        step = " for the first step" if "within" in data and data["stored"] is None else ""
        yield "costs", f"{self.price}{step}; afterwards {after} is spent and {left} remains"
        if estimate_data is not None and not estimate_data["enough"]:
            yield "known", estimate_text(estimate_data)
        yield "noise", "\n".join([*data["steps"], f"({data['because']})"])
        if (discovery := data.get("keys")) is not None:
            yield "keys", discovery["words"]
            if discovery["warning"] is not None:
                yield "warning", discovery["warning"]
        if estimate_data is None and self.widths:
            sure = f"{100 * data['confidence']:g}%"
            yield "error", "\n".join(f"{name} within {width:,g} at {sure}" for name, width in self.widths)
        if "within" in data:
            yield "then", _steps_text(data["within"])
        yield "touches", data["region"]
        yield "because", "\n".join(dict.fromkeys(line for part in self._sensitivities() for line in part["because"]))

    def _sensitivities(self) -> list[dict[str, Any]]:
        return self.data["parts"] or [self.data["sensitivity"]]

    def _repr_html_(self) -> str:
        """The explanation in a notebook."""
        return notebook.notebook_html(self._html_parts, lambda: str(self))

    def _html_parts(self) -> Iterator[str]:
        yield notebook.definition_table(self._parts())
        yield notebook.collapsible_code("the SQL that would run", self.data["engine_sql"])


def query_session(project: QueryProject, versions: Sequence[Version], asker: Asker) -> Session:
    """A session for a query over these versions, the one that pays first."""
    version, *joined = versions
    guarantee = project.guarantee(version.table)
    return Session(version=version, guarantee=guarantee, curator=project.curator, asker=asker, joined=tuple(joined))


def one_line(text: str) -> str:
    """A question's text, as short as a name."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"


def question_html(text: str, last_shown: Sequence[Explanation | Release]) -> Iterator[str]:
    """A question in a notebook; `last_shown`: its last explanation or answer, if there was one."""
    yield notebook.code_block(text)
    if not last_shown:
        yield notebook.small_print(
            "Not priced yet: .explain(epsilon=0.5) or .explain(within=10) prices it, free. .ask(…) charges and answers."
        )
        return
    last = last_shown[-1]
    if isinstance(last, Release):
        yield notebook.line(f"Answered by release {last.id}: {last.price}.")
        return
    yield notebook.line(f"When last explained, it would have cost {last.price}.")
    widths = [] if last.data["told"] is not None else last.widths
    if widths:
        shown = ", ".join(f"{one_line(name)} ± {width:,g}" for name, width in widths[:8])
        more = f", and {len(widths) - 8} more" if len(widths) > 8 else ""
        yield notebook.line(f"Noise at {100 * last.data['confidence']:g}% confidence: {shown}{more}.")
    yield notebook.small_print("Nothing is charged until .ask(…).")


def _precision(
    epsilon: object, within: object, confidence: object, share_of_groups: object, at_most: object, *, in_steps: bool
) -> WishedPrecision | None:
    """The precision that was wished; None if an epsilon was, or if none may be bought step by step."""
    if within is None or epsilon is not None:
        for name, value in ((GROUPS_FLAG, share_of_groups), (Flag("at-most"), at_most)):
            if value is not None:
                raise UsageError(Message(name, " goes with a precision"), hint=Message(Flag("within", "5%")))
        return None
    if not in_steps:
        return None
    return precision_of(within, share_of_groups=share_of_groups, at_most=at_most, confidence=confidence)


def _needs_interval() -> UsageError:
    return UsageError(
        Message(
            Flag("no-interval", python="interval=False"),
            " needs a price: without its interval nobody knows how precise a quantile is",
        ),
        hint=Message(Flag("epsilon", 0.5)),
    )


def _steps_text(data: dict[str, Any]) -> str:
    """What follows the first step of a precision."""
    groups = "" if data["for"] == 1 else f" for {100 * data['for']:g}% of the groups"
    at_most = exact.show_float(data["at_most"], up=True)
    return (
        f"just enough for {data['wished']}{groups}, in further steps whose prices depend on the noisy numbers; "
        f"all steps together cost at most epsilon {at_most}"
    )


def wish_of(
    epsilon: object, within: object, confidence: object, delta: object = None, *, interval: bool = True
) -> QueryWish:
    """What was wished for, checked."""
    if is_percent(within):
        raise UsageError(
            "a precision in percent is bought in several steps; that works for a single query on the command line or "
            "in Python",
            hint=Message(Flag("within", 50)),
        )
    return QueryWish(
        epsilon=None if epsilon is None else exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON),
        within=None if within is None else exact.number(within, name="within"),
        confidence=confidence_of(confidence),
        delta=None if delta is None else exact.probability(delta, name="delta"),
        interval_share=INTERVAL_SHARE if interval else Fraction(0),
    )
