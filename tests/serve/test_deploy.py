"""The deployment files, alerts and dashboard are valid and agree with the code.

Not here: the Bento that they make (test_bento.py).
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib.metadata import distribution, packages_distributions
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import kubernetes_validate
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from serve.metrics import Metrics
from serve.settings import Environment, load
from tests.tiny import ROOT

DEPLOY = ROOT / "deploy"
SERVE = load(ROOT / "params.yaml")
BENTOFILE = yaml.safe_load((ROOT / "bentofile.yaml").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
COMPOSE_GPU = yaml.safe_load((DEPLOY / "compose.gpu.yaml").read_text(encoding="utf-8"))
OBJECTS = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))
BY_KIND: dict[str, Any] = {one["kind"]: one for one in OBJECTS}
COMPOSED = COMPOSE["services"]["triad"]
DEPLOYED = BY_KIND["Deployment"]["spec"]["template"]["spec"]
(CONTAINER,) = DEPLOYED["containers"]
VARIABLES = {one["name"]: one["value"] for one in CONTAINER["env"]}
METRICS = list(Metrics().registry.collect())


def pins(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    found = [line.partition("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, _, version in found}


def needed(requirements: Sequence[str]) -> set[str]:
    """Packages that these bring to the image, themselves included, as the installed ones say."""
    image = {"python_version": str(BENTOFILE["docker"]["python_version"])}
    image |= {"python_full_version": f"{image['python_version']}.0", "sys_platform": "linux"}
    todo = [Requirement(one) for one in requirements]
    seen: set[tuple[str, str]] = set()
    while todo:
        requirement = todo.pop()
        for extra in requirement.extras | {""}:
            if (requirement.name, extra) in seen:
                continue
            seen.add((requirement.name, extra))
            asked = map(Requirement, distribution(requirement.name).requires or ())
            here = image | {"extra": extra}
            todo += [one for one in asked if one.marker is None or one.marker.evaluate(here)]
    return {canonicalize_name(name) for name, _ in seen}


def test_requirements_are_what_serving_needs_and_no_training() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    roots = [*project["optional-dependencies"]["serve"], "numpy", "pyyaml", "tokenizers"]
    pinned = pins("deploy/requirements.txt")
    assert set(pinned) == needed(roots) - {"bentoml"}
    assert pinned.items() <= pins("constraints.txt").items()
    assert not {"torch", "transformers", "dvc", "datasets", "scikit-learn", "scipy"} & set(pinned)


class TestKubernetes:
    @pytest.mark.parametrize("version", ["1.30", kubernetes_validate.latest_version()])
    @pytest.mark.parametrize("one", OBJECTS, ids=lambda one: one["kind"])
    def test_an_object_has_the_schema_of_its_kind(self, one: Any, version: str) -> None:
        kubernetes_validate.validate(one, version, strict=True)

    def test_probes_ask_for_health_at_the_port(self) -> None:
        (port,) = CONTAINER["ports"]
        assert port["containerPort"] == int(VARIABLES["PORT"])
        for probe, path in [("startup", "readyz"), ("readiness", "readyz"), ("liveness", "livez")]:
            get = CONTAINER[f"{probe}Probe"]["httpGet"]
            assert get == {"path": f"/{path}", "port": port["name"]}

    def test_everything_selects_the_pods(self) -> None:
        deployment = BY_KIND["Deployment"]["spec"]
        labels = deployment["template"]["metadata"]["labels"]
        assert deployment["selector"]["matchLabels"] == labels
        assert BY_KIND["Service"]["spec"]["selector"] == labels
        assert BY_KIND["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
        assert BY_KIND["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
        target = BY_KIND["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
        assert (target["kind"], target["name"]) == ("Deployment", "triad")

    def test_the_autoscaler_follows_a_gauge_of_the_service(self) -> None:
        (metric,) = BY_KIND["HorizontalPodAutoscaler"]["spec"]["metrics"]
        gauges = {family.name for family in METRICS if family.type == "gauge"}
        assert metric["pods"]["metric"]["name"] in gauges

    def test_the_keys_are_where_the_secret_is_mounted(self) -> None:
        (secret,) = (one for one in DEPLOYED["volumes"] if "secret" in one)
        (mount,) = (one for one in CONTAINER["volumeMounts"] if one["name"] == secret["name"])
        assert VARIABLES["TRIAD_API_KEYS_FILE"] == f"{mount['mountPath']}/keys"


@pytest.mark.parametrize("content", [COMPOSE, COMPOSE_GPU], ids=["cpu", "gpu"])
def test_compose_files_have_its_schema_and_one_service(content: Any) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema has the schema")
    vendored = files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json"
    schema = json.loads(vendored.read_text(encoding="utf-8"))
    jsonschema.validators.validator_for(schema)(schema).validate(content)
    assert set(content["services"]) == {"triad"}


GPU_IMAGE = (DEPLOY / "gpu.Dockerfile").read_text(encoding="utf-8")
GPU_PACKAGES = GPU_IMAGE.partition("-c src/constraints.txt ")[2].partition("\n")[0].split()
IMPORTED = """
import sys

