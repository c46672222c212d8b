"""Losses of others as objectives: as they are, repaired, and by name."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pipeline.machine.errors import InputError
from pipeline.objectives import OBJECTIVES, Objective, Recipe
from pipeline.objectives import pieces as piece
from pipeline.objectives.foreign import foreign, repaired
from pipeline.objectives.mhe import energy_weight
from pipeline.objectives.objective import Composed, direction
from pipeline.objectives.sigmoid import sigmoid_loss
from pipeline.objectives.vicreg import covariance_weight
from pipeline.objectives.views import Views, l2_normalize
from tests.objectives.conftest import Batch, make_views, unit

SIGMOID = {"loss": "pipeline.objectives.sigmoid:sigmoid_loss", "temperature": 0.1, "bias": -10.0}
MARGIN = 0.005  # some anchors of `open_views` are open and some are not


def open_views() -> Batch:
    """Cosines all above 0, as an untrained encoder's: VICReg pushes every pair apart."""
    anchor, positive = make_views(count=9, dimension=6, noise=0.6)
    return unit(1 + 0.5 * anchor), unit(1 + 0.5 * positive)


def gradients(objective: Objective, views: Batch) -> tuple[Tensor, Tensor]:
    leaves = tuple(view.clone().requires_grad_() for view in views)
    torch.autograd.backward(objective(*leaves))
    first, second = (leaf.grad for leaf in leaves)
    assert first is not None
    assert second is not None
    return first, second


def rows_of_one(weight: Tensor) -> Tensor:
    return weight / weight.sum(dim=1, keepdim=True)


def modified(weight: Any, negatives: Any) -> Objective:
    """A composed objective: the gate, a weight whose rows sum to one, a ratio, a mean."""

    def normalized(v: Views) -> Tensor:
        return rows_of_one(weight(v))

    parts = (piece.margin_gate, normalized, piece.fixed_ratio(1.75), negatives)
    return Recipe("modified", Composed(*parts, mean=True))(margin=MARGIN)


def mhe_weight(v: Views) -> Tensor:
    return energy_weight(v, uniformity_coefficient=10.0, mhe_exponent=2)


def info_nce_weight(v: Views) -> Tensor:
    return piece.softmax_over_negatives(v.cosine, 0.05)


@pytest.mark.parametrize(
    ("name", "weight", "negatives"),
    [
        pytest.param("mhe", mhe_weight, piece.own_view, id="mhe"),
        pytest.param("vicreg", covariance_weight, piece.own_view, id="vicreg"),
        pytest.param("info_nce", info_nce_weight, piece.other_view, id="info_nce"),
    ],
)
def test_repaired_an_original_has_its_own_weights_and_else_its_modified_forms(
    name: str, weight: Any, negatives: Any
) -> None:
    views = open_views()
    ours = repaired(OBJECTIVES[name]().loss, margin=MARGIN, ratio=1.75)
    theirs = modified(weight, negatives)
    assert 0 < theirs.components(*views).dissipation.mean() < 1
    for found, stated in zip(gradients(ours, views), gradients(theirs, views), strict=True):
        torch.testing.assert_close(found, stated, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["mhe", "vicreg"])
def test_repaired_with_a_temperature_each_anchor_moves_as_in_the_modified_form(name: str) -> None:
    """How far anchors move beside each other differs: there the whole matrix sums to one."""
    views = open_views()
    ours = repaired(OBJECTIVES[name]().loss, temperature=0.05).anchor_gradient(*views)
    stated = OBJECTIVES[f"{name}_modified"](ratio=1.5).anchor_gradient(*views)
    assert (ours.norm(dim=1) > 0).any()
    torch.testing.assert_close(l2_normalize(ours), l2_normalize(stated), rtol=1e-6, atol=1e-8)


def test_both_views_negatives_are_pushed_where_the_loss_pushes_both() -> None:
    def both(anchor: Tensor, positive: Tensor) -> Tensor:
        info_nce, mhe = OBJECTIVES["info_nce"](temperature=1.0), OBJECTIVES["mhe"]()
        return 10 * info_nce.loss(anchor, positive) + mhe.loss(anchor, positive)

    views = Views(*make_views())
    pieces = repaired(both).pieces(views)
    assert pieces.other_weight is not None
    assert (pieces.weight.sum(dim=1) > 0.01).all()
    assert (pieces.other_weight.sum(dim=1) > 0.01).all()
    push = pieces.weight @ views.anchor + pieces.other_weight @ views.positive
    pulled = push - pieces.pull[:, None] * views.positive
    expected = pieces.dissipation[:, None] * pulled / views.count
    torch.testing.assert_close(direction(pieces, views, views.positive), expected)


def test_an_anchor_that_the_loss_does_not_push_is_left_alone() -> None:
    views = make_views()
    found = repaired(OBJECTIVES["mpt"](margin=0.05).loss, margin=2.0).components(*views)
    left_alone = OBJECTIVES["mpt"](margin=0.05).components(*views).dissipation == 0
    assert left_alone.any()
    assert torch.equal(found.weight.sum(dim=1) == 0, left_alone)
    assert torch.equal(found.pull == 0, left_alone)


