"""Query auditing: stop answering when it becomes unsafe. Sums, bits, and what a denial tells."""

from discreet.lab.auditing.attacking import KINDS, PEOPLE, QUERIES, attack, audited, demo
from discreet.lab.auditing.queries import Asked, parse, read
from discreet.lab.auditing.sums import SumAuditor

__all__ = ["KINDS", "PEOPLE", "QUERIES", "Asked", "SumAuditor", "attack", "audited", "demo", "parse", "read"]
