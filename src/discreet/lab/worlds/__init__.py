"""Generated data for the attacks. Its randomness may be seeded: nobody lives in these worlds, so it protects nobody."""
