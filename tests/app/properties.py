"""How often a property is tried."""

from hypothesis import HealthCheck, settings

# Other work on the machine must not fail them.
PROPERTY = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
