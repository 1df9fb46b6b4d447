"""The history of a table: what is read, what is remembered, what stays out, and kinds that others add."""

from fractions import Fraction

import pytest

from clinic import make
from discreet.accounting.region import Box, Region, ValueSet
from discreet.answers.reconcile import history as module
from discreet.answers.reconcile import release_readers
from discreet.answers.reconcile.history import history
from discreet.answers.reconcile.released_numbers import ReleasedNumber
from discreet.inference.reconcile import ROWS
from discreet.mechanisms.laplace import DiscreteLaplace

ALL = "select count(*) from patients"


@pytest.fixture
def clinic(tmp_path):
    return make(tmp_path, budget="{ epsilon = 100.0 }")


def of(project, **more):
    return history(
        project.version("patients"), curator=project.curator, reads=lambda text: project.sql(text).query, **more
    )


def test_numbers_carry_what_people_read(clinic):
    text = "select disease as what, count(*) as n, sum(age) as years from patients where sex = 'M' group by disease"
    release = clinic.sql(text).ask(epsilon=1)
    found = of(clinic)
    assert found.left_out == () and len(found.numbers) == 10
    assert [number.column for number in found.numbers] == ["n"] * 5 + ["years"] * 5
    assert [dict(number.keys)["what"] for number in found.numbers[:5]] == ["allergy", "flu", "measles", "mumps", None]
    assert [number.value for number in found.numbers[:5]] == [row[1] for row in release.rows]
    assert all(number.release == release.id and number.least == 0 for number in found.numbers)
    male = {"sex": {"runs": [[1, 2]], "null": False}}
    assert found.numbers[4].region.to_data() == [{"disease": {"runs": [], "null": True}, **male}]


def test_the_newest_are_kept(clinic):
    ids = [clinic.sql(ALL).ask(epsilon=1, fresh=True).id for _ in range(4)]
    assert [number.release for number in of(clinic).numbers] == ids
    assert [number.release for number in of(clinic, newest=2).numbers] == ids[2:]
    cut = of(clinic, most=3)
    assert [number.release for number in cut.numbers] == ids[1:]
    assert [each.release for each in cut.left_out] == ids[:1] and "at once" in cut.left_out[0].reason
    assert [number.release for number in of(clinic, only=ids[2:0:-1]).numbers] == ids[1:3]


def test_what_is_read_is_remembered_within_bounds(clinic, monkeypatch):
    monkeypatch.setattr(module, "_READ", module._ReadCache())
    clinic.sql(ALL).ask(epsilon=1)
    first = of(clinic)
    monkeypatch.setattr(release_readers, "read_answer", None)
    assert of(clinic) == first and len(module._READ.numbers_of_release) == 1
    monkeypatch.setattr(module, "_MOST_REMEMBERED", 2)
    module._READ.add("r-other", ([first.numbers[0]] * 2, []))
    assert list(module._READ.numbers_of_release) == ["r-other"]


def test_other_kinds_can_be_added(clinic, monkeypatch):
    """A workload brings numbers of its own, and questions are answered from them."""
    paid = clinic.sql("select median(age) from patients").ask(epsilon=1)

    def workload(stored):
        if stored.charge.id != paid.id:
            return None
        region = Region((Box({"age": ValueSet.interval(0, 30)}),))
        law = DiscreteLaplace(scale=Fraction(2))
        number = ReleasedNumber(release=paid.id, family=ROWS, region=region, value=77, law=law, least=0, column="rows")
        return [number], []

    monkeypatch.setattr(module, "READERS", [workload, *release_readers.READERS])
    found = clinic.sql(f"{ALL} where age < 30").ask(epsilon="0.4")
    assert found.derived and found.rows == ((77.0,),) and found.sources == (paid.id,)
    assert not clinic.sql(f"{ALL} where age <= 30").ask(epsilon="0.4").derived
