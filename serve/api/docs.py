"""The page at /docs: Swagger UI from the package that bundles it, so it needs no internet.

Its addresses are relative, so it works below any path prefix.
"""

from importlib.util import find_spec
from pathlib import Path


def _assets() -> Path:
    spec = find_spec("fastapi_offline")  # only found, not imported
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("fastapi-offline is not installed; install triad[serve].")
    return Path(spec.origin).parent / "static"


ASSETS = _assets()

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Triad API</title>
<link rel="icon" href="docs/assets/favicon.png">
<link rel="stylesheet" href="docs/assets/swagger-ui.css">
</head>
<body>
<div id="ui"></div>
<script src="docs/assets/swagger-ui-bundle.js"></script>
<script>
SwaggerUIBundle({url: "openapi.json", dom_id: "#ui", deepLinking: true, validatorUrl: null});
</script>
</body>
</html>
"""


def page() -> str:
    """The HTML."""
    return _PAGE
