"""Strategies: integer linear maps over cells. What is measured is `strategy.apply(cells)` plus noise.

How far it moves when a unit comes or goes follows from the strategy's own columns, so noise that forgets that a cell
is counted at every level of a tree cannot be written.
"""