def test_what_attracts_a_negative_is_no_push() -> None:
    """VICReg attracts negatives at more than a right angle."""
    views = make_views()
    assert (OBJECTIVES["vicreg"]().components(*views).weight < 0).any()
    assert (repaired(OBJECTIVES["vicreg"]().loss).components(*views).weight >= 0).all()


@pytest.mark.parametrize("name", ["info_nce", "mhe", "vicreg", "vicreg_centred", "mpt"])
@pytest.mark.parametrize("temperature", [None, 0.05])
def test_single_precision_trains_as_double_does(name: str, temperature: float | None) -> None:
    """Also on embeddings that share one direction, whose Gram matrix is as good as singular."""
    anchor, positive = make_views(count=32, dimension=64)
    views = unit(1 + 0.05 * anchor), unit(1 + 0.05 * positive)
    objective = repaired(OBJECTIVES[name]().loss, temperature=temperature)
    double = gradients(objective, views)
    single = gradients(objective, (views[0].float(), views[1].float()))
    for exact, rounded in zip(double, single, strict=True):
        assert rounded.dtype == torch.float32
        assert float((rounded - exact).norm() / exact.norm()) < 1e-3


PART = [view.float() for view in make_views(count=4)]
EDGES: dict[str, Batch] = {
    "identical": (torch.ones(8, 4), torch.ones(8, 4)),
    "zeros": (torch.zeros(8, 4), torch.zeros(8, 4)),
    "antipodes": (torch.cat([PART[0], -PART[0]]), torch.cat([PART[1], -PART[1]])),
}


@pytest.mark.parametrize("views", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize("temperature", [None, 0.05])
@pytest.mark.parametrize("name", ["info_nce", "mhe", "vicreg_centred", "met"])
def test_repaired_losses_are_finite_on_what_training_can_run_into(
    name: str, temperature: float | None, views: Batch
) -> None:
    objective = repaired(OBJECTIVES[name]().loss, temperature=temperature)
    assert all(view.isfinite().all() for view in gradients(objective, views))
    assert all(found.isfinite().all() for found in objective.components(*views)[:3])


def test_embeddings_that_are_not_finite_give_a_loss_that_is_not() -> None:
    """As every objective: the loop looks at its own intervals."""
    anchor, positive = make_views()
    anchor[0, 0] = math.nan
    for objective in (repaired(sigmoid_loss), foreign("mine", SIGMOID)):
        assert not objective.loss(anchor, positive).isfinite()


def test_as_it_is_a_loss_has_its_own_value_and_gradient_and_its_components_are_told() -> None:
    views = make_views()
    objective = foreign("mine", SIGMOID)
    own = sigmoid_loss(*views, temperature=0.1, bias=-10.0)
    torch.testing.assert_close(objective(*views), own)
    found = objective.components(*views)
    across = OBJECTIVES["info_nce"]().components(*views).weight
    assert found.weight.shape == across.shape
    logits = views[0] @ views[1].T / 0.1 - 10
    push = torch.sigmoid(logits) / 0.1 / len(views[0])
    torch.testing.assert_close(found.weight, push.fill_diagonal_(0), rtol=1e-6, atol=1e-9)
    pull = torch.sigmoid(-logits.diagonal()) / 0.1 / len(views[0])
    torch.testing.assert_close(found.pull, pull, rtol=1e-6, atol=1e-9)


def test_ours_are_loss_names_too() -> None:
    named = foreign("mine", {"loss": "mhe", "uniformity_coefficient": 3.0, "repair": {}})
    direct = repaired(OBJECTIVES["mhe"](uniformity_coefficient=3.0).loss)
    views = make_views()
    for one, other in zip(named.components(*views), direct.components(*views), strict=True):
        assert torch.equal(one, other)


class WithWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, anchor: Tensor, positive: Tensor) -> Tensor:
        return self.scale * (anchor * positive).sum()


HERE = "tests.objectives.test_foreign:"
REFUSED = {
    "no colon": ("vicregg", "unknown objective 'vicregg'; did you mean 'vicreg'?"),
    "no module": ("nowhere.at_all:Loss", r"cannot be imported \(No module named 'nowhere'\)"),
    "no name": ("pipeline.objectives.sigmoid:", "expected module:Class or an objective's name"),
    "no class": (
        "pipeline.objectives.sigmoid:sigmoid_los",
        "unknown loss of pipeline.objectives.sigmoid 'sigmoid_los'; did you mean 'sigmoid_loss'?",
    ),
    "weights": (f"{HERE}WithWeights", "has parameters of its own, which nothing would train"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_loss_that_cannot_be_trained_with_is_refused_in_one_sentence(case: str) -> None:
    loss, sentence = REFUSED[case]
    with pytest.raises(InputError, match=rf"^objectives\.mine\.loss: .*{sentence}"):
        foreign("mine", {"loss": loss, "repair": {}})


def test_values_that_a_loss_does_not_take_are_refused() -> None:
    with pytest.raises(InputError, match=r"objectives\.mine\.loss: .* does not take \{'x': 1\}"):
        foreign("mine", {"loss": f"{HERE}WithWeights", "x": 1})
    with pytest.raises(InputError, match=r"mine: fails on two views .* argument 'x'"):
        foreign("mine", SIGMOID | {"x": 1})


def test_a_repair_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"repair\.margin: 3\.0 is out of range; it must be at le"):
        repaired(sigmoid_loss, margin=3.0)
