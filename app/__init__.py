"""The demo page: original and modified encoders side by side, over the service's HTTP API."""
