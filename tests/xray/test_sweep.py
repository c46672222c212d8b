"""The sweep: its batches have the angles they name, and its verdicts are the paper's."""

import math

import pytest
import torch

from pipeline.objectives import OBJECTIVES
from pipeline.objectives.foreign import repaired
from pipeline.objectives.sigmoid import sigmoid_loss
from pipeline.objectives.views import Views, without_diagonal
from pipeline.xray.sweep import STAGES, Examined, angle_batch, examine


@pytest.mark.parametrize(("positive", "negative"), [*STAGES.values(), (60, 45)])
def test_a_batch_has_the_mean_angles_it_is_asked_for(positive: float, negative: float) -> None:
    views = Views(*angle_batch(math.radians(positive), math.radians(negative)))
    own = math.degrees(views.aligned.clamp(max=1).arccos().mean())
    others = without_diagonal(views.cosine, torch.nan).arccos().nanmean()
    assert own == pytest.approx(positive, abs=4)
    assert math.degrees(others) == pytest.approx(negative, abs=4)
    torch.testing.assert_close(views.anchor.norm(dim=1), torch.ones(64, dtype=torch.float64))


def test_angles_that_no_batch_has_are_refused() -> None:
    with pytest.raises(ValueError, match="no batch has angles"):
        angle_batch(math.pi / 2, math.pi / 10)


@pytest.fixture(scope="module")
def examined() -> dict[str, Examined]:
    losses = {name: OBJECTIVES[name]().loss for name in ("info_nce", "mpt", "mhe", "vicreg")}
    losses["vicreg_modified"] = OBJECTIVES["vicreg_modified"]().loss
    losses["sigmoid"] = sigmoid_loss
    losses["repaired"] = repaired(sigmoid_loss, temperature=0.05).loss
    return {name: examine(name, loss) for name, loss in losses.items()}


@pytest.mark.parametrize("name", ["info_nce", "mpt", "vicreg_modified", "repaired"])
def test_the_papers_effective_objectives_and_what_is_repaired_pass(
    examined: dict[str, Examined], name: str
) -> None:
    assert examined[name].verdict.prediction == "works"


@pytest.mark.parametrize("name", ["mhe", "vicreg", "sigmoid"])
def test_ineffective_objectives_lack_dissipation_and_a_steady_ratio(
    examined: dict[str, Examined], name: str
) -> None:
    verdict = examined[name].verdict
    assert verdict.dissipation == "faulty"
    assert verdict.ratio != "good"
    assert verdict.prediction.startswith("repair dissipation")


def test_the_sigmoid_losss_ratio_is_below_one_and_above_a_hundred(
    examined: dict[str, Examined],
) -> None:
    """It pushes alone while all embeddings are alike, and pulls alone once they are not."""
    measures = examined["sigmoid"].measures
    assert measures["collapsed"].ratio < 0.1
    assert measures["easy"].ratio > 100


def test_batches_of_ones_own_are_measured_beside_and_judged_by_nobody() -> None:
    batch = angle_batch(0.3, 0.9)
    loss = OBJECTIVES["info_nce"]().loss
    beside, alone = examine("one", loss, {"mine": batch}), examine("one", loss)
    assert set(beside.measures) == {*STAGES, "mine"}
    assert beside.verdict == alone.verdict
