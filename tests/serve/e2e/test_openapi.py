"""Schemathesis: whatever the OpenAPI document allows or forbids, answers are as it says.

Checks left out: `positive_data_acceptance`, since a schema cannot say what else is refused (both
pairs and sources, lists over a limit, ids outside a vocabulary); `use_after_free`,
`ensure_resource_availability` and `object_level_authorization`, since nothing is created, deleted
or owned; `ignored_auth`, since this service asks for no key (test_openai_client.py has one that
does).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.serve.e2e.process import Server

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
)


def with_real_encoders(document: Any) -> Any:
    """The document with the encoders that there are, or no example would get beyond "not found"."""
    known = {"enum": ["vicreg-42", "vicreg_modified-42"]}
    changed = json.loads(json.dumps(document))
    for operations in changed["paths"].values():
        for parameter in operations.get("get", {}).get("parameters", []):
            parameter["schema"] = known
        if "post" in operations:
            body = operations["post"]["requestBody"]["content"]["application/json"]
            name = body["schema"]["$ref"].rpartition("/")[2]
            schema = changed["components"]["schemas"][name]
            optional = "model" not in schema.get("required", ())
            schema["properties"]["model"] = {"enum": [*known["enum"], None]} if optional else known
    return changed


@pytest.mark.verify
def test_every_answer_is_as_the_document_says(server: Server, tmp_path: Path) -> None:
    document = server.get("/openapi.json").json
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(with_real_encoders(document)))
    run = subprocess.run(
        [
            Path(sys.executable).with_name("schemathesis"),
            "run",
            file,
            *("--url", server.url),
            *("--phases", "coverage,fuzzing"),
            *("--checks", ",".join(CHECKS)),
            *("--max-examples", "50"),
            *("--request-timeout", "120"),  # seconds; the first gradients wait for torch
            # From a fixed seed, and without a database of examples.
            "--generation-deterministic",
            *("--suppress-health-check", "all"),
            *("--warnings", "off"),
            "--no-color",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    operations = sum(map(len, document["paths"].values()))
    assert f"Tested: {operations}" in run.stdout
