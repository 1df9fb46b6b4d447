"""How a number looks in text. Knows no release, no budget and no data."""
