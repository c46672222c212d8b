"""Section 3.1: what the objectives' components do with drawn angles; no encoder."""
