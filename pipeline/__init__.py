"""From sentences to trained, measured and compared encoders; one module a stage."""
