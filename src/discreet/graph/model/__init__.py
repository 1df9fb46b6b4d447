"""A graph to play with: a degree-corrected block model, made of noisy numbers and public facts alone."""
