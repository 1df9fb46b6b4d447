"""Workloads: several statements cut into common cells, and planned as one before anything is measured."""
