"""The service's settings: section `serve` of params.yaml, and the environment.

Not here: the settings of training and evaluation (pipeline/config), which the service neither needs
nor checks.
"""

import ipaddress
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from pipeline.machine.errors import ConfigError
from pipeline.machine.settings import Listed, Settings, check, read_yaml, refuse
from serve.installed import has_cuda

BackendChoice = Literal[
    "auto",
    "openvino-bf16",
    "openvino-f32",
    "onnxruntime-f32",
    "torch-f32",
    "torch-f16",
    "torch-bf16",
]
DeviceChoice = Literal["auto", "cpu", "cuda"]


def _each(fits: Callable[[object, object], bool], what: str) -> BeforeValidator:
    """A mapping whose every name and value fit; one that is none is left to pydantic."""

    def check(entries: object) -> object:
        wrong = [
            f"{name!r}: {value!r} must be {what}."
            for name, value in (entries.items() if isinstance(entries, Mapping) else ())
            if not fits(name, value)
        ]
        if wrong:
            raise ValueError(*wrong)
        return entries

    return BeforeValidator(check)


def _id_and_folder(name: object, folder: object) -> bool:
    return isinstance(name, str) and name != "" and "/" not in name and isinstance(folder, str)


def _names_a_loss(_: object, settings: object) -> bool:
    return isinstance(settings, Mapping) and ":" in str(settings.get("loss"))


def _prefix(path: str) -> str:
    if path and (path[0] != "/" or path[-1] == "/"):
        raise ValueError(f"must be empty or start with / and not end with it, got {path!r}.")
    return path


class LimitParams(Settings):
    """What one request, and all of them together, may ask for."""

    items: int = Field(ge=1, description="texts of a request, times its models")
    tokens: int = Field(ge=1, description="tokens of a request, times its models")
    body_bytes: int = Field(ge=1024, description="bytes of a request's body")
    body_seconds: float = Field(gt=0, description="seconds until a body has arrived")
    all_bodies_bytes: int = Field(ge=1024, description="bytes of all bodies not yet answered")
    queue_texts: int = Field(ge=1, description="texts admitted and not yet answered")
    wait_seconds: float = Field(gt=0, description="seconds until a text's turn comes")

    @field_validator("all_bodies_bytes", "queue_texts")
    @classmethod
    def _holds_one_request(cls, value: int, info: ValidationInfo) -> int:
        part = {"all_bodies_bytes": "body_bytes", "queue_texts": "items"}[str(info.field_name)]
        least = info.data.get(part)
        if least is not None and value < least:
            raise ValueError(
                f"must be at least serve.limits.{part} ({least}), or an idle service would refuse "
                f"a request within the limits; got {value}."
            )
        return value


class ServeParams(Settings):
    """Section `serve`.

    Attributes:
        models: folder whose `<objective>/<seed>` are served; null: none.
        encoders: further encoders, id -> sentence-transformers folder.
        exported: folder that keeps exported graphs, one folder an encoder's version.
        metrics: folder of the pipeline's metrics, joined to encoders by version.
        results: the pipeline's comparison table.
        losses: losses of others that may be taken apart, as section `objectives` writes them.
        backend: `auto`, or the only one to use.
        device: where it computes; `auto`: on a GPU if torch sees one and the backend is torch's.
        threads: threads that compute; null: the cores that the process may use.
        batch_tokens: tokens of a batch, padding included.
        reload_seconds: how often folders are looked at for changes; 0: never.
        drain_seconds: how long a stopping service says "not ready" before it closes its door.
        stop_seconds: how long it then waits for clients to take their answers.
        cors_origins: origins whose pages may call the API; null: none.
        path_prefix: path below which a proxy shows the service, like /triad; may be empty.
    """

    models: str | None
    encoders: Annotated[
        Mapping[str, str], _each(_id_and_folder, "an id without '/' and a folder's path")
    ]
    exported: str
    metrics: str
    results: str
    losses: Annotated[
        Mapping[str, Mapping[str, Any]], _each(_names_a_loss, "a mapping with a loss, module:Class")
    ]
    backend: BackendChoice
    device: DeviceChoice
    threads: int | None = Field(ge=1, description="threads")
    batch_tokens: int = Field(ge=16, description="tokens")
    reload_seconds: float = Field(ge=0, description="seconds")
    drain_seconds: float = Field(ge=0, description="seconds")
    stop_seconds: float = Field(ge=0, description="seconds")
    cors_origins: Listed[str] | None
    path_prefix: Annotated[str, AfterValidator(_prefix)]
    limits: LimitParams

    @field_validator("device")
    @classmethod
    def _can_be_used(cls, device: DeviceChoice, info: ValidationInfo) -> DeviceChoice:
        backend: BackendChoice = info.data.get("backend", "auto")
        if device == "cuda" and not backend.startswith(("auto", "torch")):
            raise ValueError(
                f"cuda, but serve.backend {backend} computes on the CPU only; set serve.device to "
                "auto or cpu, or serve.backend to auto or one of torch."
            )
        if device == "cuda" and not has_cuda():
            raise ValueError("cuda, but torch finds no NVIDIA GPU here; set auto or cpu.")
        return device