sys.modules.update(dict.fromkeys({absent!r}))  # None: as if not installed
import serve.encoders.torch_backend
"""


def test_packages_of_the_gpu_image_are_pinned_where_the_bento_has_the_pins() -> None:
    assert set(GPU_PACKAGES) <= set(pins("constraints.txt"))
    assert "/constraints.txt" in BENTOFILE["include"]


@pytest.mark.verify
def test_packages_of_the_gpu_image_are_what_the_backend_needs() -> None:
    there = needed(GPU_PACKAGES) | set(pins("deploy/requirements.txt")) | {"triad-encoders"}
    absent = {
        module
        for module, packages in packages_distributions().items()
        if not there & {canonicalize_name(package) for package in packages}
    }
    assert {"bentoml", "scipy"} <= absent
    code = IMPORTED.format(absent=absent)
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize("variables", [VARIABLES, COMPOSED["environment"]], ids=["pod", "compose"])
def test_every_variable_is_one_that_somebody_reads(variables: dict[str, str]) -> None:
    known = {name.upper() for name in Environment.model_fields}
    known |= {"BENTOML_HOME", "BENTOML_DO_NOT_TRACK"}  # BentoML's own
    assert set(variables) <= known


@pytest.mark.parametrize(
    "granted",
    [DEPLOYED["terminationGracePeriodSeconds"], int(COMPOSED["stop_grace_period"].rstrip("s"))],
    ids=["pod", "compose"],
)
def test_a_stop_grants_the_drain_and_the_longest_request(granted: int) -> None:
    limits = SERVE.limits
    assert granted > SERVE.drain_seconds + limits.body_seconds + limits.wait_seconds


@pytest.mark.parametrize(
    "place", [SERVE.models, *SERVE.encoders.values(), SERVE.exported, SERVE.metrics, SERVE.results]
)
def test_the_bento_takes_what_the_settings_name(place: str) -> None:
    assert any(f"/{place}/".startswith(included) for included in BENTOFILE["include"])


DASHBOARD = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
RULES = yaml.safe_load((DEPLOY / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed (apt-get: prometheus)"
)


def promtool(*arguments: object) -> None:
    run = subprocess.run(
        ["promtool", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


class TestMonitoring:
    @pytest.mark.parametrize("query", [*QUERIES, *(rule["expr"] for rule in RULES)])
    def test_a_query_asks_for_series_that_the_service_has(self, query: str) -> None:
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
        series = {
            family.name + suffix for family in METRICS for suffix in suffixes.get(family.type, [""])
        }
        asked = set(re.findall(r"triad_\w+", query))
        assert asked
        assert asked <= series

    def test_the_dashboard_shows_every_metric_and_no_panel_covers_another(self) -> None:
        shown = " ".join(QUERIES)
        assert [one.name for one in METRICS if not re.search(rf"\b{one.name}", shown)] == []
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
        assert len(set(places)) == len(places)

    @needs_promtool
    def test_the_alerts_ring_when_they_should(self) -> None:
        promtool("check", "rules", DEPLOY / "alerts.yaml")
        promtool("test", "rules", DEPLOY / "alerts.test.yaml")

    @needs_promtool
    def test_prometheus_reads_every_query_of_the_dashboard(self, tmp_path: Path) -> None:
        queries = [query.replace("$__rate_interval", "5m") for query in QUERIES]
        rules = [{"record": f"query:{index}", "expr": query} for index, query in enumerate(queries)]
        file = tmp_path / "queries.yaml"
        content = {"groups": [{"name": "dashboard", "rules": rules}]}
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        promtool("check", "rules", file)
