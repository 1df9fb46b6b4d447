"""Models made with numpy for the tests of sampling, and plain slow references."""

from __future__ import annotations

import itertools

import numpy as np

from discreet.inference.calibrated_tree import CalibratedTree, Clique


def model_of(sizes, edges, generator, *, total=1.0, concentration=0.5, zeros=0.0):
    """A random model; edges are (new attributes, separator, parent). A share `zeros` of conditional cells is 0."""
    cliques = []
    for new, shared, parent in edges:
        groups, cells = (int(np.prod([sizes[each] for each in axes])) for axes in (shared, new))
        given = generator.dirichlet(np.full(cells, concentration), size=groups)
        excluded = generator.random(given.shape) < zeros
        excluded[np.arange(groups), generator.integers(cells, size=groups)] = False
        given = np.where(excluded, 0, given + 1e-3)
        given /= given.sum(axis=1, keepdims=True)
        above = np.array([total])
        if shared:
            table, axes = cliques[parent].table, cliques[parent].attributes
            above = np.einsum(table, list(axes), list(shared)).reshape(-1)
        shape = [sizes[each] for each in (*shared, *new)]
        table = (given * above[:, None]).reshape(shape)
        cliques.append(Clique(attributes=(*shared, *new), separator=len(shared), parent=parent, table=table))
    return CalibratedTree(sizes=tuple(sizes), total=total, cliques=tuple(cliques))


def random_model(generator, *, sizes, width, **options):
    """A random tree: each attribute hangs on up to `width` attributes of an earlier clique."""
    order = [int(each) for each in generator.permutation(len(sizes))]
    edges = [(tuple(order[:2]), (), -1)]
    for attribute in order[2:]:
        parent = int(generator.integers(len(edges)))
        held = edges[parent][0] + edges[parent][1]
        shared = tuple(int(each) for each in generator.permutation(held)[:width])
        edges.append(((attribute,), shared, parent))
    return model_of(sizes, edges, generator, **options)


def independent_bits(columns):
    """Fair bits, each a clique of its own."""
    return CalibratedTree(
        sizes=(2,) * columns,
        total=1.0,
        cliques=tuple(
            Clique(attributes=(each,), separator=0, parent=min(each, 1) - 1, table=np.full(2, 0.5))
            for each in range(columns)
        ),
    )


def joint(calibrated):
    """The whole table, as shares."""
    return calibrated.project(range(len(calibrated.sizes))) / calibrated.total


def independent_rows(calibrated, n, generator):
    """Rows drawn one by one from the whole table: small models only."""
    table = joint(calibrated)
    flat = generator.choice(table.size, size=n, p=table.ravel() / table.sum())
    return np.stack(np.unravel_index(flat, table.shape), axis=1).astype(np.uint8)


def counts_of(codes, attributes, sizes):
    shape = tuple(sizes[each] for each in attributes)
    flat = np.ravel_multi_index(tuple(codes[:, each].astype(int) for each in attributes), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def mean_variation(calibrated, codes, order):
    """Mean total variation of all sets of so many attributes."""
    found = []
    for attributes in itertools.combinations(range(len(calibrated.sizes)), order):
        wanted = calibrated.project(attributes) / calibrated.total
        found.append(np.abs(counts_of(codes, attributes, calibrated.sizes) / len(codes) - wanted).sum() / 2)
    return float(np.mean(found))
