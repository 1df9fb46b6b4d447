"""Query auditing: stop answering when it becomes unsafe. Sums, bits, and what a denial tells."""

from discreet.lab.query_auditing.auditor_attack import KINDS, PEOPLE, QUERIES, attack, audit_sums, demo
from discreet.lab.query_auditing.hard_formula import HardFormula, audit_formula
from discreet.lab.query_auditing.query_file import AuditedQueries, parse, read
from discreet.lab.query_auditing.sql_audit import audit_sql
from discreet.lab.query_auditing.sql_sums import SqlSums, read_sums
from discreet.lab.query_auditing.sum_auditor import SumAuditor

__all__ = [
    "KINDS",
    "PEOPLE",
    "QUERIES",
    "AuditedQueries",
    "HardFormula",
    "SqlSums",
    "SumAuditor",
    "attack",
    "audit_formula",
    "audit_sql",
    "audit_sums",
    "demo",
    "parse",
    "read",
    "read_sums",
]
