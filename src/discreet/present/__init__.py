"""How numbers look: noisy numbers as text, charts, and the HTML that a notebook shows. Knows no release."""
