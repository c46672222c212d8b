"""Two encoders of the embedded backbone behind a real service, and a browser."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.version import folder_version
from serve.encoders.export import export
from tests.serve.e2e.browser.chromium import CHROMIUM, FLAGS, VIEWS, View, Visit, visiting
from tests.serve.e2e.process import ROOT, Server, eventually, running
from tests.serve.e2e.store import write_params

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

BACKBONE = ROOT / "backbones" / "bert-mini-wiki"
_HYPERPARAMETERS: dict[str, dict[str, Any]] = {
    "vicreg": {"covariance_coefficient": 30.0},
    "vicreg_modified": {"margin": 0.3, "ratio": 1.5, "temperature": 0.05},
}
# Another pooling, so that the two encoders say different things.
_POOLINGS: dict[str, Any] = {"vicreg": "cls", "vicreg_modified": "mean"}


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    if CHROMIUM is None:
        pytest.skip(
            "Chromium is not installed, so the page was not tried: apt-get install chromium"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of encoders as training leaves them, exported: `exported`, `metrics` and each one."""
    place = tmp_path_factory.mktemp("encoders")
    folders = {"exported": place / "exported", "metrics": place / "metrics"}
    folders["metrics"].mkdir()
    logging.disable(logging.WARNING)  # torch's exporter about what is not installed
    for objective, pooling in _POOLINGS.items():
        folder = place / objective
        SentenceEncoder.load(BACKBONE, "cpu", pooling).save(folder)
        record = {
            "objective": objective,
            "hyperparameters": _HYPERPARAMETERS[objective],
            "seed": 1,
            "training": {},
            "hardware": "none",
            "steps": 100,
            "best": {"step": 50, "dev_spearman": 55.0},
            "curve": [_row(step) for step in (50, 100)],
        }
        (folder / "triad.json").write_text(json.dumps(record), encoding="utf-8")
        measured = {
            "version": folder_version(folder),
            "cosine_quantiles": np.linspace(0.2, 1.0, 101).round(4).tolist(),
        }
        file = folders["metrics"] / f"{objective}.json"
        file.write_text(json.dumps(measured), encoding="utf-8")
        export(folder, folders["exported"])
        folders[objective] = folder
    logging.disable(logging.NOTSET)
    return folders


def _row(step: int) -> dict[str, float]:
    return {
        "step": step,
        "dev_spearman": 55.0 - step / 100,
        "loss": 1.0,
        "dissipation": 0.5,
        "hardest_share": 0.3,
        "ratio": 1.5,
        "alignment": 0.3,
        "uniformity": -3.0,
        "positive_cosine": 0.8,
        "negative_cosine": 0.1,
    }


def load_page(server: Server) -> None:
    """The service loads the page on the first visit."""
    eventually(lambda: server.get("/demo/").status == 200)


def write_demo_params(folder: Path, served: dict[str, Path], **changes: Any) -> Path:
    encoders = {f"{objective}/1": served[objective] for objective in _POOLINGS}
    changes = {"metrics": str(served["metrics"]), **changes}
    return write_params(folder, served["exported"], encoders, **changes)


@pytest.fixture(scope="package")
def server(served: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serves `vicreg-1` and `vicreg_modified-1`, and the page; for everybody."""
    folder = tmp_path_factory.mktemp("demo")
    with running(folder, write_demo_params(folder, served)) as server:
        server.wait_for(200)
        load_page(server)
        yield server


@pytest.fixture(params=VIEWS, ids=lambda view: view.name)
def visit(request: pytest.FixtureRequest, browser: Browser, server: Server) -> Iterator[Visit]:
    """Somebody who has the page open, on each screen and in each colour scheme."""
    view: View = request.param
    with visiting(browser, view) as visit:
        visit.open(f"{server.url}/demo/")
        yield visit
