"""Embedding a corpus that does not fit memory; the command is pipeline/embed.py."""
