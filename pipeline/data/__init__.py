"""Text in, token arrays out."""
