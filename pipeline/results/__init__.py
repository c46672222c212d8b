"""Metrics of encoders: their schema, how they are read back, compared, laid out and drawn."""
