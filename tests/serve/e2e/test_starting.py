"""What the service makes of what it finds when it starts."""

from __future__ import annotations

import socket
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.serve.e2e.process import COMMAND, environment, free_port
from tests.tiny import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PARAMS = ROOT / "params.yaml"


def refusal(params: Path, port: str | int) -> str:
    """What the command says when it refuses to start."""
    run = subprocess.run(
        COMMAND,
        cwd=ROOT,
        env=environment({"TRIAD_PARAMS": str(params), "PORT": str(port)}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    said = (run.stdout + run.stderr).strip()
    assert run.returncode != 0
    assert "Traceback" not in said
    assert len(said.splitlines()) <= 2, said
    return said


def test_a_wrong_variable_ends_it_with_one_sentence() -> None:
    assert "PORT: must be a whole number from 1 to 65535, got 'abc'." in refusal(PARAMS, "abc")


@pytest.mark.verify
def test_wrong_params_end_it_with_one_sentence(tmp_path: Path) -> None:
    params, right = tmp_path / "params.yaml", PARAMS.read_text(encoding="utf-8")
    params.write_text(right.replace("\nserve:\n", "\nserve:\n  modles: x\n"), encoding="utf-8")
    said = refusal(params, free_port())
    assert "serve: unknown key 'modles'; did you mean 'models'?" in said


def test_a_port_that_is_taken_ends_it_with_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert str(port) in refusal(PARAMS, port)
