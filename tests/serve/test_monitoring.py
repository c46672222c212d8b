"""The alert rules and the dashboard are valid, and ask for what the service counts."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from serve.metrics import Metrics
from tests.tiny import ROOT

DEPLOY = ROOT / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
RULES = yaml.safe_load((DEPLOY / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
ALERTS = [rule["expr"] for rule in RULES]
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed (apt-get: prometheus)"
)


def promtool(*arguments: object) -> None:
    run = subprocess.run(
        ["promtool", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def series() -> set[str]:
    """Every name in the service's exposition."""
    names: set[str] = set()
    for family in Metrics().registry.collect():
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
        names |= {family.name + suffix for suffix in suffixes.get(family.type, [""])}
    return names


@pytest.mark.parametrize("query", [*QUERIES, *ALERTS])
def test_a_query_asks_for_series_that_the_service_has(query: str) -> None:
    asked = set(re.findall(r"triad_\w+", query))
    assert asked
    assert asked <= series()


def test_the_dashboard_shows_every_metric() -> None:
    shown = " ".join(QUERIES)
    families = {family.name for family in Metrics().registry.collect()}
    assert {name for name in families if not re.search(rf"\b{name}", shown)} == set()


def test_panels_do_not_overlap() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)


@needs_promtool
def test_the_alerts_ring_when_they_should() -> None:
    promtool("check", "rules", DEPLOY / "alerts.yaml")
    promtool("test", "rules", DEPLOY / "alerts.test.yaml")


@needs_promtool
def test_prometheus_reads_every_query_of_the_dashboard(tmp_path: Path) -> None:
    queries = [query.replace("$__rate_interval", "5m") for query in QUERIES]
    rules = [{"record": f"query:{index}", "expr": query} for index, query in enumerate(queries)]
    file = tmp_path / "queries.yaml"
    content = {"groups": [{"name": "dashboard", "rules": rules}]}
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    promtool("check", "rules", file)
