"""A synthesizer with the manners of scikit-learn, for those who have them: fit, sample, get_params, set_params.

Nothing of scikit-learn is needed or imported. Parameters are kept as they were given, and looked at by `fit` alone,
so that `sklearn.base.clone` makes an equal one; a clone is not fitted.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import Command, Message, UsageError
from discreet.schema.schema import closest_name_hint
from discreet.synth.model import Model

if TYPE_CHECKING:
    import pyarrow as pa


class SynthesisProject(Protocol):
    """What of an open project a fit needs."""

    @property
    def synthesize(self) -> Callable[..., Model]:
        """Fit a model of a table: its name, then what `get_params` has by name."""


class Synthesizer:
    """Synthetic data of a declared table.

    `fit` charges the ledger, once for the same parameters; `sample` and all else is free. `constraints`: as
    `constraints_file.read_constraints` takes them, or the name of a file. `model_` is there after `fit`.
    """

    model_: Model

    def __init__(
        self,
        project: SynthesisProject,
        table: str,
        *,
        epsilon: object = None,
        delta: object = None,
        model: str = "auto",
        columns: Any = None,
        degree: int | None = None,
        seconds: object = None,
        rows: object = None,
        public: str | None = None,
        marginals: Any = (),
        weights: Any = None,
        constraints: Any = None,
        analyst: str | None = None,
    ) -> None:
        self.project = project
        self.table = table
        self.epsilon = epsilon
        self.delta = delta
        self.model = model
        self.columns = columns
        self.degree = degree
        self.seconds = seconds
        self.rows = rows
        self.public = public
        self.marginals = marginals
        self.weights = weights
        self.constraints = constraints
        self.analyst = analyst

    def fit(self, X: object = None, y: object = None) -> Synthesizer:  # noqa: N803
        """Fit the model. The data is the declared table: X and y are scikit-learn's form, and must be left out."""
        if X is not None or y is not None:
            raise UsageError(
                "a synthesizer fits the declared table; it does not accept data in X or y",
                hint=Message(Command("add", "FILE"), " declares a table"),
            )
        params = {name: value for name, value in self.get_params().items() if name not in ("project", "table")}
        self.model_ = self.project.synthesize(self.table, **params)
        return self

    def sample(self, n: int | None = None, *, given: Any = None, seed: int | None = None) -> pa.Table:
        """n rows of synthetic data as an Arrow table; about as many as the table has where n is not said."""
        if not hasattr(self, "model_"):
            raise UsageError("this synthesizer is not fitted yet", hint="call fit() first")
        return self.model_.sample(n, given=given, seed=seed)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name. Nothing in them has parameters of its own, so `deep` says nothing."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: object) -> Synthesizer:
        """Change parameters; a fitted model stays until the next fit."""
        for name in params:
            if name not in self._names():
                raise UsageError(
                    f"a synthesizer has no parameter {name[:60]!r}", hint=closest_name_hint(name, self._names())
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __repr__(self) -> str:
        standard = inspect.signature(type(self).__init__).parameters
        settings = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if name not in ("project", "table") and value != standard[name].default
        ]
        return f"Synthesizer({', '.join([f'table={self.table!r}', *settings])})"

    def __sklearn_clone__(self) -> Synthesizer:
        """An equal one that is not fitted. The project, which holds the ledger open, is shared and not copied."""
        return type(self)(**self.get_params())
