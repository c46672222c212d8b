"""The BentoML service: what it imports, and what BentoML puts around the API.

In processes of their own, as it is imported in serving.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.tiny import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAVY = ("torch", "transformers", "onnx", "onnxscript", "sentence_transformers")
RUNTIMES = ("openvino", "onnxruntime", "tokenizers", "serve.engine")


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TRIAD_", "BENTOML_", "PROMETHEUS_"))
        and name not in {"HOST", "PORT"}
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=inherited | environment,
        timeout=300,
    )


def seen(code: str, **environment: str) -> Any:
    """What the code prints as JSON."""
    done = run(f"import json, sys\n{code}", **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def absent(names: Sequence[str]) -> str:
    return f"sys.modules.update(dict.fromkeys({list(names)!r}))\n"  # None: as if not installed


def test_serving_imports_neither_torch_nor_transformers() -> None:
    code = absent(HEAVY) + (
        "import serve.service, serve.engine, serve.api.app\n"
        "import serve.encoders.registry, serve.encoders.backends\n"
        "print(json.dumps(not serve.installed.is_installed('torch')))"
    )
    assert seen(code) is True


SUPERVISOR = f"""
sys.argv = ["bentoml"]
import serve.service as service
from bentoml._internal.utils.analytics import usage_stats
print(json.dumps({{
    "imported": [name for name in {(*HEAVY, *RUNTIMES)!r} if name in sys.modules],
    "silent": usage_stats.do_not_track(),
}}))
"""


@pytest.fixture(scope="module")
def supervisor() -> dict[str, Any]:
    """What is seen in the process that starts the serving one."""
    found: dict[str, Any] = seen(SUPERVISOR, PROMETHEUS_MULTIPROC_DIR="/nowhere")
    return found


def test_the_supervisor_imports_no_runtime(supervisor: dict[str, Any]) -> None:
    assert supervisor["imported"] == []


def test_nothing_phones_home(supervisor: dict[str, Any]) -> None:
    assert supervisor["silent"] is True


@pytest.mark.verify
def test_nothing_phones_home_even_if_bentoml_has_looked_before() -> None:
    """As the command line has, before it imports the service."""
    code = (
        "from bentoml._internal.utils.analytics import usage_stats\n"
        "before = usage_stats.do_not_track()\n"
        "import serve.service\n"
        "print(json.dumps([before, usage_stats.do_not_track()]))"
    )
    assert seen(code) == [False, True]
