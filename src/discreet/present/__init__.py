"""How a number looks: in text, in charts, in a notebook. Knows no release, no budget and no data."""
