"""Tables as a census publishes them: a hierarchy of places, attributes, and counts that add up exactly.

told (PLAN.toml as written) -> layout (what that means for a version: places, cells, queries; public facts alone)
-> measuring (one charge, one step) -> refining (least squares, whole numbers) -> published (files and a card).
"""
