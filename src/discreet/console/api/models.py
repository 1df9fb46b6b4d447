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
    """How exact an answer should be: epsilon to spend, or within to stay in; one of the two."""

    epsilon: Decimal | None = Field(default=None, description="What to spend. Either this or within.")
    within: Decimal | None = Field(default=None, description="Plus or minus how much an answer may be wrong.")
    confidence: Decimal = Field(default="0.95", description="The confidence of the noise intervals.")
    delta: Decimal | None = Field(default=None, description="For keys that are discovered; else the budget's share.")


class ExplainBody(AccuracyBody):
    """A question to be priced."""

    sql: Sql

    def to_query_request(self) -> QueryRequest:
        return QueryRequest(text=self.sql, **_numbers(self))


class QueryBody(ExplainBody):
    """A question to be answered. fresh: draw anew, and pay, though it was answered before."""

    fresh: bool = False

    def to_query_request(self) -> QueryRequest:
        return QueryRequest(text=self.sql, fresh=self.fresh, **_numbers(self))


class AgainBody(BodyModel):
    """An earlier question, to be measured once more."""

    epsilon: Decimal
    confidence: Decimal = "0.95"

    def to_query_request(self, release: str) -> QueryRequest:
        return QueryRequest(
            kind="again", text=release, epsilon=text_of(self.epsilon), confidence=text_of(self.confidence)
        )


class TokenBody(BodyModel):
    """A token to be made: of no more than the role of the one that asks for it."""

    label: Line
    days: int = Field(default=90, ge=1, le=3650)
    role: Literal["analyst", "owner"] | None = None


class RequestBody(BodyModel):
    """A wish for more budget, for an owner to decide on."""

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
    """Epsilon (null: no pure bound), delta, and rho where it is known. Spent is rounded up, remaining down."""

    epsilon: float | None
    delta: float
    rho: float | None = None


class SensitivityModel(AnswerModel):
    """How far one person moves what is measured, and why."""

    l0: int
    l1: int
    l2: float
    linf: int
    because: list[str]


class ExplanationModel(AnswerModel):
    """What a question would cost, and why."""

    accepted: Literal[True]
    cost: SpendingModel
    spent_after: SpendingModel
    remaining_after: SpendingModel
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
        description="between what its numbers lie by the declaration alone; left out where nothing is known",
    )


Cell = bool | int | float | str | None


class ReleaseModel(AnswerModel):
    """An answer: rows, and for every number a noise interval; what it cost and what is left."""

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
    """Releases, the newest first. next: the `before` that goes on, null at the end."""

    releases: list[ChargeModel]
    next: str | None


class StandingModel(AnswerModel):
    """Where the budget of a table's people stands."""

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
    """What is kept of a token; never the token itself."""

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
    """A token that was made just now. It is shown once."""

    token: str


class TokensModel(AnswerModel):
    """Your tokens."""

    tokens: list[TokenModel]


class JobModel(AnswerModel):
    """A question on its way. open until the tick at which its answer leaves."""

    job: str
    person: str
    kind: Literal["query", "batch", "again"]
    text: str
    state: Literal["open", "answered", "failed", "stopped"]
    stopping: bool
    made: int


class JobsModel(AnswerModel):
    """Your questions on their way, and the last that ended; for an owner, everybody's."""

    jobs: list[JobModel]


class StoppingModel(AnswerModel):
    """A job that is stopped at its next tick, if it has not ended by then. What was charged stays charged."""

    job: str
    stopping: Literal[True]


class RequestModel(AnswerModel):
    """A wish for more budget, and what became of it."""

    number: int
    person: str
    table: str
    epsilon: str
    why: str
    made: str
    state: Literal["open", "approved", "declined"]
    word: str


class RequestsModel(AnswerModel):
    """Your wishes for more budget; for an owner, everybody's."""

    requests: list[RequestModel]


class ErrorModel(AnswerModel):
    """Why not. code: as the command line's exit code, null where the request itself is at fault."""

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
