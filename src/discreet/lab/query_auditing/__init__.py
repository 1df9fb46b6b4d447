"""Query auditing: stop answering when it becomes unsafe. Sums, bits, and what a denial tells."""

from discreet.lab.query_auditing.auditor_attack import KINDS, PEOPLE, QUERIES, attack, audit_sums, demo
from discreet.lab.query_auditing.query_file import AuditedQueries, parse, read
from discreet.lab.query_auditing.sum_auditor import SumAuditor

__all__ = [
    "KINDS",
    "PEOPLE",
    "QUERIES",
    "AuditedQueries",
    "SumAuditor",
    "attack",
    "audit_sums",
    "demo",
    "parse",
    "read",
]
