"""A batch as numbers, checked by hand."""

import math

import pytest
import torch

from pipeline.objectives import OBJECTIVES
from pipeline.training.dynamics import dynamics, named

UNIT = torch.eye(3)
# Cosines [[0.6, 0], [0.8, 1]]: sentence 1 leads by 0.6 - 0, sentence 2 by 1 - 0.8.
ANCHOR = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
POSITIVE = torch.tensor([[0.6, 0.8], [0.0, 1.0]])


def test_three_orthogonal_sentences_with_equal_views() -> None:
    """Softmax mass of two negatives at cosine 0 against e^1; each has half of the weight."""
    assert named(dynamics(OBJECTIVES["info_nce"](temperature=1.0), UNIT, UNIT)) == pytest.approx(
        {
            "dissipation": 2 / (2 + math.e),
            "hardest_share": 0.5,
            "ratio": 1.0,
            "alignment": 0.0,
            "uniformity": -4.0,  # log mean e^{4 (0 - 1)}
            "positive_cosine": 1.0,
            "negative_cosine": 0.0,
            "positive_angle": 0.0,
            "positive_angle_deviation": 0.0,
            "negative_angle": math.pi / 2,
            "negative_angle_deviation": 0.0,
        }
    )


def test_closed_anchors_count_for_dissipation_only_and_all_pairs_for_the_geometry() -> None:
    """Margin 0.5: sentence 1 is closed, sentence 2 open.

    Alignment: (|h1 - p1|^2 + 0) / 2 = (2 - 2 * 0.6) / 2; negative cosine: (0 + 0.8) / 2. Angles are
    in radians: positives arccos 0.6 and 0; negatives pi/2 and arccos 0.8.
    """
    numbers = named(dynamics(OBJECTIVES["mpt"](margin=0.5), ANCHOR, POSITIVE))
    assert numbers["dissipation"] == 0.5
    assert numbers["hardest_share"] == numbers["ratio"] == 1.0
    assert numbers["alignment"] == pytest.approx(0.4)
    assert numbers["positive_cosine"] == pytest.approx(0.8)
    assert numbers["negative_cosine"] == pytest.approx(0.4)
    assert numbers["positive_angle"] == pytest.approx(math.acos(0.6) / 2)
    assert numbers["positive_angle_deviation"] == pytest.approx(math.acos(0.6) / 2)
    assert numbers["negative_angle"] == pytest.approx((math.pi / 2 + math.acos(0.8)) / 2)
    assert numbers["negative_angle_deviation"] == pytest.approx((math.pi / 2 - math.acos(0.8)) / 2)


def test_the_ratio_is_the_pull_by_the_push() -> None:
    """MET looks at the nearest negative only: distance_12 / distance_11 of an open anchor.

    Distances: d_11 = sqrt(0.8), d_12 = sqrt(2), d_22 = 0 (clamped), d_21 = sqrt(0.4).
    """
    numbers = named(dynamics(OBJECTIVES["met"](distance_margin=0.6), ANCHOR, POSITIVE))
    assert numbers["dissipation"] == 0.5
    assert numbers["ratio"] == pytest.approx(math.sqrt(2 / 0.8))


def test_without_an_open_anchor_their_means_are_undefined() -> None:
    numbers = named(dynamics(OBJECTIVES["mpt"](margin=0.1), ANCHOR, POSITIVE))
    assert numbers["dissipation"] == 0.0
    assert math.isnan(numbers["hardest_share"])
    assert math.isnan(numbers["ratio"])
    assert math.isfinite(numbers["alignment"])


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_every_objective_is_described_without_touching_the_graph(
    name: str, dtype: torch.dtype
) -> None:
    generator = torch.Generator().manual_seed(1)
    anchor = torch.randn(8, 4, generator=generator).to(dtype).requires_grad_()
    numbers = named(dynamics(OBJECTIVES[name](), anchor, anchor + 0.1))
    assert all(isinstance(number, float) for number in numbers.values())
    assert 0 <= numbers["hardest_share"] <= 1 or math.isnan(numbers["hardest_share"])
    assert -1 <= numbers["negative_cosine"] <= numbers["positive_cosine"] <= 1 + 1e-6
    assert anchor.grad is None


def test_lengths_do_not_matter() -> None:
    longer = named(dynamics(OBJECTIVES["info_nce"](), 3 * ANCHOR, 0.1 * POSITIVE))
    assert longer == pytest.approx(
        named(dynamics(OBJECTIVES["info_nce"](), ANCHOR, POSITIVE)), abs=1e-6
    )
