"""Release bundles: one release as files that anybody can read, and check without us.

    about      what only people know: a name, an intended use, who answers for it
    content    what a bundle tells, read from the ledger
    sheet      the tables of numbers, as CSV, Parquet and JSON
    answer_replay, program_replay    answers computed again from what was measured
    registry_card    the release in the form of the OpenDP deployments registry
    derivation, proof    why it moves as little as it does, written out for a checker that shares no code with us
    claims     the few facts that manifest, card and events must agree on
    card_yaml, card_page, sheet_chart    how a card and its numbers are written
    signing_key     the key in the state folder
    manifest        what is in the bundle, and who says so
    bundle_files    all of it as files
    verification    the checks (bundle_reader: somebody else's files; ledger_comparison: against the project's ledger)

What is in a bundle was released already, is declared, or was told by the owner. It holds no times: how long a count
took could tell something about people.
"""
