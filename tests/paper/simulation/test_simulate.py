"""The stage on the command line: four figures, equal bytes, refusals in one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.config.load import load
from pipeline.paper.figure import Figure
from pipeline.simulate import main, simulate
from tests.tiny import ROOT

NAMES = ("dissipation", "hardest_share", "ratio", "lemma")
KINDS = ("json", "png", "svg")


def write_params(folder: Path, **changes: Any) -> Path:
    """The repository's params.yaml with a simulation of seconds."""
    content = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    small = {"grid": 5, "batches": 20, "negatives": 7, "steps": [0.1, 2.0]}
    content["analysis"]["simulation"] |= small | changes
    path = folder / "params.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def run(folder: Path, params: Path) -> int:
    return main(["--params", str(params), "--out", str(folder)])


def simulated(folder: Path, **changes: Any) -> dict[str, Figure]:
    """The figures, without pictures being written."""
    params = load(write_params(folder, **changes))
    settings = params.analysis.simulation
    objectives = {name: params.objective(name) for name in settings.objectives}
    return {one.name: one for one in simulate(objectives, settings)}


def written_data(folder: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulation")
    assert run(folder / "out", write_params(folder)) == 0
    return folder / "out"


def test_every_figure_is_written_as_data_and_as_a_figure(written: Path) -> None:
    expected = {f"{name}.{kind}" for name in NAMES for kind in KINDS}
    assert {path.name for path in written.iterdir()} == expected
    assert not [name for name in NAMES if "{" in written_data(written, name)["caption"]]


def test_the_same_settings_give_the_same_bytes(written: Path, tmp_path: Path) -> None:
    assert run(tmp_path / "out", write_params(tmp_path)) == 0
    for path in written.iterdir():
        assert path.read_bytes() == (tmp_path / "out" / path.name).read_bytes(), path.name


def test_grids_have_a_row_for_each_negative_mean(written: Path) -> None:
    data = written_data(written, "dissipation")["data"]
    assert list(data["mean"]) == ["info_nce", "arccon", "mpt", "met"]
    assert [len(row) for row in data["mean"]["mpt"]] == [5] * 5
    assert data["mean"]["mpt"][-1][0] == 0, "negatives at pi, positives at pi / 20"
    assert data["mean"]["mpt"][0][-1] == 1, "negatives at pi / 20, positives at pi / 2"
    assert len(data["rows_negative_mean"]) == len(data["columns_positive_mean"]) == 5


def test_settings_tell_hyperparameters_and_how_many_batches_were_drawn(written: Path) -> None:
    """20 batches of 1 + 7 fill three matrices of eight."""
    settings = written_data(written, "dissipation")["settings"]
    assert (settings["batches"], settings["batches_drawn"]) == (20, 24)
    assert settings["hyperparameters"]["mpt"] == {"margin": 0.23}


def test_only_ratios_that_vary_are_drawn(written: Path) -> None:
    data = written_data(written, "ratio")["data"]
    assert data["constant"] == {"info_nce": 1.0, "mpt": 1.0}
    assert list(data["ratio"]) == list(data["unvisited"]) == ["arccon", "met"]


def test_a_share_of_no_batch_is_null(written: Path) -> None:
    data = written_data(written, "hardest_share")["data"]
    cold = data["temperatures"].index(0.005)
    assert data["open_batches_count"][cold][-1] == 0
    assert data["open_batches"][cold][-1] is None
    assert 0 < data["all_batches"][cold][-1] <= 1


def test_the_lemmas_check_is_reported(written: Path) -> None:
    content = written_data(written, "lemma")
    assert [row["plane_agreement"] for row in content["data"]["checks"]] == [1.0, 1.0]
    cases = content["data"]["checks"][0]["cases"]
    assert f"At {cases:,} random cases (angles uniform" in content["caption"]
    assert "agree in 100.00% of cases" in content["caption"]


def test_objectives_whose_ratios_are_constant_are_drawn_if_there_is_no_other(
    tmp_path: Path,
) -> None:
    found = simulated(tmp_path, objectives=["mpt", "vicreg_modified"])["ratio"]
    assert found.data["constant"] == {"mpt": 1.0, "vicreg_modified": 1.5}
    assert found.data["ratio"] == {}
    titles = [axes.get_title() for axes in found.picture.axes]
    assert titles[:2] == ["mpt", "vicreg_modified"]


def test_many_objectives_take_several_rows_of_panels(tmp_path: Path) -> None:
    """A ratio that changes its sign, VICReg's, is drawn too."""
    names = ["vicreg", "met", "mhs", "mhe", "paradigm"]
    found = simulated(tmp_path, objectives=names)["dissipation"]
    assert list(found.data["mean"]) == names
    titles = [axes.get_title() for axes in found.picture.axes if axes.get_title()]
    assert titles == names


REFUSED = {
    "unknown": (["info_nze"], "unknown objective 'info_nze'; did you mean 'info_nce'?"),
    "reads embeddings": (["mpt", "barlow_twins"], "ratio of 'barlow_twins' reads embeddings"),
    "none": ([], "analysis.simulation.objectives: expected a list of at least one"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_objectives_that_cannot_be_simulated_are_named(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names, sentence = REFUSED[case]
    assert run(tmp_path / "out", write_params(tmp_path, objectives=names)) == 1
    error = capsys.readouterr().err
    assert error.startswith("simulate: ")
    assert sentence in error
    assert not list(tmp_path.glob("out/*"))
