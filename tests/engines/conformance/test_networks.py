"""Networks of every engine: the same edges in the same order, the same attributes of persons, the same rows of edges."""

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.memory import MemoryEngine
from discreet.engines.missing_values import is_missing
from discreet.engines.postgres import postgres_source
from discreet.engines.spark import spark_network
from discreet.errors import SchemaError
from discreet.schema.column import CategoryColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from engines.conformance.agreeing import Declaration
from engines.network.networks import NAMES, Network, contents, networks, tag
from engines.persons_tables import IDS, KEY, TAG_KEY, File
from graph.every import edges_of
from tiers import examples

WORDS = [name for name in IDS if "\0" not in name]
COLUMNS = ("From", "weight", 'the "to"')
COLOURS = ("red", "blue", "green")


class Keeping(DuckDBEngine):
    """Keeps networks whose sources lie on the engine of a ground."""

    def __init__(self, ground):
        super().__init__(threads=1)
        self.ground = ground

    def at(self, address):
        return self if self.ground.name in ("duckdb", "memory") else self.ground.engine


def kept(ground, network, folder, **how):
    """What is told of a network whose source lies on a ground, and what is kept."""
    engine, target = Keeping(ground), folder / f"{ground.name}.parquet"
    table = replace(network.table(folder), source=ground.lay(network.source, "edges"), engine=ground.name)
    target.unlink(missing_ok=True)
    target.with_name(f"{ground.name}.persons.parquet").unlink(missing_ok=True)
    try:
        making = engine.declare(table, folder=ground.folder, target=target, key=KEY, tag_key=TAG_KEY, **how)
    finally:
        engine.close()
    assert not list(folder.glob(".*")), "nothing is left of the work"
    return making, *contents(target, directed=network.directed)


def expected(network, folder, **how):
    """The same, slowly, from a file."""
    target = folder / "expected.parquet"
    target.unlink(missing_ok=True)
    target.with_name("expected.persons.parquet").unlink(missing_ok=True)
    network = replace(network, source=network.source.typed())
    table = network.table(folder)
    making = MemoryEngine().declare(table, folder=folder, target=target, key=KEY, tag_key=TAG_KEY, **how)
    return making, *contents(target, directed=network.directed)


def crowd(*, directed):
    """Persons who are nearly called alike; edges that come twice, both ways and round, and ends that are missing."""
    pairs = [(one, other) for place, one in enumerate(WORDS) for other in WORDS[place % 3 :: 4]]
    pairs += [(other, one) for one, other in pairs[::3]] + [(None, "A"), ("a", None), (None, None), ("�", "A")]
    rows = tuple((one, "1", other) for one, other in pairs)
    return Network(source=File(names=COLUMNS, rows=rows, types=(pa.string(),) * 3), directed=directed)


def test_the_same_edges_in_the_same_order(ground, reference, tmp_path, monkeypatch):
    """In several batches, without the forgotten; and what one engine sends of rows and persons is what others do."""
    monkeypatch.setattr(postgres_source, "_ROWS_AT_ONCE", 50)
    monkeypatch.setattr(spark_network, "_ROWS_AT_ONCE", 50)
    for directed, forgotten in ((False, ()), (True, (tag("A"), tag("é")))):
        network = crowd(directed=directed)
        found = kept(ground, network, tmp_path, forgotten=forgotten)
        assert found == expected(network, tmp_path, forgotten=forgotten)
        assert min(found[0].exact_loops, found[0].exact_doubles, found[0].exact_without_person) > 4
        assert len(found[1]) > 80 and not set(forgotten) & set(found[2])
    check_traits(ground)
    check_rows(ground, reference)
    inexact = File(names=COLUMNS, rows=((1.5, "", "a"),), types=(pa.float64(), pa.string(), pa.string()))
    with pytest.raises(SchemaError, match="does not identify people exactly"):
        kept(ground, Network(source=inexact), tmp_path)
    assert not (tmp_path / f"{ground.name}.parquet").exists()


def check_traits(ground):
    """What persons are, by their tags: nobody, and who has no value, is not there."""
    colour = CategoryColumn(name='the "colour"', values=COLOURS)
    rows = tuple((name, COLOURS[place % 3] if place % 4 else None) for place, name in enumerate([*WORDS, None]))
    members = Declaration(
        schema=Schema(table="members", columns=(colour,), unit=PrivacyUnit(person=("id",))),
        file=File(names=("id", colour.name), rows=rows, types=(pa.string(), pa.string())),
    )
    traits = ground.engine.traits(members.declare(ground)[1], colour.name)
    found = dict(zip(traits.exact_tags.to_pylist(), traits.exact_codes.tolist(), strict=True))
    assert found == {tag(name): COLOURS.index(word) for name, word in rows if word is not None and not is_nobody(name)}


def is_nobody(name):
    return name is None or is_missing(name)


def check_rows(ground, reference):
    """Edges that are rows, whose ends are texts or numbers, with what rows say of them."""
    labels = [CategoryColumn(name=name, values=COLOURS) for name in ("mine", "yours")]
    ends = {
        pa.string(): (WORDS, [TextColumn(name=name) for name in NAMES]),
        pa.int64(): (list(range(-20, 20)), [NumberColumn(name=name, type="integer") for name in NAMES]),
    }
    for type_, (values, columns) in ends.items():
        pairs = [(one, other) for place, one in enumerate(values) for other in values[place % 5 :: 5]]
        rows = [(*pair, COLOURS[place % 3], COLOURS[place % 2]) for place, pair in enumerate(pairs)]
        rows += [(other, one, None, mine) for one, other, mine, _ in rows[::4]] + [(None, *rows[0][1:])]
        meetings = Declaration(
            schema=Schema(table="meetings", columns=(*columns, *labels), unit=PrivacyUnit()),
            file=File(
                names=(*NAMES, "mine", "yours"), rows=tuple(rows), types=(type_, type_, pa.string(), pa.string())
            ),
        )
        found = [graphs(each, meetings.declare(each)[1]) for each in (ground, reference)]
        assert found[0] == found[1] and len(found[0][0][0][0]) > 50


def graphs(ground, place):
    """What an engine reads of a table of rows, plain and with labels."""
    plain = ground.engine.graph(place, NAMES, directed=True)
    labelled = ground.engine.graph(place, NAMES, directed=False, labels=("mine", "yours"))
    exact = [labelled.exact_labels.exact_from, labelled.exact_labels.exact_to, labelled.exact_labels.exact_later]
    return [(edges_of(each), each.exact_nodes) for each in (plain, labelled)], [each.tolist() for each in exact]


@given(network=networks(20))
@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
def test_generated(quick_ground, tmp_path_factory, network):
    network = replace(network, source=network.source.typed())
    assume(not quick_ground.gap(network.source))
    folder = tmp_path_factory.mktemp("network")
    assert kept(quick_ground, network, folder) == expected(network, folder)
