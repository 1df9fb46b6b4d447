"""Graphs as engines know them: exact edges between numbered nodes, their projection to bounded degrees, triangles."""
