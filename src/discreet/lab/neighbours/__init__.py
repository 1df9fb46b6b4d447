"""The exact neighbour test: no number of a question moves further than its noise was made for.

    generated_values    values of a declared column: likely ones, those at its bounds, and strange ones
    generated_world     small tables of a declaration, and the same tables without one person
    source_rows         rows as the file or table that an owner would have
    engine_site         where an engine's sources and declared tables lie
    neighbour_pair      both tables, declared by the real engine
    engine_address      the engine at an address, with a place for generated tables
    neighbour_law       every step of a question's price, on both, before noise
    neighbour_audit     an owner's declaration and questions, tried on many pairs

Guarantee: nothing private is read, and nothing is charged. Because: rows come from declarations, and public tables are
    read as they are; no source of a private table, no declared table of a project, no key and no budget is touched.
"""

from discreet.lab.neighbours.neighbour_audit import TRIES, audit
from discreet.lab.neighbours.question_report import NeighbourReport, QuestionReport

__all__ = ["TRIES", "NeighbourReport", "QuestionReport", "audit"]
