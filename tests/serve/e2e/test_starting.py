"""What the service makes of what it finds when it starts."""

from __future__ import annotations

import socket
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.serve.e2e.process import COMMAND, environment, free_port
from tests.serve.e2e.store import write_params
from tests.tiny import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.serve.e2e.store import Store


def start_wrongly(params: Path, port: int, more: Mapping[str, str]) -> str:
    """What the command says when it refuses to start."""
    run = subprocess.run(
        COMMAND,
        cwd=ROOT,
        env=environment(port, {"TRIAD_PARAMS": str(params), **more}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode not in (0, None)
    assert "Traceback" not in run.stdout + run.stderr
    said = (run.stdout + run.stderr).strip()
    assert len(said.splitlines()) <= 2, said
    return said


@pytest.fixture
def params(tmp_path: Path, store: Store) -> Path:
    return write_params(tmp_path, store, {})


def test_a_wrong_variable_ends_it_with_one_sentence(params: Path) -> None:
    said = start_wrongly(params, free_port(), {"PORT": "abc"})
    assert "PORT: must be a whole number from 1 to 65535, got 'abc'." in said


@pytest.mark.verify
def test_wrong_params_end_it_with_one_sentence(params: Path) -> None:
    content = yaml.safe_load(params.read_text(encoding="utf-8"))
    content["serve"]["modles"] = "x"
    params.write_text(yaml.safe_dump(content), encoding="utf-8")
    said = start_wrongly(params, free_port(), {})
    assert "serve: unknown key 'modles'; did you mean 'models'?" in said


def test_a_port_that_is_taken_ends_it_with_one_sentence(params: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert str(port) in start_wrongly(params, port, {})
