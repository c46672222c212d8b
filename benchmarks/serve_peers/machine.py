"""Which machine and which versions a report is about."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from pipeline.machine.device import processor

_PACKAGES = ("bentoml", "openvino", "onnxruntime", "sentence-transformers", "torch", "transformers")
_PEER_PACKAGES = ("infinity-emb", "sentence-transformers", "torch", "transformers", "optimum")
_ASK = """
import json, sys
from importlib import metadata
def version(name):
    try: return metadata.version(name)
    except metadata.PackageNotFoundError: return None
print(json.dumps({name: version(name) for name in sys.argv[1:]}))
"""


def described() -> dict[str, Any]:
    """Processor, cores that we may use, versions in our environment, and the date."""
    information = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    fields = dict(line.split(":", 1) for line in information if ":" in line)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    flags = named.get("flags", "").split()
    return {
        "cpu": processor(),
        "cpu_family_model": f"{named.get('cpu family', '?')}/{named.get('model', '?')}",
        "cores": len(os.sched_getaffinity(0)),
        "avx512_bf16": "avx512_bf16" in flags,
        "amx_bf16": "amx_bf16" in flags,
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _PACKAGES},
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }


def versions_of(python: Path) -> dict[str, str | None]:
    """Versions in infinity's environment; None where a package is absent."""
    run = subprocess.run(  # noqa: S603 - the interpreter that our caller names
        [str(python), "-c", _ASK, *_PEER_PACKAGES],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    versions: dict[str, str | None] = json.loads(run.stdout)
    return versions


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
