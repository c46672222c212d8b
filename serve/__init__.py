"""The service: encoders behind an HTTP API; `serve.service` is what BentoML starts."""
