"""People: who may come, how they prove it, and what the console remembers of them. No HTTP here.

    people_store      the file .discreet/console.db (store_schema: what is in it; store_connection: a connection to it)
    roster            persons and their roles
    passwords         Argon2id, at one cost for known and unknown names (weak_passwords: which are refused)
    sessions          browsers that are logged in (browsers: those that a person logged in with)
    tokens            programs that have access
    throttle          failures, counted in memory
    setup_link        the link for the first owner
    budget_requests   requests for more budget
    publications      releases that everybody may read
    answer_notes      names, tags and notes of answers
    refused_queries   queries that were refused, for their authors
    denials           what was refused lately
    idempotency_keys  idempotency keys of the API
    people            all of these together

Secrets that the console gives out are 256 bits from the operating system and are stored as SHA-256 only: who reads
the file can neither come as anybody nor go on with anybody's session.
"""
