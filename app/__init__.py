"""The demo page: original and modified encoders side by side, over the service's HTTP API."""

from pathlib import Path

# Browsers ask for it at /favicon.ico, which is outside of the page's own path.
ICON = Path(__file__).with_name("icon.svg")
# The modules and looks that run in the browser.
STATIC = Path(__file__).with_name("static")
