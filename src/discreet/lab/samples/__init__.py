"""Sample tables with their code books, to learn and to test with: generated, always the same, about nobody."""
