"""HTTP: paths, bodies, documentation, logs; requests in, answers out."""
