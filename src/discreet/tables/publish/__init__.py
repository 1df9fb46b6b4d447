"""Tables as a census publishes them: a hierarchy of places, attributes, and counts that add up exactly.

plan_file (PLAN.toml as written) -> layout (what that means for a version: places, cells, queries; public facts alone)
-> publication_measurement (one charge, one step) -> table_estimates (least squares, whole numbers) -> published_tables
(files).
"""
