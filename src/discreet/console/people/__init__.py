"""People: who may come, how they prove it, and what the console remembers of them. No HTTP here.

    store       the file: .discreet/console.db          tables     what is in it (line: a connection to it)
    roster      persons and their roles                 passwords  Argon2id, at one cost for known and unknown names
    sessions    browsers that are logged in             tokens     programs that may come
    throttle    failures, counted in memory             setup      the link for the first owner
    requests    asking for more budget                  published  releases that everybody may read
    denials     what was refused lately                 keys       idempotency keys of the API
    browsers    browsers that a person logged in with   people     all of these together

Secrets that the console gives out are 256 bits from the operating system and are stored as SHA-256 only: who reads
the file can neither come as anybody nor go on with anybody's session.
"""
