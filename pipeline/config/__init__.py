"""params.yaml: what it may hold, and how it is read."""