def load(path: Path) -> ServeParams:
    """Read and check section `serve`.

    Raises:
        ConfigError: the file or the section is missing, or holds anything wrong.
    """
    content = read_yaml(path)
    if not isinstance(content, Mapping) or "serve" not in content:
        raise ConfigError(f"{path}: has no section 'serve'; add it as conf/config.yaml has it.")
    if problems := check(ServeParams, content["serve"], "serve"):
        raise refuse(path, problems)
    return ServeParams.model_validate(content["serve"])


def _address(host: str) -> str:
    host = "127.0.0.1" if host == "localhost" else host
    try:
        ipaddress.ip_address(host)
    except ValueError:
        problem = f"must be an IP address like 127.0.0.1 or 0.0.0.0, got {host!r}."
        raise ValueError(problem) from None
    return host


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise ValueError(f"must be a whole number from 1 to 65535, got {text!r}.")
    return int(text)


def _keys(texts: Iterable[str], where: str = "") -> tuple[bytes, ...]:
    """Keys; a variable that gives none is a mistake that would open the door."""
    keys = tuple(text.strip().encode() for text in texts if text.strip())
    if not keys:
        raise ValueError(f"{where}holds no key; give at least one, or unset the variable.")
    return keys


def _keys_of_file(file: str) -> tuple[bytes, ...]:
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} cannot be read: {error}") from error
    return _keys(lines, f"{file}: ")


Keys = Annotated[tuple[bytes, ...], NoDecode]


class Environment(BaseSettings):
    """Where to listen, and who may call, by environment variables named like the fields.

    Attributes:
        triad_params: the file whose section `serve` is read.
        triad_api_keys: API keys, divided by commas.
        triad_api_keys_file: a file of them, one a line.
    """

    model_config = SettingsConfigDict(
        alias_generator=str.upper, case_sensitive=True, frozen=True, validate_default=False
    )

    host: Annotated[str, AfterValidator(_address)] = "127.0.0.1"
    port: Annotated[int, BeforeValidator(_port)] = 3000
    triad_params: Path = Path("params.yaml")
    triad_api_keys: Annotated[Keys, BeforeValidator(lambda text: _keys(text.split(",")))] = ()
    triad_api_keys_file: Annotated[Keys, BeforeValidator(_keys_of_file)] = ()

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The API keys of both variables; none means that everybody may call."""
        return self.triad_api_keys + self.triad_api_keys_file


def read_environment() -> Environment:
    """Read and check the environment.

    Raises:
        ConfigError: a variable holds anything wrong; the message holds a line for each.
    """
    try:
        return Environment()
    except ValidationError as error:
        lines = [f"{problem['loc'][0]}: {problem['ctx']['error']}" for problem in error.errors()]
        raise ConfigError("\n".join(lines)) from None
