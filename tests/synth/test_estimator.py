"""The synthesizer with scikit-learn's manners: clone's contract, parameters as given, nothing charged before fit."""

from __future__ import annotations

import copy
import inspect
from fractions import Fraction

import pytest

from discreet.errors import UsageError
from discreet.synth.constraints_file import read_constraints
from discreet.synth.estimator import Synthesizer
from synth.worlds import AGE, SEX, open_project


@pytest.fixture
def project(tmp_path):
    return open_project(tmp_path, {"age": AGE, "sex": SEX}, [f"{n % 60},{'FM'[n % 2]}" for n in range(600)])


def spent(project):
    return project.budget("people").spent


def clone(estimator):
    """What sklearn.base.clone does, and checks: the same class from the same parameters, each the very object."""
    params = {
        name: value if name == "project" else copy.deepcopy(value)
        for name, value in estimator.get_params(deep=False).items()
    }
    made = type(estimator)(**params)
    for name, value in made.get_params(deep=False).items():
        assert value is params[name], name
    return made


def test_fit_and_sample(project):
    synthesizer = Synthesizer(project, "people", epsilon=1, model="independent")
    with pytest.raises(UsageError, match="not fitted"):
        synthesizer.sample(3)
    before = spent(project)
    assert synthesizer.fit() is synthesizer
    charged = spent(project)
    assert charged != before
    table = synthesizer.sample(50, seed=1)
    assert table.num_rows == 50 and table.column_names == [column.name for column in synthesizer.model_.columns]
    assert synthesizer.sample(50, seed=1).equals(table)
    assert set(synthesizer.sample(50, given={"sex": "F"})["sex"].to_pylist()) == {"F"}
    clone(synthesizer).fit()
    assert spent(project) == charged  # the same fit is read back


def test_parameters_are_kept_as_they_were_given(project):
    given = {"epsilon": "0.5", "delta": 1e-9, "model": "mst", "columns": ["sex"], "degree": 2, "seconds": 5.0}
    synthesizer = Synthesizer(project, "people", **given)
    params = synthesizer.get_params()
    assert params == synthesizer.get_params(deep=False)
    assert list(params) == list(inspect.signature(Synthesizer).parameters)
    for name, value in given.items():
        assert params[name] is value
    made = clone(synthesizer)
    assert made.get_params() == params and not hasattr(made, "model_")
    assert made.set_params(epsilon=2, model="auto") is made
    assert (made.epsilon, made.model, synthesizer.epsilon) == (2, "auto", "0.5")
    with pytest.raises(UsageError, match="no parameter 'epsilom'"):
        made.set_params(epsilom=1)


def test_it_can_be_printed(project):
    shown = repr(Synthesizer(project, "people", epsilon=0.5, model="mst"))
    assert shown == "Synthesizer(table='people', epsilon=0.5, model='mst')"


def test_a_clone_of_a_fitted_one_is_not_fitted_and_shares_the_project(project):
    synthesizer = Synthesizer(project, "people", epsilon=1, model="independent").fit()
    made = synthesizer.__sklearn_clone__()
    assert synthesizer.__sklearn_is_fitted__() and not made.__sklearn_is_fitted__()
    assert made.project is project


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": "1e400"},
        {"epsilon": 1e-12},
        {"epsilon": True},
        {"epsilon": "lots"},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1e-9},
        {"epsilon": 1, "model": "best"},
        {"epsilon": 1, "columns": ["agee"]},
        {"epsilon": 1, "constraints": {"zeros": [{"agee": 1}]}},
        {"epsilon": 1, "constraints": "nowhere.toml"},
    ],
)
def test_what_makes_no_sense_is_refused_before_spending(project, params):
    before, seq = spent(project), project.ledger.state.seq
    with pytest.raises(UsageError):
        Synthesizer(project, "people", **params).fit()
    assert (spent(project), project.ledger.state.seq) == (before, seq)


def test_data_cannot_be_handed_over(project):
    with pytest.raises(UsageError, match="declared table"):
        Synthesizer(project, "people", epsilon=1).fit([[1, 2]])


def test_constraints_in_all_their_forms(project, tmp_path):
    data = {"zeros": [{"age": "0 to 29", "sex": "F"}]}
    (tmp_path / "facts.toml").write_text('[[zeros]]\nage = "0 to 29"\nsex = "F"\n')
    columns = project.version("people").schema.columns
    tables = []
    for told in (
        data,
        str(tmp_path / "facts.toml"),
        tmp_path / "facts.toml",
        read_constraints(data, columns),
    ):
        synthesizer = Synthesizer(project, "people", epsilon=Fraction(1), model="independent", constraints=told).fit()
        tables.append(synthesizer.sample(500, seed=2))
    assert all(table.equals(tables[0]) for table in tables)  # one fit, charged once
    rows = tables[0].to_pandas()
    assert not ((rows["age"] < 30) & (rows["sex"] == "F")).any()
