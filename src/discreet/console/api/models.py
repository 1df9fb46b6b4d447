"""Bodies and answers of the API. What the document says of them and what is accepted is one and the same."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from discreet.console.jobs.query_request import LONGEST_NUMBER, LONGEST_SQL, QueryRequest

#: A number as JSON writes it, or as decimal text, which has one reading on every machine.
Decimal = (
    Annotated[
        str, StringConstraints(max_length=LONGEST_NUMBER, pattern=r"^[0-9]{1,40}(\.[0-9]{1,40})?([eE]-?[0-9]{1,3})?$")
    ]
    | Annotated[float, Field(ge=0, allow_inf_nan=False)]
    | Annotated[int, Field(ge=0, le=10**15)]
)
Sql = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_SQL)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=60)]


class BodyModel(BaseModel):
    """What a program sends. Unknown names are refused: a misspelt wish must not be left out in silence."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def published_name(name: str) -> str:
    """A model's name in the document: `Release`, not `ReleaseModel`."""
    return name.removesuffix("Model")


class AnswerModel(BaseModel):
    """What a program gets. Later versions may add members."""

    model_config = ConfigDict(extra="allow", model_title_generator=lambda model: published_name(model.__name__))


# -- bodies --------------------------------------------------------------------------------------


class AccuracyBody(BodyModel):
    """The price or the precision of an answer: either epsilon or within."""

    epsilon: Decimal | None = Field(default=None, description="The epsilon to spend. Alternative: within.")
    within: Decimal | None = Field(default=None, description="The precision, as plus or minus. Alternative: epsilon.")
    confidence: Decimal = Field(default="0.95", description="The confidence of the intervals.")
    delta: Decimal | None = Field(default=None, description="Delta for discovered keys. Default: part of the budget's.")


class ExplainBody(AccuracyBody):
    """A query to price."""

    sql: Sql

    def to_query_request(self) -> QueryRequest:
        return QueryRequest(text=self.sql, **_numbers(self))


class QueryBody(ExplainBody):
    """A query to answer. fresh: ignore the stored answer; draw new noise and charge again."""

    fresh: bool = False

    def to_query_request(self) -> QueryRequest:
        return QueryRequest(text=self.sql, fresh=self.fresh, **_numbers(self))


class AgainBody(BodyModel):
    """How to make an earlier answer more precise: the epsilon to add, or the precision to reach."""

    epsilon: Decimal | None = Field(default=None, description="How much more epsilon to spend. Alternative: within.")
    within: Decimal | None = Field(default=None, description="The precision, as plus or minus. Alternative: epsilon.")
    confidence: Decimal = "0.95"

    def to_query_request(self, release: str) -> QueryRequest:
        return QueryRequest(
            kind="again",
            text=release,
            epsilon=None if self.epsilon is None else text_of(self.epsilon),
            within=None if self.within is None else text_of(self.within),
            confidence=text_of(self.confidence),
        )


Text = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class NetworkBody(BodyModel):
    """Statistics of a network to price, or to measure. The names are those of `discreet graph stats`."""

    table: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    epsilon: Decimal
    delta: Decimal | None = Field(default=None, description="With a delta, the noise is Gaussian.")
    nodes: Text | None = Field(default=None, description="The table of the nodes.")
    key: Text | None = Field(default=None, description="The column of that table that names each node once.")
    by: Text | None = Field(default=None, description="The attribute that groups nodes; or two columns of the edges.")
    ends: Text | None = Field(default=None, description="The two columns of the ends, with a comma between them.")
    edges_per_node: int | None = Field(default=None, ge=1, le=1_000_000, description="With two columns in by.")
    only: Text | None = Field(default=None, description="Some of the statistics, with commas between them.")

    def to_wish(self) -> dict[str, Any]:
        """As a form says it."""
        limit = None if self.edges_per_node is None else str(self.edges_per_node)
        numbers = {
            name: None if number is None else text_of(number)
            for name, number in (("epsilon", self.epsilon), ("delta", self.delta))
        }
        texts = {name: getattr(self, name) for name in ("table", "nodes", "key", "by", "ends", "only")}
        return {**texts, **numbers, "edges_per_node": limit}


class TokenBody(BodyModel):
    """A token to create. Its role is at most the role of the token that creates it."""

    label: Line
    days: int = Field(default=90, ge=1, le=3650)
    role: Literal["analyst", "owner"] | None = None


class RequestBody(BodyModel):
    """A request for more budget. An owner decides on it."""

    table: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    epsilon: Decimal
    why: Annotated[str, StringConstraints(min_length=1, max_length=1000)]


def text_of(number: str | float) -> str:
    """A number as the text that it was, or that it prints as."""
    return number if isinstance(number, str) else repr(number)


def _numbers(wish: AccuracyBody) -> dict[str, Any]:
    numbers = {name: getattr(wish, name) for name in ("epsilon", "within", "confidence", "delta")}
    return {name: None if value is None else text_of(value) for name, value in numbers.items()}


# -- answers -------------------------------------------------------------------------------------


class SpendingModel(AnswerModel):
    """Epsilon (null: no pure bound), delta, and rho if it is known. Spent is rounded up, remaining is rounded down.

    `budget`: of a query, what it adds to the epsilon that is spent.
    """

    epsilon: float | None
    delta: float
    rho: float | None = None
    budget: float | None = None


class SensitivityModel(AnswerModel):
    """How much one person can change the exact answer, and why."""

    l0: int
    l1: int
    l2: float
    linf: int
    because: list[str]


