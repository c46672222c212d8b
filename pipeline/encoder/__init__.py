"""Encoders: load, encode, save, and what their folders say."""
