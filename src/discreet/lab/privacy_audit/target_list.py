"""Everything that is audited of the installed version."""

from __future__ import annotations

from collections.abc import Callable

from discreet.lab.privacy_audit import mechanisms, program_steps, randomizers, sql, synthesizers
from discreet.lab.privacy_audit.targets import AuditOutcome, AuditTarget


def all_targets() -> list[AuditTarget]:
    """Everything that is audited of the installed version."""
    parts = (mechanisms, sql, randomizers, program_steps, synthesizers)
    return [target for part in parts for target in _targets_of_part(part.KIND, part.targets)]


def _targets_of_part(kind: str, targets: Callable[[], list[AuditTarget]]) -> list[AuditTarget]:
    """The targets of a part; where they cannot even be made, one that says so."""
    try:
        return targets()
    except Exception as problem:
        failure = problem  # the name in the line above ends with its block

        def measure(samples: int) -> AuditOutcome:
            raise failure

        return [
            AuditTarget(name=f"{kind}: what it claims", kind=kind, method="identity", epsilon=None, measure=measure)
        ]
