"""Settings of the service: what is wrong is said at once, and a mistake opens no door."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from pipeline.machine.errors import ConfigError
from serve.settings import load, read_address, read_keys
from tests.tiny import MISSING, ROOT

if TYPE_CHECKING:
    from pathlib import Path

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
        section.pop(last, None)
        if value is not MISSING:
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


def test_the_repositorys_settings_are_right() -> None:
    params = load(ROOT / "params.yaml")
    assert params.limits.queue_texts >= params.limits.items
    assert params.cors_origins is None
    assert params.backend == "auto"


def test_the_service_needs_no_other_section(tmp_path: Path) -> None:
    assert load(write(tmp_path, {})) == load(ROOT / "params.yaml")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"backend": "int8"}, "serve.backend: expected one of 'auto', 'openvino-bf16'"),
        ({"backend": None}, "serve.backend: expected one of"),
        ({"threads": 0}, "serve.threads: 0 is out of range; it must be at least 1 (threads)"),
        ({"threads": 1.5}, "serve.threads: expected a whole number or null, got 1.5"),
        ({"threads": True}, "serve.threads: expected a whole number or null, got True"),
        ({"batch_tokens": 8}, "serve.batch_tokens: 8 is out of range; it must be at least 16"),
        ({"cache_embeddings": -1}, "serve.cache_embeddings: -1 is out of range"),
        ({"reload_seconds": float("inf")}, "serve.reload_seconds: inf is out of range"),
        ({"reload_seconds": float("nan")}, "serve.reload_seconds: nan is out of range"),
        ({"reload_seconds": "3e-5"}, "which YAML reads as text: write 3.0e-05"),
        ({"models": 3}, "serve.models: expected text or null, got 3"),
        ({"models": MISSING}, "serve.models: missing; add it."),
        ({"modells": "m"}, "serve: unknown key 'modells'; did you mean 'models'?"),
        ({"encoders": None}, "serve.encoders: expected a mapping"),
        ({"encoders": {"a/b": "c"}}, "serve.encoders: 'a/b': 'c' must be an id without '/'"),
        ({"encoders": {"": "c"}}, "serve.encoders: '': 'c' must be an id without '/'"),
        ({"encoders": {3: "c"}}, "serve.encoders: 3: 'c' must be an id without '/'"),
        ({"encoders": {"a": None}}, "serve.encoders: 'a': None must be"),
        ({"cors_origins": []}, "serve.cors_origins: expected a list of at least one text or null"),
        ({"cors_origins": "*"}, "serve.cors_origins: expected a list"),
        ({"path_prefix": "triad"}, "serve.path_prefix: must be empty or start with /"),
        ({"path_prefix": "/triad/"}, "and not end with it, got '/triad/'"),
        ({"path_prefix": "/"}, "and not end with it, got '/'"),
        ({"path_prefix": None}, "serve.path_prefix: expected text, got None"),
        ({"limits": None}, "serve.limits: expected a mapping of keys, got None"),
        ({"limits.items": 0}, "serve.limits.items: 0 is out of range"),
        ({"limits.body_seconds": 0}, "serve.limits.body_seconds: 0 is out of range"),
        ({"limits.wait_seconds": MISSING}, "serve.limits.wait_seconds: missing; add it."),
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
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    said = refused(write(tmp_path, changes))
    assert message in said
    assert ": 1 problem:" in said


@pytest.mark.parametrize(
    "changes",
    [
        {"threads": 0, "backend": "x", "limits.items": 0, "modells": 3, "exported": MISSING},
        {
            "path_prefix": "x",
            "encoders": {"a/b": "c", "": "d"},
            "limits.items": 9000,
            "limits.all_bodies_bytes": 1024,
        },
    ],
)
def test_all_that_is_wrong_is_said_at_once(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert ": 5 problems:" in refused(write(tmp_path, changes))


def test_so_it_is_where_one_value_is_wrong_by_itself_and_another_beside_a_third(
    tmp_path: Path,
) -> None:
    message = refused(write(tmp_path, {"threads": 0, "limits.items": 9000, "path_prefix": "x"}))
    assert all(name in message for name in ("threads", "queue_texts", "path_prefix"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("train: {}", "has no section 'serve'; add it as conf/config.yaml has it."),
        ("", "has no section 'serve'"),
        ("- serve", "has no section 'serve'"),
        ("serve: [", "is no valid YAML"),
        ("serve: {}\nserve: {}", "the key 'serve' stands there more than once"),
    ],
)
def test_a_file_without_settings_is_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(content, encoding="utf-8")
    assert message in refused(file)


def test_an_absent_file_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refused(tmp_path / "nowhere.yaml")


class TestAddress:
    def test_without_variables_only_this_machine_is_answered(self) -> None:
        assert read_address({}) == ("127.0.0.1", 3000)

    @pytest.mark.parametrize(
        ("host", "expected"),
        [("0.0.0.0", "0.0.0.0"), ("localhost", "127.0.0.1"), ("::1", "::1")],
    )
    def test_an_address_is_taken(self, host: str, expected: str) -> None:
        assert read_address({"HOST": host, "PORT": "8080"}) == (expected, 8080)

    @pytest.mark.parametrize("host", ["", "example.org", "127.0.0.1:80", "300.1.1.1"])
    def test_what_is_no_address_is_refused(self, host: str) -> None:
        with pytest.raises(ConfigError, match="HOST: must be an IP address"):
            read_address({"HOST": host})

    @pytest.mark.parametrize("port", ["", "0", "-1", "65536", "80.0", "http", " 80", "9" * 30])
    def test_what_is_no_port_is_refused(self, port: str) -> None:
        with pytest.raises(ConfigError, match="PORT: must be a whole number from 1 to 65535"):
            read_address({"PORT": port})


class TestKeys:
    def test_without_variables_everybody_may_call(self) -> None:
        assert read_keys({}) == ()

    def test_several_keys_are_divided_by_commas(self) -> None:
        assert read_keys({"TRIAD_API_KEYS": "one, two,,three "}) == (b"one", b"two", b"three")

    def test_keys_are_the_lines_of_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "keys").write_text("one\n\n two \nwith, comma\n", encoding="utf-8")
        environment = {"TRIAD_API_KEYS_FILE": str(tmp_path / "keys")}
        assert read_keys(environment) == (b"one", b"two", b"with, comma")

    def test_variable_and_file_add_up(self, tmp_path: Path) -> None:
        (tmp_path / "keys").write_text("two", encoding="utf-8")
        environment = {"TRIAD_API_KEYS": "one", "TRIAD_API_KEYS_FILE": str(tmp_path / "keys")}
        assert read_keys(environment) == (b"one", b"two")

    @pytest.mark.parametrize("listed", ["", " ", ",", " , "])
    def test_a_variable_that_gives_no_key_is_refused(self, listed: str) -> None:
        with pytest.raises(ConfigError, match="TRIAD_API_KEYS: holds no key"):
            read_keys({"TRIAD_API_KEYS": listed})

    @pytest.mark.parametrize("content", [b"", b"\n \n", b"\xff\xfe"])
    def test_a_file_that_gives_no_key_is_refused(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "keys").write_bytes(content)
        with pytest.raises(ConfigError, match=r"TRIAD_API_KEYS_FILE: .*keys"):
            read_keys({"TRIAD_API_KEYS_FILE": str(tmp_path / "keys")})

    @pytest.mark.parametrize("file", ["", "nowhere"])
    def test_an_absent_file_is_refused(self, tmp_path: Path, file: str) -> None:
        with pytest.raises(ConfigError, match="TRIAD_API_KEYS_FILE: "):
            read_keys({"TRIAD_API_KEYS_FILE": file and str(tmp_path / file)})

    def test_a_wrong_file_is_refused_though_there_are_other_keys(self) -> None:
        with pytest.raises(ConfigError, match="TRIAD_API_KEYS_FILE: "):
            read_keys({"TRIAD_API_KEYS": "one", "TRIAD_API_KEYS_FILE": "/nowhere/keys"})
