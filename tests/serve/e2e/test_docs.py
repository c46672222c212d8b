"""The documentation says what the service does: its commands run, its tables are complete."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest
import yaml
from starlette.routing import Route

from serve.api.app import create_api
from serve.engine import Engine
from serve.metrics import Metrics
from serve.settings import Environment, load
from tests.tiny import ROOT

if TYPE_CHECKING:
    from tests.serve.e2e.process import Server

README = (ROOT / "README.md").read_text(encoding="utf-8")
SERVING = (ROOT / "docs/serving.md").read_text(encoding="utf-8")
OPERATING = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
SETTINGS = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["serve"]
DEFAULT = "http://127.0.0.1:3000"
CODE = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "serve").rglob("*.py"))


class Example(NamedTuple):
    """A curl command, the status that it is said to answer, and what of the answer is shown."""

    command: str
    status: str
    shown: str

    @property
    def asked(self) -> tuple[str, str]:
        """Method and path."""
        path = self.command.split()[2].removeprefix(DEFAULT)
        return "POST" if " -d " in self.command else "GET", path


EXAMPLES = [
    Example(*found)
    for found in re.findall(
        r"```sh\n(curl .*?)```\n\nAnswers (\d{3}).*?\n\n(?:```json\n(.*?)```)?", SERVING, re.DOTALL
    )
]
SNIPPETS = re.findall(r"```python\n(.*?)```", SERVING, re.DOTALL)


def test_every_command_of_the_page_is_taken_for_an_example() -> None:
    assert len(EXAMPLES) == SERVING.count("curl -s ")


def test_every_route_stands_in_the_table_and_has_an_example_that_answers_it() -> None:
    engine = Engine(load(ROOT / "params.yaml"))
    engine.batcher.stop()
    answered = [example.asked for example in EXAMPLES if example.status < "400"]
    for route in create_api(engine, ()).routes:
        if isinstance(route, Route):
            method = "POST" if "POST" in (route.methods or ()) else "GET"
            assert f"`{method} {route.path}`" in SERVING
            paths = [path for asked, path in answered if asked == method]
            assert any(map(route.path_regex.match, paths)), route.path


METRICS = [
    f"{metric.name}_total" if metric.type == "counter" else metric.name
    for metric in Metrics().registry.collect()
]
ROWS = [
    *((OPERATING, rf"`{name}` \|.*") for name in METRICS),
    *((OPERATING, rf"`{key}` \|.*") for key in SETTINGS if key != "limits"),
    *((SERVING, rf"`{key}` \| {value:.12g} \|.*") for key, value in SETTINGS["limits"].items()),
    *((SERVING, rf"`{name.upper()}` \|.*") for name in Environment.model_fields),
]


@pytest.mark.parametrize(("page", "row"), ROWS, ids=[row for _, row in ROWS])
def test_every_metric_setting_limit_and_variable_has_a_row_of_a_table(page: str, row: str) -> None:
    assert re.search(rf"^\| {row}\|$", page, re.MULTILINE)


def test_every_error_code_and_status_is_explained() -> None:
    found = re.findall(r'ApiError\(\s*([\w.]+),\s*"(\w+)"', CODE)
    assert len(found) > 10
    for status, code in found:
        assert f"`{code}`" in SERVING, code
        if status.isdecimal():
            assert re.search(rf"^\| {status} \|", SERVING, re.MULTILINE), status


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: " ".join(one.asked))
def test_a_command_answers_as_the_page_says(example: Example, server: Server) -> None:
    command = example.command.rstrip().replace(DEFAULT, server.url)
    done = subprocess.run(
        ["bash", "-c", f"{command} --max-time 60 -w '\\n%{{http_code}}'"],
        capture_output=True,
        text=True,
        check=True,
    )
    body, _, status = done.stdout.rpartition("\n")
    assert status == example.status, body
    if example.shown:
        assert_shaped(json.loads(example.shown), json.loads(body), "answer")


def assert_shaped(shown: object, real: object, where: str) -> None:
    """What the page shows, which is cut short, has the keys and types of the real answer."""
    if isinstance(shown, dict):
        assert isinstance(real, dict), where
        for key, value in shown.items():
            assert key in real, f"{where}.{key}"
            assert_shaped(value, real[key], f"{where}.{key}")
    elif isinstance(shown, list):
        assert isinstance(real, list), where
        assert len(shown) <= len(real), where
        for index, item in enumerate(shown):
            assert_shaped(item, real[index], f"{where}[{index}]")
    elif isinstance(shown, int | float) and not isinstance(shown, bool):
        assert isinstance(real, int | float), where
    else:
        assert type(shown) is type(real), where


def test_the_readmes_command_answers(server: Server) -> None:
    """With the encoders of this service in place of the reference encoders."""
    (command,) = re.findall(r"```sh\n(curl .*?)```", README, re.DOTALL)
    command = command.rstrip().replace(DEFAULT, server.url).replace("-reference", "-42")
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    both = json.loads(done.stdout)["data"]
    assert [len(one["similarities"]) for one in both] == [1, 1]


@pytest.mark.parametrize(
    "snippet", SNIPPETS, ids=["openai", "langchain", "llama-index", "bentoml", "triad"]
)
def test_a_client_works_as_the_page_says(snippet: str, server: Server) -> None:
    assert DEFAULT in snippet
    done = subprocess.run(
        [sys.executable, "-c", snippet.replace(DEFAULT, server.url)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout)