class NetworkPlanModel(AnswerModel):
    """What statistics of a network would cost, and how precise each would be."""

    statistics: list[str]
    unit: Literal["edge", "node"]
    parts: list[dict[str, Any]]
    alone: list[dict[str, Any]]
    confidence: float
    cost: SpendingModel


class NetworkStatisticsModel(AnswerModel):
    """Statistics of a network, each with its interval: what `discreet graph stats --json` prints."""

    release: str
    table: str
    version: int
    unit: Literal["edge", "node"]
    directed: bool
    statistics: dict[str, Any]
    confidence: float
    card: dict[str, Any]
    price: SpendingModel
    cost: SpendingModel
    spent: SpendingModel
    remaining: SpendingModel
    cached: bool
    warnings: list[str]


class ExplanationModel(AnswerModel):
    """What a query would cost, and why."""

    accepted: Literal[True]
    cost: SpendingModel
    spent_after: SpendingModel
    remaining_after: SpendingModel
    counts_after: int
    sensitivity: SensitivityModel
    parts: list[SensitivityModel]
    noise: list[dict[str, Any]]
    steps: list[str]
    stored: dict[str, Any] | None
    told: dict[str, Any] | None
    cells: int | None
    confidence: float
    region: str
    because: str
    engine_sql: str


class ColumnOfRelease(AnswerModel):
    """A column of an answer."""

    name: str
    kind: Literal["key", "noisy", "derived"]
    bounds: list[float | int | str] | None = Field(
        default=None,
        description="The range of its numbers that follows from the declaration alone. Left out if nothing is known.",
    )


Cell = bool | int | float | str | None


class ReleaseModel(AnswerModel):
    """An answer: rows, a confidence interval for every noisy number, the cost and the remaining budget."""

    release: str
    table: str
    version: int
    columns: list[ColumnOfRelease]
    rows: list[list[Cell]]
    intervals: list[list[list[float | int | str | None] | None]]
    confidence: float
    cost: SpendingModel
    spent: SpendingModel
    remaining: SpendingModel
    cached: bool
    derived: bool
    from_: list[str] = Field(alias="from")
    warnings: list[str]
    best: list[list[Cell]] = Field(
        default=[],
        description="The rows with the best whole numbers that add up, in place of the unbiased ones: nearer in small "
        "groups, but not unbiased.",
    )
    title: str | None = Field(
        default=None,
        description="In a batch, what the statement is called: the first comment before it, else its text.",
    )
    totals: list[list[int]] | None = Field(
        default=None,
        description="For each row the places of the keys that it is a total over, as rows of ROLLUP are. Left out if "
        "no row is a total.",
    )
    event: dict[str, Any]


class ChargeModel(AnswerModel):
    """A charge in the list of releases."""

    release: str
    table: str
    version: int
    analyst: str | None
    time: str
    price: float
    kind: str
    answered: bool


class ReleasesModel(AnswerModel):
    """Releases, newest first. next: the value of `before` for the next page, null at the end."""

    releases: list[ChargeModel]
    next: str | None


class StandingModel(AnswerModel):
    """The limit, spent and remaining budget of a table's population."""

    population: str
    limit: SpendingModel
    spent: SpendingModel
    remaining: SpendingModel
    events: int
    by_analyst: dict[str, SpendingModel]


class BudgetsModel(AnswerModel):
    """The budgets of all private tables."""

    tables: dict[str, StandingModel]


class ColumnModel(AnswerModel):
    """A declared column."""

    name: str
    type: str
    domain: str
    values: list[str]
    origin: str


class TableModel(AnswerModel):
    """A declared table."""

    name: str
    public: bool
    population: str
    version: int
    unit: str
    columns: list[ColumnModel]


class TablesModel(AnswerModel):
    """The declared tables."""

    tables: list[TableModel]


class TokenModel(AnswerModel):
    """The stored facts about a token, without the token itself."""

    number: int
    person: str
    label: str
    role: Literal["analyst", "owner"]
    created: str
    expires: str
    revoked: str | None
    used: str | None
    holds: bool


class NewTokenModel(TokenModel):
    """A new token. It is shown once."""

    token: str


class TokensModel(AnswerModel):
    """Your tokens."""

    tokens: list[TokenModel]


class JobModel(AnswerModel):
    """A running query. Its state is open until the tick at which its answer leaves."""

    job: str
    person: str
    kind: Literal["query", "batch", "again"]
    text: str
    state: Literal["open", "answered", "failed", "stopped"]
    stopping: bool
    made: int


class JobsModel(AnswerModel):
    """Your running queries, and the last that ended; for an owner, everybody's."""

    jobs: list[JobModel]


class StoppingModel(AnswerModel):
    """A query that is stopped at its next tick, if it has not ended by then. What was charged stays charged."""

    job: str
    stopping: Literal[True]


class RequestModel(AnswerModel):
    """A request for more budget, and the decision."""

    number: int
    person: str
    table: str
    epsilon: str
    why: str
    made: str
    state: Literal["open", "approved", "declined"]
    word: str


class RequestsModel(AnswerModel):
    """Your requests for more budget; for an owner, everybody's."""

    requests: list[RequestModel]


class ErrorModel(AnswerModel):
    """An error. code: the exit code of the command line, or null if the request itself is at fault."""

    error: str
    hint: str
    code: int | None
    accepted: Literal[False] | None = None
    line: int | None = None
    column: int | None = None
    width: int | None = None
    excerpt: str | None = None
    needed: dict[str, str | None] | None = None
    remaining: dict[str, str | None] | None = None
