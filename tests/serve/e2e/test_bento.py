"""The Bento: what is packed, what an image of it would be made of, and that it serves.

No Docker engine is needed: the Dockerfile is read, not run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from packaging.utils import canonicalize_name

from pipeline.encoder.version import folder_version
from tests.serve.e2e.process import BENTOML, Server
from tests.tiny import ROOT

if TYPE_CHECKING:
    from tests.serve.e2e.store import Store

pytestmark = pytest.mark.verify

# Only what is in git, and the encoders that a test makes: a clone has no trained ones.
FILES = ("bentofile.yaml", "constraints.txt", "params.yaml")
FOLDERS = ("deploy", "docs", "metrics", "pipeline", "results", "serve")
BUILD = [BENTOML, "build", "--output", "tag"]
# Like `bentoml containerize`, up to where the engine would begin.
CONTAINERIZE = """
import shutil, sys
from bentoml import bentos
from bentoml._internal.container import construct_containerfile

with construct_containerfile(bentos.get(sys.argv[1])) as (context, dockerfile):
    shutil.copytree(context, sys.argv[2])
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """BentoML's folder."""
    return tmp_path_factory.mktemp("bentoml")


@pytest.fixture(scope="module")
def bento(home: Path, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Bento of a copy of the project with one tiny encoder."""
    project = tmp_path_factory.mktemp("project")
    for name in FILES:
        shutil.copy(ROOT / name, project / name)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, project / name)
    settings = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["serve"]
    shutil.copytree(store.small, project / settings["models"] / "vicreg" / "42")
    version = folder_version(store.small)
    shutil.copytree(store.root / "exported" / version, project / settings["exported"] / version)
    shutil.copy(store.root / "metrics" / "vicreg.json", project / settings["metrics"])
    (project / "models" / ".half.unfinished").mkdir()
    (project / "models" / ".half.unfinished" / "model.safetensors").write_text("half")
    run(BUILD, home, cwd=project)
    (found,) = (one for one in (home / "bentos" / "triad").iterdir() if one.is_dir())
    return found


def run(command: list[str], home: Path, cwd: Path = ROOT) -> None:
    environment = os.environ | {"BENTOML_HOME": str(home), "BENTOML_DO_NOT_TRACK": "True"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_holds_code_settings_encoders_exports_the_page_about_the_api_and_nothing_else(
    bento: Path,
) -> None:
    source = bento / "src"
    for name in ("serve/service.py", "models/vicreg/42/modules.json", "metrics/vicreg.json"):
        assert (source / name).is_file(), name
    assert (source / "results/comparison.json").is_file()
    assert len(list(source.glob(".exported/*/graph.onnx"))) == 1
    names = {path.name for path in source.iterdir()}
    assert names == {*FILES, *FOLDERS, "models", ".exported"} - {"deploy", "docs"}
    assert (bento / "README.md").read_bytes() == (ROOT / "docs/serving.md").read_bytes()
    assert not list(bento.rglob("*.unfinished"))
    assert not list(bento.rglob("__pycache__"))


def test_its_packages_are_those_of_deploy(bento: Path) -> None:
    def lines(file: Path) -> set[str]:
        text = file.read_text(encoding="utf-8")
        return {line for line in text.splitlines() if line and not line.startswith("#")}

    built = lines(bento / "env/python/requirements.txt")
    constraints = lines(ROOT / "constraints.txt")
    (bentoml,) = (line for line in constraints if line.startswith("bentoml=="))
    assert built == lines(ROOT / "deploy/requirements.txt") | {bentoml}


def test_the_image_copies_what_is_there_runs_as_an_ordinary_user_and_phones_nobody(
    bento: Path, home: Path, tmp_path: Path
) -> None:
    context = tmp_path / "context"  # what a container's builder would be given
    run([sys.executable, "-c", CONTAINERIZE, f"triad:{bento.name}", str(context)], home)
    dockerfile = (context / "env/docker/Dockerfile").read_text(encoding="utf-8")
    dockerfile = dockerfile.replace("\\\n", " ")
    sources = re.findall(r"^COPY (?:--\S+ )*(\S+) \S+$", dockerfile, re.MULTILINE)
    assert "." in sources
    for source in sources:
        assert (context / source).exists(), source

    arguments = dict(re.findall(r"^ARG (\w+)=(\S+)$", dockerfile, re.MULTILINE))
    (begin,) = re.findall(r"^ENTRYPOINT (.+)$", dockerfile, re.MULTILINE)
    (entrypoint,) = json.loads(begin)
    assert (context / Path(entrypoint).relative_to(arguments["BENTO_PATH"])).is_file()
    assert re.findall(r"^USER (.+)$", dockerfile, re.MULTILINE)[-1] == "bentoml"
    assert arguments["BENTO_USER_UID"] == "1034"  # which deploy/kubernetes.yaml names

    for name, value in {"HOST": "0.0.0.0", "BENTOML_DO_NOT_TRACK": "True"}.items():
        assert arguments[name] == value
        assert f"ENV {name}=${name}" in dockerfile
    assert "EXPOSE 3000" in dockerfile


ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"{{name}} is not in the image", name=name)

sys.meta_path.insert(0, Absent())
"""


def test_it_serves_its_encoder_where_only_its_packages_can_be_imported(
    bento: Path, tmp_path: Path
) -> None:
    lines = (bento / "env/python/requirements.txt").read_text(encoding="utf-8").splitlines()
    there = {canonicalize_name(line.partition("==")[0]) for line in lines} | {"triad-encoders"}
    absent = {
        module
        for module, packages in packages_distributions().items()
        if not there & {canonicalize_name(package) for package in packages}
    }
    assert {"torch", "transformers", "dvc"} <= absent
    (tmp_path / "sitecustomize.py").write_text(ABSENT.format(modules=absent), encoding="utf-8")
    more = {"PYTHONPATH": str(tmp_path), "BENTOML_HOME": str(tmp_path / "home")}
    with Server(tmp_path, more, (BENTOML, "serve", str(bento))) as server:
        server.wait_for(200)
        (card,) = server.get("/v1/models").json["data"]
        assert card["id"] == "vicreg-42"
        assert card["agreement"] >= 0.9999
        assert card["sts"]
        content = {"model": "vicreg-42", "input": ["one text", "and another"]}
        answer = server.post("/v1/embeddings", content)
        assert [len(row) for row in answer.embeddings] == [32, 32]
