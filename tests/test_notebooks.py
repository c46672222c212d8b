"""The notebooks run from top to bottom, draw what they promise, and are committed as they ran."""

from pathlib import Path

import pytest

from tests.tiny import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.verify
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_and_draws(file: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs the extra notebooks")
    nbclient = pytest.importorskip("nbclient", reason="needs the extra notebooks")
    notebook = nbformat.read(file, as_version=4)
    place = {"metadata": {"path": str(file.parent)}}
    nbclient.NotebookClient(notebook, timeout=1800, resources=place).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
