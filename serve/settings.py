"""The service's settings: section `serve` of params.yaml, and the environment's secrets.

Not here: the settings of training and evaluation (pipeline/config), which the service neither needs
nor checks.
"""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pipeline.machine.bounds import number
from pipeline.machine.errors import ConfigError
from pipeline.machine.strict import section
from pipeline.machine.yaml_file import read_yaml, refuse

BackendChoice = Literal[
    "auto", "openvino-bf16", "openvino-f32", "onnxruntime-f32", "torch-f32", "onnxruntime-int8"
]


@dataclass(frozen=True, kw_only=True)
class LimitParams:
    """What one request, and all of them together, may ask for."""

    items: int = number(at_least=1, unit="texts of a request, times its models")
    tokens: int = number(at_least=1, unit="tokens of a request, times its models")
    body_bytes: int = number(at_least=1024, unit="bytes of a request's body")
    body_seconds: float = number(above=0.0, unit="seconds until a body has arrived")
    all_bodies_bytes: int = number(at_least=1024, unit="bytes of all bodies not yet answered")
    queue_texts: int = number(at_least=1, unit="texts admitted and not yet answered")
    wait_seconds: float = number(above=0.0, unit="seconds until a text's turn comes")


@dataclass(frozen=True, kw_only=True)
class ServeParams:
    """Section `serve`.

    Attributes:
        models: folder whose `<objective>/<seed>` are served; null: none.
        encoders: further encoders, id -> sentence-transformers folder.
        exported: folder that keeps exported graphs, one folder an encoder's version.
        metrics: folder of the pipeline's metrics, joined to encoders by version.
        results: the pipeline's comparison table.
        backend: `auto`, or the only one to use.
        int8_data: SentEval folder; the loss of int8 is measured on its STS-B dev pairs.
        threads: threads that compute; null: the cores that the process may use.
        batch_tokens: tokens of a batch, padding included.
        cache_embeddings: recent embeddings kept for equal texts; 0: none.
        reload_seconds: how often folders are looked at for changes; 0: never.
        drain_seconds: how long a stopping service says "not ready" before it closes its door.
        stop_seconds: how long it then waits for clients to take their answers.
        cors_origins: origins whose pages may call the API; null: none.
        path_prefix: path below which a proxy shows the service, like /triad; may be empty.
    """

    models: str | None
    encoders: Mapping[str, str]
    exported: str
    metrics: str
    results: str
    backend: BackendChoice
    int8_data: str
    threads: int | None = number(at_least=1, unit="threads")
    batch_tokens: int = number(at_least=16, unit="tokens")
    cache_embeddings: int = number(at_least=0, unit="embeddings")
    reload_seconds: float = number(at_least=0.0, unit="seconds")
    drain_seconds: float = number(at_least=0.0, unit="seconds")
    stop_seconds: float = number(at_least=0.0, unit="seconds")
    cors_origins: tuple[str, ...] | None
    path_prefix: str
    limits: LimitParams


def load(path: Path) -> ServeParams:
    """Read and check section `serve`.

    Raises:
        ConfigError: the file or the section is missing, or holds anything wrong.
    """
    content = read_yaml(path)
    if not isinstance(content, Mapping) or "serve" not in content:
        raise ConfigError(f"{path}: has no section 'serve'; add it as conf/config.yaml has it.")
    problems: list[str] = []
    params = section(ServeParams, content["serve"], "serve", problems)
    # Of the raw content, so that what is wrong together is said beside what is wrong alone.
    raw = content["serve"] if isinstance(content["serve"], Mapping) else {}
    problems.extend(_wrong_together(raw))
    if params is None or problems:
        raise refuse(path, problems)
    return params


def _wrong_together(raw: Mapping[Any, Any]) -> list[str]:
    limits = raw.get("limits")
    limits = limits if isinstance(limits, Mapping) else {}
    problems = []
    for whole, part in (("queue_texts", "items"), ("all_bodies_bytes", "body_bytes")):
        least, given = limits.get(part), limits.get(whole)
        if isinstance(least, int) and isinstance(given, int) and given < least:
            problems.append(
                f"serve.limits.{whole}: must be at least serve.limits.{part} ({least}), or an idle "
                f"service would refuse a request within the limits; got {given}."
            )
    prefix = raw.get("path_prefix")
    if isinstance(prefix, str) and prefix and (prefix[0] != "/" or prefix[-1] == "/"):
        problems.append(
            f"serve.path_prefix: must be empty or start with / and not end with it, got {prefix!r}."
        )
    encoders = raw.get("encoders")
    return problems + (_wrong_encoders(encoders) if isinstance(encoders, Mapping) else [])


def _wrong_encoders(encoders: Mapping[Any, Any]) -> list[str]:
    return [
        f"serve.encoders: {name!r}: {folder!r} must be an id without '/' and a folder's path."
        for name, folder in encoders.items()
        if not isinstance(name, str) or not name or "/" in name or not isinstance(folder, str)
    ]


def read_address(environment: Mapping[str, str] = os.environ) -> tuple[str, int]:
    """Where to listen: HOST (127.0.0.1) and PORT (3000).

    Raises:
        ConfigError: one of them is no address or no port.
    """
    host, port = environment.get("HOST", "127.0.0.1"), environment.get("PORT", "3000")
    host = "127.0.0.1" if host == "localhost" else host
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise ConfigError(
            f"HOST: must be an IP address like 127.0.0.1 or 0.0.0.0, got {host!r}."
        ) from None
    if not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ConfigError(f"PORT: must be a whole number from 1 to 65535, got {port!r}.")
    return host, int(port)


def read_keys(environment: Mapping[str, str] = os.environ) -> tuple[bytes, ...]:
    """The API keys: TRIAD_API_KEYS (divided by commas) and the lines of TRIAD_API_KEYS_FILE.

    None given means that everybody may call.

    Raises:
        ConfigError: a variable is there that gives no key: a mistake that would open the door.
    """
    keys: list[str] = []
    listed, file = environment.get("TRIAD_API_KEYS"), environment.get("TRIAD_API_KEYS_FILE")
    if listed is not None:
        keys += _some("TRIAD_API_KEYS", listed.split(","))
    if file is not None:
        try:
            lines = Path(file).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"TRIAD_API_KEYS_FILE: {file} cannot be read: {error}") from error
        keys += _some(f"TRIAD_API_KEYS_FILE: {file}", lines)
    return tuple(key.encode() for key in keys)


def _some(where: str, given: list[str]) -> list[str]:
    keys = [key.strip() for key in given if key.strip()]
    if not keys:
        raise ConfigError(f"{where}: holds no key; give at least one, or unset the variable.")
    return keys
