"""The grid search: its cells, what became of them, its tables, and DVC's experiments behind it."""
