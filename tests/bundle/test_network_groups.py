"""Bundles of networks by a private attribute: a forger with the owner's key cannot name other groups than are declared."""

import json
from dataclasses import replace

import pytest

from discreet.accounting import events
from discreet.bundle import bundle_files
from discreet.bundle.content import content_of
from discreet.bundle.signing_key import Signer
from discreet.bundle.verification import verify
from discreet.graph.expected_events import expected_events
from graph import test_edge_labels, test_private_trait


def refused_noise(project, release, changes, folder):
    """Whether the noise check refuses a bundle whose shape is another, with the events that belong to that one."""
    content = content_of(project, release)
    stored = json.loads(content.payloads[release])
    stored["shape"] |= changes
    expected = expected_events(stored, content.event, chosen=None, steps=content.steps)
    steps = [
        {**step, "event": events.to_data(event)} for step, event in zip(content.steps, expected, strict=True)
    ]  # fmt: skip
    lying = replace(content, payloads={**content.payloads, release: json.dumps(stored)}, steps=tuple(steps))
    bundle_files.write(bundle_files.signed_files(lying, Signer.load_or_make()), folder)
    return [check.holds for check in verify(folder).checks if check.name == "noise"] == [False]


def test_groups_of_persons(tmp_path):
    """Fewer groups would have less noise: somebody moves a number for each group that there is."""
    project = test_private_trait.project_of(tmp_path / "p")
    release = project.graph("ties", nodes="members", by="colour").stats(epsilon=1, only="homophily").release
    assert not refused_noise(project, release, {}, tmp_path / "honest")
    lies = {"labels": ["blue", "red"]}, {"labels": ["red", "blue", "green"]}, {"by": "size"}
    for turn, lie in enumerate(lies):
        assert refused_noise(project, release, lie, tmp_path / f"lie {turn}"), lie


@pytest.mark.parametrize(
    "lie", [{"labels": ["red", "blue"]}, {"by": "from,to"}, {"by": "mine"}, {"by": "mine,yours,mine"}], ids=str
)
def test_groups_of_rows(tmp_path, lie):
    project = test_edge_labels.project_of(tmp_path / "p")
    release = project.graph("friends", by="mine,yours", edges_per_node=2).stats(epsilon=1, only="mixing").release
    assert not refused_noise(project, release, {}, tmp_path / "honest")
    assert refused_noise(project, release, lie, tmp_path / "lie")
