"""How numbers look: cells as text, charts, templates of pages, and the HTML that a notebook shows. Knows no release."""
