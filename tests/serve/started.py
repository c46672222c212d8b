"""The service as its users start it: by BentoML, in processes of its own, with tiny encoders."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from csv import DictReader
from pathlib import Path
from typing import Any

import yaml

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.version import folder_version
from serve.encoders.export import export

ROOT = Path(__file__).parents[2]
_SETTINGS = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["serve"]
# Seconds until a service is ready, on a machine that has other work too.
PATIENCE = 180.0
# What whoever runs the tests may have set for a service of their own.
_LEFT_OUT = ("BENTOML_", "HOST", "PORT", "TRIAD_")


def write_encoders(place: Path, backbone: Path, names: Mapping[str, str]) -> None:
    """Encoders as training leaves them, their exports and metrics, where params.yaml has them.

    Args:
        place: gets models/<objective>/42 and so on.
        backbone: whose weights they have.
        names: objective -> pooling.
    """
    for objective, pooling in names.items():
        folder = place / _SETTINGS["models"] / objective / "42"
        SentenceEncoder.load(backbone, "cpu", pooling).save(folder)  # type: ignore[arg-type]
        _write_json(folder / "triad.json", _record(objective))
        export(folder, place / _SETTINGS["exported"])
        metrics = Path(_SETTINGS["metrics"]) / objective / "42.json"
        measured = json.loads((ROOT / metrics).read_text(encoding="utf-8"))
        _write_json(place / metrics, measured | {"version": folder_version(folder)})


def _record(objective: str) -> dict[str, Any]:
    """What training says of an encoder, with the curve of the committed run."""
    with (ROOT / f"curves/{objective}/42.csv").open(encoding="utf-8") as file:
        curve = [
            {key: float(value) if value else None for key, value in row.items()}
            for row in DictReader(file)
        ]
    return {
        "objective": objective,
        "hyperparameters": {"margin": 0.3, "ratio": 1.5, "temperature": 0.05},
        "seed": 42,
        "backbone": {"source": "backbones/tiny", "pooling": "cls"},
        "data": {"source": "corpus.txt", "sentences": 300},
        "steps": len(curve),
        "best": {"step": curve[0]["step"], "dev_spearman": curve[0]["dev_spearman"]},
        "curve": curve,
    }


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


def write_params(file: Path, **changes: Any) -> Path:
    """The project's settings of the service, with changes."""
    content = {"serve": _SETTINGS | changes}
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return file


@contextmanager
def started(target: str, place: Path, **environment: str) -> Iterator[str]:
    """Serve a target of `bentoml serve` until the block ends; gives the address.

    Args:
        target: the service's import path, or a Bento.
        place: keeps the log and BentoML's own folder.
        environment: what else the service sees.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
    kept |= {"HOST": "127.0.0.1", "PORT": str(port), "BENTOML_HOME": str(place / "home")}
    kept |= {"BENTOML_DO_NOT_TRACK": "True"}
    log = place / "service.log"
    with (
        log.open("w", encoding="utf-8") as output,
        subprocess.Popen(
            [sys.executable, "-m", "bentoml", "serve", target],
            cwd=ROOT,
            env=kept | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(address, process, log)
            yield address
        finally:
            process.terminate()
            process.wait(60)


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"not ready:\n{log.read_text(encoding='utf-8')}")
