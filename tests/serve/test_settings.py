"""Settings of the service: what is wrong is said at once, and a mistake opens no door.

Not here: the sentences that all settings share (tests/config).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.machine.errors import ConfigError
from serve.settings import Environment, load, read_environment
from tests.tiny import ROOT

CONTENT: dict[str, Any] = {
    "serve": yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["serve"]
}


def write(folder: Path, changes: dict[str, Any]) -> Path:
    """params.yaml with changes by path below `serve`."""
    content = copy.deepcopy(CONTENT)
    for path, value in changes.items():
        *parents, last = path.split(".")
        section = content["serve"]
        for parent in parents:
            section = section[parent]
        section[last] = value
    file = folder / "params.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return file


def refused(file: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load(file)
    message = str(caught.value)
    assert message.startswith(str(file))
    return message


def test_the_service_needs_no_other_section(tmp_path: Path) -> None:
    assert load(write(tmp_path, {})) == load(ROOT / "params.yaml")


@pytest.mark.parametrize("content", ["train: {}", "", "- serve"])
def test_a_file_without_settings_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(content, encoding="utf-8")
    assert "has no section 'serve'; add it as conf/config.yaml has it." in refused(file)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"backend": "int8"}, "serve.backend: expected one of 'auto', 'openvino-bf16'"),
        ({"device": "mps"}, "serve.device: expected one of 'auto', 'cpu', 'cuda', got 'mps'"),
        (
            {"device": "cuda", "backend": "openvino-f32"},
            "serve.device: cuda, but serve.backend openvino-f32 computes on the CPU only; set",
        ),
        ({"device": "cuda"}, "serve.device: cuda, but torch finds no NVIDIA GPU here; set auto or"),
        ({"threads": 0}, "serve.threads: 0 is out of range; it must be at least 1 (threads)"),
        ({"batch_tokens": 8}, "serve.batch_tokens: 8 is out of range; it must be at least 16"),
        ({"reload_seconds": float("nan")}, "serve.reload_seconds: nan is out of range"),
        ({"modells": "m"}, "serve: unknown key 'modells'; did you mean 'models'?"),
        ({"encoders": {"a/b": "c"}}, "serve.encoders: 'a/b': 'c' must be an id without '/'"),
        ({"encoders": {"": "c"}}, "serve.encoders: '': 'c' must be an id without '/'"),
        ({"encoders": {3: "c"}}, "serve.encoders: 3: 'c' must be an id without '/'"),
        ({"encoders": {"a": None}}, "serve.encoders: 'a': None must be"),
        ({"losses": None}, "serve.losses: expected a mapping"),
        ({"losses": {"a": {"m": 1}}}, "serve.losses: 'a': {'m': 1} must be a mapping with a loss"),
        ({"losses": {"a": {"loss": "mpt"}}}, "must be a mapping with a loss, module:Class."),
        ({"cors_origins": []}, "serve.cors_origins: expected a list of at least one text or null"),
        ({"cors_origins": "*"}, "serve.cors_origins: expected a list"),
        ({"path_prefix": "triad"}, "serve.path_prefix: must be empty or start with /"),
        ({"path_prefix": "/triad/"}, "and not end with it, got '/triad/'"),
        ({"path_prefix": "/"}, "and not end with it, got '/'"),
        ({"limits.items": 0}, "serve.limits.items: 0 is out of range"),
        ({"limits.body_seconds": 0}, "serve.limits.body_seconds: 0 is out of range"),
        ({"limits.wait_s": 3}, "serve.limits: unknown key 'wait_s'; did you mean 'wait_seconds'?"),
        (
            {"limits.items": 100, "limits.queue_texts": 99},
            "serve.limits.queue_texts: must be at least serve.limits.items (100), or an idle",
        ),
        (
            {"limits.body_bytes": 4096, "limits.all_bodies_bytes": 2048},
            "serve.limits.all_bodies_bytes: must be at least serve.limits.body_bytes (4096)",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr("serve.settings.has_cuda", lambda: False)
    said = refused(write(tmp_path, changes))
    assert message in said
    assert ": 1 problem:" in said


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    wrong = {"threads": 0, "path_prefix": "x", "encoders": {"a/b": "c", "": "d"}, "modells": 3}
    assert ": 6 problems:" in refused(write(tmp_path, wrong | {"limits.items": 9000}))


@pytest.mark.parametrize("backend", ["auto", "torch-f32", "torch-f16", "torch-bf16"])
def test_a_gpu_is_for_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    monkeypatch.setattr("serve.settings.has_cuda", lambda: True)
    assert load(write(tmp_path, {"device": "cuda", "backend": backend})).device == "cuda"


Read = Callable[..., Environment]
HOST = "HOST: must be an IP address like 127.0.0.1 or 0.0.0.0, got "
PORT = "PORT: must be a whole number from 1 to 65535, got "
NO_KEY = "holds no key; give at least one, or unset the variable."


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Read:
    """The environment that holds these variables of the service's, and no others."""

    def read(**variables: str) -> Environment:
        for name in ("HOST", "PORT", "TRIAD_PARAMS", "TRIAD_API_KEYS", "TRIAD_API_KEYS_FILE"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return read_environment()

    return read


@pytest.mark.parametrize(
    ("variables", "host", "port"),
    [
        ({}, "127.0.0.1", 3000),
        ({"HOST": "localhost"}, "127.0.0.1", 3000),
        ({"HOST": "0.0.0.0", "PORT": "8080"}, "0.0.0.0", 8080),
        ({"HOST": "::1"}, "::1", 3000),
    ],
)
def test_unless_variables_say_otherwise_this_machine_and_everybody_on_it_is_answered(
    environment: Read, variables: dict[str, str], host: str, port: int
) -> None:
    given = environment(**variables)
    assert (given.host, given.port, given.keys) == (host, port, ())
    assert given.triad_params == Path("params.yaml")


def test_keys_are_divided_by_commas_and_by_lines_and_add_up(
    environment: Read, tmp_path: Path
) -> None:
    (tmp_path / "keys").write_text("one\n\n two \nwith, comma\n", encoding="utf-8")
    listed, file = "a, b,,c ", str(tmp_path / "keys")
    assert environment(TRIAD_API_KEYS=listed).keys == (b"a", b"b", b"c")
    assert environment(TRIAD_API_KEYS_FILE=file).keys == (b"one", b"two", b"with, comma")
    both = environment(TRIAD_API_KEYS=listed, TRIAD_API_KEYS_FILE=file)
    assert both.keys == (b"a", b"b", b"c", b"one", b"two", b"with, comma")


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("HOST", ("", "example.org", "127.0.0.1:80", "300.1.1.1"), HOST),
        ("PORT", ("", "0", "-1", "65536", "80.0", "http", " 80", "9" * 30), PORT),
        ("TRIAD_API_KEYS", ("", " ", ",", " , "), f"TRIAD_API_KEYS: {NO_KEY}"),
        ("TRIAD_API_KEYS_FILE", ("", "/nowhere/keys"), "TRIAD_API_KEYS_FILE: "),
    ],
)
def test_a_wrong_variable_is_refused_whatever_the_others_are(
    environment: Read, name: str, values: tuple[str, ...], message: str
) -> None:
    for value in values:
        with pytest.raises(ConfigError) as caught:
            environment(**{"TRIAD_API_KEYS": "one", name: value})
        assert str(caught.value).startswith(message)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"), [(b"", NO_KEY), (b"\n \n", NO_KEY), (b"\xff\xfe", "cannot be read")]
)
def test_a_file_that_gives_no_key_is_refused(
    environment: Read, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "keys").write_bytes(content)
    with pytest.raises(ConfigError, match=rf"^TRIAD_API_KEYS_FILE: .*keys:? {message}"):
        environment(TRIAD_API_KEYS_FILE=str(tmp_path / "keys"))


def test_all_wrong_variables_are_said_at_once(environment: Read) -> None:
    with pytest.raises(ConfigError) as caught:
        environment(HOST="example.org", PORT="0", TRIAD_API_KEYS="")
    assert str(caught.value).splitlines() == [
        f"{HOST}'example.org'.",
        f"{PORT}'0'.",
        f"TRIAD_API_KEYS: {NO_KEY}",
    ]
