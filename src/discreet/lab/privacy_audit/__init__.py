"""The audit: what epsilon a mechanism, a query, a randomizer or a synthesizer really has, measured from outside.

>>> import numpy as np
>>> from discreet.lab.privacy_audit import lower_bound
>>> lower_bound(np.zeros(1000), np.ones(1000)) > 3          # outputs that name their world
True
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.lab.evidence import Evidence
from discreet.lab.privacy_audit.audit_suite import AuditReport, audit
from discreet.lab.privacy_audit.epsilon_lower_bound import lower_bound, measure_epsilon
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace

__all__ = ["AuditReport", "audit", "demo", "lower_bound", "measure_epsilon"]


def demo() -> Evidence:
    """A count with half of the noise that it claims: 10,000 outputs with a person and 10,000 without."""
    noise = DiscreteLaplace(scale=Fraction(1, 2))
    left, right = (world + noise.draw(10_000, bits=system()) for world in (np.int64(0), np.int64(1)))
    return measure_epsilon(left, right, epsilon=1.0, name="audit")
