"""The BentoML service: what it imports, and what BentoML puts around the API.

In processes of their own, as it is imported in serving.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tests.tiny import ROOT

HEAVY = ("torch", "transformers", "onnx", "onnxscript", "sentence_transformers")
RUNTIMES = ("openvino", "onnxruntime", "tokenizers", "serve.engine")


def seen(code: str, **environment: str) -> Any:
    """What the code prints as JSON."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TRIAD_", "BENTOML_", "PROMETHEUS_"))
        and name not in {"HOST", "PORT"}
    }
    done = subprocess.run(
        [sys.executable, "-c", f"import json, sys\n{code}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=inherited | environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_serving_imports_neither_torch_nor_transformers() -> None:
    code = (
        f"sys.modules.update(dict.fromkeys({HEAVY!r}))\n"  # None: as if not installed
        "import serve.service, serve.engine, serve.api.app\n"
        "import serve.encoders.registry, serve.encoders.backends\n"
        "print(json.dumps(not serve.installed.is_installed('torch')))"
    )
    assert seen(code) is True


def test_the_supervisor_imports_no_runtime_and_nothing_phones_home() -> None:
    """Even if BentoML has looked before, as its command line has when it imports the service."""
    code = (
        "sys.argv = ['bentoml']\n"
        "from bentoml._internal.utils.analytics import usage_stats\n"
        "silent = [usage_stats.do_not_track()]\n"
        "import serve.service\n"
        "silent.append(usage_stats.do_not_track())\n"
        f"imported = [name for name in {HEAVY + RUNTIMES!r} if name in sys.modules]\n"
        "print(json.dumps([silent, imported]))"
    )
    assert seen(code, PROMETHEUS_MULTIPROC_DIR="/nowhere") == [[False, True], []]
