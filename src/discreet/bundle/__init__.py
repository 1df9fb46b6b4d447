"""Release bundles: one release as files that anybody can read, and check without us.

    about      what only people know: a name, an intended use, who answers for it
    content    what a bundle tells, read from the ledger
    sheet      the tables of numbers, as CSV, Parquet and JSON
    reread     SQL answers computed anew from what was measured
    card       the release in the form of the OpenDP deployments registry
    derivation, proof    why it moves as little as it does, written out for a checker that shares no code with us
    claims     the few facts that manifest, card and events must agree on
    yaml, page, chart    how a card and its numbers are written
    signing    the key in the state folder
    manifest   what is in the bundle, and who says so
    make       all of it as files
    verify     the checks; reading: somebody else's files; beside: against the project's ledger; report: what was found

What is in a bundle was released already, is declared, or was told by the owner. It holds no times: how long a count
took could tell something about people.
"""
